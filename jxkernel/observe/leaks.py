"""Leaked tracers: values of a trace that is over, what keeps them, and where they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jxkernel.core.holders import holders_of
from jxkernel.core.leaks import living_tracers

__all__ = ["LeakedTracer", "leaks"]

_HOLDERS = 4


@dataclass(frozen=True, slots=True)
class LeakedTracer:
    """A tracer that outlived its trace, in words.

    Attributes:
      type: its type, as errors say it.
      fun: the function whose trace made it; empty where unknown.
      holders: what keeps it: ``log[0], a global variable of __main__``.
      origin: where it was made, nearest first.
    """

    type: str
    fun: str
    holders: tuple[str, ...]
    origin: tuple[str, ...]

    def __str__(self) -> str:
        made = f", made while {self.fun} was traced" if self.fun else ""
        lines = [f"{self.type}{made}, is held by {' and by '.join(self.holders)}"]
        return "\n".join([*lines, *(f"    {line}" for line in self.origin)])


def leaks(limit: int = 50) -> tuple[LeakedTracer, ...]:
    """Return the tracers that outlived their trace and that something of the user's still holds.

    What only the traceback of an error holds is no leak, nor what IPython keeps under names of its
    own.  Called while a trace is under way, the tracers of that trace are left out.

    Args:
      limit: how many tracers are looked at, the youngest first as far as the collector knows.

    >>> import jxkernel as jx
    >>> log = []
    >>> _ = jx.jit(lambda x: log.append(x * 2.0) or x)(1.0)
    >>> [found.fun for found in leaks()]
    ['<lambda>']
    >>> log.clear()
    >>> leaks()
    ()
    """
    tracers = living_tracers()[: -limit - 1 : -1]
    found = holders_of(tracers, _HOLDERS)
    return tuple(
        [
            _told(tracer, held.named or (str(held.first),))
            for tracer, held in zip(tracers, found, strict=True)
            if held.first is not None
        ]
    )


def _told(tracer: Any, holders: tuple[str, ...]) -> LeakedTracer:
    trace = tracer.owner
    name = getattr(trace, "function_name", "") or ""
    return LeakedTracer(tracer.describe_type(), name, holders, tuple(trace.describe(tracer)))
