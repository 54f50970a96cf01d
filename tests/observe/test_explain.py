"""The ledger tells each build, its reason, cost and fix; explain makes sentences of it."""

from __future__ import annotations

import re

import pytest

from jxkernel.events import (
    CacheHit,
    CacheMiss,
    CellFinished,
    Compiled,
    ConstantCaptured,
    Lowered,
    Reason,
    Traced,
    TraceTimeEffect,
    emit,
    span,
)
from jxkernel.observe.explain import (
    STORM,
    explain,
    format_duration,
    format_ledger,
    format_size,
    function_label,
    ledger,
)
from jxkernel.observe.recorder import Recorder
from tests.observe.conftest import Clock

FIRST = Reason("first_call", "first call of f")
SHAPE = Reason("shape", "x", "f32[8]", "f32[16]", "pad x along axis 0 to a few fixed sizes")
WEAK = Reason("weak_type", "y", "f32[]", "f32*[]")


def build(clock: Clock, *reasons: Reason, fun: str = "f", function_id: int = 1) -> None:
    """A miss and its work: trace 1 ms, lower 2 ms, compile 30 ms."""
    key = {"fun": fun, "function_id": function_id}
    emit(CacheMiss, reasons=reasons, **key)
    with span(Traced, **key) as traced:
        clock.advance(1)
        traced.set(eqns=12)
    with span(Lowered, **key):
        clock.advance(2)
    with span(Compiled, platform="cpu", **key):
        clock.advance(30)


def build_inside_the_miss(clock: Clock, *reasons: Reason) -> None:
    """The same, with the miss as the span around its work."""
    with span(CacheMiss, fun="f", function_id=1, reasons=reasons):
        clock.advance(1)
        with span(Traced, fun="f", function_id=1, eqns=12):
            clock.advance(1)
        with span(Lowered, fun="f", function_id=1):
            clock.advance(2)
        with span(Compiled, fun="f", function_id=1):
            clock.advance(30)


@pytest.mark.parametrize("make", [build, build_inside_the_miss])
def test_row_gathers_a_miss_and_its_work(clock: Clock, make: object) -> None:
    assert callable(make)
    with Recorder() as recorder:
        with span(CellFinished, cell="In[3]"):
            make(clock, FIRST)
        clock.advance(100)
        with span(CellFinished, cell="In[4]"):
            make(clock, SHAPE, WEAK)
    first, second = ledger(recorder)
    assert (first.number, first.cell, first.fun, first.cache) == (1, "In[3]", "f", "trace")
    assert (first.trace_ns, first.lower_ns, first.compile_ns) == (1e6, 2e6, 30e6)
    assert (first.eqns, first.cost_ns, first.total_ns) == (12, 33e6, 33e6)
    assert (first.sentence(), first.fix, first.storm) == ("first call of f", "", "")
    assert (second.number, second.cell, second.total_ns) == (2, "In[4]", 66e6)
    assert second.sentence() == "x: f32[8] → f32[16]; y: f32[] → f32*[]"
    assert second.fix == SHAPE.fix
    assert second.when - first.when == pytest.approx(0.133, abs=2e-3)


def test_later_miss_of_the_executable_belongs_to_the_same_row(clock: Clock) -> None:
    with Recorder() as recorder:
        emit(CacheMiss, fun="f", reasons=(SHAPE,))
        with span(Traced, fun="f"):
            clock.advance(1)
        emit(CacheMiss, fun="f", cache="memory")
        with span(Compiled, fun="f"):
            clock.advance(2)
    (row,) = ledger(recorder)
    assert (row.cache, row.reasons, row.compile_ns) == ("trace", (SHAPE,), 2e6)


def test_miss_of_the_executable_alone_is_a_row_without_a_trace(clock: Clock) -> None:
    with Recorder() as recorder:
        emit(CacheMiss, fun="f", cache="memory")
        with span(Compiled, fun="f", from_disk=True):
            clock.advance(2)
    (row,) = ledger(recorder)
    assert (row.eqns, row.cache, row.from_disk) == (None, "memory", True)
    assert row.sentence() == "not in the memory cache"


