"""Other layouts of a call's arguments, with which XLA sends less between devices.

They are not derived but tried: an argument is divided along another of its axes, or whole on every
device, and XLA compiles the call anew.
"""

from __future__ import annotations

import inspect
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from jxkernel import tree
from jxkernel.cluster.communication import Collective, communication
from jxkernel.compile import ShapeDtypeStruct
from jxkernel.events import private
from jxkernel.records import record
from jxkernel.sharding import Mesh, NamedSharding, PartitionSpec
from jxkernel.tree import physical

__all__ = ["Layout", "other_layouts"]

_MOST_TRIED = 16


@record()
class Layout:
    """A call with one argument laid out otherwise.

    Attributes:
      argument: its name, and its place in it.
      spec: how it is divided.
      collectives: what XLA would send then.
    """

    argument: str
    spec: PartitionSpec
    collectives: tuple[Collective, ...]

    @property
    def bytes(self) -> int:
        """The bytes of all collectives together."""
        return sum(one.bytes for one in self.collectives)

    def avoids(self, collective: Collective) -> bool:
        """Whether what another layout sends for a line is not sent."""
        wanted = collective.kind, collective.file, collective.line
        return wanted not in {(one.kind, one.file, one.line) for one in self.collectives}


def other_layouts(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    before: int,
    seconds: float = math.inf,
) -> list[Layout]:
    """Return the layouts with which a call sends fewer bytes: divided ones first, then by bytes.

    Args:
      function: a jitted function; it is compiled, and not run.
      args: its arguments: arrays, or shapes with shardings.
      kwargs: those given by name.
      before: how many bytes it sends as they are.
      seconds: after how long no further layout is tried.
    """
    leaves, structure = physical.flatten_with_path((tuple(args), dict(kwargs)))
    deadline, found = time.monotonic() + seconds, []
    tried = ((place, spec) for place, (_, x) in enumerate(leaves) for spec in _specs(x))
    for place, spec in itertools.islice(tried, _MOST_TRIED):
        if time.monotonic() > deadline:
            break
        path, x = leaves[place]
        values = [value for _, value in leaves]
        sharding = NamedSharding(x.sharding.mesh, spec)
        values[place] = ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)
        given, named = tree.unflatten(structure, values)
        try:
            # Not the user's own work: neither told in a ledger nor printed.
            with private(), redirect_stdout(StringIO()):
                sent = communication(function.trace(*given, **named))
        except Exception:  # the function may refuse it, as it likes
            continue
        layout = Layout(_name(function, path), spec, tuple(sent))
        if layout.bytes < before:
            found.append(layout)
    return sorted(found, key=lambda one: (one.spec == PartitionSpec(), one.bytes))


def _specs(x: Any) -> Iterator[PartitionSpec]:
    """Yield the other specs of an argument over the same mesh axes, and that of a whole one."""
    sharding = getattr(x, "sharding", None)
    if not isinstance(sharding, NamedSharding) or not isinstance(sharding.mesh, Mesh):
        return
    sizes = dict(zip(sharding.mesh.axis_names, sharding.mesh.devices.shape, strict=True))
    entries = [*sharding.spec, *[None] * (len(x.shape) - len(sharding.spec))]
    for place, entry in enumerate(entries):
        names = (entry,) if isinstance(entry, str) else tuple(entry or ())
        parts = math.prod(sizes.get(name, 1) for name in names)
        if parts == 1:
            continue
        for other, size in enumerate(x.shape):
            if entries[other] is None and size % parts == 0:
                moved = list(entries)
                moved[place], moved[other] = None, entry
                yield PartitionSpec(*moved)
    if any(entries):
        yield PartitionSpec()


def _name(function: Callable[..., Any], path: Any) -> str:
    """Return an argument's name as its function has it, and the place of a leaf in it."""
    group, which, *inside = path
    if group.idx == 1:
        return f"{which.key}{tree.keystr(tuple(inside))}"
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    name = names[which.idx] if which.idx < len(names) else f"argument {which.idx}"
    return f"{name}{tree.keystr(tuple(inside))}"
