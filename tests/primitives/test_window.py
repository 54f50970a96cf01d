"""Windowed reductions: values against a plain loop, every rule, ties, padding, NaN."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
from jxkernel.primitives.conv.reduce_window import (
    reduce_window_max,
    reduce_window_min,
    reduce_window_shape_tuple,
    reduce_window_sum,
    select_and_scatter_add_p,
)
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)


def windowed(x, function, start, sizes, strides, padding, base, apart):
    """Reduce each window, one after the other."""
    spread = np.full(
        [(n - 1) * b + 1 if n else 0 for n, b in zip(x.shape, base, strict=True)], np.nan
    )
    spread[tuple(slice(None, None, b) for b in base)] = x
    whole = np.pad(spread, [(max(a, 0), max(b, 0)) for a, b in padding], constant_values=np.nan)
    kept = [
        slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(padding, whole.shape, strict=True)
    ]
    whole = whole[tuple(kept)]
    spans = [(w - 1) * d + 1 for w, d in zip(sizes, apart, strict=True)]
    counts = [(n - w) // s + 1 for n, w, s in zip(whole.shape, spans, strides, strict=True)]
    y = np.zeros(counts, x.dtype)
    for place in product(*map(range, counts)):
        cut = [
            slice(p * s, p * s + w, d)
            for p, s, w, d in zip(place, strides, spans, apart, strict=True)
        ]
        part = whole[tuple(cut)]
        part = part[~np.isnan(part)]
        y[place] = function(part) if part.size else start
    return y


ONES = ((1,) * 4, (1,) * 4)

WINDOWS = {
    "plain": ((5, 6), (2, 3), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    "strides": ((6, 7), (2, 3), (2, 3), ((0, 1), (1, 1)), (1, 1), (1, 1)),
    "dilations": ((4, 5), (2, 2), (1, 2), ((1, 0), (2, 2)), (2, 1), (1, 2)),
    "negative": ((6, 5), (2, 2), (1, 1), ((-1, 0), (1, -2)), (1, 1), (1, 1)),
    "far_padding": ((3,), (2,), (1,), ((3, 0),), (1,), (1,)),
    "pictures": ((2, 5, 3, 2), (1, 3, 2, 1), (1, 2, 1, 1), ((0, 0), (1, 1), (0, 1), (0, 0)), *ONES),
    "of_many_elements": ((6, 5), (5, 4), (1, 1), ((1, 0), (0, 0)), (1, 1), (1, 1)),
}

FUNCTIONS = {
    "sum": (reduce_window_sum, np.sum, 0),
    "max": (reduce_window_max, np.max, -np.inf),
    "min": (reduce_window_min, np.min, np.inf),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_values_and_rules(kind, name):
    shape, *window = WINDOWS[name]
    function, reference, start = FUNCTIONS[kind]
    smooth = kind == "sum" or name not in ("far_padding", "dilations")
    check_all(
        lambda x: function(x, *window),
        [RANDOM.standard_normal(shape)],
        reference=lambda x: windowed(x, reference, start, *window),
        derivatives=smooth,
    )


@pytest.mark.parametrize("padding", ["SAME", "SAME_LOWER", "VALID"])
def test_padding_by_name(padding):
    x = RANDOM.standard_normal((5, 6)).astype(np.float32)
    y = reduce_window_max(x, (2, 3), (2, 2), padding)
    assert y.shape == reduce_window_shape_tuple(x.shape, (2, 3), (2, 2), padding)
    pulled = jx.vjp(lambda x: reduce_window_max(x, (2, 3), (2, 2), padding), x)[1](
        np.ones(y.shape, "f")
    )
    assert float(np.asarray(pulled[0]).sum()) == y.size


def test_the_first_of_equal_extremes_has_the_derivative():
    x = np.array([1, 1, 0, 2, 2], np.float32)
    pulled = jx.vjp(lambda x: reduce_window_max(x, (3,)), x)[1](np.array([1, 10, 100], np.float32))
    assert_close(pulled[0], np.array([1, 0, 0, 110, 0], np.float32))
    _, pushed = jx.jvp(
        lambda x: reduce_window_min(x, (2,), (2,)), (-x,), (np.arange(5, dtype=np.float32),)
    )
    assert_close(pushed, np.array([0, 3], np.float32))


def test_windows_of_padding_alone_have_no_derivative():
    x, t = np.ones(2, np.float32), np.full(2, 5, np.float32)
    y, pushed = jx.jvp(lambda x: reduce_window_max(x, (1,), padding=((2, 0),)), (x,), (t,))
    assert_close(y, np.array([-np.inf, -np.inf, 1, 1], np.float32))
    assert_close(pushed, np.array([0, 0, 5, 5], np.float32))


def test_infinite_elements_have_their_own_tangent():
    x, t = np.full(3, -np.inf, np.float32), np.array([1, 2, 3], np.float32)
    _, pushed = jx.jvp(lambda x: reduce_window_max(x, (2,)), (x,), (t,))
    assert_close(pushed, np.array([1, 2], np.float32))


def test_each_element_gets_what_all_windows_have_for_it():
    x = np.array([[1.0, 5.0, 2.0, 5.0, 0.0, 7.0, 7.0]], np.float32)
    g = np.array([[1.0, 10.0, 100.0]], np.float32)
    window = {"window_dimensions": (1, 3), "window_strides": (1, 2)}
    back = jx.vjp(lambda x: reduce_window_max(x, **window), x)[1](g)[0]
    assert back.tolist() == [[0.0, 1.0, 0.0, 10.0, 0.0, 100.0, 0.0]]
    back = jx.vjp(lambda x: reduce_window_min(x, **window), x)[1](g)[0]
    assert back.tolist() == [[1.0, 0.0, 0.0, 0.0, 110.0, 0.0, 0.0]]


def test_nan_wins():
    x = np.array([1, np.nan, 3, 4], np.float32)
    assert_close(reduce_window_max(x, (2,)), np.array([np.nan, np.nan, 4], np.float32))
    _, pushed = jx.jvp(lambda x: reduce_window_max(x, (2,)), (x,), (np.arange(4, dtype="f"),))
    assert_close(pushed, np.array([1, 1, 3], np.float32))


@pytest.mark.parametrize("sizes", [(2, 2), (1, 2), (128, 128), (128, 1), (3, 2)])
def test_nan_wins_in_blocks_of_many_elements(sizes):
    """XLA makes a reduction over axes of them, which passes over NaN from 4,096 elements on."""
    x = np.random.default_rng(0).standard_normal((128, 128)).astype(np.float32)
    x[0, 0] = x[5, 60] = np.nan
    for function in (reduce_window_max, reduce_window_min):
        y = function(x, sizes, sizes)
        small = function(np.isnan(x).astype(np.int32), sizes, sizes)
        if function is reduce_window_max:
            assert_close(np.isnan(y), small == 1)
        assert np.isnan(y[0, 0])
    assert not np.isnan(reduce_window_max(np.nan_to_num(x), sizes, sizes)).any()


def test_16_bits_accumulate_in_32():
    x = np.ones(4096, ml_dtypes.bfloat16)
    assert_close(reduce_window_sum(x, (4096,)), np.full(1, 4096, ml_dtypes.bfloat16))


def test_integers_and_booleans():
    x = RANDOM.integers(-9, 9, (6,)).astype(np.int32)
    assert_close(reduce_window_min(x, (2,)), np.minimum(x[1:], x[:-1]))
    assert_close(reduce_window_max(x > 0, (2,)), (x[1:] > 0) | (x[:-1] > 0))
    assert_close(reduce_window_sum(x, (2,)), x[1:] + x[:-1])


BAD = {
    "dtype": (lambda: reduce_window_sum(np.ones(3, bool), (2,)), TypeError, "dtype bool"),
    "complex": (lambda: reduce_window_max(np.ones(3, "F"), (2,)), TypeError, "dtype complex64"),
    "rank": (lambda: reduce_window_sum(np.ones(3), (2, 2)), ValueError, "window_dimensions .2, 2."),
    "stride": (lambda: reduce_window_sum(np.ones(3), (2,), (0,)), ValueError, "window_strides"),
    "padding": (
        lambda: reduce_window_sum(np.ones(3), (2,), (1,), ((0, 0), (0, 0))),
        ValueError,
        "low, high. per ",
    ),
    "source": (
        lambda: select_and_scatter_add_p.bind(
            np.ones(3),
            np.ones(3),
            select="max",
            window_dimensions=(2,),
            window_strides=(1,),
            padding=((0, 0),),
            base_dilation=(1,),
            window_dilation=(1,),
        ),
        TypeError,
        "one for each source",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()
