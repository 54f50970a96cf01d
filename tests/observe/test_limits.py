"""A limit on traces: what exceeds it fails, and the error lists the traces with their reasons."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import events
from jxkernel.errors import TraceLimitError
from jxkernel.events import bus

EIGHT = np.ones(8, np.float32)


pytestmark = pytest.mark.usefixtures("no_earlier_calls")


def double(x: Any) -> Any:
    return x + x


def test_block_within_its_limit_passes_and_counts_no_hits() -> None:
    f = jx.jit(double)
    with jx.assert_max_traces(2):
        for size in (8, 3, 8, 3):
            f(EIGHT[:size])
    with jx.assert_max_traces(0):
        f(EIGHT)


def test_block_over_its_limit_lists_each_trace_with_line_reason_and_fix() -> None:
    f = jx.jit(double)

    def calls() -> None:
        with jx.assert_max_traces(1):
            f(EIGHT)
            f(EIGHT[:3])
            f(1.0)

    with pytest.raises(TraceLimitError, match="the block was traced 3 times; at most 1") as caught:
        calls()
    error = caught.value
    assert isinstance(error, AssertionError)
    assert (error.limit, error.traces) == (1, 3)
    first, second, third = error.reasons
    assert first.startswith("1. ")
    assert "test_limits.py:" in first
    assert first.endswith(": first call of double")
    assert second.endswith("x: f32[8] → f32[3]")
    assert third.endswith("x: f32[3] → f32*[]")
    assert "What to write instead:\n    pad x along axis 0 to a few fixed sizes" in str(error)


def test_only_the_named_functions_count() -> None:
    f, g = jx.jit(double), jx.jit(lambda x: x * 3)
    with jx.assert_max_traces(0, g), jx.assert_max_traces(1, double, "absent"):
        f(EIGHT)
    check = jx.assert_max_traces(0, "double")(lambda size: g(f(EIGHT[:size])))
    check(8)
    with pytest.raises(TraceLimitError, match="double was traced once; at most 0"):
        check(2)


def test_error_of_the_block_itself_is_not_covered() -> None:
    @jx.assert_max_traces(0)
    def failing() -> None:
        jx.jit(double)(EIGHT)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()


def test_one_limit_serves_nested_blocks() -> None:
    limit = jx.assert_max_traces(1)
    f = jx.jit(double)

    @limit
    def outer() -> None:
        f(EIGHT)
        with limit:
            f(EIGHT[:3])

    with pytest.raises(TraceLimitError, match="was traced 2 times"):
        outer()


def test_decorated_test_is_limited_in_each_call() -> None:
    f = jx.jit(double)

    @jx.assert_max_traces(1)
    def check(*sizes: int) -> int:
        for size in sizes:
            f(EIGHT[:size])
        return len(sizes)

    assert check(1, 1) == 2
    assert check(2) == 1
    with pytest.raises(TraceLimitError, match="the block was traced 2 times"):
        check(3, 4)
    assert check.__name__ == "check"


def test_decorator_below_jit_limits_the_traces_of_a_life() -> None:
    @jx.jit
    @jx.assert_max_traces(2)
    def f(x: Any) -> Any:
        return x + 1

    for size in (8, 3, 8, 3):
        f(EIGHT[:size])
    with pytest.raises(TraceLimitError, match="f was traced 3 times; at most 2") as caught:
        f(EIGHT[:2])
    assert [reason.split(": ", 1)[1] for reason in caught.value.reasons] == [
        "first call of f",
        "x: f32[8] → f32[3]",
        "x: f32[3] → f32[2]",
    ]
    f(EIGHT)


def test_call_twice_in_one_trace_counts_once_and_a_failed_trace_not_at_all() -> None:
    @jx.assert_max_traces(1)
    def square(x: Any) -> Any:
        return x * x if x.ndim else x["no"]

    @jx.jit
    def twice(x: Any) -> Any:
        return square(x) + square(-x)

    with pytest.raises(TypeError):
        twice(1.0)
    twice(EIGHT)
    with pytest.raises(TraceLimitError, match="square was traced 2 times"):
        twice(EIGHT[:3])


def test_nothing_listens_after_a_block_or_a_dead_function() -> None:
    gc.collect()
    before = sum(not one.ended for one in bus.listeners)
    with jx.assert_max_traces(1):
        jx.jit(double)(EIGHT)
    limited = jx.assert_max_traces(1)(lambda x: x)
    assert sum(not one.ended for one in bus.listeners) == before + 1
    del limited
    gc.collect()
    with events.listen(id):
        assert len(bus.listeners) == before + 1


class _Collecting(str):
    """A name that has the collector run wherever it is looked up."""

    __slots__ = ()

    def __hash__(self) -> int:
        gc.collect()
        return super().__hash__()


def test_function_that_is_collected_while_its_traces_are_counted_stops_nothing() -> None:
    limited: Any = jx.assert_max_traces(1)(lambda x: x)
    limited.itself = limited
    gone = weakref.ref(limited)
    del limited
    # In a thread, so that one that waits for itself fails this test and no more.
    emitting = threading.Thread(
        target=events.emit, args=(events.Traced,), kwargs={"fun": _Collecting("f")}, daemon=True
    )
    emitting.start()
    emitting.join(60)
    assert not emitting.is_alive()
    assert gone() is None


def test_negative_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        jx.assert_max_traces(-1)