def test_work_that_no_call_asked_for_has_its_rows(clock: Clock) -> None:
    with Recorder() as recorder:
        for _ in range(2):
            with span(Traced, fun="f", eqns=1):
                clock.advance(1)
            with span(Lowered, fun="f"):
                clock.advance(1)
    rows = ledger(recorder)
    assert [row.sentence() for row in rows] == ["built outside a call of jit"] * 2
    assert [row.cost_ns for row in rows] == [2e6, 2e6]


def test_functions_of_one_name_are_told_apart_by_object(clock: Clock) -> None:
    with Recorder() as recorder:
        emit(CacheMiss, fun="f", function_id=1)
        emit(CacheMiss, fun="f", function_id=2)
        with span(Traced, fun="f", function_id=1, eqns=3):
            clock.advance(1)
    assert [(row.function_id, row.eqns) for row in ledger(recorder)] == [(1, 3), (2, None)]


def test_later_stages_that_know_only_the_name_join_the_latest_row(clock: Clock) -> None:
    with Recorder() as recorder:
        for number in (1, 2):
            emit(CacheMiss, fun="f", function_id=number)
            with span(Traced, fun="f", function_id=number, eqns=3):
                clock.advance(1)
            with span(Lowered, fun="f"):
                clock.advance(2)
            with span(Compiled, fun="f"):
                clock.advance(number)
    rows = ledger(recorder)
    assert [(row.function_id, row.compile_ns) for row in rows] == [(1, 1e6), (2, 2e6)]


def test_nested_function_has_its_own_row_and_its_time_counts_once(clock: Clock) -> None:
    with Recorder() as recorder:
        emit(CacheMiss, fun="outer")
        with span(Traced, fun="outer"):
            clock.advance(1)
            emit(CacheMiss, fun="inner")
            with span(Traced, fun="inner"):
                clock.advance(5)
    outer, inner = ledger(recorder)
    assert (outer.trace_ns, inner.trace_ns, inner.total_ns) == (1e6, 5e6, 6e6)


def test_failed_work_is_a_row_with_its_error_and_the_next_try_another(clock: Clock) -> None:
    with Recorder() as recorder:
        emit(CacheMiss, fun="f", reasons=(FIRST,))
        with pytest.raises(TypeError), span(Traced, fun="f"):
            raise TypeError("x is a string")
        build(clock, SHAPE, function_id=0)
    failed, passed = ledger(recorder)
    assert failed.error == "TypeError: x is a string"
    assert passed.error is None
    assert "failed: TypeError: x is a string" in explain("f", recorder)
    assert "failed: TypeError: x is a string; first call" in format_ledger([failed])


def test_argument_that_changes_in_two_ways_is_told_once(clock: Clock) -> None:
    weak = Reason("weak_type", "y", "f32[8]", "f32*[]", "give y a dtype")
    shape = Reason("shape", "y", "f32[8]", "f32*[]", "pad y")
    with Recorder() as recorder:
        build(clock, weak, shape)
    (row,) = ledger(recorder)
    assert row.sentence() == "y: f32[8] → f32*[]"
    assert row.fix == "give y a dtype"


def test_ledger_of_one_function_or_cell(clock: Clock) -> None:
    with Recorder() as recorder:
        with span(CellFinished, cell="In[1]"):
            build(clock, fun="f")
        with span(CellFinished, cell="In[2]"):
            build(clock, fun="g")
    assert [row.fun for row in ledger(recorder, fun="g")] == ["g"]
    assert [row.fun for row in ledger(recorder, cell="In[1]")] == ["f"]


def test_storm_is_told_at_five_and_at_each_doubling(clock: Clock) -> None:
    with Recorder() as recorder:
        build(clock, FIRST)
        for _ in range(4 * STORM):
            build(clock, SHAPE)
    rows = ledger(recorder)
    told = [row.number - 1 for row in rows if row.storm]
    assert told == [STORM, 2 * STORM, 4 * STORM]
    assert rows[STORM].storm == (
        "f was built again 5 times, 165 ms in all; 5 times for shape: x; " + SHAPE.fix
    )


def test_storm_names_the_commonest_cause_and_only_this_function(clock: Clock) -> None:
    with Recorder() as recorder:
        for _ in range(2):
            build(clock, SHAPE)
            build(clock, SHAPE, fun="other")
        for _ in range(3):
            build(clock, WEAK)
    storms = [row.storm for row in ledger(recorder) if row.storm]
    assert storms == ["f was built again 5 times, 165 ms in all; 3 times for weak type: y"]


