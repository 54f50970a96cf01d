"""Why a call missed its cache: signatures compared."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from jxkernel.events.vocabulary import (
    CacheName,
    CallSignature,
    LeafSignature,
    Reason,
    ReasonKind,
    StaticKind,
)

__all__ = [
    "CallSignature",
    "LeafSignature",
    "Reason",
    "SignatureHistory",
    "closest",
    "describe_leaf",
    "diff",
    "explain_miss",
    "history",
    "miss_text",
]

_COST: dict[ReasonKind, int] = {
    "evicted": 1,
    "weak_type": 2,
    "donated": 3,
    "kwargs_form": 4,
    "dtype": 5,
    "static_value": 6,
    "context": 7,
    "constant_changed": 8,
    "new_function_object": 9,
    "sharding": 10,
    "shape": 11,
    "tree_structure": 12,
    "first_call": 13,
}
"""How much a user must change to avoid a miss of each kind: the cheapest fix is named first."""

_SHORT_DTYPES = (("complex", "c"), ("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"))


def diff(
    new: CallSignature, earlier: CallSignature, cache: CacheName = "memory"
) -> tuple[Reason, ...]:
    """Say what differs between two signatures, cheapest fix first; empty when nothing does.

    Args:
      new: the call that missed.
      earlier: a call before it.
      cache: which cache missed: of traces only what shapes a trace counts, and neither donation
        nor where arrays lie does, but for how explicit axes divide them.
    """
    reasons = [
        *_function_reasons(new, earlier),
        *_structure_reasons(new, earlier, cache),
        *_named_reasons("static_value", new.static, earlier.static, partial(_static_fix, new)),
        *_named_reasons("context", new.context, earlier.context, _context_fix),
        *_named_reasons("constant_changed", new.constants, earlier.constants, _constant_fix),
        *([] if cache == "trace" else _donation_reasons(new, earlier)),
    ]
    return tuple(sorted(reasons, key=lambda reason: _COST[reason.kind]))


def closest(
    new: CallSignature, earlier: Iterable[CallSignature], cache: CacheName = "memory"
) -> tuple[int, tuple[Reason, ...]] | None:
    """Find the earlier signature that differs least; None when there are no earlier ones.

    "Least" counts the differences and weighs each by the cost of its fix; among equals the latest
    call wins, because it is the one that the user remembers.

    Returns:
      Its index, and the differences as ``diff`` gives them.
    """
    best: tuple[int, tuple[Reason, ...]] | None = None
    best_distance = 0
    for index, signature in enumerate(earlier):
        reasons = diff(new, signature, cache)
        distance = sum(_COST[reason.kind] for reason in reasons)
        if best is None or distance <= best_distance:
            best, best_distance = (index, reasons), distance
    return best


def explain_miss(
    new: CallSignature, earlier: Iterable[CallSignature], cache: CacheName = "memory"
) -> tuple[Reason, ...]:
    """Say why a call missed, given the signatures of earlier misses of the same code.

    An equal earlier signature means that its entry has been evicted since.
    """
    found = closest(new, earlier, cache)
    if found is None:
        return (Reason(kind="first_call", what=f"first call of {new.fun}"),)
    _, reasons = found
    return reasons or (
        Reason(
            kind="evicted",
            what=f"{new.fun} was called like this before; its entry was evicted since",
            fix="clear caches (clear_cache, %jx cache clear) between experiments only",
        ),
    )


def miss_text(fun: str, cache: CacheName, site: str, reasons: Sequence[Reason]) -> str:
    """Say in a few lines why a call missed: what ``explain_cache_misses`` logs."""
    what = "traced" if cache == "trace" else "compiled"
    lines = [f"{fun} is {what}{f' for {site}' if site else ''}:"]
    for reason in reasons:
        lines.append(f"  {reason.kind.replace('_', ' ')}: {reason.sentence()}")
        lines += [f"    fix: {reason.fix}"] * bool(reason.fix)
    return "\n".join(lines)


class SignatureHistory:
    """The signatures that missed before, by the function's name and file, bounded.

    Functions are told apart by qualified name and file, not by object or line, so that a function
    defined again is compared with what it was. All that is typed at a prompt or in a notebook
    counts as one file. Safe to use from several threads.

    Args:
      per_function: how many signatures are kept of each function; the oldest go first.
      functions: how many functions are kept; the least recently called go first.
    """

    def __init__(self, per_function: int = 128, functions: int = 1024) -> None:
        self._per_function = per_function
        self._functions = functions
        self._signatures: OrderedDict[tuple[str, str], deque[CallSignature]] = OrderedDict()
        self._lock = threading.Lock()

    def record(self, new: CallSignature, cache: CacheName = "memory") -> tuple[Reason, ...]:
        """Say why ``new`` missed a cache, given all recorded before, and record it."""
        key = _group(new)
        with self._lock:
            recorded = self._signatures.setdefault(key, deque(maxlen=self._per_function))
            self._signatures.move_to_end(key)
            earlier = tuple(recorded)
            recorded.append(new)
            if len(self._signatures) > self._functions:
                self._signatures.popitem(last=False)
        return explain_miss(new, earlier, cache)

    def forget(self, signature: CallSignature) -> None:
        """Forget the signature of a call that failed: no entry came of it."""
        with self._lock:
            recorded = self._signatures.get(_group(signature), ())
            if recorded and recorded[-1] == signature:
                recorded.pop()

    def takers(self, kind: str) -> list[tuple[CallSignature, str]]:
        """The first calls that took over the memory of arrays of a type, with the argument.

        Args:
          kind: the type, ``f32[8]``.
        """
        with self._lock:
            recorded = [one for group in self._signatures.values() for one in group]
        found: dict[tuple[int, str], CallSignature] = {}
        for one in recorded:
            for leaf in map(one.leaves.__getitem__, one.donated):
                if describe_leaf(leaf).replace("*", "") == kind:
                    found.setdefault((one.function_id, leaf.path), one)
        return [(one, path) for (_, path), one in found.items()]

    def clear(self) -> None:
        """Forget all signatures: every next call is a first call."""
        with self._lock:
            self._signatures.clear()


history = SignatureHistory()
"""The signatures of calls that missed, kept while someone listens.

