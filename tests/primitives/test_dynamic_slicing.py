"""Slices at traced positions: clamping, negative positions, every rule, batched starts."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.primitives.indexing.dynamic_slicing import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
    index_take,
)
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((4, 5))
SMALL = RANDOM.standard_normal((2, 3))
ROW = RANDOM.standard_normal(5)
ONE, TWO, LAST, FAR = np.int32(1), np.int64(2), np.int32(-1), np.int32(99)


def written(x, update, i, j):
    y = x.copy()
    y[i : i + update.shape[0], j : j + update.shape[1]] = update
    return y


TABLE = {
    "slice": (
        lambda x, i, j: dynamic_slice(x, (i, j), (2, 3)),
        [A, ONE, TWO],
        lambda x, i, j: x[i : i + 2, j : j + 3],
    ),
    "slice_clamped": (
        lambda x, i, j: dynamic_slice(x, (i, j), (2, 3)),
        [A, FAR, ONE],
        lambda x, i, j: x[2:4, 1:4],
    ),
    "slice_negative": (
        lambda x, i: dynamic_slice(x, (i, -2), (1, 2)),
        [A, LAST],
        lambda x, i: x[-1:, -2:],
    ),
    "slice_not_negative": (
        lambda x, i: dynamic_slice(x, (i, -2), (1, 2), allow_negative_indices=False),
        [A, LAST],
        lambda x, i: x[:1, :2],
    ),
    "slice_vector": (
        lambda x, i: dynamic_slice(x, i, (2, 3)),
        [A, np.array([1, 2])],
        lambda x, i: x[i[0] : i[0] + 2, i[1] : i[1] + 3],
    ),
    "slice_in_dim": (
        lambda x, i: dynamic_slice_in_dim(x, i, 2, 1),
        [A, TWO],
        lambda x, i: x[:, i : i + 2],
    ),
    "index": (lambda x, i: dynamic_index_in_dim(x, i, -1), [A, ONE], lambda x, i: x[:, i, None]),
    "index_drop": (
        lambda x, i: dynamic_index_in_dim(x, i, 0, keepdims=False),
        [A, LAST],
        lambda x, i: x[i],
    ),
    "update": (
        lambda x, u, i, j: dynamic_update_slice(x, u, (i, j)),
        [A, SMALL, ONE, TWO],
        written,
    ),
    "update_clamped": (
        lambda x, u, i, j: dynamic_update_slice(x, u, (i, j)),
        [A, SMALL, FAR, TWO],
        lambda x, u, i, j: written(x, u, 2, 2),
    ),
    "update_in_dim": (
        lambda x, u, i: dynamic_update_slice_in_dim(x, u, i, 0),
        [A, A[:2] * 2, ONE],
        lambda x, u, i: written(x, u, i, 0),
    ),
    "update_index": (
        lambda x, u, i: dynamic_update_index_in_dim(x, u, i, 0),
        [A, ROW, LAST],
        lambda x, u, i: written(x, u[None], 3, 0),
    ),
    "take": (
        lambda x, i, j: index_take(x, (i, j), (1, 0)),
        [RANDOM.standard_normal((4, 5, 2)), np.array([1, -1, 1]), np.array([0, 2, 0])],
        lambda x, i, j: x[j, i],
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TABLE)
def test_values_and_rules(name):
    function, args, reference = TABLE[name]
    check_all(function, args, reference=reference)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint32, np.int32])
def test_positions_of_any_integer_dtype(dtype):
    x = np.arange(300, dtype=np.int32)
    for start in (dtype(100), dtype(127)):
        assert_close(dynamic_slice(x, (start,), (2,)), x[start : int(start) + 2])
        assert_close(jx.jit(lambda i: dynamic_slice(x, (i,), (2,)))(start), x[start:][:2])
    if np.issubdtype(dtype, np.signedinteger):
        assert_close(jx.jit(lambda i: dynamic_slice(x, (i,), (2,)))(dtype(-2)), x[-2:])


def test_positions_beyond_int32_are_clamped():
    assert_close(dynamic_slice(np.arange(5), (2**40,), (2,)), np.array([3, 4], np.int32))
    assert_close(dynamic_slice(np.arange(5), (-(2**40),), (2,)), np.array([0, 1], np.int32))


def test_batched_positions_become_one_gather():
    read = jx.vmap(lambda x, i: dynamic_slice(x, (i, 0), (2, 3), allow_negative_indices=False))
    names = [e.primitive.name for e in jx.make_jaxpr(read)(np.ones((3, 4, 5)), np.arange(3)).eqns]
    assert "gather" in names
    assert not {"while", "scan"} & set(names)


BAD = {
    "sizes": (lambda: dynamic_slice(A, (0, 0), (5, 5)), TypeError, "no larger than the axis"),
    "count": (lambda: dynamic_slice(A, (0,), (1, 1)), TypeError, "1 start indices for an array"),
    "dtype": (lambda: dynamic_slice(A, (0.5, 0), (1, 1)), TypeError, "scalar integers"),
    "rank": (lambda: dynamic_slice(A, np.zeros((1, 2), int), (1, 1)), TypeError, "form a vector"),
    "update": (
        lambda: dynamic_update_slice(A, np.ones((5, 5)), (0, 0)),
        TypeError,
        "no larger along any axis",
    ),
    "update_dtype": (
        lambda: dynamic_update_slice(A, np.ones((1, 1), np.int32), (0, 0)),
        TypeError,
        "operands of one dtype",
    ),
    "axis": (lambda: dynamic_index_in_dim(A, 0, 2), ValueError, "axes are from -2 to 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("position", [2**32 - 1, 2**31, 99, 3])
def test_dynamic_index_of_great_unsigned_positions_is_the_last(position, axis):
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    last = np.take(x, [min(position, x.shape[axis] - 1)], axis)
    np.testing.assert_array_equal(dynamic_index_in_dim(x, np.uint32(position), axis), last)
    traced = jx.jit(lambda i: dynamic_index_in_dim(x, i, axis))
    np.testing.assert_array_equal(traced(jx.numpy.uint32(position)), last)
    positions = jx.numpy.array([0, position], "uint32")
    first = np.take(x, [0], axis)
    np.testing.assert_array_equal(jx.vmap(traced)(positions), [first, last])


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_index_take_counts_positions_out_of_bounds_on_from_the_other_end(dtype):
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    positions = np.array([0, -1, 9, -9, -4, 4, 3], dtype)
    found = index_take(x, (jx.numpy.asarray(positions),), (0,))
    np.testing.assert_array_equal(found, x[positions % 3])


def test_index_take_of_narrow_positions_reaches_the_end_of_a_long_axis():
    found = index_take(np.arange(300), (jx.numpy.array([-1, 5], "int8"),), (0,))
    assert found.tolist() == [299, 5]
