"""A timeline: what ran when, on the host and the devices, by cell, operation and source line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jxkernel.events import CellFinished, CellStarted, Compiled, Lowered, Traced, Transferred
from jxkernel.observe.explain import format_duration, format_size
from jxkernel.observe.recorder import Record
from jxkernel.observe.xspace import Program

__all__ = ["Lane", "Slice", "Timeline", "Total", "Window", "timeline_of"]

FindProgram = Callable[[str, int, Collection[str]], Program | None]
"""Finds the program of a name, a number and operations, all as events tell them."""

_MOST_SLICES = 100_000
_SHOWN = 15
_STAGES = {Traced: "trace", Lowered: "lower", Compiled: "compile", Transferred: "transfer"}
_OWN = "_jx"
"""The statistic by which annotations made in Python are told from the runtime's own."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of time in which one thing ran.

    Attributes:
      name: what ran: an operation of a program, a stage of compiling, a named stretch.
      start_ns: when it began, from the beginning of the profile.
      duration_ns: how long it took.
      self_ns: that without the slices inside it.
      program: the program that an operation belongs to, ``jit_f``; else empty.
      origin: the operation's name in the traced program: ``scan/sin``.
      spots: the source lines that it computes, as ``file:line``, its own first.
      number: the number of the program, as the profiler gives it.
      run: the number of the execution that it belongs to; 0 where unknown.
      cell: the cell that started it; empty where that is not known.
    """

    name: str
    start_ns: float
    duration_ns: float
    self_ns: float = 0.0
    program: str = ""
    origin: str = ""
    spots: tuple[str, ...] = ()
    number: int = 0
    run: int = 0
    cell: str = ""

    @property
    def end_ns(self) -> float:
        """When it ended."""
        return self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class Lane:
    """What one device, thread or layer did.

    Attributes:
      name: ``cpu:0``, ``gpu:0 Stream #13``, ``jxkernel``, ``annotations``.
      kind: what its slices are: ``device``, ``stage`` or ``annotation``.
      slices: in the order of beginning.
    """

    name: str
    kind: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A cell, or the whole of a profile outside cells.

    Attributes:
      name: ``In[3]``.
      start_ns: when it began.
      end_ns: when it ended, or when the last work that it began on a device ended.
    """

    name: str
    start_ns: float
    end_ns: float