Clearing caches leaves it alone, so that the next call can be told that its entry was evicted.
"""


def _group(signature: CallSignature) -> tuple[str, str]:
    """What is one function to the history, however often it is defined."""
    return signature.qualified or signature.fun, _file_group(signature)


def _file_group(signature: CallSignature) -> str:
    """The file, or one word for all code without a lasting file.

    An edited cell gets a new file name at each run, so the name tells nothing of what the
    function was before; a lambda has no name of its own and goes by its exact place.
    """
    if signature.fun == "<lambda>":
        return signature.code_location
    file = signature.code_location.rpartition(":")[0]
    typed = file.startswith(("<", "In[")) or f"{os.sep}ipykernel_" in file
    return "(typed)" if typed else file


def describe_leaf(leaf: LeafSignature) -> str:
    """Write a leaf's type as avals print, ``f32[8,3]``; ``*`` marks a weak type."""
    dims = ",".join(map(str, leaf.shape))
    return f"{_short_dtype(leaf.dtype)}{'*' if leaf.weak_type else ''}[{dims}]"


def _short_dtype(name: str) -> str:
    if name != "float0":
        for long, short in _SHORT_DTYPES:
            if name.startswith(long):
                return short + name.removeprefix(long)
    return name


def _function_reasons(new: CallSignature, earlier: CallSignature) -> list[Reason]:
    if new.function_id == earlier.function_id:
        return []
    fix = "call jit once, outside the loop or cell that is run again, and keep its result"
    if new.code_location == earlier.code_location:
        place = f" at {new.code_location}" if new.code_location else ""
        what = f"{new.fun} is a new function object, made again{place}"
        return [Reason("new_function_object", what, fix=fix)]
    what = f"{new.fun} is a new function object, defined anew"
    return [Reason("new_function_object", what, earlier.code_location, new.code_location, fix)]


def _structure_reasons(
    new: CallSignature, earlier: CallSignature, cache: CacheName
) -> list[Reason]:
    """Differences of the arguments: their structure, or else leaf by leaf."""
    paths = [leaf.path for leaf in new.leaves]
    earlier_paths = [leaf.path for leaf in earlier.leaves]
    if new.keyword_names != earlier.keyword_names:
        return [_keyword_reason(new, earlier), *_leaf_reasons_by_path(new, earlier, cache)]
    if paths != earlier_paths or new.structure != earlier.structure:
        return [_tree_reason(new, earlier), *_leaf_reasons_by_path(new, earlier, cache)]
    return _leaf_reasons_by_path(new, earlier, cache)


def _keyword_reason(new: CallSignature, earlier: CallSignature) -> Reason:
    changed = sorted({*new.keyword_names} ^ {*earlier.keyword_names})
    return Reason(
        kind="kwargs_form",
        what="arguments by keyword",
        before=", ".join(earlier.keyword_names) or "none",
        after=", ".join(new.keyword_names) or "none",
        fix=f"pass {', '.join(changed)} the same way, by keyword or by position, in every call",
    )


def _tree_reason(new: CallSignature, earlier: CallSignature) -> Reason:
    """Name the first leaf that only one of the two structures has, or the changed container."""
    before = {leaf.path for leaf in earlier.leaves}
    after = {leaf.path for leaf in new.leaves}
    added = next((leaf.path for leaf in new.leaves if leaf.path not in before), "")
    removed = next((leaf.path for leaf in earlier.leaves if leaf.path not in after), "")
    what, fix = "the arguments' structure", "give the arguments the same containers and keys always"
    if added or removed:
        return Reason(
            kind="tree_structure",
            what=what,
            before=f"with {removed}" if removed else f"without {added}",
            after=f"with {added}" if added else f"without {removed}",
            fix=fix,
        )
    earlier_containers = dict(earlier.containers)
    for path, kind in new.containers:
        known = earlier_containers.get(path, kind)
        if known != kind:
            return Reason("tree_structure", path, known, kind, f"pass {path} as one kind always")
    return Reason("tree_structure", what, earlier.structure, new.structure, fix)


