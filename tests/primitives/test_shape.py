"""Reshaping, slicing, padding, joining: values against NumPy, and every rule."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.lax import tile, unstack
from jxkernel.primitives.indexing.concatenate import concatenate, split, stack
from jxkernel.primitives.indexing.slicing import index_in_dim, pad, slice, slice_in_dim
from jxkernel.primitives.shape.reshape import (
    broadcast,
    broadcast_shapes,
    broadcast_to_rank,
    collapse,
    expand_dims,
    reshape,
    rev,
    squeeze,
)
from tests.primitives.checking import check_all

RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape)


A, B = numbers(3, 4), numbers(3, 4)
ROW, CUBE = numbers(1, 4), numbers(2, 3, 4)

TABLE = {
    "reshape": (lambda x: reshape(x, (2, 6)), [A], lambda x: x.reshape(2, 6)),
    "reshape_order": (lambda x: reshape(x, (12,), (1, 0)), [A], lambda x: x.T.reshape(12)),
    "collapse": (lambda x: collapse(x, 1, 3), [CUBE], lambda x: x.reshape(2, 12)),
    "squeeze": (lambda x: squeeze(x, (0,)), [ROW], lambda x: x[0]),
    "expand_dims": (lambda x: expand_dims(x, (0, -1)), [A], lambda x: x[None, ..., None]),
    "rev": (lambda x: rev(x, (0, 1)), [A], lambda x: x[::-1, ::-1]),
    "broadcast": (lambda x: broadcast(x, (2,)), [A], lambda x: np.stack([x, x])),
    "broadcast_to_rank": (lambda x: broadcast_to_rank(x, 4), [A], lambda x: x[None, None]),
    "tile": (lambda x: tile(x, (2, 3)), [A], lambda x: np.tile(x, (2, 3))),
    "concatenate": (
        lambda x, y: concatenate([x, y], 1),
        [A, numbers(3, 2)],
        lambda x, y: np.concatenate([x, y], 1),
    ),
    "concatenate_one": (lambda x: concatenate([x], 0), [A], lambda x: x),
    "stack": (lambda x, y: stack([x, y], -1), [A, B], lambda x, y: np.stack([x, y], -1)),
    "split": (lambda x: split(x, (1, 0, 2), 0), [A], lambda x: np.split(x, [1, 1])),
    "unstack": (lambda x: unstack(x, 1), [A], lambda x: [x[:, i] for i in range(4)]),
    "slice": (
        lambda x: slice(x, (0, 1), (3, 4), (2, 2)),
        [A],
        lambda x: x[0:3:2, 1:4:2],
    ),
    "slice_empty": (lambda x: slice(x, (1, 0), (1, 4)), [A], lambda x: x[1:1]),
    "slice_in_dim": (lambda x: slice_in_dim(x, -3, None, 2, 1), [A], lambda x: x[:, -3::2]),
    "index_in_dim": (lambda x: index_in_dim(x, -1, 1, False), [A], lambda x: x[:, -1]),
    "pad": (
        lambda x, v: pad(x, v, ((1, 0, 0), (2, 3, 0))),
        [A, np.float64(7)],
        lambda x, v: np.pad(x, ((1, 0), (2, 3)), constant_values=v),
    ),
    "pad_interior": (
        lambda x, v: pad(x, v, ((0, 0, 2), (1, 1, 0))),
        [A, np.float64(7)],
        lambda x, v: np.stack(
            [
                np.pad(r, 1, constant_values=v) if i % 3 == 0 else np.full(6, v)
                for i in range(7)
                for r in [x[i // 3]]
            ]
        ),
    ),
    "pad_negative": (
        lambda x, v: pad(x, v, ((-1, -1, 0), (-2, 1, 0))),
        [A, np.float64(7)],
        lambda x, v: np.pad(x[1:-1, 2:], ((0, 0), (0, 1)), constant_values=v),
    ),
    "pad_negative_interior": (
        lambda x, v: pad(x, v, ((-1, 1, 1), (0, 0, 0))),
        [A, np.float64(7)],
        lambda x, v: np.stack([np.full(4, v), x[1], np.full(4, v), x[2], np.full(4, v)]),
    ),
    "pad_empty": (
        lambda x, v: pad(x, v, ((1, 1, 3),)),
        [numbers(0), np.float64(7)],
        lambda x, v: np.full(2, v),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TABLE)
def test_values_and_rules(name: str) -> None:
    function, args, reference = TABLE[name]
    check_all(function, args, reference=reference)


def test_broadcast_shapes_aligns_at_the_end() -> None:
    assert broadcast_shapes((3, 1), (4,), (), (2, 1, 1)) == (2, 3, 4)
    assert broadcast_shapes((0,), (1,)) == (0,)
    with pytest.raises(ValueError, match=r"Incompatible shapes for broadcasting: \(2,\), \(3,\)"):
        broadcast_shapes((2,), (3,))


BAD = {
    "reshape": (lambda x: reshape(x, (5,)), TypeError, r"size 12.*\(5,\) \(size 5\)"),
    "reshape_negative": (lambda x: reshape(x, (-3, -4)), TypeError, "none negative"),
    "collapse": (lambda x: collapse(x, 1, 0), ValueError, "is reversed"),
    "squeeze": (lambda x: squeeze(x, (0,)), ValueError, "their sizes must be 1"),
    "squeeze_axis": (lambda x: squeeze(x, (5,)), ValueError, "axes are from -2 to 1"),
    "expand_dims": (lambda x: expand_dims(x, (0, 0)), ValueError, "named once"),
    "rev": (lambda x: rev(x, (0, 0)), ValueError, "named once"),
    "tile": (lambda x: tile(x, (2,)), ValueError, "one non-negative count per axis"),
    "concatenate": (lambda x: concatenate([x, x[:2, :2]], 0), TypeError, "of axis 0 must be equal"),
    "concatenate_none": (lambda x: concatenate([], 0), ValueError, "at least one array"),
    "concatenate_dtype": (
        lambda x: concatenate([x, x.astype(np.int32)], 0),
        TypeError,
        r"f32\[3,4\] and i32\[3,4\]",
    ),
    "concatenate_axis": (lambda x: concatenate([x, x], 2), ValueError, "stack joins"),
    "stack": (lambda x: stack([x, x[:1]]), TypeError, "all must be equal"),
    "split": (lambda x: split(x, (1, 1), 0), ValueError, "add up to 3"),
    "slice": (lambda x: slice(x, (0, 0), (4, 4)), ValueError, "start <= limit <= size"),
    "slice_rank": (lambda x: slice(x, (0,), (1,)), ValueError, "each axis needs"),
    "index": (lambda x: index_in_dim(x, 3), IndexError, "out of bounds for axis 0 of size 3"),
    "pad": (lambda x: pad(x, 0.0, ((0, 0, 0),)), ValueError, "one .low, high, interior. per axis"),
    "pad_much": (lambda x: pad(x, 0.0, ((-2, -2, 0),) * 2), ValueError, "removes at most"),
    "pad_value": (lambda x: pad(x, x, ((0, 0, 0),) * 2), TypeError, "it is a scalar"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name: str) -> None:
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function(np.ones((3, 4), np.float32))


def test_weak_types_stay_when_all_operands_are_weak() -> None:
    weak = jx.make_jaxpr(lambda x: (reshape(x, (1,)), stack([x, x]), stack([x, np.float32(1)])))
    avals = weak(1.0).out_avals
    assert [aval.weak_type for aval in avals] == [True, True, False]


def rows_of(x: Any) -> Any:
    return x.transpose(1, 0, 2).reshape(3, -1)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64])
@pytest.mark.parametrize("lengths", [(16, 16, 16), (64, 128), (0, 64), (6, 64), (16,) * 9])
def test_transposed_arrays_are_joined_along_rows(lengths: tuple[int, ...], dtype: Any) -> None:
    arrays = [RANDOM.integers(0, 2, (2, 3, length // 2)).astype(dtype) for length in lengths]
    joined = jx.jit(lambda *xs: concatenate(list(map(rows_of, xs)), 1))(*arrays)
    np.testing.assert_array_equal(joined, np.concatenate(list(map(rows_of, arrays)), 1))


def test_transposed_arrays_are_joined_in_the_loop_that_transposes_them() -> None:
    x = RANDOM.standard_normal((3, 4, 3, 16)).astype(np.float32)

    def product(x: Any, w: Any) -> Any:
        return concatenate(list(map(rows_of, x)), 1) @ w

    w = np.ones((192, 8), np.float32)
    compiled = jx.jit(product).lower(x, w).compile()
    assert " concatenate(" not in compiled.as_text().split("ENTRY")[1]
    expected = np.concatenate(list(map(rows_of, x)), 1) @ w
    np.testing.assert_allclose(compiled(x, w), expected, 1e-5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64])
@pytest.mark.parametrize("axis", [0, 1])
def test_the_end_of_a_large_array_is_moved_in_front(axis: int, dtype: Any) -> None:
    x = RANDOM.integers(0, 2, (130, 131)).astype(dtype)

    def joined(x: Any, cut: int) -> Any:
        size = x.shape[axis]
        parts = slice_in_dim(x, cut, size, axis=axis), slice_in_dim(x, 0, cut, axis=axis)
        return concatenate(parts, axis)

    for cut in (0, 1, 33, 65, 98, x.shape[axis] - 1):
        rolled = jx.jit(lambda x, cut=cut: joined(x, cut))(x)
        np.testing.assert_array_equal(rolled, np.roll(x, -cut, axis))
        batched = jx.jit(jx.vmap(lambda x, cut=cut: joined(x, cut)))(np.stack([x, x]))
        np.testing.assert_array_equal(batched[1], np.roll(x, -cut, axis))


def test_slices_of_a_large_array_that_are_no_roll() -> None:
    x = RANDOM.standard_normal((200, 200))

    def parts(x: Any, *rows: tuple[int, int, int]) -> Any:
        return concatenate([slice(x, (a, 0), (b, 199), (s, 1)) for a, b, s in rows], 0)

    for rows in (
        ((199, 200, 1), (0, 199, 1)),  # one column is left out
        ((190, 200, 1), (0, 180, 1)),  # a gap
        ((190, 200, 1), (10, 200, 1)),  # not from 0
        ((0, 20, 1), (0, 180, 1)),
        ((180, 200, 2), (0, 180, 1)),
    ):
        expected = np.concatenate([x[a:b:s, :199] for a, b, s in rows])
        np.testing.assert_allclose(jx.jit(parts, static_argnums=(1, 2))(x, *rows), expected)
    other = jx.jit(lambda x, y: concatenate([x[190:], y[:190]], 0))(x, -x)
    np.testing.assert_allclose(other, np.concatenate([x[190:], -x[:190]]))
    wide = jx.jit(lambda x: concatenate([x[170:180], x[:170]], 0))(x)
    np.testing.assert_allclose(wide, np.concatenate([x[170:180], x[:170]]))


def test_the_derivative_of_a_rolled_array_is_rolled_back() -> None:
    x, t = RANDOM.standard_normal((2, 20_000)).astype(np.float32)
    moved = jx.jvp(lambda x: jx.numpy.roll(x, 3), (x,), (t,))[1]
    np.testing.assert_array_equal(moved, np.roll(t, 3))
    pulled = jx.jit(lambda t: jx.vjp(lambda x: jx.numpy.roll(x, 3), x)[1](t)[0])(t)
    np.testing.assert_array_equal(pulled, np.roll(t, -3))
