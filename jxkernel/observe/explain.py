"""Explanations: a function's history as sentences, and the recompilation ledger."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from jxkernel._reprs import in_words
from jxkernel.events import (
    CacheHit,
    CacheMiss,
    Compiled,
    ConstantCaptured,
    Event,
    FastPathLost,
    Lowered,
    Reason,
    Traced,
    TraceTimeEffect,
)
from jxkernel.events.vocabulary import CacheName, ReasonKind
from jxkernel.observe.near_names import meant
from jxkernel.observe.recorder import Record, Recorder

__all__ = [
    "LedgerRow",
    "explain",
    "format_duration",
    "format_ledger",
    "format_size",
    "function_label",
    "ledger",
    "slow_text",
]

STORM = 5
"""A function that is built again this often, for reasons it could avoid, gets a warning."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One time that a function was traced, lowered or compiled.

    Attributes:
      number: the row's number, from 1, in the order of beginning.
      when: wall-clock time, in seconds since the epoch.
      cell: the label of the cell, or None outside cells.
      fun: the function's name.
      function_id: the number of the function object; 0 when unknown.
      cache: which cache missed; None for work outside calls of jit, such as ``.lower()`` or an
        eager operation.
      reasons: what differed from the closest earlier call, cheapest fix first.
      eqns: equations of the jaxpr; None when it was not traced again.
      trace_ns: time of tracing, without what it caused to be compiled.
      lower_ns: time of lowering.
      compile_ns: time of XLA's compilation, or of loading from disk.
      from_disk: whether the executable came from the disk cache.
      disk: what the disk cache said, ``hit`` or ``miss``; empty where it was not asked.
      saved_ns: the time that a disk hit saved.
      site: the user's line that called, ``file:line``; empty when unknown.
      slow: why every call enters Python instead of the fast path; empty where none does.
      stored: how many values are kept in memory where long chains are cut.
      unrolled: whether LLVM unrolls its loops.
      divided: whether XLA divides its loops among cores.
      kernel_loops: whether XLA makes one kernel of a loop that the program has.
      error: what ended it early, or None.
      total_ns: all of these times, of this and all earlier rows.
      storm: a warning when the function keeps being built again; empty otherwise.
    """

    number: int
    when: float
    cell: str | None
    fun: str
    function_id: int
    cache: CacheName | None = None
    reasons: tuple[Reason, ...] = ()
    eqns: int | None = None
    trace_ns: int = 0
    lower_ns: int = 0
    compile_ns: int = 0
    from_disk: bool = False
    disk: Literal["", "hit", "miss"] = ""
    saved_ns: int = 0
    site: str = ""
    slow: str = ""
    stored: int = 0
    unrolled: bool = True
    divided: bool = True
    kernel_loops: bool = True
    error: str | None = None
    total_ns: int = 0
    storm: str = ""

    @property
    def cost_ns(self) -> int:
        """What this row cost: tracing, lowering and compiling together."""
        return self.trace_ns + self.lower_ns + self.compile_ns

    @property
    def fix(self) -> str:
        """The cheapest advice, or an empty string."""
        return next((reason.fix for reason in self.reasons if reason.fix), "")

    @property
    def failure(self) -> str:
        """What ended it early, in a line: the error, and the code that it underlines, if any."""
        first, *rest = (self.error or "").split("\n")
        for code, below in itertools.pairwise(rest):
            if set(below.strip()) == {"^"}:
                return f"{first.partition(':')[0]} at `{code.strip()}`"
        return first

    def sentence(self) -> str:
        """Say in one line why the function was built."""
        if self.reasons:
            # An argument that changes in several ways says the same of its type each time.
            return "; ".join(dict.fromkeys(reason.sentence() for reason in self.reasons))
        if self.cache is None:
            return "built outside a call of jit"
        return f"not in the {self.cache} cache"

    def notes(self) -> tuple[str, ...]:
        """What was chosen for the program."""
        stored = (stored_text(self.stored),) if self.stored else ()
        left = () if self.unrolled else (_LEFT_AS_THEY_ARE,)
        shared = () if self.kernel_loops else (_LOOPS_ARE_SHARED,)
        return stored + left + (() if self.divided else (_ON_ONE_CORE,)) + shared

    def is_avoidable(self) -> bool:
        """Whether it was built for another reason than being the first call."""
        return any(reason.kind != "first_call" for reason in self.reasons)

    def warnings(self) -> tuple[str, ...]:
        """What the user should know besides: calls that stay slow, and building without end."""
        return tuple(one for one in (self.slow and slow_text(self.slow), self.storm) if one)


def ledger(
    recorder: Recorder,
    *,
    fun: str | None = None,
    cell: str | None = None,
    latest: int | None = None,
) -> tuple[LedgerRow, ...]:
    """The recompilation ledger: a row for each time something was traced or compiled.

    Args:
      recorder: where to read.
      fun: only functions of this name.
      cell: only this cell. Totals then count only the rows shown.
      latest: only what the latest so many events tell, of which the earliest may be told in part.
    """
    kinds = (CacheMiss, CacheHit, Traced, Lowered, Compiled, FastPathLost)
    records = recorder.records(kinds, fun=fun, cell=cell, latest=latest)
    return tuple(_with_running_values(_rows(records)))


def explain(function: object, recorder: Recorder) -> str:
    """Tell the history of a function: each build, why, what it cost, and what to do.

    Args:
      function: a function, jitted or not, or a function's name.
      recorder: where to read.
    """
    name = function_label(function)
    rows = ledger(recorder, fun=name)
    if not rows:
        return _nothing_recorded(name, recorder)
    hits = sum(
        getattr(one.event, "cache", None) != "disk" for one in recorder.records(CacheHit, fun=name)
    )
    lines = [_summary(name, rows, hits)]
    for row in rows:
        lines.append(f"  {row.number}. {_place(row)}{row.sentence()} ({_cost(row)})")
        lines += [f"     fix: {row.fix}"] * bool(row.fix)
        lines += [f"     failed: {row.failure}"] * bool(row.error)
        lines += [f"     note: {note}" for note in row.notes()]
        lines += [f"     warning: {warning}" for warning in row.warnings()]
    lines += _constant_lines(recorder, name)
    lines += _effect_lines(recorder, name)
    return "\n".join(lines)


def format_ledger(rows: Sequence[LedgerRow]) -> str:
    """Write ledger rows as a text table, with fixes and warnings on lines of their own."""
    if not rows:
        return "nothing has been traced or compiled since recording began"
    table = [("", "time", "cell", "function", "trace", "lower", "compile", "disk", "why")]
    table += [_cells(row) for row in rows]
    widths = [max(len(cells[column]) for cells in table) for column in range(8)]
    lines = [_aligned(table[0], widths)]
    for row, cells in zip(rows, table[1:], strict=True):
        lines.append(_aligned(cells, widths))
        lines += [f"    fix: {row.fix}"] * bool(row.fix)
        lines += [f"    note: {note}" for note in row.notes()]
        lines += [f"    warning: {warning}" for warning in row.warnings()]
    lines.append(f"total: {format_duration(rows[-1].total_ns)} in {_count(len(rows), 'build')}")
    return "\n".join(lines)


def slow_text(reason: str) -> str:
    """Say that a program has no fast path, and what would give it one."""
    return f"every call goes through Python, because of {reason}; keep them out of inner loops"


def stored_text(count: int) -> str:
    """Say that long chains were cut, and which setting leaves them whole."""
    values = "1 value is" if count == 1 else f"{count} values are"
    return (
        f"{values} stored, so that loops that read them do not compute the chain before them "
        "again; jax_long_chains='whole' leaves that to XLA"
    )


_LEFT_AS_THEY_ARE = (
    "LLVM leaves its loops as they are, which compiles sooner and runs as fast; "
    "jax_loop_unrolling='on' has them unrolled"
)

_LOOPS_ARE_SHARED = (
    "the cores share what a turn of its loops computes; XLA by itself would have one core do it, "
    "and compile sooner"
)

_ON_ONE_CORE = (
    "each of its loops runs on one core: XLA takes longer to compute a vector of odd length on two"
)

_LABEL_LENGTH = 100


def function_label(function: object) -> str:
    """The name by which events speak of a function: its ``__name__``, or the text given."""
    name = function if isinstance(function, str) else getattr(function, "__name__", None)
    return name if isinstance(name, str) else in_words(function, _LABEL_LENGTH)


def format_duration(nanoseconds: float, digits: int = 3) -> str:
    """Write a time in a fitting unit, with three figures unless told otherwise: ``31.4 ms``."""
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if nanoseconds < (1 - 0.5 * 10.0**-digits) * limit:
            return f"{nanoseconds / (limit / 1e3):.{digits}g} {unit}"
    whole = nanoseconds >= 1e12
    return f"{nanoseconds / 1e9:.0f} s" if whole else f"{nanoseconds / 1e9:.{digits}g} s"


def format_size(count: int) -> str:
    """Write a number of bytes in a fitting unit: ``7.84 MB`` (1 MB is 10**6 bytes)."""
    for limit, unit in ((1e3, "B"), (1e6, "KB"), (1e9, "MB"), (1e12, "GB")):
        if count < 0.9995 * limit:
            return f"{count / (limit / 1e3):.3g} {unit}"
    return f"{count / 1e12:.3g} TB"


def _rows(records: Iterable[Record]) -> list[LedgerRow]:
    """Gather what belongs together: a miss, and the work on the same function after it.

    Records come in the order of beginning, so a miss precedes its work whether it is an instant
    or the span around the work.
    """
    rows: list[LedgerRow] = []
    latest: dict[tuple[str, int], int] = {}
    for record in records:
        if isinstance(record.event, CacheHit) and record.event.cache != "disk":
            continue
        name, number = record.fun or "", record.function_id
        # Number 0 speaks of a program whose function object is not known: the latest of its name.
        at = latest.get((name, number), latest.get((name, 0)))
        if _is_remark(record.event):
            if at is not None:
                rows[at] = _extended(rows[at], record)
            continue
        if at is None or not _continues(rows[at], record):
            at = len(rows)
            rows.append(LedgerRow(at + 1, record.when, record.cell, name, number))
        latest[name, rows[at].function_id] = latest[name, number] = latest[name, 0] = at
        rows[at] = _extended(rows[at], record)
    return rows


def _is_remark(event: Event) -> bool:
    """Whether an event tells more of a row's work, and is no work itself."""
    return isinstance(event, FastPathLost) or getattr(event, "cache", None) == "disk"


