"""Functions over sizes and arguments: each case in its row, failures too."""

from __future__ import annotations

import json
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel.observe import Comparison, compare
from jxkernel.observe.comparisons import FIGURES, Measured, cases_of


def double(x: Any) -> Any:
    return x * 2.0


def failing(x: Any) -> Any:
    raise ValueError("no such thing as <b>")


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare({"double": jx.jit(double), "wrong": failing}, sizes=[8, 16], make=jnp.ones)


def test_rows_are_cases_with_their_functions_side_by_side(found: Comparison) -> None:
    assert [(row.name, row.label, row.size) for row in found.rows] == [
        ("double", "8", 8),
        ("wrong", "8", 8),
        ("double", "16", 16),
        ("wrong", "16", 16),
    ]
    assert (found.names, found.labels) == (("double", "wrong"), ("8", "16"))


def test_a_call_that_fails_has_its_error_and_the_others_go_on(found: Comparison) -> None:
    good, wrong = found.rows[:2]
    assert wrong.error == "ValueError: no such thing as <b>"
    assert [wrong.seconds(figure) for figure in FIGURES] == [None] * 4
    assert all(good.seconds(figure) for figure in FIGURES)
    assert "failed: ValueError" in found.table()
    assert json.loads(json.dumps(found.to_dict()))[1]["benchmark"] is None


def test_the_first_call_is_told_apart(found: Comparison) -> None:
    row = found.rows[0]
    assert row.benchmark is not None
    assert row.seconds("first call") == row.benchmark.build_time
    assert "first call" in found.table().splitlines()[0]


def test_factors_compare_with_the_best_of_a_case(found: Comparison) -> None:
    benchmark = found.rows[0].benchmark
    twice = Comparison(
        (Measured("a", "8", 8, benchmark), Measured("b", "8", 8, benchmark), found.rows[1])
    )
    assert [twice.factor(row, "latency") for row in twice.rows] == [1.0, 1.0, None]


def test_arguments_are_made_when_their_turn_has_come() -> None:
    made: list[int] = []

    def make(size: int) -> tuple[Any, ...]:
        made.append(size)
        return jnp.ones(size), 2.0

    cases = cases_of([double], sizes=[4, 5], make=make)
    assert made == []
    assert cases[1].arguments()[1] == 2.0
    assert made == [5]


def test_names_are_unlike_one_another_and_types_are_labels() -> None:
    cases = cases_of([double, double, jx.jit(double)], [jnp.ones(3), 2])
    assert [one.name for one in cases] == ["double", "double 2", "double 3"]
    assert {one.label for one in cases} == {"f32[3], i32*[]"}
    named = cases_of(double, cases={"small": jnp.ones(2), "pair": (1, 2)})
    assert [(one.label, len(one.arguments())) for one in named] == [("small", 1), ("pair", 2)]


@pytest.mark.parametrize(
    ("functions", "keywords", "message"),
    [
        ([], {}, "needs at least one function"),
        ([3], {}, "needs functions, got 3"),
        (double, {"sizes": [1]}, "sizes= and make= go together"),
        (double, {"cases": {}, "sizes": [1], "make": jnp.ones}, "in one way"),
    ],
)
def test_what_cannot_be_compared_is_told(
    functions: Any, keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        cases_of(functions, **keywords)
