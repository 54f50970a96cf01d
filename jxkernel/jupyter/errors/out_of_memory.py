"""What an error says that ran out of memory: what holds it, and what gives it back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from jxkernel._jaxlib import JaxRuntimeError
from jxkernel.observe import LiveArray, LiveMemory, live
from jxkernel.observe.explain import format_size

__all__ = ["tell_of_memory"]

_ASKED = re.compile(r"allocating (\d+) bytes")
_NAMED = 4
_WORTH = 0.01
"""Which part of all arrays a variable must hold to be named."""


def tell_of_memory(error: BaseException, namespace: Mapping[str, Any]) -> None:
    """Add notes to an error of the device's that ran out of memory; once."""
    is_told = any(note.startswith("Memory:") for note in getattr(error, "__notes__", ()))
    if not isinstance(error, JaxRuntimeError) or "RESOURCE_EXHAUSTED" not in str(error) or is_told:
        return
    found = live(namespace, holders=False)
    asked = _ASKED.search(str(error))
    for note in _notes(int(asked.group(1)) if asked else None, found):
        error.add_note(note)


def _notes(asked: int | None, found: LiveMemory) -> list[str]:
    known = [one.free for one in found.devices if one.free is not None]
    free = "" if not known else f"{format_size(min(known))} is free"
    wanted = "" if asked is None else f"{format_size(asked)} was asked for"
    held = f"arrays hold {format_size(found.bytes)}"
    notes = [f"Memory: {', '.join(part for part in (wanted, free, held) if part)}."]
    named = _holders(found)
    given = sum(size for _, size in named)
    if named:
        names = [f"{name} {format_size(size)}" for name, size in named]
        notes.append(f"The largest are {', '.join(names)}.")
    if asked is not None and known and min(known) + given < asked:
        even = "even without them" if named else "here"
        notes.append(f"It does not fit {even}: divide the work, or take a smaller dtype.")
    elif named:
        notes.append(
            f"%jx free {', '.join(name for name, _ in named)} deletes them and gives back "
            f"{format_size(given)}; then run the cell again. %jx live shows all that is held."
        )
    return notes


def _holders(found: LiveMemory) -> list[tuple[str, int]]:
    """The variables and outputs that hold most, each array counted once."""
    sizes: dict[str, int] = {}
    for one in found.arrays:
        name = _name_of(one)
        if name and not one.deleted:
            sizes[name] = sizes.get(name, 0) + one.bytes
    worth = [(name, size) for name, size in sizes.items() if size > found.bytes * _WORTH]
    return sorted(worth, key=lambda item: -item[1])[:_NAMED]


def _name_of(one: LiveArray) -> str:
    """What ``%jx free`` takes for an array: a variable's name, or an output."""
    if one.names:
        return re.split(r"[.\[]", one.names[0])[0]
    return f"Out[{one.outputs[0]}]" if one.outputs else ""