def _continues(row: LedgerRow, record: Record) -> bool:
    """Whether a record is a further stage of the row's work rather than new work."""
    if record.function_id and row.function_id not in (0, record.function_id):
        return False
    match record.event:
        case Traced():
            return row.eqns is None and row.lower_ns == row.compile_ns == 0
        case Lowered():
            return row.lower_ns == row.compile_ns == 0
        case Compiled():
            return row.compile_ns == 0
        case CacheMiss(cache=cache):
            # A call that misses the cache of traces goes on to miss those of executables.
            return cache != "trace" and row.compile_ns == 0 and row.cache in (None, "trace")
        case _:
            return False


def _extended(row: LedgerRow, record: Record) -> LedgerRow:
    event = record.event
    error = row.error or event.error
    row = replace(row, function_id=row.function_id or record.function_id)
    match event:
        case Traced():
            time_ns = row.trace_ns + record.self_ns
            return replace(row, trace_ns=time_ns, eqns=event.eqns, error=error)
        case Lowered():
            time_ns = row.lower_ns + record.self_ns
            return replace(
                row,
                lower_ns=time_ns,
                stored=event.stored,
                unrolled=event.unrolled,
                divided=event.divided,
                kernel_loops=event.kernel_loops,
                error=error,
            )
        case Compiled():
            time_ns = row.compile_ns + record.self_ns
            return replace(row, compile_ns=time_ns, from_disk=event.from_disk, error=error)
        case CacheHit():
            return replace(row, disk="hit", saved_ns=event.saved_ns)
        case CacheMiss(cache="disk"):
            return replace(row, disk="miss")
        case CacheMiss():
            reasons, site = row.reasons or event.reasons, row.site or event.site
            cache = row.cache or event.cache
            return replace(row, cache=cache, reasons=reasons, site=site, error=error)
        case FastPathLost():
            return replace(row, slow=event.reason)
        case _:
            return row