@dataclass(frozen=True, slots=True)
class Total:
    """Time added up over equal slices.

    Attributes:
      name: the operation, line or cell.
      program: the program; empty where there are several.
      count: how many slices.
      total_ns: their time, without what ran inside them.
      share: that time as a part of all devices' time.
      spots: source lines.
      origin: the operation's name in the traced program.
    """

    name: str
    program: str
    count: int
    total_ns: float
    share: float
    spots: tuple[str, ...] = ()
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What ran when.

    Attributes:
      lanes: the layers: stages of compiling, annotations, devices.
      windows: the cells, in order; one for all where no cell was seen.
      duration_ns: how long was recorded.
      dropped: events left out because there were too many.
      files: what was written: the XPlane and the Chrome traces.
    """

    lanes: tuple[Lane, ...]
    windows: tuple[Window, ...]
    duration_ns: float
    dropped: int = 0
    files: tuple[str, ...] = ()

    @property
    def device_ns(self) -> float:
        """The time of all operations on all devices."""
        return sum(one.self_ns for lane in self._devices() for one in lane.slices)

    def _devices(self) -> Iterator[Lane]:
        return (lane for lane in self.lanes if lane.kind == "device")

    def by_operation(self) -> tuple[Total, ...]:
        """Return the time of each operation of each program, the longest first."""
        return self._totals(lambda one: (one.program, one.name))

    def by_line(self) -> tuple[Total, ...]:
        """Return the time of each source line, the longest first.

        An operation that computes several lines counts for its own, the last of them.
        """
        totals = self._totals(lambda one: one.spots[0] if one.spots else "")
        return tuple([replace(one, name=one.spots[0] if one.spots else "") for one in totals])

    def by_cell(self) -> tuple[Total, ...]:
        """Return the devices' time in each cell, in order.

        Work counts for the cell that started it, though it may run after the cell has ended.
        """
        found = []
        for window, lanes in zip(self.windows, self.by_window(), strict=True):
            inside = [one for lane in lanes if lane.kind == "device" for one in lane.slices]
            time_ns = sum(one.self_ns for one in inside)
            share = time_ns / self.device_ns if self.device_ns else 0.0
            found.append(Total(window.name, "", len(inside), time_ns, share))
        return tuple(found)

    def by_window(self) -> tuple[tuple[Lane, ...], ...]:
        """Return, for each cell, the lanes that have something in it, with that alone.

        Where it is not known which cell started something, it is the one that began last before.
        """
        starts = [window.start_ns for window in self.windows]
        numbers = {window.name: number for number, window in enumerate(self.windows)}
        found: list[list[Lane]] = [[] for _ in self.windows]
        for lane in self.lanes:
            slices: dict[int, list[Slice]] = {}
            for one in lane.slices:
                before = max(bisect_right(starts, one.start_ns) - 1, 0)
                slices.setdefault(numbers.get(one.cell, before), []).append(one)
            for number, ones in slices.items():
                found[number].append(replace(lane, slices=tuple(ones)))
        return tuple([tuple(lanes) for lanes in found])

    def _totals(self, key: Callable[[Slice], Hashable]) -> tuple[Total, ...]:
        groups: dict[Hashable, list[Slice]] = {}
        for lane in self._devices():
            for one in lane.slices:
                groups.setdefault(key(one), []).append(one)
        whole = self.device_ns or 1.0
        totals = [
            Total(
                ones[0].name,
                ones[0].program if len({one.program for one in ones}) == 1 else "",
                len(ones),
                sum(one.self_ns for one in ones),
                sum(one.self_ns for one in ones) / whole,
                ones[0].spots,
                ones[0].origin,
            )
            for ones in groups.values()
        ]
        return tuple(sorted(totals, key=lambda total: -total.total_ns))

    def chrome_trace(self) -> dict[str, Any]:
        """Return the timeline in the Chrome trace format, which Perfetto opens too.

        Times are microseconds, as the format asks ("Trace Event Format", Google, 2016).
        """
        events: list[dict[str, Any]] = []
        cells = Lane("cells", "cell", tuple([_of_window(one) for one in self.windows]))
        for number, lane in enumerate((cells, *self.lanes), start=1):
            name = {"name": "thread_name", "ph": "M", "pid": 1, "tid": number}
            events.append({**name, "args": {"name": lane.name}})
            events += [_chrome_event(one, lane.kind, number) for one in lane.slices]
        return {"traceEvents": events, "displayTimeUnit": "ns"}

    def __str__(self) -> str:
        lines = [
            f"{format_duration(self.duration_ns)} recorded, "
            f"{format_duration(self.device_ns)} of operations on devices"
        ]
        lines += [f"  {one.name}: {_time(one)}" for one in self.by_cell()[:_SHOWN] if one.count]
        operations = self.by_operation()[:_SHOWN]
        lines += ["by operation:"] * bool(operations)
        for one in operations:
            place = f"  {one.spots[0]}" if one.spots else ""
            lines.append(f"  {_time(one)}  {one.program}/{one.name}  {one.origin}{place}".rstrip())
        if self.dropped:
            lines.append(f"{self.dropped:,} events left out")
        return "\n".join([*lines, *(f"written: {file}" for file in self.files)])


def _no_program(name: str, number: int, operations: Collection[str]) -> Program | None:
    return None


def timeline_of(
    data: Any,
    find: FindProgram = _no_program,
    records: Sequence[Record] = (),
    executions: Sequence[Record] = (),
    *,
    files: Sequence[str] = (),
) -> Timeline:
    """Return the timeline of a profile.

    Args:
      data: the profile, a ``ProfileData``.
      find: finds the program that operations belong to.
      records: what the recorder saw meanwhile: stages of compiling, and cells.
      executions: the executions that were seen, in order.
      files: where the profile was written.
    """
    began_ns, ended_ns = _extent(data)
    lanes, dropped = _device_lanes(data, find)
    stages = _stage_lane(records, began_ns)
    lanes = _started_by(lanes, executions)
    lanes = [lane for lane in (stages, _annotation_lane(data), *lanes) if lane.slices]
    last = max((one.end_ns for lane in lanes for one in lane.slices), default=0.0)
    duration = max(ended_ns - began_ns, last)
    return Timeline(
        tuple(lanes),
        _windows(lanes, records, began_ns, duration),
        duration,
        dropped,
        tuple(files),
    )


def _extent(data: Any) -> tuple[int, int]:
    """When the profile began and ended, in nanoseconds since the epoch."""
    for plane in data.planes:
        found = dict(plane.stats)
        if "profile_start_time" in found:
            return int(found["profile_start_time"]), int(found.get("profile_stop_time", 0))
    return 0, 0


def _stage_lane(records: Iterable[Record], began_ns: int) -> Lane:
    slices = []
    for record in records:
        event = record.event
        stage = _STAGES.get(type(event))
        if stage is None or not event.duration_ns:
            continue
        start = max(record.when * 1e9 - began_ns, 0.0)
        what = record.fun or ""
        if isinstance(event, Transferred):
            what = f"{format_size(event.bytes)} {event.source} → {event.destination}"
        slices.append(Slice(f"{stage} {what}", start, event.duration_ns, record.self_ns))
    return Lane("jxkernel", "stage", _ordered(slices))


def _annotation_lane(data: Any) -> Lane:
    slices = []
    for plane in data.planes:
        for line in plane.lines:
            if plane.name == "/host:CPU" and not line.name.startswith("tf_"):
                for event in line.events:
                    if any(name == _OWN for name, _ in event.stats):
                        time_ns = event.duration_ns
                        slices.append(Slice(event.name, event.start_ns, time_ns, time_ns))
    return Lane("annotations", "annotation", _ordered(slices))


def _device_lanes(data: Any, find: FindProgram) -> tuple[list[Lane], int]:
    """The lanes of operations: of a CPU device one, of another device one for each stream."""
    found: dict[str, list[Slice]] = {}
    names: dict[tuple[str, int], set[str]] = {}
    left = _MOST_SLICES
    dropped = 0
    for name, line in [(plane.name, line) for plane in data.planes for line in plane.lines]:
        lines: dict[str, list[Slice]] = {}
        for event in line.events:
            about = dict(event.stats) if event.duration_ns else {}
            if "hlo_op" not in about:
                continue
            if left <= 0:
                dropped += 1
                continue
            left -= 1
            one = _operation(event, about)
            names.setdefault((one.program, one.number), set()).add(one.name)
            lines.setdefault(_lane_name(name, line.name, about), []).append(one)
        # Only what ran in one thread or stream can be inside each other.
        for lane, slices in lines.items():
            found.setdefault(lane, []).extend(_with_self_times(slices))
    chosen = {key: find(*key, operations) for key, operations in names.items()}
    lanes = [
        Lane(name, "device", _ordered([_placed(one, chosen) for one in found[name]]))
        for name in sorted(found)
    ]
    return lanes, dropped


def _started_by(lanes: Sequence[Lane], executions: Sequence[Record]) -> list[Lane]:
    """Tell operations the cells that started them.

    The runs of a program and the calls of its function are told one by one in the same order; where
    there are not as many of the one as of the other, the latest are paired, for a profile may begin
    while earlier work is under way.
    """
    began: dict[str, dict[int, float]] = {}
    for one in (one for lane in lanes for one in lane.slices if one.run):
        runs = began.setdefault(one.program, {})
        runs[one.run] = min(runs.get(one.run, one.start_ns), one.start_ns)
    cells: dict[tuple[str, int], str] = {}
    for program, runs in began.items():
        calls = [one.cell or "" for one in executions if f"jit_{one.fun}" == program]
        ordered = sorted(runs, key=lambda run: runs[run])
        count = min(len(calls), len(ordered))
        for run, cell in zip(ordered[-count:] if count else (), calls[-count:], strict=True):
            cells[program, run] = cell
    return [
        replace(
            lane,
            slices=tuple(
                [replace(one, cell=cells.get((one.program, one.run), "")) for one in lane.slices]
            ),
        )
        for lane in lanes
    ]


def _lane_name(plane: str, line: str, about: dict[str, Any]) -> str:
    if plane.startswith("/device:"):
        return f"{plane.removeprefix('/device:').lower()} {line}"
    return f"cpu:{about.get('device_ordinal', 0)}"


def _operation(event: Any, about: dict[str, Any]) -> Slice:
    return Slice(
        str(about["hlo_op"]),
        event.start_ns,
        event.duration_ns,
        event.duration_ns,
        str(about.get("hlo_module", "")),
        number=_as_number(about.get("program_id")),
        run=_as_number(about.get("run_id")),
    )


def _as_number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0


def _placed(one: Slice, programs: dict[tuple[str, int], Program | None]) -> Slice:
    """A slice with what its program knows of the operation."""
    program = programs[one.program, one.number]
    if program is None or one.name not in program.operations:
        return one
    return replace(one, origin=program.operations[one.name].name, spots=program.places(one.name))


def _with_self_times(slices: list[Slice]) -> list[Slice]:
    """Take the time of slices that ran inside others off those, as a loop's body off the loop."""
    own = {id(one): one.duration_ns for one in slices}
    around: list[Slice] = []
    for one in sorted(slices, key=lambda one: (one.start_ns, -one.duration_ns)):
        while around and around[-1].end_ns <= one.start_ns:
            around.pop()
        if around and one.end_ns <= around[-1].end_ns:
            own[id(around[-1])] -= one.duration_ns
        around.append(one)
    return [replace(one, self_ns=max(own[id(one)], 0.0)) for one in slices]


