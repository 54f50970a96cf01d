"""The signature of a call, described for comparison; made only while someone listens or asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from jxkernel import tree
from jxkernel._jaxlib import ArrayImpl
from jxkernel._lazy import late_function
from jxkernel._reprs import guarded_text, seen_in_words
from jxkernel.config import config
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.trace import Tracer
from jxkernel.events import CallSignature, LeafSignature
from jxkernel.events.vocabulary import StaticKind
from jxkernel.source import is_user_code
from jxkernel.tree import physical
from jxkernel.tree.nodes import keyed_children

__all__ = ["call_signature", "function_number"]

blake2b = late_function("hashlib", "blake2b")

_NUMBERS: WeakKeyDictionary[Callable[..., Any], int] = WeakKeyDictionary()
_ARRAYS: WeakValueDictionary[int, Any] = WeakValueDictionary()
_count = count(1)

_LENGTH = 80
_WRAPPERS = 64
_COMPARED_BYTES = 1 << 16


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
        sharding=_placement(leaf) if on_device else None,
        committed=on_device,
        explicit_sharding=""
        if aval.explicit_sharding is None
        else str(aval.explicit_sharding.spec),
    )


def _placement(array: Any) -> str:
    devices = array.sharding.device_set
    if len(devices) == 1:
        return str(next(iter(devices)))
    spec = getattr(array.sharding, "spec", None)
    return str(array.sharding) if spec is None else f"{spec} over {dict(array.sharding.mesh.shape)}"


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
    options: Sequence[tuple[str, str]] = (),
    site: str = "",
) -> CallSignature:
    """Describe a call: its function, the types of its leaves, static values and settings.

    Args:
      fun: the function.
      name: its name.
      call: its arguments, taken apart.
      avals: the types of the dynamic leaves.
      names: their names.
      static: name and value of each static argument.
      donated: which leaves are given away.
      options: what ``jit`` was asked for that an executable depends on, in words.
      site: ``file:line`` of the line that calls.
    """
    code = _code(fun)
    leaves = zip(names, call.flat, avals, strict=True)
    keywords = {key for key, _ in call.static if isinstance(key, str)}
    settings = ((option, str(value)) for option, value in config.context.items())
    return CallSignature(
        fun=name,
        function_id=function_number(fun),
        code_location=f"{code.co_filename}:{code.co_firstlineno}" if code else "",
        structure=guarded_text(str, call.in_tree),
        leaves=tuple(_leaf(path, leaf, aval) for path, leaf, aval in leaves),
        static=tuple((name, seen_in_words(value, _LENGTH)) for name, value in static),
        keyword_names=tuple(sorted(keywords.union(call.in_tree.unflatten(call.flat)[1]))),
        donated=donated,
        context=(*settings, *options),
        constants=tuple(dict(_constants(fun)).items()),
        containers=tuple(_containers(call, names)),
        static_kinds=tuple((name, _static_kind(value)) for name, value in static),
        qualified=_qualified(fun),
        site=site,
    )


def _qualified(fun: Any) -> str:
    """The name of a function within its file, and what transforms it: ``vmap grad f``.

    A traced cell's code has no name, and goes by its cell's.
    """
    names = [getattr(_own_code(one), "co_qualname", "") for one in (fun, *_wrapped(fun))]
    return " ".join(name for name in names if name and name != "<module>")


def _code(fun: Any) -> CodeType | None:
    """The code of the user's function inside partials and wrappers, or of an object's call.

    All that ``vmap`` or a decorator makes shares the wrapper's code: it tells no two apart.
    """
    for inside in _wrapped(fun):
        fun = inside
    return _own_code(fun)


def _own_code(fun: Any) -> CodeType | None:
    if isinstance(fun, partial):
        return None
    own = getattr(fun, "__code__", None)
    # An object's call is its class's; what C++ makes has none that could be read.
    return own or getattr(type(fun).__call__, "__code__", None)


def _wrapped(fun: Any) -> Iterator[Any]:
    """What partials and wrappers have inside, outermost first."""
    for _ in range(_WRAPPERS):
        inside = fun.func if isinstance(fun, partial) else getattr(fun, "__wrapped__", None)
        if not callable(inside):
            return
        yield inside
        fun = inside


def _constants(fun: Any) -> Iterator[tuple[str, str]]:
    """Name and fingerprint of each value that the user's functions have closed over."""
    for one in (fun, *_wrapped(fun)):
        code = _own_code(one)
        if code is None or is_user_code(code):
            yield from _own_constants(one)


def _own_constants(fun: Any) -> Iterator[tuple[str, str]]:
    if isinstance(fun, partial):
        yield from ((f"args[{index}]", _fingerprint(one)) for index, one in enumerate(fun.args))
        yield from ((name, _fingerprint(value)) for name, value in fun.keywords.items())
    elif isinstance(fun, FunctionType):
        for name, cell in zip(fun.__code__.co_freevars, fun.__closure__ or (), strict=True):
            try:
                yield name, _fingerprint(cell.cell_contents)
            except ValueError:  # not bound yet
                yield name, "nothing"


def _fingerprint(value: Any) -> str:
    """A value in a few words, equal for equal values as far as that is cheap to tell."""
    if isinstance(value, Tracer | ArrayImpl | np.ndarray):
        return f"{abstractify(value).short(weak=True)} #{_content(value)}"
    if isinstance(value, FunctionType | MethodType | BuiltinFunctionType):
        return f"{value.__name__}()"
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__name__}"
    return seen_in_words(value, _LENGTH)


def _content(array: Any) -> str:
    """A mark of an array's content; of a large one, or one not computed yet, of the object."""
    known = isinstance(array, np.ndarray) or (
        type(array) is ArrayImpl
        and not array.is_deleted()
        and array.is_fully_addressable
        and array.is_ready()
    )
    if known and array.nbytes <= _COMPARED_BYTES:
        return blake2b(np.asarray(array).tobytes(), digest_size=3).hexdigest()
    found = next((number for number, one in _ARRAYS.items() if one is array), 0)
    if not found:
        found = next(_count)
        _ARRAYS[found] = array
    return str(found)


def _static_kind(value: Any) -> StaticKind:
    if isinstance(value, bool | int | float | complex):
        return "number"
    if isinstance(value, FunctionType | MethodType):
        return "function"
    return "identity" if type(value).__hash__ is object.__hash__ else "value"


def _containers(call: Any, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Path and kind of each container, a path being what the paths of its leaves begin with."""
    named = iter(names)
    marked = call.in_tree.unflatten([_Path(next(named)) for _ in call.flat])
    for group in (marked[0], tuple(marked[1].values())):
        for argument in group:
            yield from _inside(argument)


class _Path(str):
    """The name of a leaf, standing in its place."""

    __slots__ = ()


def _inside(node: Any) -> Iterator[tuple[str, str]]:
    level = None if isinstance(node, _Path) else keyed_children(node)
    if level is None:
        return
    children, metadata = level
    for key, child in children:
        first = next((one for one in physical.leaves(child) if isinstance(one, _Path)), None)
        if first is not None:
            deeper = tree.keystr(physical.flatten_with_path(child)[0][0][0])
            path = first.removesuffix(deeper).removesuffix(guarded_text(str, key))
            yield path, _container_kind(node, metadata)
            break
    for _, child in children:
        yield from _inside(child)


def _container_kind(node: Any, metadata: Any) -> str:
    name = type(node).__name__
    if isinstance(node, tuple | list | dict) or not metadata:
        return name
    return f"{name} {seen_in_words(metadata, _LENGTH)}"
