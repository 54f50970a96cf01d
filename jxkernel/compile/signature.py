"""The signature of a call, described for comparison; made only while someone listens or asks."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from jxkernel._jaxlib import ArrayImpl
from jxkernel.config import config
from jxkernel.core.avals import ShapedArray
from jxkernel.core.trace import Tracer
from jxkernel.events import CallSignature, LeafSignature

__all__ = ["call_signature", "function_number"]

_NUMBERS: "WeakKeyDictionary[Callable[..., Any], int]" = WeakKeyDictionary()
_count = count(1)

_LENGTH = 80


def _kind(leaf: Any) -> Any:
    if isinstance(leaf, Tracer):
        return "tracer"
    if type(leaf) is ArrayImpl:
        return "array"
    return "python scalar" if type(leaf) in (bool, int, float, complex) else "numpy"


def _leaf(path: str, leaf: Any, aval: ShapedArray) -> LeafSignature:
    on_device = type(leaf) is ArrayImpl and leaf._committed
    return LeafSignature(
        path=path,
        shape=aval.shape,
        dtype=aval.dtype.name,
        weak_type=aval.weak_type,
        kind=_kind(leaf),
        sharding=str(leaf.device) if on_device else None,
        committed=on_device,
    )


def function_number(fun: Callable[..., Any]) -> int:
    """Return a number that no other function object gets in this process.

    ``id`` will not do: a lambda made anew in a loop often gets the address of the one before, and
    would be taken for it.
    """
    try:
        return _NUMBERS.setdefault(fun, next(_count))
    except TypeError:  # the callable cannot be referred to weakly
        return id(fun)


def call_signature(
    fun: Callable[..., Any],
    name: str,
    call: Any,
    avals: Sequence[ShapedArray],
    names: Sequence[str],
    static: Sequence[tuple[str, Any]],
    donated: tuple[int, ...],
) -> CallSignature:
    """Describe a call: its function, the types of its leaves, static values and settings."""
    code = getattr(fun, "__code__", None)
    location = f"{code.co_filename}:{code.co_firstlineno}" if code else ""
    leaves = zip(names, call.flat, avals, strict=True)
    return CallSignature(
        fun=name,
        function_id=function_number(fun),
        code_location=location,
        structure=str(call.in_tree),
        leaves=tuple(_leaf(path, leaf, aval) for path, leaf, aval in leaves),
        static=tuple((name, f"{value!r:.{_LENGTH}}") for name, value in static),
        keyword_names=tuple(sorted(call.in_tree.unflatten(call.flat)[1])),
        donated=donated,
        context=tuple((option, str(value)) for option, value in config.context.items()),
    )
