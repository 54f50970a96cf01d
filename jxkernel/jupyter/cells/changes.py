"""In-place changes that a cell makes: to traced inputs, kept; to static objects, undone on failure.

An array's place in a container is the same before and after when the very tracer stands there;
such a leaf is ``Kept``: the notebook's own object stays, be it an array or a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from jxkernel import tree
from jxkernel._reprs import in_words
from jxkernel.core.trace import Tracer
from jxkernel.jupyter.code.functions import captured_values, globals_read, is_of_the_user
from jxkernel.tree import physical

__all__ = ["Change", "HeldObjects", "TracedInputs", "apply_change"]

_NODES = 20_000
_Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """A leaf that the cell left alone, by its number among the input's leaves."""

    number: int


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a traced input that the cell changed in place.

    Attributes:
      value: the changed pytree, with ``Kept`` for each leaf that was left alone.
      places: the paths of the containers that are still the same objects.
    """

    value: Any
    places: frozenset[_Path]


tree.register_pytree_node(
    Change,
    lambda change: ((change.value,), change.places),
    lambda places, children: Change(children[0], places),
)


class TracedInputs:
    """The traced inputs as a cell gets them, to see afterwards what it changed in place."""

    def __init__(self, traced: Mapping[str, Any]) -> None:
        self._inputs = {
            name: value for name, value in traced.items() if not isinstance(value, Tracer)
        }
        self._before = {name: physical.flatten(value) for name, value in self._inputs.items()}
        self._containers = {name: dict(_containers(one)) for name, one in self._inputs.items()}

    def changes(self, names: Mapping[str, Any], whole: Iterable[str] = ()) -> dict[str, Change]:
        """Return the inputs that were changed and are still bound to their names.

        Args:
          names: what the cell's names hold at its end.
          whole: names of which no leaf can be kept: their arrays are donated.
        """
        found = {}
        for name, value in self._inputs.items():
            if names.get(name) is not value:
                continue
            before, structure = self._before[name]
            leaves, now = physical.flatten(value)
            same = len(leaves) == len(before) and all(map(_is, leaves, before))
            if now != structure or not same:
                numbers = {} if name in whole else {id(one): i for i, one in enumerate(before)}
                marked = [Kept(numbers[id(one)]) if id(one) in numbers else one for one in leaves]
                held = self._containers[name]
                places = [path for path, one in _containers(value) if held.get(path) is one]
                found[name] = Change(tree.unflatten(now, marked), frozenset(places))
        return found


def apply_change(value: Any, change: Change) -> Any:
    """Change the notebook's object as the cell changed its traced copy, and return it."""
    return _merged(value, change.value, (), change.places, physical.leaves(value))


def _merged(old: Any, new: Any, path: _Path, places: frozenset[_Path], leaves: list[Any]) -> Any:
    if isinstance(new, Kept):
        return leaves[new.number]
    parts = {
        key: _merged(_part(old, key), part, (*path, key), places, leaves)
        for key, part in _parts(new)
    }
    target = old if path in places and type(old) is type(new) else new
    match target:
        case dict():
            if target is old:
                target.clear()
            target.update(parts)
        case list():
            target[:] = parts.values()
        case tuple():
            values = parts.values()
            if type(old) is type(new) and len(old) == len(new) and all(map(_is, values, old)):
                return old
            target = type(target)(*values) if hasattr(target, "_fields") else tuple(values)
        case _ if parts:
            vars(target).update(parts)
    return target


def _part(value: Any, key: Any) -> Any:
    return dict(_parts(value)).get(key)


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    """The children of a pytree's container, by index, key or attribute."""
    match value:
        case dict():
            return list(value.items())
        case list() | tuple():
            return list(enumerate(value))
        case _ if tree.is_tree_node(type(value)) and hasattr(value, "__dict__"):
            return list(vars(value).items())
        case _:
            return ()


