"""The ledger of real calls: each classic way to recompile is told with its reason and fix."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.events import (
    CacheHit,
    CellFinished,
    Compiled,
    Executed,
    Lowered,
    Traced,
    listening_to,
    span,
)
from jxkernel.lax import add, mul, neg
from jxkernel.observe.explain import LedgerRow, explain, ledger
from jxkernel.observe.recorder import Recorder

EIGHT = np.ones(8, np.float32)
pytestmark = pytest.mark.usefixtures("no_earlier_calls")


def double(x: Any) -> Any:
    return add(x, x)


def scale(x: Any, n: int) -> Any:
    return mul(x, float(n))


def total(parts: Any) -> Any:
    return add(parts["a"], parts["b"]) if "b" in parts else parts["a"]


# (function, arguments of two calls, kind and sentence of the second miss)
MISSES: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...], str, str]] = [
    (double, (EIGHT,), (EIGHT[:4],), "shape", "x: f32[8] → f32[4]"),
    (double, (EIGHT,), (EIGHT.astype(np.int32),), "dtype", "x: f32[8] → i32[8]"),
    (double, (np.float32(1),), (1.0,), "weak_type", "x: f32[] → f32*[]"),
    (scale, (EIGHT, 2), (EIGHT, 3), "static_value", "n: 2 → 3"),
    (
        total,
        ({"a": EIGHT},),
        ({"a": EIGHT, "b": EIGHT},),
        "tree_structure",
        "the arguments' structure: without parts['b'] → with parts['b']",
    ),
]


@pytest.mark.parametrize(("function", "first", "second", "kind", "sentence"), MISSES)
def test_second_miss_is_told_by_what_differs(
    recorder: Recorder,
    function: Callable[..., Any],
    first: tuple[Any, ...],
    second: tuple[Any, ...],
    kind: str,
    sentence: str,
) -> None:
    jitted = jx.jit(function, static_argnames="n" if function is scale else None)
    jitted(*first)
    jitted(*second)
    one, two = ledger(recorder, fun=function.__name__)
    assert [reason.kind for reason in one.reasons] == ["first_call"]
    assert two.reasons[0].kind == kind
    assert two.reasons[0].sentence() == sentence
    assert two.fix


def test_row_has_the_cost_of_all_three_stages(recorder: Recorder) -> None:
    with span(CellFinished, cell="In[1]"):
        jx.jit(double)(EIGHT)
    (row,) = ledger(recorder)
    assert (row.cell, row.fun, row.eqns, row.cache) == ("In[1]", "double", 1, "trace")
    assert row.trace_ns > 0
    assert row.lower_ns > 0
    assert row.compile_ns > 0
    assert row.total_ns == row.cost_ns


def test_later_calls_of_a_known_kind_leave_no_trace(recorder: Recorder) -> None:
    jitted = jx.jit(double)
    jitted(EIGHT)
    before = len(recorder.records())
    for _ in range(3):
        jitted(EIGHT)
    assert not listening_to(Executed)
    assert len(recorder.records((Traced, Lowered, Compiled))) == 3
    assert len(recorder.records()) == before


def test_miss_is_compared_with_all_earlier_calls_not_the_last(recorder: Recorder) -> None:
    jitted = jx.jit(scale, static_argnames="n")
    jitted(EIGHT, 2)
    jitted(EIGHT[:4], 3)
    jitted(EIGHT, 3)
    latest = ledger(recorder)[-1]
    assert [reason.sentence() for reason in latest.reasons] == ["n: 2 → 3"]


def test_lambda_jitted_anew_in_a_loop_is_told_each_time(recorder: Recorder) -> None:
    for _ in range(4):
        jx.jit(lambda x: neg(x))(EIGHT)
        gc.collect()
    kinds = [row.reasons[0].kind for row in ledger(recorder, fun="<lambda>")]
    assert kinds == ["first_call"] + ["new_function_object"] * 3


def test_same_function_jitted_twice_shares_its_trace(recorder: Recorder) -> None:
    jx.jit(double)(EIGHT)
    jx.jit(double)(EIGHT)
    assert len(recorder.records(Traced)) == 1


def test_call_of_a_known_trace_without_a_fast_path_is_a_hit(recorder: Recorder) -> None:
    jitted = jx.jit(double)
    jitted(EIGHT)
    jx.jit(lambda x: jitted(x))(EIGHT)
    assert len(recorder.records(Traced, fun="double")) == 1
    assert [type(record.event) for record in recorder.records(CacheHit)] == [CacheHit]


def test_cleared_caches_hold_nothing_for_functions_jitted_again(recorder: Recorder) -> None:
    for _ in range(2):
        jx.jit(double)(EIGHT)
        gc.collect()
        jx.clear_caches()
    assert len(recorder.records(Traced)) == 2


def test_keyword_form_is_told(recorder: Recorder) -> None:
    jitted = jx.jit(double)
    jitted(EIGHT)
    jitted(x=EIGHT)
    _, row = ledger(recorder)
    assert (row.reasons[0].kind, row.reasons[0].after) == ("kwargs_form", "x")


def test_cleared_cache_is_told_as_evicted(recorder: Recorder) -> None:
    jitted = jx.jit(double)
    jitted(EIGHT)
    jitted.clear_cache()
    jitted(EIGHT)
    _, row = ledger(recorder)
    assert row.reasons[0].kind == "evicted"


def test_failed_trace_is_a_row_and_the_next_good_call_another(recorder: Recorder) -> None:
    @jx.jit
    def positive(x: Any) -> Any:
        return x if x.shape or x else neg(x)

    with pytest.raises(TypeError):
        positive(1.0)
    positive(EIGHT)
    failed, passed = ledger(recorder)
    assert failed.error is not None
    assert failed.error.startswith("TracerBoolConversionError")
    assert passed.error is None
    assert passed.compile_ns > 0


def test_nested_jit_has_its_own_row_inside_the_outer_one(recorder: Recorder) -> None:
    inner = jx.jit(double)

    @jx.jit
    def outer(x: Any) -> Any:
        return neg(inner(x))

    outer(EIGHT)
    rows: dict[str, LedgerRow] = {row.fun: row for row in ledger(recorder)}
    assert list(rows) == ["outer", "double"]
    assert rows["double"].compile_ns == 0
    (traced,) = recorder.records(Traced, fun="outer")
    assert rows["outer"].trace_ns == traced.self_ns < traced.event.duration_ns


def test_eager_operation_is_a_row_that_no_jit_asked_for(recorder: Recorder) -> None:
    odd = np.ones(37, np.float32)  # a length that no other test compiles
    add(odd, odd)
    rows = ledger(recorder, fun="add")
    assert [row.sentence() for row in rows] == ["built outside a call of jit"]


def test_explanation_of_a_jitted_function_by_the_function_itself(recorder: Recorder) -> None:
    jitted = jx.jit(partial(scale, n=2))
    jitted(EIGHT)
    jitted(EIGHT[:2])
    lines = explain("scale", recorder).splitlines()
    assert lines[0].startswith("scale: traced 2 times, compiled 2 · trace ")
    assert "first call of scale" in lines[1]
    assert "x: f32[8] → f32[2]" in lines[2]
    assert "fix: pad x along axis 0" in lines[3]
    assert explain(jx.jit(double), recorder).startswith("double: neither traced nor compiled")