def test_first_calls_of_many_functions_are_no_storm(clock: Clock) -> None:
    with Recorder() as recorder:
        for number in range(3 * STORM):
            build(clock, FIRST, function_id=number)
    assert not any(row.storm for row in ledger(recorder))


def test_explanation_tells_the_whole_history(clock: Clock) -> None:
    def f(x: float) -> float:
        return x

    with Recorder() as recorder:
        with span(CellFinished, cell="In[3]"):
            build(clock, FIRST)
            emit(CacheHit, fun="f")
        build(clock, SHAPE)
        for _ in range(2):
            emit(ConstantCaptured, fun="f", name="w", shape=(2, 3), dtype="float32", bytes=24)
            emit(TraceTimeEffect, fun="f", effect="print(x)", file="a.py", line=4)
        emit(TraceTimeEffect, fun="f", effect="log.append(x)")
    assert explain(f, recorder).splitlines() == [
        "f: traced 2 times, compiled 2, 1 trace reused · trace 2 ms · lower 4 ms · compile 60 ms",
        "  1. In[3]: first call of f (12 eqns, trace 1 ms, lower 2 ms, compile 30 ms)",
        "  2. x: f32[8] → f32[16] (12 eqns, trace 1 ms, lower 2 ms, compile 30 ms)",
        "     fix: pad x along axis 0 to a few fixed sizes",
        "  constant baked in: w float32[2,3], 24 B; pass it as an argument to change it later",
        "  happened only while tracing: print(x) (a.py:4)",
        "  happened only while tracing: log.append(x)",
    ]


def test_explanation_carries_the_storm_warning(clock: Clock) -> None:
    with Recorder() as recorder:
        for _ in range(STORM):
            build(clock, SHAPE)
    assert "     warning: f was built again 5 times" in explain("f", recorder)


def test_explanation_of_the_unseen_says_why_there_is_none() -> None:
    recorder = Recorder()
    assert explain("f", recorder) == (
        "f: nothing was recorded; start the recorder before the calls to explain"
    )
    with recorder:
        assert explain("f", recorder) == "f: neither traced nor compiled since recording began"


def test_row_of_no_work_and_of_disk_says_so(clock: Clock) -> None:
    with Recorder() as recorder:
        emit(CacheMiss, fun="f", reasons=(FIRST,))
        with span(Compiled, fun="g", from_disk=True):
            clock.advance(2)
    assert "first call of f (no work done)" in explain("f", recorder)
    assert "(compile 2 ms, from disk)" in explain("g", recorder)


def test_table_is_aligned_and_totalled(clock: Clock) -> None:
    with Recorder() as recorder:
        with span(CellFinished, cell="In[3]"):
            build(clock, FIRST)
        build(clock, SHAPE, fun="long_name")
    lines = format_ledger(ledger(recorder)).splitlines()
    lines = [re.sub(r"\d\d:\d\d:\d\d", "12:00:00", line) for line in lines]
    assert lines == [
        "   time      cell   function   trace  lower  compile  disk  why",
        "1  12:00:00  In[3]  f           1 ms   2 ms    30 ms        first call of f",
        "2  12:00:00         long_name   1 ms   2 ms    30 ms        x: f32[8] → f32[16]",
        "    fix: pad x along axis 0 to a few fixed sizes",
        "total: 66 ms in 2 builds",
    ]


def test_empty_ledger_says_so() -> None:
    assert format_ledger(()) == "nothing has been traced or compiled since recording began"


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (999.6, "1 µs"),
        (4_100, "4.1 µs"),
        (213_000, "213 µs"),
        (999_600, "1 ms"),
        (31_400_000, "31.4 ms"),
        (999_700_000, "1 s"),
        (12_345_000_000, "12.3 s"),
        (1_234_000_000_000, "1234 s"),
    ],
)
def test_durations_have_three_figures(nanoseconds: float, text: str) -> None:
    assert format_duration(nanoseconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 KB"),
        (999_600, "1 MB"),
        (7_840_000, "7.84 MB"),
        (2_500_000_000, "2.5 GB"),
    ],
)
def test_sizes_have_three_figures(count: int, text: str) -> None:
    assert format_size(count) == text


def test_functions_are_called_by_their_name() -> None:
    assert function_label(explain) == "explain"
    assert function_label("f") == "f"
    assert function_label(3) == "3"
