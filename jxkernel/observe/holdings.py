"""Which variables and outputs hold arrays, and how much: what may be given back by name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jxkernel.observe.memory import LiveArray, LiveMemory

__all__ = ["Holding", "holding_name", "holdings"]

_VARIABLE = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Holding:
    """A variable or an output that holds arrays.

    Attributes:
      name: ``params``, ``Out[3]``.
      arrays: how many.
      bytes: their size.
    """

    name: str
    arrays: int
    bytes: int


def holdings(found: LiveMemory) -> tuple[Holding, ...]:
    """Return the variables and outputs that hold arrays, the largest first.

    Args:
      found: what ``live`` returned.

    >>> from jxkernel import numpy as jnp
    >>> from jxkernel.observe import holdings, live
    >>> names = {"w": {"a": jnp.ones(4), "b": jnp.ones(2)}}
    >>> holdings(live(names, holders=False))[:1]
    (Holding(name='w', arrays=2, bytes=24),)
    """
    counts: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for one in found.arrays:
        for name in _names(one):
            counts[name] = counts.get(name, 0) + 1
            sizes[name] = sizes.get(name, 0) + one.bytes
    named = sorted(counts, key=lambda name: (-sizes[name], name))
    return tuple(Holding(name, counts[name], sizes[name]) for name in named)


def holding_name(way: str) -> str:
    """Return the variable that a way begins with: ``params`` of ``params['w']``.

    An output, ``Out[3]``, is a whole.

    >>> from jxkernel.observe import holding_name
    >>> holding_name("params['w']"), holding_name("Out[3]")
    ('params', 'Out[3]')
    """
    found = _VARIABLE.match(way)
    return way if way.startswith("Out[") or found is None else found[0]


def _names(array: LiveArray) -> list[str]:
    outputs = [f"Out[{number}]" for number in array.outputs]
    return list(dict.fromkeys([*map(holding_name, array.names), *outputs]))
