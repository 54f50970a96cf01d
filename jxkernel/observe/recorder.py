"""The recorder: a bounded memory of what happened, with running totals."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Self

from jxkernel.events import (
    CacheHit,
    CacheMiss,
    CellFinished,
    CellStarted,
    Compiled,
    ConstantCaptured,
    Event,
    Executed,
    FastPathLost,
    Leak,
    ListenerHandle,
    Lowered,
    Traced,
    TraceTimeEffect,
    Transferred,
    ancestors,
    listen,
)

__all__ = ["DEFAULT_KINDS", "Record", "Recorder", "Totals"]

DEFAULT_KINDS: tuple[type[Event], ...] = (
    Traced,
    Lowered,
    Compiled,
    FastPathLost,
    CacheHit,
    CacheMiss,
    Transferred,
    ConstantCaptured,
    Leak,
    TraceTimeEffect,
    CellStarted,
    CellFinished,
)
"""All kinds but ``Executed``, whose watching costs something on every call."""


@dataclass(frozen=True, slots=True)
class Record:
    """One event as it was recorded.

    Attributes:
      event: the event.
      cell: the label of the cell it happened in, or None outside cells.
      when: wall-clock time of its beginning, in seconds since the epoch.
      self_ns: its duration less that of the recorded events inside it, in nanoseconds.
    """

    event: Event
    cell: str | None
    when: float
    self_ns: int

    @property
    def fun(self) -> str | None:
        """The name of the function that the event is about; None when about none."""
        return getattr(self.event, "fun", None)

    @property
    def function_id(self) -> int:
        """The number of the function object that the event is about; 0 when unknown."""
        return getattr(self.event, "function_id", 0)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts, times and bytes added up; times exclude what ran inside and is counted itself."""

    traces: int = 0
    trace_ns: int = 0
    lowerings: int = 0
    lower_ns: int = 0
    compiles: int = 0
    compile_ns: int = 0
    from_disk: int = 0
    hits: int = 0
    misses: int = 0
    executions: int = 0
    execute_ns: int = 0
    transferred_bytes: int = 0
    constant_bytes: int = 0
    leaks: int = 0
    effects: int = 0
    errors: int = 0

    @property
    def build_ns(self) -> int:
        """The time spent before the first result: tracing, lowering and compiling."""
        return self.trace_ns + self.lower_ns + self.compile_ns


_Sums = Counter[str]
"""Sums under way, by the field of ``Totals`` that they will become."""

_NOTHING: _Sums = Counter()
_COUNTED: dict[type[Event], str] = {
    Traced: "traces",
    Lowered: "lowerings",
    Compiled: "compiles",
    Executed: "executions",
    CacheHit: "hits",
    CacheMiss: "misses",
    Leak: "leaks",
    TraceTimeEffect: "effects",
}
_TIMED: dict[type[Event], str] = {
    Traced: "trace_ns",
    Lowered: "lower_ns",
    Compiled: "compile_ns",
    Executed: "execute_ns",
}


def _add(sums: _Sums, record: Record) -> None:
    event = record.event
    kind = type(event)
    if kind in _COUNTED:
        sums[_COUNTED[kind]] += 1
    if kind in _TIMED:
        sums[_TIMED[kind]] += record.self_ns
    if isinstance(event, Compiled):
        sums["from_disk"] += event.from_disk
    elif isinstance(event, Transferred):
        sums["transferred_bytes"] += event.bytes
    elif isinstance(event, ConstantCaptured):
        sums["constant_bytes"] += event.bytes
    if event.error is not None:
        sums["errors"] += 1


