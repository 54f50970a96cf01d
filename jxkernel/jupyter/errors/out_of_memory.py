"""What an error says that ran out of memory: what holds it, and what gives it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jxkernel._jaxlib import JaxRuntimeError
from jxkernel.core.holders import is_history_name
from jxkernel.jupyter.code.needs import names_needed
from jxkernel.jupyter.errors.last_error import TRACEBACKS
from jxkernel.observe import LiveArray, LiveMemory, holding_name, live
from jxkernel.observe.explain import format_size
from jxkernel.observe.memory import ways_in

__all__ = ["Held", "Shortage", "shortage_of", "tell_of_memory"]

_ASKED = re.compile(r"allocating (\d+) bytes")
_NAMED = 4
_WORTH = 0.01
"""Which part of all arrays something must hold to be named."""

_OF_ERRORS = "the traceback of an error"


@dataclass(frozen=True, slots=True)
class Held:
    """Something that holds arrays.

    Attributes:
      name: a variable, an output as ``Out[3]``, or in words what else holds them.
      bytes: their size; an array that several hold counts for the first of them.
      is_free: whether ``%jx free`` takes the name, and the cell does not need it.
    """

    name: str
    bytes: int
    is_free: bool


@dataclass(frozen=True, slots=True)
class Shortage:
    """Memory that was asked for and could not be had.

    Attributes:
      asked: how many bytes were asked for, or None.
      free: how many are free on the fullest device, or None.
      bytes: the size of all arrays.
      largest: what holds most of it, the largest first.
    """

    asked: int | None
    free: int | None
    bytes: int
    largest: tuple[Held, ...]

    @property
    def offered(self) -> tuple[Held, ...]:
        """What may be deleted before the cell runs again; nothing where that is not enough."""
        given = [one for one in self.largest if one.is_free]
        rest = self.free if self.asked is not None else None
        is_enough = rest is None or rest + sum(one.bytes for one in given) >= (self.asked or 0)
        return tuple(given) if is_enough else ()

    @property
    def figures(self) -> str:
        """What was asked for, what is free and what is held, in a sentence."""
        known = {"was asked for": self.asked, "is free": self.free}
        parts = [f"{format_size(size)} {what}" for what, size in known.items() if size is not None]
        return f"Memory: {', '.join([*parts, f'arrays hold {format_size(self.bytes)}'])}."

    @property
    def notes(self) -> list[str]:
        """What is said below the error, line by line."""
        notes = [self.figures]
        if self.largest:
            names = [f"{one.name} {format_size(one.bytes)}" for one in self.largest]
            notes.append(f"The largest {'are' if len(names) > 1 else 'is'} {', '.join(names)}.")
        free = ", ".join(one.name for one in self.largest if one.is_free)
        if self.offered:
            size = format_size(sum(one.bytes for one in self.offered))
            notes.append(
                f"%jx free {free} gives back {size}, which this cell does not read; then run the "
                "cell again. %jx live shows all that is held."
            )
        elif self.asked is not None and self.free is not None and self.free < self.asked:
            even = f"even without {free}" if free else "here"
            notes.append(f"It does not fit {even}: divide the work, or take a smaller dtype.")
        return notes


def tell_of_memory(error: BaseException, namespace: Mapping[str, Any], cell: str) -> None:
    """Add notes to an error of the device's that ran out of memory; once."""
    is_told = any(note.startswith("Memory:") for note in getattr(error, "__notes__", ()))
    found = None if is_told else shortage_of(error, namespace, cell)
    for note in found.notes if found else ():
        error.add_note(note)


def shortage_of(error: BaseException, namespace: Mapping[str, Any], cell: str) -> Shortage | None:
    """Return what holds memory, where an error says that there is not enough; else None.

    Args:
      error: what the cell raised.
      namespace: the variables.
      cell: its text. What it reads is not offered to be deleted.
    """
    if not isinstance(error, JaxRuntimeError) or "RESOURCE_EXHAUSTED" not in str(error):
        return None
    asked = _ASKED.search(str(error))
    found = live(namespace, unnamed_only=True)
    return _shortage(int(asked.group(1)) if asked else None, found, _needed(cell, namespace))


def _needed(cell: str, namespace: Mapping[str, Any]) -> frozenset[str]:
    """The variables that a cell needs, those included whose arrays its functions have captured."""
    names, captured = names_needed(cell, namespace)
    inside = {id(array) for one in captured for _, array in ways_in({"captured": one})}
    also = {holding_name(way) for way, array in ways_in(namespace) if id(array) in inside}
    return names | also


def _shortage(asked: int | None, found: LiveMemory, needed: frozenset[str]) -> Shortage:
    known = [one.free for one in found.devices if one.free is not None]
    sizes: dict[str, int] = {}
    kept: set[str] = set()
    for one in found.arrays:
        name = _name_of(one)
        if name and not one.deleted:
            sizes[name] = sizes.get(name, 0) + one.bytes
            # An array that the cell reads by another name is not to be deleted either.
            kept.update([name] if _is_needed(one, needed) else [])
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:_NAMED]
    held = [
        Held(_in_words(name), size, name not in kept)
        for name, size in largest
        if size > found.bytes * _WORTH
    ]
    return Shortage(asked, min(known) if known else None, found.bytes, tuple(held))


def _name_of(one: LiveArray) -> str:
    """What holds an array: a variable, an output, or in words what else keeps it."""
    if one.names:
        return holding_name(one.names[0])
    if one.outputs:
        return f"Out[{one.outputs[0]}]"
    return one.holders[0] if one.holders else ""


def _in_words(name: str) -> str:
    return TRACEBACKS if name == _OF_ERRORS else name


def _is_needed(one: LiveArray, needed: frozenset[str]) -> bool:
    """Whether a cell needs an array, or nothing is known by which it could be deleted."""
    if not one.names and not one.outputs:
        return one.holders[:1] != (_OF_ERRORS,)
    ways = [holding_name(name) for name in one.names]
    is_shown = bool(one.outputs) and any(map(is_history_name, needed))
    return is_shown or any(name in needed for name in ways)
