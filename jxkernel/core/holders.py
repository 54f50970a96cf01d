"""What holds an object: the variables, closures, attributes and containers that keep it alive.

The search goes in breadth, all objects at once: each step is one scan of what the collector knows.
It looks at objects and runs nothing of theirs: no property, no ``__getattr__``, no ``__iter__`` and
no ``__repr__``, for these may compute, and what an object says of its class may be a lie. An object
of this package may have a method ``as_holder``, which says in words what it is.
"""

from __future__ import annotations

import gc
import inspect
import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from types import (
    CellType,
    FrameType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
    TracebackType,
)
from typing import Any

from jxkernel._reprs import in_plain_words
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.trace import Trace, Tracer
from jxkernel.records import record
from jxkernel.source import is_internal

__all__ = ["Holders", "holders_of", "is_history_name"]

_DEPTH = 8
_VISITED = 2000
_COMPARED = 256
_FIRST_KEY = r"^\['(\w+)'\]"
_KEY_LENGTH = 60
# Objects of these packages keep what a notebook shows; outputs are told by their numbers.
_MACHINERY = frozenset(
    ("IPython", "ipykernel", "ipywidgets", "traitlets", "tornado", "asyncio", "_pytest", "pluggy")
)
# What IPython keeps of results and inputs: Out, _, __, _1, _i, _oh ...
_OF_IPYTHON = r"_+\d*|_i+\d*|_oh|_dh|_ih|Out|In"
_bases_of: Any = vars(type)["__mro__"].__get__
_names_of_class: Any = vars(type)["__dict__"].__get__
_items_of: Any = vars(dict)["items"]
_SEQUENCES: tuple[Any, ...] = (list, tuple, deque)


@record()
class Holders:
    """What holds one object.

    Attributes:
      named: the variables and the ways from them, such as ``log[0], a global variable of
        __main__``.
      anonymous: where none was found, an object that holds it: ``an object of type Model.w``.
      by_traceback: whether the traceback of an error holds it, which goes with the error.
    """

    named: tuple[str, ...]
    anonymous: str | None = None
    by_traceback: bool = False

    @property
    def first(self) -> str | None:
        """One holder; None where only tracebacks and this package are."""
        if self.named:
            return self.named[0]
        return None if self.by_traceback else self.anonymous


class _Reached:
    """An object on the way from one of the objects asked for to what holds it."""

    __slots__ = ("of", "value", "way")

    def __init__(self, value: Any, way: str, of: int) -> None:
        self.value = value
        self.way = way
        self.of = of


def holders_of(objects: list[Any], limit: int = 1) -> list[Holders]:
    """Return what holds each of some objects, in words.

    Args:
      objects: the objects; the list itself is no holder.
      limit: how many holders of each are looked for.
    """
    search = _Search(objects, limit)
    reached = [_Reached(one, "", number) for number, one in enumerate(objects)]
    for depth in range(_DEPTH + 1):
        reached = search.step(reached, is_last=depth == _DEPTH)
        if not reached:
            break
    return [
        Holders(tuple(named), anonymous, by_traceback)
        for named, anonymous, by_traceback in zip(
            search.named, search.anonymous, search.by_traceback, strict=True
        )
    ]


