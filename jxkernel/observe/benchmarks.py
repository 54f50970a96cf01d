"""``jx.benchmark``: how long a call takes, what it cost to build, and how near it is to the limit.

A call of a compiled function returns before its result exists. So three times are measured:
*dispatch*, until the call returns; *latency*, until the result of one call exists; *pipelined*, of
one call among many, where only the last result is awaited. Tracing and compiling before them
are told apart.
"""

from __future__ import annotations

import functools
import inspect
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jxkernel import dtypes, events
from jxkernel._reprs import with_type
from jxkernel.api.jit import jit_anew, jit_state
from jxkernel.compile import Executable, Executables
from jxkernel.compile.stages import Compiled
from jxkernel.core.filtering import filtered
from jxkernel.core.jaxpr import Jaxpr, subjaxprs
from jxkernel.core.trace import Tracer
from jxkernel.errors import DeletedArrayError
from jxkernel.observe.calls import Calls, no_collections
from jxkernel.observe.costs import format_flops, program_cost
from jxkernel.observe.explain import format_duration, format_size
from jxkernel.observe.recorder import Totals
from jxkernel.observe.rooflines import Roofline, roofline
from jxkernel.runtime import arrays_in, default_device, settle
from jxkernel.tree import physical

__all__ = ["Benchmark", "Times", "benchmark"]

_REMEASURED = 2
_PERCENTILES = (5, 25, 50, 75, 95)
_UNCOUNTED = frozenset({"cholesky", "eig", "eigh", "geqrf", "hessenberg", "lu", "qr", "svd"})