class Recorder:
    """Records events while it is started, or inside its ``with`` block; safe with threads.

    Args:
      capacity: how many events are kept; older ones are dropped and counted, and stay in the
        totals.
      kinds: the kinds recorded; by default all but ``Executed``.
      groups: how many cells and how many functions the totals tell apart; those that come after
        are merged under the label None.
      private: whether it hears what happens inside ``events.private()``, and only that.
    """

    def __init__(
        self,
        capacity: int = 10_000,
        kinds: tuple[type[Event], ...] = DEFAULT_KINDS,
        groups: int = 2_000,
        *,
        private: bool = False,
    ) -> None:
        self._kinds = kinds
        self._private = private
        self._groups = groups
        self._records: deque[Record] = deque(maxlen=capacity)
        self._lock = threading.Lock()
        self._handle: ListenerHandle | None = None
        self._followers: tuple[Callable[[Record], object], ...] = ()
        # Durations of recorded events, by the recorded span that they ran in and that is open.
        self._inside_ns: dict[int, int] = {}
        self._dropped = 0
        self._totals: _Sums = Counter()
        self._by_cell: dict[str | None, _Sums] = {}
        self._by_function: dict[str | None, _Sums] = {}
        self._epoch_ns = time.time_ns() - time.perf_counter_ns()

    def start(self, *, owner: object = None) -> Self:
        """Begin to record; does nothing when it records already.

        Args:
          owner: an object that can be referred to weakly: nothing is recorded once it is gone.
        """
        with self._lock:
            if self._handle is None:
                self._handle = listen(
                    self._receive, self._kinds, private=self._private, owner=owner
                )
        return self

    def stop(self) -> None:
        """End recording; what was recorded stays."""
        with self._lock:
            handle, self._handle = self._handle, None
            self._inside_ns.clear()
        if handle is not None:
            handle.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def follow(self, follower: Callable[[Record], object]) -> ListenerHandle:
        """Call ``follower`` with each record as it is made, until the handle is closed.

        Args:
          follower: called in the thread that caused the event, in the midst of what it does, so it
            must be short and must not raise.
        """

        def leave() -> None:
            with self._lock:
                self._followers = tuple(one for one in self._followers if one is not follower)

        with self._lock:
            self._followers = (*self._followers, follower)
        return ListenerHandle(leave)

    @property
    def recording(self) -> bool:
        """Whether it has been started and not stopped."""
        return self._handle is not None

    @property
    def count(self) -> int:
        """How many events are kept."""
        return len(self._records)

    @property
    def dropped(self) -> int:
        """How many events were dropped because the capacity was reached."""
        return self._dropped

    def clear(self) -> None:
        """Forget all records, totals and the count of dropped events."""
        with self._lock:
            self._records.clear()
            self._dropped = 0
            self._totals.clear()
            self._by_cell.clear()
            self._by_function.clear()

    def records(
        self,
        kind: type[Event] | tuple[type[Event], ...] = Event,
        *,
        fun: str | None = None,
        function_id: int | None = None,
        cell: str | None = None,
        latest: int | None = None,
    ) -> tuple[Record, ...]:
        """The records kept, in the order in which the events began.

        Args:
          kind: only events of this kind or kinds.
          fun: only events about a function of this name.
          function_id: only events about this function object.
          cell: only events of this cell.
          latest: look at so many only, those that ended last; at all where not given.
        """
        with self._lock:
            skipped = 0 if latest is None else max(len(self._records) - latest, 0)
            kept = list(islice(self._records, skipped, None))
        chosen = (
            record
            for record in kept
            if isinstance(record.event, kind)
            and (fun is None or record.fun == fun)
            and (function_id is None or record.function_id == function_id)
            and (cell is None or record.cell == cell)
        )
        return tuple(sorted(chosen, key=lambda record: record.event.start_ns))

    def totals(self, *, cell: str | None = None, fun: str | None = None) -> Totals:
        """Totals of everything recorded, or of one cell, or of the functions of one name.

        Raises:
          ValueError: both ``cell`` and ``fun`` are given.
        """
        if cell is not None and fun is not None:
            raise ValueError("totals are kept by cell or by function: give one of cell= and fun=")
        with self._lock:
            if cell is not None:
                return Totals(**self._by_cell.get(cell, _NOTHING))
            if fun is not None:
                return Totals(**self._by_function.get(fun, _NOTHING))
            return Totals(**self._totals)

    def totals_by_cell(self) -> dict[str | None, Totals]:
        """Totals of each cell, in the order first seen; None stands for outside cells."""
        with self._lock:
            return {label: Totals(**sums) for label, sums in self._by_cell.items()}

    def totals_by_function(self) -> dict[str | None, Totals]:
        """Totals of each function name, in the order first seen; None: about no function."""
        with self._lock:
            return {label: Totals(**sums) for label, sums in self._by_function.items()}

    def _receive(self, event: Event) -> None:
        around = ancestors(event)
        cell = next((s.fields.get("cell") for s in around if s.kind is CellFinished), None)
        if isinstance(event, CellStarted | CellFinished):
            cell = event.cell
        outer = next((s.number for s in around if issubclass(s.kind, self._kinds)), None)
        with self._lock:
            if self._handle is None:
                return
            inside = self._inside_ns.pop(event.span, 0)
            if outer is not None:
                self._inside_ns[outer] = self._inside_ns.get(outer, 0) + event.duration_ns
            when = (self._epoch_ns + event.start_ns) / 1e9
            record = Record(event, cell, when, max(event.duration_ns - inside, 0))
            self._keep(record)
        for follower in self._followers:
            follower(record)

    def _keep(self, record: Record) -> None:
        if len(self._records) == self._records.maxlen:
            self._dropped += 1
        self._records.append(record)
        _add(self._totals, record)
        _add(_group(self._by_cell, record.cell, self._groups), record)
        _add(_group(self._by_function, record.fun, self._groups), record)


def _group(groups: dict[str | None, _Sums], label: str | None, limit: int) -> _Sums:
    """The sums of a label; labels beyond the limit share those of None."""
    if label not in groups and len(groups) >= limit:
        label = None
    return groups.setdefault(label, Counter())
