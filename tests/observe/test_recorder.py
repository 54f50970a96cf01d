"""The recorder keeps the latest events and right totals, whatever is dropped."""

from __future__ import annotations

import threading
import time

import pytest

from jxkernel.events import (
    CacheHit,
    CacheMiss,
    CellFinished,
    CellStarted,
    Compiled,
    ConstantCaptured,
    Event,
    Executed,
    Leak,
    Lowered,
    Traced,
    TraceTimeEffect,
    Transferred,
    emit,
    listening,
    listening_to,
    span,
)
from jxkernel.observe.recorder import Recorder, Totals
from tests.observe.conftest import Clock


def run_cell(clock: Clock, cell: str, fun: str) -> None:
    """A cell in which a function is traced (2 ms), lowered (3 ms) and compiled (40 ms)."""
    with span(CellFinished, cell=cell):
        emit(CellStarted, cell=cell)
        emit(CacheMiss, fun=fun)
        with span(Traced, fun=fun) as traced:
            clock.advance(2)
            traced.set(eqns=4)
        with span(Lowered, fun=fun):
            clock.advance(3)
        with span(Compiled, fun=fun):
            clock.advance(40)


def test_recorder_listens_only_while_started() -> None:
    recorder = Recorder()
    emit(Leak, fun="before", tracer="t", holder="h")
    with recorder as entered:
        assert entered is recorder
        assert recorder.recording
        emit(Leak, fun="f", tracer="t", holder="h")
        recorder.start()
        emit(Leak, fun="g", tracer="t", holder="h")
    assert not recorder.recording
    assert not listening()
    recorder.stop()
    emit(Leak, fun="after", tracer="t", holder="h")
    assert [record.fun for record in recorder.records()] == ["f", "g"]


def test_recorder_leaves_executions_alone_unless_asked() -> None:
    with Recorder():
        assert not listening_to(Executed)
    with Recorder(kinds=(Executed,)) as recorder:
        emit(Executed, fun="f")
        emit(Leak, fun="f", tracer="t", holder="h")
    assert [type(record.event) for record in recorder.records()] == [Executed]
    assert recorder.totals().executions == 1


def test_records_know_their_cell_and_time(clock: Clock) -> None:
    with Recorder() as recorder:
        run_cell(clock, "In[1]", "f")
        emit(Leak, fun="outside", tracer="t", holder="h")
    cells = {type(record.event): record.cell for record in recorder.records()}
    assert cells == {
        CellStarted: "In[1]",
        CellFinished: "In[1]",
        CacheMiss: "In[1]",
        Traced: "In[1]",
        Lowered: "In[1]",
        Compiled: "In[1]",
        Leak: None,
    }
    (traced,) = recorder.records(Traced)
    (compiled,) = recorder.records(Compiled)
    assert compiled.when - traced.when == pytest.approx(5e-3, abs=1e-5)


def test_wall_time_of_a_record_is_the_time_of_day() -> None:
    before = time.time()
    with Recorder() as recorder:
        emit(Leak, fun="f", tracer="t", holder="h")
    after = time.time()
    (record,) = recorder.records()
    assert before - 1 <= record.when <= after + 1


def test_cell_is_known_through_spans_of_kinds_not_recorded(clock: Clock) -> None:
    everything, leaks = Recorder(), Recorder(kinds=(Leak,))
    with everything, leaks, span(CellFinished, cell="In[7]"), span(Traced, fun="f"):
        emit(Leak, fun="f", tracer="t", holder="h")
    assert [record.cell for record in leaks.records()] == ["In[7]"]
    assert len(everything.records()) == 3


def test_records_come_in_the_order_of_beginning(clock: Clock) -> None:
    with Recorder() as recorder, span(Traced, fun="outer"):
        clock.advance(1)
        with span(Traced, fun="inner"):
            clock.advance(1)
    assert [record.fun for record in recorder.records()] == ["outer", "inner"]


def test_records_are_chosen_by_kind_function_and_cell(clock: Clock) -> None:
    with Recorder() as recorder:
        run_cell(clock, "In[1]", "f")
        run_cell(clock, "In[2]", "g")
        emit(CacheHit, fun="f", function_id=9)
    assert [record.cell for record in recorder.records(Traced)] == ["In[1]", "In[2]"]
    assert [record.cell for record in recorder.records(Traced, fun="g")] == ["In[2]"]
    assert len(recorder.records((Traced, Lowered), cell="In[1]")) == 2
    assert [type(r.event) for r in recorder.records(function_id=9)] == [CacheHit]
    assert recorder.records(fun="no such") == ()


