"""Values in words, whatever their own ``__repr__`` does."""

import reprlib
import weakref
from collections.abc import Callable
from enum import Enum
from functools import cache
from itertools import islice
from types import BuiltinFunctionType, EllipsisType, FunctionType, NoneType
from typing import Any

__all__ = [
    "counted",
    "file_error",
    "guarded_text",
    "in_plain_words",
    "in_words",
    "look_anew",
    "seen_in_words",
    "with_type",
]

_REMEMBERED = 1_000
_NUMBERS_AND_TEXTS = (bool, int, float, complex, str, bytes, NoneType, EllipsisType, range)
_PLAIN = frozenset((*_NUMBERS_AND_TEXTS, type, BuiltinFunctionType, FunctionType))
"""Types whose own text runs no code of a program."""


_PLURALS = {"is": "es", "ry": "ries"}
"""How what ends otherwise than in an s is many: an axis, an entry."""


def counted(count: int, one: str) -> str:
    """Return a number of things in words: ``1 axis``, ``2 axes``."""
    ending = _PLURALS.get(one[-2:])
    many = f"{one}s" if ending is None else f"{one[:-2]}{ending}"
    return f"{count:,} {one if count == 1 else many}"


def guarded_text(text: Callable[[Any], str], value: Any) -> str:
    """Return ``text(value)``, or ``<Kind object at 0x...>`` where that raises anything."""
    try:
        return text(value)
    except Exception:  # foreign code
        return object.__repr__(value)


class _Brief(reprlib.Repr):
    """Abbreviates containers before they are written, as one may be long."""

    def __init__(self, own: Callable[[Any], str], limit: int) -> None:
        super().__init__()
        self.maxstring = self.maxlong = self.maxother = limit
        # An element takes three characters at least.
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = limit // 3 + 1
        self.maxdeque = self.maxarray = self.maxdict = limit // 3 + 1
        self._own = own

    def repr_instance(self, x: Any, level: int) -> str:
        """Return what an object says of itself."""
        return guarded_text(self._own, x)


class _Seen:
    """What objects have said of themselves since ``look_anew``; it keeps none of them alive."""

    def __init__(self) -> None:
        self._texts: dict[int, tuple[weakref.ref[Any], str]] = {}

    def clear(self) -> None:
        """Forget it."""
        self._texts = {}

    def __call__(self, value: Any) -> str:
        texts = self._texts
        known = texts.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        text = guarded_text(repr, value)
        try:
            reference = weakref.ref(value)
        except TypeError:  # numbers, tuples and their like, which say what they are at once
            return text
        if len(texts) < _REMEMBERED:
            texts[id(value)] = reference, text
        return text


_seen = _Seen()
_brief = cache(_Brief)


def file_error(error: OSError) -> str:
    """Return which file cannot be written and why, without the number of the error."""
    return (
        f"{error.filename!r} cannot be written: {error.strerror}" if error.filename else str(error)
    )


def in_words(value: Any, limit: int) -> str:
    """Return the repr of a value, cut to a length; one that raises is no failure."""
    return _cut(guarded_text(_brief(repr, limit).repr, value), limit)


def with_type(value: Any, limit: int = 100) -> str:
    """Return what a message says it got: ``1.5 of type float``, ``the function sin``.

    What has no text of its own is told by its type alone: an address helps nobody.
    """
    kind = type(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and isinstance(name := _name(value), str):
        return f"the function {_cut(name, limit)}"
    text = in_words(value, limit)
    unnamed = text.startswith("<") and " at 0x" in text
    return f"an object of type {kind.__name__}" if unnamed else f"{text} of type {kind.__name__}"


def _name(value: Any) -> Any:
    try:
        return getattr(value, "__name__", None)
    except Exception:  # foreign code
        return None


def seen_in_words(value: Any, limit: int) -> str:
    """Return the same for one who watches: an object is asked once until ``look_anew``."""
    return _cut(guarded_text(_brief(_seen, limit).repr, value), limit)


def in_plain_words(value: Any, limit: int) -> str:
    """Return the same without running a ``__repr__`` of a program: it may compute."""
    return _cut(_plain_text(value, limit), limit)


def look_anew() -> None:
    """Have objects asked again, because they may have changed."""
    _seen.clear()


def _plain_text(value: Any, limit: int) -> str:
    kind = type(value)
    if kind in _PLAIN:
        return _brief(repr, limit).repr(value)
    if kind is tuple or kind is frozenset:
        texts = ", ".join([_plain_text(one, limit) for one in islice(value, limit // 3 + 1)])
        comma = "," if kind is tuple and len(value) == 1 else ""
        return f"({texts}{comma})" if kind is tuple else f"frozenset({{{texts}}})"
    if issubclass(kind, Enum) and kind.__repr__ is Enum.__repr__:
        return Enum.__repr__(value)
    return object.__repr__(value)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
