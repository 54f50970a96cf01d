"""Differences of programs: by what equations do, not by what variables are called."""

from typing import Any

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp
from jxkernel.observe import diff
from jxkernel.observe.differences import DiffRow, folded


def program(function: Any, *args: Any) -> Any:
    return jx.jit(function).trace(*args)


def signs(before: Any, after: Any) -> str:
    return "".join(row.sign for row in diff(before, after).rows)


def test_a_program_does_not_differ_from_itself_by_other_names() -> None:
    def one(x: Any) -> Any:
        a = jnp.sin(x)
        return a * a

    def other(angle: Any) -> Any:
        sine = jnp.sin(angle)
        return sine * sine

    found = diff(program(one, 1.0), program(other, 1.0))
    assert found.is_same
    assert found.summary() == "no difference"


def test_another_shape_changes_types_and_no_equation() -> None:
    f = lambda x: jnp.sin(x) * 2.0  # noqa: E731
    assert signs(program(f, jnp.ones(3)), program(f, jnp.ones(4))) == "~~~="


def test_an_equation_between_two_is_new_and_its_reader_changed() -> None:
    before = program(lambda x: jnp.sin(x) * 2.0, 1.0)
    after = program(lambda x: jnp.exp(jnp.sin(x)) * 2.0, 1.0)
    assert signs(before, after) == "==+~="
    assert signs(after, before) == "==-~="
    assert "- c:f32[] = exp b" in str(diff(after, before))


def test_swapped_operands_are_a_change() -> None:
    before = program(lambda x, y: x - y, 1.0, 2.0)
    after = program(lambda x, y: y - x, 1.0, 2.0)
    assert signs(before, after) == "=~="


def test_changes_inside_a_loop_are_found_there() -> None:
    def looped(step: Any) -> Any:
        return program(lambda x: lax.fori_loop(0, 3, lambda _, c: step(c), x), 1.0)

    found = diff(looped(lambda c: c * 2.0), looped(lambda c: c * 3.0))
    assert [(row.sign, row.depth) for row in found.rows if row.sign != "="] == [("~", 1)]


def test_long_runs_of_equal_rows_are_folded() -> None:
    rows = [DiffRow("=", 0, "a", "a")] * 9 + [DiffRow("+", 0, "", "b")]
    assert [row if isinstance(row, int) else row.sign for row in folded(rows)] == [
        *("=", "=", 5, "=", "=", "+"),
    ]


def test_what_is_too_long_to_compare_is_counted() -> None:
    def long(x: Any) -> Any:
        for _ in range(1_010):
            x = x * 2.0
        return x

    assert diff(program(long, 1.0), program(long, 1.0)).left_out == 20
