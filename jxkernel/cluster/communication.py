"""What a program sends between devices, and what that would take, before it runs.

The collectives are those of the program that XLA has compiled, so those that it put in itself are
among them.  Times are of the usual ring algorithms: of ``n`` devices each sends ``(n - 1) / n`` of
the bytes (twice that for a sum on all) in as many steps as there are other devices, each with the
link's latency.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jxkernel.config import enable_compilation_cache
from jxkernel.observe.programs import line_of
from jxkernel.observe.stages import optimized_lines
from jxkernel.records import record
from jxkernel.sharding import NamedSharding
from jxkernel.tree import physical

__all__ = ["LINKS", "Collective", "Link", "communication"]


@record()
class Link:
    """What joins devices.

    Attributes:
      name: its name.
      bytes_per_second: what a device sends.
      latency: of one message, in seconds.
    """

    name: str
    bytes_per_second: float
    latency: float


LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        Link("loopback", 2e9, 5e-5),
        Link("ethernet-10", 1.25e9, 5e-5),
        Link("ethernet-100", 12.5e9, 1e-5),
        Link("infiniband-400", 50e9, 2e-6),
        Link("nvlink-4", 450e9, 1e-6),
    )
}
"""Links by name: what is written on them, in one direction; what programs reach is less."""


@record()
class Collective:
    """A collective of a compiled program.

    Attributes:
      kind: what it does, as XLA calls it.
      bytes: the size of the whole that it makes, or takes where that is larger, on a device.
      devices: how many devices exchange.
      axes: the mesh axes along which they lie; empty where they are none.
      in_loop: whether it lies in a computation that another calls, such as a loop's body.
      file: the user's file; empty when it came from none.
      line: the line there.
    """

    kind: str
    bytes: int
    devices: int
    axes: tuple[Any, ...]
    in_loop: bool
    file: str
    line: int

    @property
    def code(self) -> str:
        """The user's line."""
        return line_of(self.file, self.line).strip() if self.file else ""

    @property
    def instead(self) -> str:
        """How the data would have to lie for it not to be needed."""
        return _INSTEAD[self.kind].format(axes=", ".join(map(str, self.axes)) or "the devices")

    def seconds(self, link: Link) -> float:
        """Return how long it takes on a link."""
        others = self.devices - 1
        if not others:
            return 0.0
        if self.kind == "collective-permute":
            return link.latency + self.bytes / link.bytes_per_second
        rounds = 2 if self.kind == "all-reduce" else 1
        sent = self.bytes * others / self.devices
        return rounds * (others * link.latency + sent / link.bytes_per_second)


_INSTEAD = {
    "all-reduce": "divide an axis that is not summed over along {axes}",
    "all-gather": "leave what is read whole along {axes}, or divide the result as well",
    "reduce-scatter": "divide an axis that is not summed over along {axes}",
    "all-to-all": "divide the same axis along {axes} before and after",
    "collective-permute": "keep what is read together on one device of {axes}",
}

