"""What each source line costs in the programs that jit keeps."""

from __future__ import annotations

from dataclasses import dataclass

from jxkernel import source
from jxkernel.api.jit import traced_functions
from jxkernel.core.jaxpr import Jaxpr
from jxkernel.observe.costs import Cost, equation_cost

__all__ = ["LineCost", "line_costs"]

Place = tuple[str, int]
"""A file and a line."""


@dataclass(frozen=True, slots=True)
class LineCost:
    """A source line, and what one run of the program costs that it costs most in.

    Attributes:
      file: the file; of a cell, the one that IPython keeps it under.
      line: the line, from 1.
      flops: floating-point operations.
      bytes: bytes read and written, before XLA fuses operations.
    """

    file: str
    line: int
    flops: int
    bytes: int


def line_costs() -> tuple[LineCost, ...]:
    """Return the cost of each line of the user's, from the latest trace of each living function.

    >>> import jxkernel as jx
    >>> from jxkernel.observe.line_costs import line_costs
    >>> @jx.jit
    ... def sines(x):
    ...     return jx.numpy.sin(x)
    >>> result = sines(jx.numpy.ones(100))
    >>> any(one.bytes == 800 for one in line_costs())
    True
    """
    found: dict[Place, Cost] = {}
    for _, traces in list(traced_functions()):
        latest = next(reversed(list(traces.values())), None)
        for place, cost in _by_line(latest.closed.jaxpr).items() if latest else ():
            known = found.get(place, Cost())
            most = Cost(max(known.flops, cost.flops), max(known.bytes, cost.bytes))
            found[place] = most
    return tuple(
        LineCost(file, line, cost.flops, cost.bytes) for (file, line), cost in found.items()
    )


def _by_line(jaxpr: Jaxpr) -> dict[Place, Cost]:
    costs: dict[Place, Cost] = {}
    for eqn in jaxpr.eqns:
        frame = source.user_frame(eqn.source)
        if frame is not None:
            place = (frame.file, frame.line)
            costs[place] = costs.get(place, Cost()) + equation_cost(eqn)
    return costs
