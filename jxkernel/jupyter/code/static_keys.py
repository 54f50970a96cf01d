"""Static values as cache keys: what a value is, by content, so that no stale trace is used.

Functions of the user are compared by code, defaults, closure and the variables and attributes of
modules that they mention, so running the cell that defines one again, unchanged, changes no key,
and a module that is reloaded in place does. Objects
whose content cannot be compared go by identity; the key holds a reference, so an identity is not
reused.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from jxkernel._reprs import seen_in_words
from jxkernel.api.jit import jit_state
from jxkernel.compile import ShapeDtypeStruct
from jxkernel.core.avals import abstractify, has_aval
from jxkernel.jupyter.code.functions import (
    attributes_read,
    captured_values,
    globals_read,
    is_of_the_user,
)
from jxkernel.tree import physical

__all__ = [
    "Static",
    "describe_static",
    "fingerprint",
    "freeze",
    "freeze_module",
    "is_traceable",
]

_PACKAGE = __name__.partition(".")[0]
_DEPTH = 12
_NODES = 20_000
_COMPARED_BYTES = 1 << 18
_TRACED_NUMBERS = 1_000
_PLAIN = (type(None), bool, int, str, bytes, range, slice, type, ModuleType, type(...))
_SHOWN = 60


class Static:
    """A static value with its key; equal to another when the keys are.

    Attributes:
      value: the value.
      key: what ``freeze`` made of it.
      label: what tells it from other values of the same name, for explanations.
    """

    __slots__ = ("_hash", "key", "label", "value")

    def __init__(self, value: Any, key: Any, label: str = "") -> None:
        self.value = value
        self.key = key
        self.label = label
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static):
            return NotImplemented
        return self._hash == other._hash and self.key == other.key

    def __repr__(self) -> str:
        return self.label or describe_static(self.value)


class _Identity:
    """An object compared by identity, kept alive by the key that holds it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value