_INSTRUCTION = re.compile(rf"= (\([^=]*?\)|\S+) ({'|'.join(_INSTEAD)})(?:-start)?\(")
_SHAPE = re.compile(r"([a-z]+\d*)[a-z0-9]*\[([\d,]*)\]")
_LISTED = re.compile(r"replica_groups=\{(\{[\d,]*\}(?:,\{[\d,]*\})*)\}")
_TILED = re.compile(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_PAIRS = re.compile(r"source_target_pairs=\{(\{\d+,\d+\}(?:,\{\d+,\d+\})*)\}")


def communication(traced: Any) -> list[Collective]:
    """Return the collectives of a traced function as XLA would run them, in order.

    Args:
      traced: a stage such as ``jx.jit(f).trace(x)``; it is compiled, and not run.

    >>> import jxkernel as jx, numpy as np
    >>> from jxkernel import cluster
    >>> rows = jx.NamedSharding(jx.make_mesh((1,), ("x",)), jx.P("x"))
    >>> cluster.communication(jx.jit(lambda x: x.sum()).trace(jx.device_put(np.ones(4), rows)))
    []
    """
    # What comes from disk bears the lines of the program that was compiled first.
    with enable_compilation_cache(False):
        compiled = traced.lower().compile()
    mesh = _mesh(compiled)
    found, is_entry = [], False
    for one in optimized_lines(compiled.as_text()):
        if one.text.startswith(("%", "ENTRY")):
            is_entry = one.text.startswith("ENTRY")
        match = _INSTRUCTION.search(one.text)
        if match:
            found.append(_collective(one, match, mesh, in_loop=not is_entry))
    return found


def _mesh(compiled: Any) -> Any:
    shardings = physical.leaves((compiled.input_shardings, compiled.output_shardings))
    meshes = [one.mesh for one in shardings if isinstance(one, NamedSharding)]
    return max(meshes, key=lambda mesh: mesh.size, default=None)


def _collective(one: Any, match: re.Match[str], mesh: Any, *, in_loop: bool) -> Collective:
    kind = match[2]
    groups = _pairs(one.text) if kind == "collective-permute" else _groups(one.text)
    devices = max((len(group) for group in groups), default=1 if mesh is None else mesh.size)
    size = _bytes(match[1])
    if kind == "reduce-scatter":
        size *= devices
    axes = () if mesh is None else _axes(groups, mesh)
    return Collective(kind, size, devices, axes, in_loop, one.file, one.line)


def _bytes(shapes: str) -> int:
    """Return the size of a result, of a tuple that of all its parts."""
    return sum(
        math.prod(int(size) for size in sizes.split(",") if size) * _width(dtype)
        for dtype, sizes in _SHAPE.findall(shapes)
    )


def _width(dtype: str) -> int:
    bits = re.search(r"\d+", dtype)
    return 1 if bits is None else max(int(bits[0]) // 8, 1)


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _groups(text: str) -> list[list[int]]:
    """Return which devices exchange, as their places in the program's order."""
    listed = _LISTED.search(text)
    if listed:
        return [_numbers(group) for group in listed[1].split("},{")]
    tiled = _TILED.search(text)
    if tiled is None:
        return []
    places = np.arange(math.prod(_numbers(tiled[2]))).reshape(_numbers(tiled[2]))
    if tiled[3]:
        places = places.transpose(_numbers(tiled[3]))
    return places.reshape(_numbers(tiled[1])).tolist()


def _pairs(text: str) -> list[list[int]]:
    """Return the groups within which devices send to each other."""
    found = _PAIRS.search(text)
    groups: list[set[int]] = []
    for pair in found[1].split("},{") if found else ():
        group = set(_numbers(pair))
        joined = [other for other in groups if other & group]
        groups = [other for other in groups if not other & group]
        groups.append(group.union(*joined))
    return [sorted(group) for group in groups]


def _axes(groups: Sequence[Sequence[int]], mesh: Any) -> tuple[Any, ...]:
    """Return the fewest mesh axes along which the devices of each group lie."""
    if not groups:
        return tuple(mesh.axis_names)
    wanted = {frozenset(group) for group in groups}
    for axes in _subsets(mesh.axis_names):
        along = _along(mesh, axes)
        if all(any(group <= other for other in along) for group in wanted):
            return axes
    return tuple(mesh.axis_names)


def _subsets(names: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    for count in range(1, len(names) + 1):
        yield from itertools.combinations(names, count)


def _along(mesh: Any, axes: Sequence[Any]) -> list[frozenset[int]]:
    """Return the groups of devices that differ in some axes only."""
    places = np.arange(mesh.size).reshape(mesh.devices.shape)
    moved = [place for place, name in enumerate(mesh.axis_names) if name in axes]
    kept = [place for place in range(places.ndim) if place not in moved]
    rows = places.transpose(kept + moved).reshape(
        -1, math.prod(places.shape[place] for place in moved)
    )
    return [frozenset(row.tolist()) for row in rows]