class _Search:
    """What was found so far, for each object, and what was visited."""

    __slots__ = ("anonymous", "by_traceback", "cells", "limit", "named", "own", "seen", "visits")

    def __init__(self, objects: list[Any], limit: int) -> None:
        self.limit = limit
        self.named: list[list[str]] = [[] for _ in objects]
        self.anonymous: list[str | None] = [None] * len(objects)
        self.by_traceback = [False] * len(objects)
        self.own = id(objects)
        self.cells: dict[int, str] = {}
        self.seen: set[tuple[int, int, int]] = set()
        self.visits = _VISITED * max(1, len(objects) // 4)

    def step(self, reached: list[_Reached], *, is_last: bool) -> list[_Reached]:
        """Go from some objects to what refers to them, and return what is to be followed."""
        wanted: dict[int, list[_Reached]] = {}
        for one in reached:
            if len(self.named[one.of]) < self.limit:
                wanted.setdefault(id(one.value), []).append(one)
        values = tuple([ones[0].value for ones in wanted.values()])
        further: list[_Reached] = []
        referrers = _referrers(values)
        own = {id(values), id(referrers), self.own}
        cells = tuple([one for one in referrers if type(one) is CellType])
        self.cells = _names_of_cells(cells)
        for referrer in referrers:
            if id(referrer) in own or self.visits <= 0:
                continue
            for referent in gc.get_referents(referrer):
                for one in wanted.get(id(referent), ()):
                    further += self._follow(referrer, one)
        return [] if is_last else further

    def _follow(self, referrer: Any, one: _Reached) -> Iterator[_Reached]:
        """Note what a referrer is to an object; yield it where its own holders are to be found."""
        edge = (id(referrer), id(one.value), one.of)
        if edge in self.seen or _is_own(referrer):
            self.by_traceback[one.of] = self.by_traceback[one.of] or _is_over(referrer)
            return
        self.visits -= 1
        name = self.cells.get(id(referrer)) or _named(referrer, one.value)
        if name is not None:
            told = name.replace("{way}", one.way)
            if len(self.named[one.of]) < self.limit and told not in self.named[one.of]:
                self.named[one.of].append(told)
            return  # a namespace, in which there may be other ways too
        self.seen.add(edge)
        step = None if _module_of(referrer) else _step(referrer, one.value)
        if step is None:
            return
        # The dictionary of an object's attributes is no container of its own.
        is_attribute = type(referrer) is not CellType and not step
        way = re.sub(_FIRST_KEY, r".\1", one.way) if is_attribute else one.way
        if self.anonymous[one.of] is None and not _is_passing(referrer):
            kind = type(referrer).__name__
            self.anonymous[one.of] = f"an object of type {kind}{step}{way}"
        # The parts of this package's own objects mean nothing to a user: the object is told.
        is_ours = _is_of_this_package(_kind_of(referrer))
        yield _Reached(referrer, "" if is_ours else f"{step}{way}", one.of)


def _referrers(values: tuple[Any, ...]) -> list[Any]:
    """Return what refers to any of some objects, among all that the collector knows.

    Its own search compares each reference with each object asked for, so many are looked up in a
    set instead.  The objects come in a tuple, which is what that search is given: a list would be
    copied into one, and be found.
    """
    if len(values) <= _COMPARED:
        return gc.get_referrers(*values) if values else []
    wanted = frozenset(map(id, values))
    return [
        one for one in gc.get_objects() if not wanted.isdisjoint(map(id, gc.get_referents(one)))
    ]


def _is_own(referrer: Any) -> bool:
    """Whether a referrer is this package's or the interpreter's machinery."""
    kind = _kind_of(referrer)
    if issubclass(kind, (TracebackType, ModuleType, Iterator, _Reached)):
        return kind is not GeneratorType
    if kind is FrameType:
        return is_internal(referrer.f_code) or _is_over(referrer)
    if _package_of(kind) in _MACHINERY:
        return True
    return issubclass(kind, (Trace, Tracer)) and not issubclass(kind, Mapping)


def _is_passing(referrer: Any) -> bool:
    """Whether an object says nothing by its type: it is a part of others, or of this package."""
    kind = _kind_of(referrer)
    if issubclass(kind, (dict, tuple, CellType)):
        return True
    return _is_of_this_package(kind)


def _is_of_this_package(kind: type) -> bool:
    return _package_of(kind) == __name__.partition(".")[0]


def _kind_of(one: object) -> Any:
    """Return an object's type, whatever it says of its class."""
    return type(one)


def _package_of(kind: type) -> str:
    module = _names_of_class(kind).get("__module__", "")
    return module.partition(".")[0] if type(module) is str else ""


def _is_over(frame: Any) -> bool:
    """Whether an object is the frame of a call that is over: a traceback holds it."""
    if type(frame) is not FrameType:
        return False
    current = inspect.currentframe()
    while current is not None:
        if current is frame:
            return False
        current = current.f_back
    return True


def _module_of(namespace: Any) -> ModuleType | None:
    """Return the module whose names a dictionary holds."""
    if _kind_of(namespace) is not dict:
        return None
    name = namespace.get("__name__")
    module = sys.modules.get(name) if type(name) is str else None
    return module if module is not None and _dictionary_of(module) is namespace else None


def _named(referrer: Any, held: Any) -> str | None:
    """Return how a namespace calls an object, with a place for the way from there, or None."""
    kind = _kind_of(referrer)
    if kind is FrameType:
        for name, value in referrer.f_locals.items():
            if value is held:
                place = f"{referrer.f_code.co_filename}:{referrer.f_lineno}"
                return f"{name}{{way}}, a local variable of {referrer.f_code.co_name} ({place})"
        return None
    if _module_of(referrer) is not None:
        module = referrer["__name__"]
        for name, value in referrer.items():
            if value is held and not (module == "__main__" and is_history_name(name)):
                return f"{name}{{way}}, a global variable of {module}"
        return None
    if kind is ClosedJaxpr:
        return f"a constant of the program of {referrer.jaxpr.name or 'a function'}"
    if kind is FunctionType and referrer.__defaults__ is held:
        code = referrer.__code__
        place = f"{code.co_filename}:{code.co_firstlineno}"
        return None if is_internal(code) else f"the defaults{{way}} of {code.co_name} ({place})"
    if _is_of_this_package(kind) and "as_holder" in _names_of_class(kind):
        return referrer.as_holder()
    return None


def is_history_name(name: str) -> bool:
    """Whether IPython keeps results and inputs under a name: ``_``, ``_3``, ``Out``."""
    return re.fullmatch(_OF_IPYTHON, name) is not None


def _names_of_cells(cells: tuple[CellType, ...]) -> dict[int, str]:
    """Return how closures call their variables, by the cell, with a place for the way from there.

    All cells at once: each search looks through everything that the collector knows.
    """
    closures: list[Any] = [
        one for one in _referrers(cells) if type(one) is tuple and one is not cells
    ]
    known = set(map(id, closures))
    names: dict[int, str] = {}
    for function in _referrers(tuple(closures)):
        if type(function) is not FunctionType or id(function.__closure__) not in known:
            continue
        code = function.__code__
        if is_internal(code):
            continue
        place = f"{code.co_filename}:{code.co_firstlineno}"
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            told = f"{name}{{way}}, which {function.__name__} ({place}) closes over"
            names.setdefault(id(cell), told)
    return names


def _step(referrer: Any, held: Any) -> str | None:
    """Return the way from a container or object to what it holds, or None."""
    kind = _kind_of(referrer)
    if issubclass(kind, dict):
        items: Any = _items_of(referrer)
        return next((f"[{_key(key)}]" for key, one in items if one is held), None)
    for container in _SEQUENCES:
        if issubclass(kind, container):
            places = enumerate(container.__iter__(referrer))
            return next((f"[{place}]" for place, one in places if one is held), None)
    if issubclass(kind, (set, frozenset)):
        return " (an element of it)"
    if kind is CellType or _dictionary_of(referrer) is held:
        return ""
    return next((f".{name}" for name, one in _attributes_of(referrer) if one is held), None)


def _key(key: Any) -> str:
    return in_plain_words(key, _KEY_LENGTH)


def _attributes_of(one: Any) -> Iterator[tuple[str, Any]]:
    """Yield an object's own attributes, those in its dictionary and those in its slots."""
    yield from (_dictionary_of(one) or {}).items()
    for kind in _bases_of(type(one)):
        names = _names_of_class(kind)
        if "__slots__" in names:
            for name, slot in names.items():
                if type(slot) is MemberDescriptorType:
                    try:
                        yield name, slot.__get__(one)
                    except AttributeError:  # an empty slot
                        continue


def _dictionary_of(one: Any) -> dict[str, Any] | None:
    """Return the dictionary of an object's attributes, if it has one."""
    for kind in _bases_of(type(one)):
        found = _names_of_class(kind).get("__dict__")
        if type(found) in (GetSetDescriptorType, MemberDescriptorType):
            return found.__get__(one)
    return None