def _leaf_reasons_by_path(
    new: CallSignature, earlier: CallSignature, cache: CacheName
) -> list[Reason]:
    before = {leaf.path: leaf for leaf in earlier.leaves}
    return [
        reason
        for leaf in new.leaves
        if leaf.path in before
        for reason in _leaf_reasons(leaf, before[leaf.path], cache)
    ]


def _leaf_reasons(new: LeafSignature, earlier: LeafSignature, cache: CacheName) -> list[Reason]:
    kinds: list[tuple[ReasonKind, str]] = []
    if new.shape != earlier.shape:
        kinds.append(("shape", _shape_fix(new, earlier)))
    if new.dtype != earlier.dtype:
        kinds.append(("dtype", f"convert it before the call: {_conversion(new, earlier.dtype)}"))
    elif new.weak_type != earlier.weak_type:
        kinds.append(("weak_type", _weak_type_fix(new)))
    reasons = [
        Reason(kind, new.path, describe_leaf(earlier), describe_leaf(new), fix)
        for kind, fix in kinds
    ]
    if _placement(new, cache) != _placement(earlier, cache):
        reasons.append(_sharding_reason(new, earlier))
    return reasons


def _placement(leaf: LeafSignature, cache: CacheName) -> tuple[object, ...]:
    """What a cache's keys hold of where a leaf lies."""
    return (
        (leaf.explicit_sharding,)
        if cache == "trace"
        else (leaf.explicit_sharding, leaf.sharding, leaf.committed)
    )


def _shape_fix(new: LeafSignature, earlier: LeafSignature) -> str:
    if len(new.shape) != len(earlier.shape):
        return f"give {new.path} the same number of dimensions in every call"
    axes = [
        axis
        for axis, (size, before) in enumerate(zip(new.shape, earlier.shape, strict=True))
        if size != before
    ]
    which = f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(map(str, axes))}"
    return f"pad {new.path} along {which} to a few fixed sizes"


def _conversion(leaf: LeafSignature, dtype: str) -> str:
    """The expression that gives a leaf a dtype, as the user would write it."""
    if leaf.kind == "python scalar":
        return f"jnp.asarray({leaf.path}, '{dtype}')"
    return f"{leaf.path}.astype('{dtype}')"


def _weak_type_fix(new: LeafSignature) -> str:
    if new.weak_type:
        return f"give {new.path} a dtype: {_conversion(new, new.dtype)}"
    return f"{new.path} was a Python number before: pass jnp.asarray(number, '{new.dtype}') always"


def _sharding_reason(new: LeafSignature, earlier: LeafSignature) -> Reason:
    return Reason(
        kind="sharding",
        what=new.path,
        before=_describe_placement(earlier),
        after=_describe_placement(new),
        fix=f"place {new.path} the same way in every call with jax.device_put",
    )


def _describe_placement(leaf: LeafSignature) -> str:
    committed = "committed" if leaf.committed else "uncommitted"
    return f"{leaf.sharding or 'default device'} ({committed})"


_STATIC_FIXES: dict[StaticKind, str] = {
    "number": "make {name} a traced argument if it takes many values",
    "function": "pass the same function object for {name}: define it once, outside the loop",
    "identity": "pass the same object for {name}, or give its class __eq__ and __hash__",
    "value": "each value of {name} has a program of its own: keep to a few",
}


def _static_fix(new: CallSignature, name: str) -> str:
    return _STATIC_FIXES[dict(new.static_kinds).get(name, "number")].format(name=name)


def _context_fix(name: str) -> str:
    if name.startswith("jax_"):
        return f"set {name} once, before the first call"
    return f"jit the function once, with one {name}"


def _constant_fix(name: str) -> str:
    return f"pass {name} as an argument instead of closing over it"


def _named_reasons(
    kind: ReasonKind,
    new: tuple[tuple[str, str], ...],
    earlier: tuple[tuple[str, str], ...],
    fix: Callable[[str], str],
) -> list[Reason]:
    """Differences of name-value pairs, in the order of the new call and then of the earlier."""
    after, before = dict(new), dict(earlier)
    return [
        Reason(kind, name, before.get(name, ""), after.get(name, ""), fix(name))
        for name in {**after, **before}
        if after.get(name) != before.get(name)
    ]


def _donation_reasons(new: CallSignature, earlier: CallSignature) -> list[Reason]:
    if new.donated == earlier.donated:
        return []
    return [
        Reason(
            kind="donated",
            what="donated arguments",
            before=_donated_paths(earlier),
            after=_donated_paths(new),
            fix="jit the function once, with one donate_argnums",
        )
    ]


def _donated_paths(signature: CallSignature) -> str:
    leaves = signature.leaves
    return (
        ", ".join(
            leaves[index].path if index < len(leaves) else f"leaf {index}"
            for index in signature.donated
        )
        or "none"
    )
