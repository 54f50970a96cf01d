"""Scatters that multiply or take extremes: values, derivatives, ties, overlapping windows."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.errors import UndefinedRuleError
from jxkernel.primitives.indexing.gather import ScatterDimensionNumbers
from jxkernel.primitives.indexing.scatter import scatter_max, scatter_min, scatter_mul
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((4, 5))
U = RANDOM.standard_normal((3, 5))
ROWS = ScatterDimensionNumbers((1,), (0,), (0,))
ELEMENTS = ScatterDimensionNumbers((), (0,), (0,))
REPEATED, UNIQUE = np.array([[1], [3], [1]]), np.array([[1], [3], [0]])

OPERATIONS = {
    "mul": (scatter_mul, np.multiply),
    "min": (scatter_min, np.minimum),
    "max": (scatter_max, np.maximum),
}


def at(ufunc, x, places, updates):
    y = x.copy()
    ufunc.at(y, places[:, 0], updates)
    return y


@pytest.mark.sampled(2)
@pytest.mark.parametrize("indices", [REPEATED, UNIQUE], ids=["repeated", "unique"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_values_and_rules(name, indices):
    function, ufunc = OPERATIONS[name]
    unique = indices is UNIQUE
    options = {"unique_indices": unique}
    check_all(
        lambda x, u: function(x, indices, u, ROWS, **options),
        [A, U],
        reference=lambda x, u: at(ufunc, x, indices, u),
        derivatives=unique or name != "mul",
    )


def test_batched_indices_stay_one_scatter():
    def write(x, i, u):
        return scatter_max(x, i, u, ROWS)

    args = [np.stack([A, A]), np.stack([REPEATED, UNIQUE]), np.stack([U, U])]
    jaxpr = jx.make_jaxpr(jx.vmap(write))(*args)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["scatter_max"]
    check_all(write, [A, REPEATED, U], derivatives=False)


def test_products_are_linear_in_the_operand_whatever_overlaps():
    check_all(lambda x: scatter_mul(x, REPEATED, U, ROWS), [A])


def test_overlapping_products_refuse_a_derivative_in_the_updates():
    with pytest.raises(UndefinedRuleError, match="unique_indices=True"):
        jx.grad(lambda u: scatter_mul(A[0], REPEATED, u, ELEMENTS)[1])(np.ones(3, np.float32))


def test_a_single_window_does_not_overlap():
    place = np.array([[2]])
    check_all(lambda x, u: scatter_mul(x, place, u, ELEMENTS), [A[0], U[0, :1]])


def test_equal_extremes_share_the_derivative():
    x, u = np.array([2.0, 5, 1], np.float32), np.array([5, 5, 0], np.float32)
    indices = np.array([[1], [1], [2]])
    pulled = jx.vjp(lambda x, u: scatter_max(x, indices, u, ELEMENTS), x, u)[1](np.ones(3, "f"))
    third = np.float32(1 / 3)
    assert_close(pulled[0], np.array([1, third, 1], np.float32))
    assert_close(pulled[1], np.array([third, third, 0], np.float32))


def test_dropped_updates_have_no_derivative():
    x, u = np.array([2.0, 0], np.float32), np.array([9, 0], np.float32)
    outside = np.array([[5], [-1]])
    pulled = jx.vjp(lambda x, u: scatter_max(x, outside, u, ELEMENTS), x, u)[1](np.ones(2, "f"))
    assert_close(pulled, [np.ones(2, np.float32), np.zeros(2, np.float32)])