def _containers(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, Any]]:
    """The containers of a pytree that can be changed in place, with their paths."""
    parts = list(_parts(value))
    if isinstance(value, dict | list) or (parts and not isinstance(value, tuple)):
        yield path, value
    for key, part in parts:
        yield from _containers(part, (*path, key))


def _is(one: Any, other: Any) -> bool:
    return one is other


class HeldObjects:
    """The lists, dicts, sets and objects that static values lead to, as they were.

    Args:
      values: the static values, by name.
      namespace: the notebook's variables, for what functions read.
    """

    def __init__(self, values: Mapping[str, Any], namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._held: list[tuple[str, Any, Any]] = []
        seen: set[int] = set()
        waiting = list(values.items())
        while waiting and len(seen) < _NODES:
            way, value = waiting.pop()
            if id(value) not in seen:
                seen.add(id(value))
                content = _content(value)
                if content is not None:
                    self._held.append((way, value, content))
                waiting += self._led_to(way, value)

    def _led_to(self, way: str, value: Any) -> Iterable[tuple[str, Any]]:
        if isinstance(value, FunctionType):
            if not is_of_the_user(value):
                return []
            names = [name for name in globals_read(value.__code__) if name in value.__globals__]
            captured = zip(value.__code__.co_freevars, captured_values(value), strict=True)
            return [(name, value.__globals__[name]) for name in names] + list(captured)
        if isinstance(value, MethodType):
            return [(way, value.__func__), (f"{way}.__self__", value.__self__)]
        return _ways(way, value)

    def leaks(self) -> list[tuple[str, str]]:
        """The traced values that objects hold now and did not before, each with its holder."""
        found = []
        for way, value, before in self._held:
            known = {id(part) for _, part in _ways(way, before)}
            for holder, part in _ways(way, _content(value)):
                if id(part) not in known:
                    found += [(_spoken(one), holder) for one in _tracers(part)]
        return found

    def restore(self) -> None:
        """Put everything back as it was."""
        for way, value, before in self._held:
            if _same(_ways(way, before), _ways(way, _content(value))):
                continue
            match value:
                case list():
                    value[:] = before
                case dict() | set():
                    value.clear()
                    value.update(before)
                case _:
                    vars(value).clear()
                    vars(value).update(before.attributes)


@dataclass(frozen=True, slots=True)
class _Attributes:
    """A copy of an object's attributes."""

    attributes: dict[str, Any]


def _content(value: Any) -> Any:
    """A copy of what could be changed in place; None for what is looked at no further."""
    match value:
        case list() | dict() | set():
            return value.copy()
        case _:
            attributes = getattr(value, "__dict__", None)
            mine = isinstance(attributes, dict) and is_of_the_user(type(value))
            return _Attributes(attributes.copy()) if mine and attributes is not None else None


def _ways(way: str, value: Any) -> list[tuple[str, Any]]:
    """The parts of an object or of a copy of its content, with how to write each."""
    match value:
        case list() | tuple():
            return [(f"{way}[{number}]", part) for number, part in enumerate(value)]
        case dict():
            return [(f"{way}[{in_words(key, 40)}]", part) for key, part in value.items()]
        case set():
            return [(way, part) for part in value]
        case _Attributes():
            return [(f"{way}.{name}", part) for name, part in value.attributes.items()]
        case _:
            content = _content(value)
            return [] if content is None else _ways(way, content)


def _same(before: list[tuple[str, Any]], now: list[tuple[str, Any]]) -> bool:
    return len(before) == len(now) and all(
        way == other and part is one for (way, part), (other, one) in zip(before, now, strict=True)
    )


def _tracers(value: Any) -> Iterator[Tracer]:
    try:
        leaves = physical.leaves(value)
    except Exception:  # foreign flatten functions, dict keys that cannot be sorted
        return
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            yield leaf
        else:
            yield from (part for _, part in _ways("", leaf) if isinstance(part, Tracer))


def _spoken(tracer: Tracer) -> str:
    return f"a traced value of type {tracer.aval.short(weak=True)}"
