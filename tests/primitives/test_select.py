"""Selection: which case is taken, and that the others leave no trace in values or gradients."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax

X = np.float32([-1.0, 0.0, 4.0])


def safe_root(x: Any) -> Any:
    return lax.select(lax.gt(x, 0.0), lax.sqrt(x), 0.0)


def safe_root_twice(x: Any) -> Any:
    """Guard the operand too, so that the untaken branch has a finite derivative."""
    positive = lax.gt(x, 0.0)
    return lax.select(positive, lax.sqrt(lax.select(positive, x, 1.0)), 0.0)


def test_values_of_the_untaken_case_do_not_reach_the_result() -> None:
    np.testing.assert_array_equal(safe_root(X), [0.0, 0.0, 2.0])


def test_tangents_of_the_untaken_case_are_dropped() -> None:
    _, tangent = jx.jvp(safe_root, (X,), (np.ones_like(X),))
    np.testing.assert_array_equal(tangent, [0.0, 0.0, 0.25])


def test_cotangents_of_the_untaken_case_are_exactly_zero() -> None:
    case = np.float32([np.nan, np.inf, 1.0])
    pulled = jx.vjp(lambda x: lax.select(lax.gt(X, 0.0), x, X), case)[1](np.ones_like(X))[0]
    np.testing.assert_array_equal(pulled, [0.0, 0.0, 1.0])


def test_guarding_the_operand_keeps_gradients_finite() -> None:
    gradient = jx.vmap(jx.grad(safe_root_twice))(X)
    np.testing.assert_array_equal(gradient, [0.0, 0.0, 0.25])


@pytest.mark.parametrize("which", [-5, 0, 1, 2, 7])
def test_integers_out_of_range_choose_the_nearest_case(which: int) -> None:
    cases = [np.float32([10 * k, 10 * k + 1]) for k in range(3)]
    expected = cases[min(max(which, 0), 2)]
    np.testing.assert_array_equal(lax.select_n(np.int32(which), *cases), expected)
    np.testing.assert_array_equal(lax.select_n(np.full(2, which, np.int32), *cases), expected)


def test_scalar_predicate_is_batched_against_arrays() -> None:
    choose = jx.vmap(lax.select, in_axes=(0, None, None))
    result = choose(np.array([True, False]), X, -X)
    np.testing.assert_array_equal(result, np.stack([X, -X]))


def test_scalar_cases_stand_beside_arrays_in_gradients() -> None:
    def total(scalar: Any) -> Any:
        return lax.reduce_sum(lax.select(lax.gt(X, -0.5), scalar, X), (0,))

    assert float(jx.grad(total)(np.float32(3))) == 2.0


def test_gradient_through_several_cases_goes_to_the_chosen_one() -> None:
    which = np.int32([2, 0, 1])
    pulled = jx.vjp(lambda *cases: lax.select_n(which, *cases), X, X, X)[1](X + 2)
    for number, ct in enumerate(pulled):
        np.testing.assert_array_equal(ct, np.where(which == number, X + 2, 0))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_integers_of_every_dtype_choose(dtype):
    with jx.enable_x64(True):
        which = np.array([0, 2, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
        cases = [np.arange(5.0) + 10 * n for n in range(3)]
        chosen = lax.select_n(which, *cases)
    np.testing.assert_array_equal(chosen, [0.0, 21.0, 12.0, 23.0, 4.0])


def test_a_dtype_too_narrow_for_the_cases_is_refused():
    with pytest.raises(TypeError, match="select_n got int8 to choose among 129 cases: use int32"):
        lax.select_n(np.int8(3), *[np.float32(n) for n in range(129)])
