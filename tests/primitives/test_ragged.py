"""Ragged and scaled contractions: values against loops over groups, rules, bad input."""

import ml_dtypes
import numpy as np
import pytest

from jxkernel.primitives.contraction.ragged_dot import (
    RaggedDotDimensionNumbers,
    ragged_dot,
    ragged_dot_general,
    scaled_dot,
)
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)
SIZES = np.array([2, 0, 3], np.int32)
LHS, RHS = RANDOM.standard_normal((6, 4)), RANDOM.standard_normal((3, 4, 2))


def bounds():
    ends = np.cumsum(SIZES)
    return list(zip(ends - SIZES, ends, strict=True))


def by_rows(x, y):
    out = np.zeros((len(x), y.shape[-1]))
    for group, (start, end) in enumerate(bounds()):
        out[start:end] = x[start:end] @ y[group]
    return out


def test_each_group_of_rows_meets_its_own_matrix():
    check_all(lambda x, y: ragged_dot(x, y, SIZES), [LHS, RHS], reference=by_rows)


def test_groups_of_a_contracted_axis_give_results_of_their_own():
    numbers = RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), (1,), ())
    check_all(
        lambda x, y: ragged_dot_general(x, y, SIZES, numbers),
        [LHS.T.copy(), RANDOM.standard_normal((6, 2))],
        reference=lambda x, y: np.stack([x[:, a:b] @ y[a:b] for a, b in bounds()]),
    )


def test_batches_beyond_the_groups_give_zeros():
    numbers = RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    x, y = RANDOM.standard_normal((6, 2, 3)), RANDOM.standard_normal((6, 3, 2))
    inside = (np.arange(6) < SIZES.sum())[:, None, None]
    check_all(
        lambda x, y: ragged_dot_general(x, y, SIZES, numbers),
        [x, y],
        reference=lambda x, y: np.where(inside, x @ y, 0),
        vmap=False,
    )


def test_scales_belong_to_blocks():
    x, y = RANDOM.standard_normal((2, 3, 8)), RANDOM.standard_normal((2, 8, 5))
    s, t = RANDOM.standard_normal((2, 3, 2)), RANDOM.standard_normal((2, 4, 5))
    check_all(
        lambda x, y, s, t: scaled_dot(
            x, y, lhs_scale=s, rhs_scale=t, preferred_element_type=np.float64
        ),
        [x, y, s, t],
        reference=lambda x, y, s, t: (x * np.repeat(s, 4, -1)) @ (y * np.repeat(t, 2, -2)),
        vmap=False,
    )


def test_scaled_products_are_bfloat16_unless_asked():
    x = np.ones((2, 4)).astype(ml_dtypes.float8_e4m3fn)
    y = scaled_dot(x, x.T, lhs_scale=np.full((2, 1), 2, ml_dtypes.float8_e8m0fnu))
    assert_close(y, np.full((2, 2), 8, ml_dtypes.bfloat16))


BAD = {
    "dtype": (lambda: ragged_dot(LHS, RHS, SIZES * 1.0), TypeError, "integer group_sizes"),
    "sizes": (
        lambda: ragged_dot(LHS, RHS, SIZES[None]),
        TypeError,
        "they form a vector, or one for",
    ),
    "offset": (
        lambda: ragged_dot(LHS, RHS, SIZES, group_offset=1),
        NotImplementedError,
        "group_offset",
    ),
    "groups": (lambda: ragged_dot(LHS, RHS[:2], SIZES), TypeError, "for 3 groups"),
    "ragged": (
        lambda: ragged_dot_general(
            LHS, RHS, SIZES, RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (), (0,))
        ),
        TypeError,
        "exactly one axis is ragged",
    ),
    "scale": (
        lambda: scaled_dot(LHS, LHS.T, lhs_scale=np.ones((6, 3))),
        TypeError,
        "shorter by a whole factor",
    ),
    "rank": (lambda: scaled_dot(LHS[0], LHS[0]), TypeError, "two matrices, or two stacks"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


BATCHED_ROWS = (((2,), (2,)), ((0,), (0,)))
BATCHED_SUMS = (((1,), (1,)), ((0,), (0,)))


@pytest.mark.parametrize(
    ("right", "numbers"),
    [
        (np.arange(60.0).reshape(2, 2, 3, 5), RaggedDotDimensionNumbers(BATCHED_ROWS, [1], [1])),
        (np.arange(40.0).reshape(2, 4, 5), RaggedDotDimensionNumbers(BATCHED_SUMS, [1], [])),
    ],
)
def test_groups_may_differ_between_batches(right, numbers):
    left, sizes = np.float32(np.arange(24.0).reshape(2, 4, 3)), np.array([[1, 3], [2, 2]])
    right = np.float32(right)
    found = ragged_dot_general(left, right, sizes, numbers)
    grouped = bool(numbers.rhs_group_dimensions)
    for place, widths in enumerate(sizes):
        rows = np.split(left[place], np.cumsum(widths)[:-1])
        if grouped:
            wanted = np.concatenate([a @ b for a, b in zip(rows, right[place], strict=True)])
            np.testing.assert_allclose(found[place], wanted)
        else:
            others = np.split(right[place], np.cumsum(widths)[:-1])
            wanted = np.stack([a.T @ b for a, b in zip(rows, others, strict=True)])
            np.testing.assert_allclose(found[:, place], wanted)