@dataclass(frozen=True, slots=True)
class Times:
    """Times of one thing measured repeatedly.

    Attributes:
      seconds: every time, the shortest first.

    >>> from jxkernel.observe import Times
    >>> times = Times((1.0, 2.0, 3.0, 4.0, 5.0))
    >>> times.median, times.best, times.worst, times.percentile(75), times.spread
    (3.0, 1.0, 5.0, 4.0, 2.0)
    """

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The time that half of the runs did not exceed."""
        return statistics.median(self.seconds)

    @property
    def mean(self) -> float:
        """The average, which a few disturbed runs can spoil."""
        return statistics.fmean(self.seconds)

    @property
    def best(self) -> float:
        """The shortest time."""
        return self.seconds[0]

    @property
    def worst(self) -> float:
        """The longest time."""
        return self.seconds[-1]

    @property
    def spread(self) -> float:
        """How far apart the middle half of the times lies: from 25 to 75 percent."""
        return self.percentile(75) - self.percentile(25)

    def percentile(self, percent: float) -> float:
        """Return the time that this share of the runs did not exceed, interpolated."""
        return float(np.percentile(self.seconds, percent))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What ``benchmark`` measured; times are in seconds.

    Attributes:
      name: the function's name.
      device: where it ran.
      compiled: whether one executable did the work; else it ran operation by operation.
      programs: how many executables a call runs.
      latency: until the result of a call exists.
      dispatch: until a call returns.
      pipelined: of one call among many, where only the last result is awaited.
      trace_time: tracing before the first call, 0.0 where nothing was left to do.
      lower_time: lowering.
      compile_time: compiling with XLA, or loading from the disk cache.
      from_disk: whether an executable came from the disk cache.
      flops: floating-point operations of a call; None where they are not known.
      bytes: bytes that a call reads and writes; None where they are not known.
      counted_by: what counted them: ``XLA`` or ``equations``; empty where nothing did.
      memory: bytes of arguments, results, temporaries, by name; empty where not known.
      roofline: what the device can do at best; None where there is nothing to compare.
    """

    name: str
    device: str
    compiled: bool
    programs: int
    latency: Times
    dispatch: Times
    pipelined: Times
    trace_time: float = 0.0
    lower_time: float = 0.0
    compile_time: float = 0.0
    from_disk: bool = False
    flops: float | None = None
    bytes: float | None = None
    counted_by: str = ""
    memory: Mapping[str, int] | None = None
    roofline: Roofline | None = None

    @property
    def build_time(self) -> float:
        """What had to be done once, before the first result."""
        return self.trace_time + self.lower_time + self.compile_time

    @property
    def flop_rate(self) -> float | None:
        """Operations per second, one call after the other."""
        return self.flops / self.pipelined.median if self.flops else None

    @property
    def byte_rate(self) -> float | None:
        """Bytes per second, one call after the other."""
        return self.bytes / self.pipelined.median if self.bytes else None

    @property
    def least_time(self) -> float | None:
        """The shortest time in which the device could do a call's work."""
        if self.roofline is None or not (self.flops or self.bytes):
            return None
        return self.roofline.least_seconds(self.flops or 0, self.bytes or 0)

    @property
    def efficiency(self) -> float | None:
        """That time as a share of the pipelined one: 1.0 is as fast as the device can be."""
        return self.least_time / self.pipelined.median if self.least_time else None

    def summary(self) -> str:
        """Return the one line that says most."""
        parts = [
            f"{self.name} on {self.device}: {_time(self.latency.median)} per call",
            f"dispatch {_time(self.dispatch.median)}",
            f"pipelined {_time(self.pipelined.median)}",
        ]
        if self.build_time:
            how = "load" if self.from_disk else "compile"
            parts.append(f"{how} {_time(self.build_time)}, once")
        if self.efficiency is not None and self.roofline is not None:
            limit = self.roofline.limit(self.flops or 0, self.bytes or 0)
            parts.append(f"{_share(self.efficiency)} of the {_LIMITS[limit]}{self._cached()}")
        return " · ".join(parts)

    def rows(self) -> list[tuple[str, str, str]]:
        """Return what was measured as rows: name, figure, what it is."""
        found = [
            ("latency", _time(self.latency.median), f"until the result exists; {self._spread()}"),
            ("dispatch", _time(self.dispatch.median), "until the call returns"),
            (
                "pipelined",
                _time(self.pipelined.median),
                "one of many in a row; the last is waited for",
            ),
            ("percentiles", *self._percentiles()),
        ]
        found += self._build_rows()
        found += self._work_rows()
        if not self.compiled and self.programs:
            what = "run by each call; jit the function, and its work is counted"
            found.append(("executables", f"{self.programs:,}", what))
        return found

    def table(self) -> str:
        """Return the rows as aligned text, for scripts to print."""
        rows = self.rows()
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        return "\n".join(
            f"{name.ljust(widths[0])}  {figure.rjust(widths[1])}  {what}".rstrip()
            for name, figure, what in rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, which JSON can hold."""
        times = {
            name: {
                "median": one.median,
                "best": one.best,
                "worst": one.worst,
                "mean": one.mean,
                "spread": one.spread,
                "percentiles": {str(at): one.percentile(at) for at in _PERCENTILES},
                "runs": len(one.seconds),
            }
            for name, one in (
                ("latency", self.latency),
                ("dispatch", self.dispatch),
                ("pipelined", self.pipelined),
            )
        }
        alike = ("name", "device", "compiled", "programs", "trace_time", "lower_time")
        alike += ("compile_time", "build_time", "from_disk", "flops", "bytes", "counted_by")
        alike += ("flop_rate", "byte_rate", "least_time", "efficiency")
        best = self.roofline
        return {
            **{name: getattr(self, name) for name in alike},
            **times,
            "memory": dict(self.memory or {}),
            "roofline": best and {"bandwidth": best.bandwidth, "flops": best.flops},
        }

    def __repr__(self) -> str:
        return f"{self.summary()}\n{self.table()}"

    def _cached(self) -> str:
        """Say why bytes move faster than memory can move them."""
        best = self.roofline
        beyond = best is not None and (self.byte_rate or 0.0) > 1.1 * best.bandwidth
        return " (its data stays in a cache)" if beyond else ""

    def _spread(self) -> str:
        share = self.latency.spread / self.latency.median if self.latency.median else 0.0
        return f"median of {len(self.latency.seconds):,} runs, their middle half within {share:.0%}"

    def _percentiles(self) -> tuple[str, str]:
        low, high = (_time(self.latency.percentile(at)) for at in (5, 95))
        return f"{low} … {high}", "5 to 95 percent of the runs"

    def _build_rows(self) -> Iterator[tuple[str, str, str]]:
        if not self.build_time:
            return
        steps = {
            "trace": self.trace_time,
            "lower": self.lower_time,
            "load from disk" if self.from_disk else "compile": self.compile_time,
        }
        told = ", ".join(f"{name} {_time(spent)}" for name, spent in steps.items() if spent)
        yield "first call", _time(self.build_time), told

    def _work_rows(self) -> Iterator[tuple[str, str, str]]:
        best = self.roofline
        for what, amount, rate, limit in (
            ("operations", self.flops, self.flop_rate, best and best.flops),
            ("memory", self.bytes, self.byte_rate, best and best.bandwidth),
        ):
            if amount and rate and limit:
                write = _operations if what == "operations" else _bytes
                share = f"{_share(rate / limit)} of {write(limit)}/s measured here"
                share += self._cached() if what == "memory" else ""
                yield what, f"{write(rate)}/s", f"{write(amount)} a call; {share}"
        if self.least_time and best is not None:
            limit = best.limit(self.flops or 0, self.bytes or 0)
            yield "at best", _time(self.least_time), f"a call's work, limited by {limit}"


_LIMITS = {"operations": "matrix-product peak", "memory": "memory bandwidth"}


@filtered
def benchmark(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Benchmark:
    """Measure a function: how long calls take, what building it cost, how near it is to the limit.

    A jitted function is traced and compiled anew, apart from what is remembered of it, and timed
    from then on; a compiled one (``jit(f).lower(x).compile()``) and a plain function are timed as
    they are. The function is called at least 7 times, for about a second, side effects
    included. Donated arguments are copied for each call, outside of the times: the arrays given
    here stay alive.

    Args:
      f: a function of arrays; its result may be any pytree, or anything.
      *args: its arguments.
      **kwargs: its keyword arguments.

    Returns:
      the figures: printed, one line and a table; ``to_dict()`` gives them as data. Operations and
      bytes are XLA's estimate for the optimized program, or, where loops run or LAPACK is
      called, which XLA counts once or not at all, operations are the sum over the equations.
      They are compared with a roofline that is measured once in a process
      (``observe.rooflines``). Of functions that are not compiled as a whole they are not known.

    Raises:
      TypeError: ``f`` cannot be called, or is a coroutine function; or an argument is traced.
      DeletedArrayError: an argument was donated or deleted before.

    >>> x = jnp.ones((64, 64))
    >>> result = jx.benchmark(jx.jit(lambda a: a @ a), x)
    >>> result.flops, result.latency.median >= result.dispatch.best > 0
    (524288.0, True)
    """
    _check(f, args, kwargs)
    settle()
    if jit_state(f) is None:
        return _measured(f, Calls(f, args, kwargs, hidden=False))
    # What is built for the measurement alone is no history of the user's function.
    with events.private():
        return _measured(f, Calls(jit_anew(f), args, kwargs, hidden=True))


def _measured(f: Callable[..., Any], calls: Calls) -> Benchmark:
    builds = calls.first()
    programs = calls.count_programs()
    with no_collections():
        singles = calls.singles()
        pipelined = calls.pipelined(statistics.median(latency for _, latency in singles))
    executable = _executable(calls.function, calls.arguments())
    work: dict[str, Any] = {}
    if executable is not None:
        work = _work(calls.function, executable, calls.arguments(), min(pipelined))
    return Benchmark(
        name=_name(f),
        device=_device_text(executable, calls.result),
        compiled=executable is not None,
        programs=programs,
        latency=_times(latency for _, latency in singles),
        dispatch=_times(dispatch for dispatch, _ in singles),
        pipelined=_times(pipelined),
        **_build_times(builds),
        **work,
    )


def _check(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not callable(f):
        raise TypeError(
            f"benchmark needs a function and its arguments, got {with_type(f)}: write "
            f"benchmark(f, x) instead of benchmark(f(x))"
        )
    if inspect.iscoroutinefunction(f):
        raise TypeError(f"benchmark cannot await: {_name(f)} is a coroutine function")
    if any(isinstance(leaf, Tracer) for leaf in physical.leaves((args, kwargs))):
        raise TypeError(
            f"benchmark measures calls on arrays, and {_name(f)} was given a traced value: call "
            "benchmark outside of jit, grad and vmap"
        )
    for array in arrays_in((args, kwargs)):
        if array.is_deleted():
            raise DeletedArrayError(array.aval.short())


def _name(f: Any) -> str:
    if isinstance(f, functools.partial):
        return _name(f.func)
    if isinstance(f, Compiled):
        return f._traced.fun_name
    return str(getattr(f, "__name__", type(f).__name__))


def _times(values: Any) -> Times:
    return Times(tuple(sorted(values)))


def _build_times(totals: Totals) -> dict[str, Any]:
    return {
        "trace_time": totals.trace_ns / 1e9,
        "lower_time": totals.lower_ns / 1e9,
        "compile_time": totals.compile_ns / 1e9,
        "from_disk": totals.from_disk > 0,
    }


def _executable(function: Any, given: tuple[tuple[Any, ...], dict[str, Any]]) -> Executable | None:
    """The executable that a call runs; None where it is none, or several."""
    if isinstance(function, Compiled):
        return function._executable
    state = jit_state(function)
    if state is None:
        return None
    args, kwargs = given
    _, entry = state.trace_call(args, kwargs)
    return next(iter(entry.closed.remember(Executables).made.values()), None)


def _device_text(executable: Executable | None, result: Any) -> str:
    if executable is None:
        arrays = arrays_in(result)
        devices = sorted(arrays[0].devices(), key=lambda one: one.id) if arrays else []
        devices = devices or [default_device()]
    else:
        devices = [executable.device] * _count(executable)
    first = f"{devices[0].platform}:{devices[0].id}"
    return first if len(devices) == 1 else f"{len(devices)} {devices[0].platform} devices"


def _count(executable: Executable) -> int:
    """How many devices an executable runs on."""
    return 1 if executable.placement is None else executable.placement.mesh.size


def _work(
    function: Any,
    executable: Executable,
    given: tuple[tuple[Any, ...], dict[str, Any]],
    seconds: float,
) -> dict[str, Any]:
    """What a call of one executable does, and what the device could."""
    args, kwargs = given
    if isinstance(function, Compiled):
        traced, costs = function._traced, function.cost_analysis()
    else:
        traced, costs = function.trace(*args, **kwargs), _xla_costs(executable)
    jaxpr = traced.program.jaxpr
    found: dict[str, Any] = {"memory": _memory(executable)}
    count = _count(executable)
    names = _primitives(jaxpr)
    if names & {"scan", "while"} or names & _UNCOUNTED:
        # XLA counts a loop's body once, and nothing of what LAPACK does.
        if "while" not in names:
            found |= {"flops": float(program_cost(jaxpr).flops), "counted_by": "equations"}
    elif costs:
        found |= {
            "flops": count * float(costs.get("flops", 0.0)),
            "bytes": count * float(costs.get("bytes accessed", 0.0)),
            "counted_by": "XLA",
        }
    if found.get("flops") or found.get("bytes"):
        rate = found.get("flops", 0.0) / seconds
        found["roofline"] = _limits(executable, jaxpr, count, rate)
    return found


def _limits(executable: Executable, jaxpr: Jaxpr, count: int, rate: float) -> Roofline:
    """What the devices of an executable can do at best, together."""
    asked = (_main_dtype(jaxpr), executable.device)
    one = roofline(*asked)
    for _ in range(_REMEASURED):
        if rate > one.flops:  # which cannot be: the machine was busy while it was measured
            one = roofline(*asked, again=True)
    if count == 1 or executable.device.platform == "cpu":  # CPU devices share the machine
        return one
    name = f"{count} {executable.device.platform} devices"
    return Roofline(name, one.dtype, count * one.bandwidth, count * one.flops)


def _main_dtype(jaxpr: Jaxpr) -> Any:
    """The floating-point type of most of a program's arguments and results, by bytes."""
    sizes: dict[Any, int] = {}
    for aval in (atom.aval for atom in (*jaxpr.invars, *jaxpr.constvars, *jaxpr.outvars)):
        if dtypes.issubdtype(getattr(aval, "dtype", None), np.floating):
            sizes[aval.dtype] = sizes.get(aval.dtype, 0) + aval.size * aval.dtype.itemsize
    return max(sizes, key=lambda dtype: sizes[dtype]) if sizes else np.dtype(np.float32)


def _primitives(jaxpr: Jaxpr) -> set[str]:
    names = {eqn.primitive.name for eqn in jaxpr.eqns}
    for eqn in jaxpr.eqns:
        for inner in subjaxprs(eqn.params):
            names |= _primitives(inner.jaxpr)
    return names


def _xla_costs(executable: Executable) -> Mapping[str, float]:
    found = executable.whole.cost_analysis()
    return found[0] if isinstance(found, Sequence) else found


def _memory(executable: Executable) -> dict[str, int]:
    stats = executable.xla.get_compiled_memory_stats()
    return {
        "arguments": stats.argument_size_in_bytes,
        "results": stats.output_size_in_bytes,
        "temporary": stats.temp_size_in_bytes,
    }


def _time(seconds: float) -> str:
    return format_duration(1e9 * seconds)


def _share(part: float) -> str:
    return f"{part:.0%}" if part >= 0.01 else "under 1%"


def _operations(count: float) -> str:
    return format_flops(round(count))


def _bytes(count: float) -> str:
    return format_size(round(count))