def _with_running_values(rows: Iterable[LedgerRow]) -> Iterable[LedgerRow]:
    """Fill in the running total and the storm warnings."""
    total = 0
    builds: dict[str, list[LedgerRow]] = {}
    for row in rows:
        total += row.cost_ns
        avoidable = builds.setdefault(row.fun, [])
        if row.is_avoidable():
            avoidable.append(row)
            yield replace(row, total_ns=total, storm=_storm(row.fun, avoidable))
        else:
            yield replace(row, total_ns=total)


def _storm(fun: str, builds: Sequence[LedgerRow]) -> str:
    """Warn at the fifth avoidable build and whenever their number has doubled since.

    A warning on every row would be noise in the very place where there is too much already.
    """
    count = len(builds)
    if count < STORM or count % STORM or (count // STORM).bit_count() != 1:
        return ""
    causes = Counter[tuple[ReasonKind, str]](
        (reason.kind, reason.what) for row in builds for reason in row.reasons
    )
    (kind, what), times = causes.most_common(1)[0]
    cost = format_duration(sum(row.cost_ns for row in builds))
    fix = next(r.fix for row in builds for r in row.reasons if (r.kind, r.what) == (kind, what))
    cause = f"{times} times for {kind.replace('_', ' ')}: {what}"
    advice = f"; {fix}" if fix else ""
    return f"{fun} was built again {count} times, {cost} in all; {cause}{advice}"


def _summary(name: str, rows: Sequence[LedgerRow], hits: int) -> str:
    traced = sum(row.eqns is not None for row in rows)
    compiled = sum(row.compile_ns > 0 for row in rows)
    times = " · ".join(
        f"{stage} {format_duration(sum(getattr(row, f'{stage}_ns') for row in rows))}"
        for stage in ("trace", "lower", "compile")
    )
    reused = f", {_count(hits, 'trace')} reused" if hits else ""
    return f"{name}: traced {_count(traced, 'time')}, compiled {compiled}{reused} · {times}"


def _nothing_recorded(name: str, recorder: Recorder) -> str:
    if not recorder.recording:
        return f"{name}: nothing was recorded; start the recorder before the calls to explain"
    traced = [row.fun for row in reversed(ledger(recorder)) if row.eqns is not None]
    others = dict.fromkeys(name for name in traced if name.isidentifier())
    return f"{name}: neither traced nor compiled since recording began{meant(name, others)}"


def _place(row: LedgerRow) -> str:
    return f"{row.cell}: " if row.cell else ""


def _cost(row: LedgerRow) -> str:
    parts = [] if row.eqns is None else [_count(row.eqns, "eqn")]
    stages = (("trace", row.trace_ns), ("lower", row.lower_ns), ("compile", row.compile_ns))
    parts += [f"{stage} {format_duration(time_ns)}" for stage, time_ns in stages if time_ns]
    if row.saved_ns > 0:
        parts.append(f"from disk, {format_duration(row.saved_ns)} saved")
    else:
        parts += ["from disk"] * row.from_disk
    return ", ".join(parts) or "no work done"


def _cells(row: LedgerRow) -> tuple[str, ...]:
    return (
        str(row.number),
        time.strftime("%H:%M:%S", time.localtime(row.when)),
        row.cell or "",
        row.fun,
        *(
            format_duration(time_ns) if time_ns else ""
            for time_ns in (row.trace_ns, row.lower_ns, row.compile_ns)
        ),
        row.disk,
        (f"✗ failed: {row.failure}; " if row.error else "") + row.sentence(),
    )


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Pad all but the last cell; the number and the times to the right."""
    padded = [
        cell.rjust(width) if column in (0, 4, 5, 6) else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=False))
    ]
    return "  ".join([*padded, cells[-1]]).rstrip()


def _constant_lines(recorder: Recorder, name: str) -> list[str]:
    constants = {
        (event.name, event.shape, event.dtype): event
        for record in recorder.records(ConstantCaptured, fun=name)
        if isinstance(event := record.event, ConstantCaptured)
    }
    return [
        f"  constant baked in: {event.name} {event.dtype}[{','.join(map(str, event.shape))}], "
        f"{format_size(event.bytes)}; pass it as an argument to change it later"
        for event in constants.values()
    ]


def _effect_lines(recorder: Recorder, name: str) -> list[str]:
    effects = {
        (event.effect, event.file, event.line): event
        for record in recorder.records(TraceTimeEffect, fun=name)
        if isinstance(event := record.event, TraceTimeEffect)
    }
    return [
        f"  happened only while tracing: {event.effect}"
        + (f" ({event.file}:{event.line})" if event.file else "")
        for event in effects.values()
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