def test_totals_by_cell_and_by_function(clock: Clock) -> None:
    with Recorder() as recorder:
        run_cell(clock, "In[1]", "f")
        run_cell(clock, "In[1]", "f")
        run_cell(clock, "In[2]", "g")
    once = Totals(
        traces=1,
        trace_ns=2_000_000,
        lowerings=1,
        lower_ns=3_000_000,
        compiles=1,
        compile_ns=40_000_000,
        misses=1,
    )
    assert recorder.totals(cell="In[2]") == recorder.totals(fun="g") == once
    assert recorder.totals(fun="f").compile_ns == 80_000_000
    assert recorder.totals(cell="In[1]").traces == 2
    assert recorder.totals().build_ns == 3 * 45_000_000
    assert recorder.totals(cell="In[3]") == Totals()
    assert list(recorder.totals_by_cell()) == ["In[1]", "In[2]"]
    assert recorder.totals_by_function()["g"] == once
    with pytest.raises(ValueError, match="give one of cell= and fun="):
        recorder.totals(cell="In[1]", fun="f")


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (CacheHit, {"fun": "f"}, Totals(hits=1)),
        (Compiled, {"fun": "f", "from_disk": True}, Totals(compiles=1, from_disk=1)),
        (
            Transferred,
            {"bytes": 64, "source": "host", "destination": "cpu:0"},
            Totals(transferred_bytes=64),
        ),
        (
            ConstantCaptured,
            {"fun": "f", "name": "w", "shape": (2,), "dtype": "float32", "bytes": 8},
            Totals(constant_bytes=8),
        ),
        (Leak, {"fun": "f", "tracer": "t", "holder": "h"}, Totals(leaks=1)),
        (TraceTimeEffect, {"fun": "f", "effect": "print"}, Totals(effects=1)),
    ],
)
def test_every_kind_is_counted(
    kind: type[Event], fields: dict[str, object], expected: Totals
) -> None:
    with Recorder() as recorder:
        emit(kind, **fields)
    assert recorder.totals() == expected


def test_failures_are_counted(clock: Clock) -> None:
    with Recorder() as recorder, pytest.raises(TypeError), span(Traced, fun="f"):
        raise TypeError
    assert recorder.totals() == Totals(traces=1, errors=1)


def test_time_of_nested_work_is_counted_once(clock: Clock) -> None:
    with Recorder() as recorder, span(Traced, fun="f"):
        clock.advance(1)
        with span(Traced, fun="g"):
            clock.advance(2)
            with span(Compiled, fun="add"):
                clock.advance(30)
        with span(Traced, fun="g"):
            clock.advance(4)
    self_times = {
        (record.fun, record.event.duration_ns): record.self_ns for record in recorder.records()
    }
    assert self_times == {
        ("f", 37_000_000): 1_000_000,
        ("g", 32_000_000): 2_000_000,
        ("add", 30_000_000): 30_000_000,
        ("g", 4_000_000): 4_000_000,
    }
    assert recorder.totals().trace_ns == 7_000_000
    assert recorder.totals().compile_ns == 30_000_000


def test_time_inside_an_unrecorded_span_counts_against_the_recorded_one_around_it(
    clock: Clock,
) -> None:
    with Recorder(), Recorder(kinds=(Traced, Compiled)) as recorder, span(Traced, fun="f"):
        clock.advance(1)
        with span(Lowered, fun="g"), span(Compiled, fun="g"):
            clock.advance(5)
    assert recorder.totals().trace_ns == 1_000_000


def test_capacity_bounds_the_records_but_not_the_totals() -> None:
    with Recorder(capacity=3) as recorder:
        for number in range(5):
            emit(Leak, fun=f"f{number}", tracer="t", holder="h")
    assert [record.fun for record in recorder.records()] == ["f2", "f3", "f4"]
    assert recorder.dropped == 2
    assert recorder.totals().leaks == 5


def test_groups_bound_the_labels_of_totals() -> None:
    with Recorder(groups=2) as recorder:
        for fun in ("f", "g", "h", "f", "i"):
            emit(Leak, fun=fun, tracer="t", holder="h")
    leaks = {fun: totals.leaks for fun, totals in recorder.totals_by_function().items()}
    assert leaks == {"f": 2, "g": 1, None: 2}


def test_clear_forgets_everything_and_goes_on_recording() -> None:
    with Recorder(capacity=1) as recorder:
        for _ in range(3):
            emit(Leak, fun="f", tracer="t", holder="h")
        recorder.clear()
        assert (recorder.records(), recorder.dropped, recorder.totals()) == ((), 0, Totals())
        assert recorder.totals_by_cell() == {}
        emit(Leak, fun="g", tracer="t", holder="h")
    assert [record.fun for record in recorder.records()] == ["g"]


def test_stopping_inside_a_span_leaves_nothing_behind(clock: Clock) -> None:
    recorder = Recorder().start()
    with span(Traced, fun="f"):
        with span(Compiled, fun="g"):
            clock.advance(5)
        recorder.stop()
    with recorder, span(Traced, fun="h"):
        clock.advance(1)
    assert recorder.totals().trace_ns == 1_000_000


def test_threads_recording_at_once_are_all_counted() -> None:
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        for _ in range(100):
            with span(Traced, fun="f"):
                emit(CacheHit, fun="f")

    with Recorder(capacity=50) as recorder:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (recorder.totals().traces, recorder.totals().hits) == (400, 400)
    assert len(recorder.records()) == 50
    assert recorder.dropped == 750
