"""The leak checker: tracers that outlive their trace, and what holds them.

With ``check_tracer_leaks`` on, the end of each trace is followed by a search for its tracers among
all objects that Python knows.  One that only a traceback holds is no leak: it goes with the error.
"""

from __future__ import annotations

import gc

from jxkernel._lazy import late_function
from jxkernel.config import check_tracer_leaks
from jxkernel.core.trace import Trace, Tracer, state
from jxkernel.errors import LeakError

__all__ = ["check_leaks", "living_tracers"]

holders_of = late_function("jxkernel.core.holders", "holders_of")


def check_leaks(trace: Trace, name: str = "") -> None:
    """Raise if a tracer of a trace that has ended is still alive, where the option is on.

    Args:
      trace: the trace.
      name: the function that was traced.

    Raises:
      LeakError: one is; the message names what holds it.
    """
    if not check_tracer_leaks.value:
        return
    if not _alive(trace):
        return
    gc.collect()
    leaks: list[tuple[str, str]] = []
    origin: list[str] = []
    alive = _alive(trace)
    while alive:
        tracer = alive.pop()  # so that the list does not count as a holder
        holder = holders_of([tracer])[0].first
        if holder is not None:
            leaks.append((tracer.describe_type(), holder))
            origin.extend(trace.describe(tracer))
    if leaks:
        raise LeakError(name or trace.function_name or "a function", leaks, origin=origin)


def _alive(trace: Trace) -> list[Tracer]:
    found = [one for one in gc.get_referrers(trace) if isinstance(one, Tracer)]
    return [one for one in found if one.owner is trace]


def living_tracers() -> list[Tracer]:
    """Return the tracers that are alive although no trace is under way that made them.

    Cycles that only wait for the collector are collected first.
    """
    gc.collect()
    # By type: what an object says of its class may be foreign code.
    found = [one for one in gc.get_objects() if issubclass(type(one), Tracer)]
    running: set[int] = set()
    trace = state.trace
    while trace is not None and id(trace) not in running:
        running.add(id(trace))
        trace = trace.parent
    return [one for one in found if id(one.owner) not in running]