class _Content:
    """An object compared by its own equality, as far as that works; else by identity."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._hash = hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Content) or type(self.value) is not type(other.value):
            return False
        if self.value is other.value:
            return True
        try:
            return bool(self.value == other.value)
        except Exception:  # foreign code
            return False


class _WeakIdentity:
    """An object compared by identity as long as it lives; then it equals none."""

    __slots__ = ("_known",)

    def __init__(self, value: Any) -> None:
        self._known = weakref.ref(value)

    def __hash__(self) -> int:
        return hash(_WeakIdentity)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _WeakIdentity):
            return NotImplemented
        value = self._known()
        return value is not None and value is other._known()


def _weak_identity(value: Any) -> Any:
    try:
        return _WeakIdentity(value)
    except TypeError:  # numbers, tuples and their like, which nobody can point to
        return _Identity(value)


def is_traceable(value: Any) -> bool:
    """Whether a value becomes a traced input: an array, a number, or a pytree of only these.

    An empty list or dict is such a pytree, so that a cell may put arrays into it.
    """
    try:
        leaves = physical.leaves(value)
    except Exception:  # foreign flatten functions, dict keys that cannot be sorted
        return False
    if not leaves:
        return isinstance(value, list | dict)
    return len(leaves) <= _TRACED_NUMBERS and all(map(_is_numeric, leaves))


def describe_static(value: Any) -> str:
    """Write a static value briefly; looking must not fail whatever its ``__repr__`` does."""
    if isinstance(value, FunctionType | MethodType):
        return f"{value.__name__}()"
    if isinstance(value, ModuleType | type):
        return value.__name__
    return seen_in_words(value, _SHOWN)


def freeze(value: Any, namespace: Mapping[str, Any]) -> Any:
    """Return the key of a value.

    Args:
      value: any value.
      namespace: the notebook's variables: functions whose globals these are, are followed.
    """
    return _Freezer(namespace).freeze(value, 0)


def fingerprint(value: Any, namespace: Mapping[str, Any]) -> Any:
    """Return a key that keeps no large value alive: to see later whether it is another.

    Args:
      value: any value.
      namespace: as for ``freeze``.
    """
    return _Freezer(namespace, _weak_identity).freeze(value, 0)


class _Freezer:
    """One walk over a value and what it refers to."""

    def __init__(
        self, namespace: Mapping[str, Any], identity: Callable[[Any], Any] = _Identity
    ) -> None:
        self._namespace = namespace
        self._identity = identity
        self._met: dict[int, int] = {}
        self._nodes = 0

    def freeze(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if isinstance(value, _PLAIN) and not _is_class_of_the_user(value):
            return (type(value), value) if not isinstance(value, slice) else ("slice", str(value))
        if isinstance(value, float | complex):
            return (type(value), repr(value))
        if depth > _DEPTH or self._nodes > _NODES:
            return self._identity(value)
        if id(value) in self._met:
            return ("met", self._met[id(value)])
        self._met[id(value)] = len(self._met)
        return self._freeze_object(value, depth + 1)

    def _freeze_object(self, value: Any, depth: int) -> Any:
        match value:
            case tuple() | list():
                return (type(value), tuple(self.freeze(one, depth) for one in value))
            case dict():
                pairs = ((self.freeze(k, depth), self.freeze(v, depth)) for k, v in value.items())
                return (type(value), tuple(pairs))
            case set() | frozenset():
                return (type(value), frozenset(self.freeze(one, depth) for one in value))
            case np.ndarray():
                return _array_key(value)
            case np.generic():
                return (type(value), value.tobytes())
            case FunctionType():
                return self._function_key(value, depth)
            case type():
                return self._class_key(value, depth)
            case MethodType():
                return (
                    "method",
                    self.freeze(value.__func__, depth),
                    self.freeze(value.__self__, depth),
                )
            case functools.partial():
                parts = (value.func, value.args, value.keywords)
                return ("partial", *(self.freeze(part, depth) for part in parts))
            case _:
                return self._foreign_key(value, depth)

    def _foreign_key(self, value: Any, depth: int) -> Any:
        state = jit_state(value)
        if state is not None:
            return ("jit", state.options, self.freeze(state.fun, depth))
        if type(value).__hash__ not in (None, object.__hash__):
            try:
                return _Content(value)
            except Exception:  # foreign code, or a tuple-like object that holds what has no hash
                return self._identity(value)
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict) and is_of_the_user(type(value)):
            kind = self.freeze(type(value), depth)
            return (kind, self._identity(value), self.freeze(attributes, depth))
        return self._identity(value)

    def _class_key(self, kind: type, depth: int) -> Any:
        """A class with the code of its methods, which may be replaced in place."""
        parts = {
            name: getattr(part, "__func__", getattr(part, "fget", part))
            for name, part in vars(kind).items()
            if not name.startswith("__") or isinstance(part, FunctionType)
        }
        bases = tuple(self.freeze(base, depth) for base in kind.__bases__)
        return ("class", self._identity(kind), bases, self.freeze(parts, depth))

    def _function_key(self, function: FunctionType, depth: int) -> Any:
        code, names = function.__code__, function.__globals__
        if names is not self._namespace and not is_of_the_user(function):
            return self._identity(function)
        captured = tuple(captured_values(function))
        mentioned = {name: names[name] for name in globals_read(code) if name in names}
        attributes = dict(module_attributes(attributes_read(code), names))
        parts = (function.__defaults__, function.__kwdefaults__, captured, mentioned, attributes)
        return ("function", code, *(self.freeze(part, depth) for part in parts))


def _is_class_of_the_user(value: Any) -> bool:
    return isinstance(value, type) and is_of_the_user(value)


def module_attributes(
    chains: Iterable[tuple[str, ...]], namespace: Mapping[str, Any]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Give what names like ``settings.rate`` stand for where all before the last are modules.

    Args:
      chains: each name in its parts, ("settings", "rate").
      namespace: where the first parts are looked up.
    """
    for chain in chains:
        value: Any = namespace.get(chain[0])
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == _PACKAGE:
            # What is loaded at its first use would seem to have changed by then.
            continue
        for name in chain[1:]:
            value = vars(value).get(name) if isinstance(value, ModuleType) else None
        if value is not None and not isinstance(value, ModuleType):
            yield chain, value


def freeze_module(
    module: ModuleType, chains: Iterable[tuple[str, ...]], namespace: Mapping[str, Any]
) -> tuple[Any, str]:
    """Return the key of a module, with what a cell reads of it, and the module in words.

    Args:
      module: the module.
      chains: the attributes that the cell reads, each in its parts, the cell's name first.
      namespace: the notebook's variables.
    """
    found = dict(module_attributes(chains, namespace))
    data = [
        f"{'.'.join(chain[1:])}={describe_static(value)}"
        for chain, value in found.items()
        if not callable(value)
    ]
    text = f"{module.__name__}({', '.join(data)})" if data else module.__name__
    return (module, freeze(found, namespace)), text


def _array_key(array: np.ndarray[Any, Any]) -> Any:
    """By content where that is cheap; a large array by identity and a sample."""
    if array.dtype.hasobject:
        return _Identity(array)
    kind = (array.shape, array.dtype.str)
    if array.nbytes <= _COMPARED_BYTES:
        return (*kind, array.tobytes())
    step = max(array.size // 1000, 1)
    return (*kind, _Identity(array), array.ravel()[::step].tobytes())


def _is_numeric(leaf: Any) -> bool:
    if isinstance(leaf, ShapeDtypeStruct) or not has_aval(type(leaf)):
        return False
    try:
        abstractify(leaf)
    except TypeError:  # a NumPy array of strings or objects
        return False
    return True