def _windows(
    lanes: Sequence[Lane], records: Iterable[Record], began_ns: int, duration: float
) -> tuple[Window, ...]:
    """The cells; what came before the first, or outside cells, has a window of its own."""
    cells = sorted(_cells(records, began_ns, duration), key=lambda cell: cell.start_ns)
    slices = [one for lane in lanes for one in lane.slices]
    if not cells:
        return (Window("all", 0.0, duration),)
    found = []
    for number, cell in enumerate(cells):
        following = cells[number + 1].start_ns if number + 1 < len(cells) else float("inf")
        began = cell.start_ns if number else 0.0
        ended = [one.end_ns for one in slices if began <= one.start_ns < following]
        found.append(replace(cell, end_ns=min(max([cell.end_ns, *ended]), duration)))
    return tuple(found)


def _cells(records: Iterable[Record], began_ns: int, duration: float) -> Iterator[Window]:
    """The cells that ran; one that has not ended yet lasts to the end of the profile."""
    records = list(records)
    finished = {one.event.span for one in records if isinstance(one.event, CellFinished)}
    for record in records:
        event = record.event
        start = max(record.when * 1e9 - began_ns, 0.0)
        if isinstance(event, CellFinished):
            end = record.when * 1e9 - began_ns + event.duration_ns
            yield Window(event.cell, start, max(end, start))
        elif isinstance(event, CellStarted) and event.parent not in finished:
            yield Window(event.cell, start, duration)


def _ordered(slices: Iterable[Slice]) -> tuple[Slice, ...]:
    return tuple(sorted(slices, key=lambda one: one.start_ns))


def _of_window(window: Window) -> Slice:
    return Slice(window.name, window.start_ns, window.end_ns - window.start_ns)


def _chrome_event(one: Slice, kind: str, number: int) -> dict[str, Any]:
    about = {"program": one.program, "origin": one.origin, "source": ", ".join(one.spots)}
    return {
        "name": one.name,
        "cat": kind,
        "ph": "X",
        "pid": 1,
        "tid": number,
        "ts": one.start_ns / 1e3,
        "dur": one.duration_ns / 1e3,
        "args": {key: value for key, value in about.items() if value},
    }


def _time(total: Total) -> str:
    return f"{format_duration(total.total_ns):>8} {total.share:6.1%} {total.count:>5}x"
