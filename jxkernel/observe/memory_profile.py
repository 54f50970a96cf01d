"""Who made what is held in memory: the runtime's pprof profile, by line of the user's."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jxkernel.observe.explain import format_size
from jxkernel.runtime.profiling import device_memory_profile, memory_profile_data
from jxkernel.source import is_library_file, is_user_file

__all__ = ["MemoryProfile", "MemoryRow", "memory_profile"]

Folder = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """Memory that one line of the user's holds.

    Attributes:
      place: the line that made it, ``file:line``; empty where none is known.
      function: the function that the line is in.
      kind: what it is: ``buffer`` or ``executable``.
      device: where it lies; empty for programs.
      count: how many there are.
      bytes: their size.
    """

    place: str
    function: str
    kind: str
    device: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class MemoryProfile:
    """Who made what is held in memory.

    Attributes:
      rows: by line, the largest first.
      file: where the pprof profile was written, or None.
    """

    rows: tuple[MemoryRow, ...]
    file: str | None = None

    @property
    def bytes(self) -> int:
        """The size of all of it."""
        return sum(row.bytes for row in self.rows)

    def __str__(self) -> str:
        lines = [f"{format_size(self.bytes)} in {sum(row.count for row in self.rows)} pieces"]
        for row in self.rows:
            where = f"{row.place} ({row.function})" if row.place else "no line of yours"
            lines.append(f"  {format_size(row.bytes):>8} {row.count:>4}x {row.kind} {where}")
        return "\n".join([*lines, f"written: {self.file}"] if self.file else lines)


def memory_profile(file: Folder | None = None, backend: str | None = None) -> MemoryProfile:
    """Return what is held on a platform's devices, by the line that made it.

    Args:
      file: where to write the whole profile, for ``pprof``; not written where None.
      backend: the platform; the default one where not given.

    >>> from jxkernel import numpy as jnp
    >>> held = jnp.ones((1000, 1000))
    >>> memory_profile().bytes >= 4_000_000
    True
    """
    profile = device_memory_profile(backend)
    if file is not None:
        Path(file).write_bytes(profile)
    rows = _memory_rows(memory_profile_data(profile))
    return MemoryProfile(rows, None if file is None else os.fspath(file))


def _memory_rows(data: dict[str, Any]) -> tuple[MemoryRow, ...]:
    """Add pprof's samples up by the innermost line of the user's."""
    texts = data["stringTable"]
    functions = {one["id"]: one for one in data.get("function", [])}
    places = {}
    for location in data.get("location", []):
        for line in location.get("line", [])[:1]:
            function = functions.get(line.get("functionId"), {})
            file = texts[int(function.get("filename", 0))]
            name = texts[int(function.get("name", 0))]
            places[location["id"]] = (file, int(line.get("line", 0)), name)
    sums: dict[tuple[str, str, str, str], list[int]] = {}
    for sample in data.get("sample", []):
        about = {
            texts[int(one["key"])]: texts[int(one.get("str", 0))] for one in sample.get("label", [])
        }
        stack = [places[one] for one in sample.get("locationId", []) if one in places]
        place, function = _users(stack)
        key = (place, function, about.get("kind", ""), about.get("device", ""))
        count, size = (int(value) for value in sample["value"][:2])
        added = sums.setdefault(key, [0, 0])
        added[0] += count
        added[1] += size
    rows = [MemoryRow(*key, count, size) for key, (count, size) in sums.items()]
    return tuple(sorted(rows, key=lambda row: -row.bytes))


def _users(stack: list[tuple[str, int, str]]) -> tuple[str, str]:
    for file, line, name in stack:
        if is_user_file(file) and not is_library_file(file):
            return f"{file}:{line}", name
    return "", ""
