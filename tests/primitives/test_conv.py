"""Convolutions: values against a plain sum, every rule in every layout, variants, bad shapes."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.primitives.conv.conv import conv, conv_general_dilated, conv_with_general_padding
from jxkernel.primitives.conv.conv_numbers import (
    ConvDimensionNumbers,
    conv_dimension_numbers,
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_transpose_shape_tuple,
    padtype_to_pads,
)
from jxkernel.primitives.conv.variants import (
    conv_general_dilated_local,
    conv_general_dilated_patches,
    conv_transpose,
)
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)


def numbers(*shape):
    return RANDOM.standard_normal(shape)


def spread(x, steps):
    """Place the elements of the last axes ``steps`` apart, zeros between."""
    for axis, step in zip(range(2, x.ndim), steps, strict=True):
        size = x.shape[axis]
        y = np.zeros(
            (*x.shape[:axis], max(0, (size - 1) * step + 1), *x.shape[axis + 1 :]), x.dtype
        )
        y[(slice(None),) * axis + (slice(None, None, step),)] = x
        x = y
    return x


def correlated(x, k, strides, padding, left=(1, 1), right=(1, 1), groups=1, batches=1):
    """Convolve in the default layout by summing over windows, one after the other."""
    x, k = spread(x, left), spread(k, right)
    x = np.pad(x, ((0, 0), (0, 0), *[(max(a, 0), max(b, 0)) for a, b in padding]))
    cut = [
        slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(padding, x.shape[2:], strict=True)
    ]
    x = x[(slice(None), slice(None), *cut)]
    sizes = [(n - w) // s + 1 for n, w, s in zip(x.shape[2:], k.shape[2:], strides, strict=True)]
    y = np.zeros((x.shape[0] // batches, k.shape[0], *sizes), np.result_type(x, k))
    share, inputs = k.shape[0] // (groups * batches), k.shape[1]
    for place in product(*map(range, sizes)):
        starts = [p * s for p, s in zip(place, strides, strict=True)]
        window = [slice(a, a + w) for a, w in zip(starts, k.shape[2:], strict=True)]
        for group in range(groups * batches):
            outs = slice(group * share, (group + 1) * share)
            own = x[:, group * inputs : (group + 1) * inputs]
            if batches > 1:
                rows = x.shape[0] // batches
                own = x[group * rows : (group + 1) * rows]
            part = own[(slice(None), slice(None), *window)]
            axes = tuple(range(1, x.ndim))
            y[(slice(None), outs, *place)] = np.tensordot(part, k[outs], (axes, axes))
    return y


TABLE = {
    "plain": ((2, 3, 5, 6), (4, 3, 2, 3), {}),
    "strides_padding": (
        (2, 3, 5, 6),
        (4, 3, 2, 3),
        {"strides": (2, 3), "padding": ((1, 2), (0, 1))},
    ),
    "negative_padding": ((1, 2, 6, 6), (2, 2, 2, 2), {"padding": ((-1, 1), (2, -2))}),
    "dilations": (
        (1, 2, 4, 5),
        (3, 2, 2, 3),
        {"padding": ((1, 0), (2, 2)), "left": (2, 1), "right": (1, 2), "strides": (1, 2)},
    ),
    "feature_groups": ((2, 4, 5, 4), (6, 2, 2, 2), {"groups": 2, "strides": (2, 1)}),
    "depthwise": ((1, 3, 4, 4), (6, 1, 3, 3), {"groups": 3, "padding": ((1, 1), (1, 1))}),
    "batch_groups": ((4, 3, 4, 4), (6, 3, 2, 2), {"batches": 2, "strides": (1, 2)}),
    "uneven_strides": ((1, 1, 7, 8), (1, 1, 2, 3), {"strides": (3, 4)}),
}


def given(options):
    rest = {
        "strides": (1, 1),
        "padding": ((0, 0), (0, 0)),
        "left": (1, 1),
        "right": (1, 1),
        "groups": 1,
        "batches": 1,
        **options,
    }
    return list(rest.values())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TABLE)
def test_values_and_rules(name):
    lhs, rhs, options = TABLE[name]
    strides, padding, left, right, groups, batches = given(options)

    def function(x, k):
        return conv_general_dilated(
            x,
            k,
            strides,
            padding,
            left,
            right,
            feature_group_count=groups,
            batch_group_count=batches,
        )

    check_all(
        function,
        [numbers(*lhs), numbers(*rhs)],
        reference=lambda x, k: correlated(x, k, *given(options)),
    )


LAYOUTS = [("NHWC", "HWIO", "NHWC"), ("CNWH", "IWOH", "HCNW")]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, groups):
    lhs, rhs, out = conv_general_permutations(layout)
    x, k = numbers(2, 4, 5, 6), numbers(6, 4 // groups, 2, 3)
    strides, padding = (2, 1), ((1, 0), (0, 2))

    def function(x, k):
        return conv_general_dilated(
            x, k, strides, padding, dimension_numbers=layout, feature_group_count=groups
        )

    def reference(x, k):
        y = correlated(x.transpose(lhs), k.transpose(rhs), strides, padding, groups=groups)
        return y.transpose(np.argsort(out))

    args = [x.transpose(np.argsort(lhs)), k.transpose(np.argsort(rhs))]
    check_all(function, args, reference=reference)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_any_number_of_spatial_axes(count):
    x, k = numbers(2, 3, *[4] * count), numbers(2, 3, *[2] * count)
    ones, none = (1,) * count, ((0, 0),) * count
    check_all(
        lambda x, k: conv_general_dilated(x, k, ones, none),
        [x, k],
        reference=lambda x, k: correlated(x, k, ones, none, ones, ones),
        vmap=count < 2,
    )


def test_complex_numbers():
    x, k = numbers(1, 2, 5) + 1j * numbers(1, 2, 5), numbers(3, 2, 2) + 1j * numbers(3, 2, 2)
    check_all(
        lambda x, k: conv_general_dilated(x, k, (1,), ((1, 0),)),
        [x, k],
        reference=lambda x, k: correlated(x, k, (1,), ((1, 0),), (1,), (1,)),
    )


def test_integers_are_exact_and_may_be_summed_wider():
    x = RANDOM.integers(-100, 100, (1, 2, 6)).astype(np.int8)
    k = RANDOM.integers(-100, 100, (3, 2, 4)).astype(np.int8)
    y = conv_general_dilated(x, k, (1,), "VALID", preferred_element_type=np.int32)
    wide = [v.astype(np.int32) for v in (x, k)]
    assert_close(y, correlated(*wide, (1,), ((0, 0),), (1,), (1,)))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_16_bits_accumulate_in_32(dtype):
    x, k = np.ones((1, 4096, 2), dtype), np.ones((1, 4096, 1), dtype)
    assert_close(conv(x, k, (1,), "VALID"), np.full((1, 1, 2), 4096, dtype))


def test_gradient_has_the_operands_dtype_where_sums_are_wider():
    x, k = np.ones((1, 1, 4), ml_dtypes.bfloat16), np.ones((1, 1, 2), ml_dtypes.bfloat16)

    def function(x, k):
        return conv_general_dilated(x, k, (1,), "VALID", preferred_element_type=np.float32)

    pulled = jx.vjp(function, x, k)[1](np.ones((1, 1, 3), np.float32))
    assert_close(pulled[0], np.array([[[1, 2, 2, 1]]], ml_dtypes.bfloat16))
    assert_close(pulled[1], np.array([[[3, 3]]], ml_dtypes.bfloat16))


def test_no_examples():
    out = jx.vmap(lambda x, k: conv(x, k, (1,), "SAME"))(
        np.ones((0, 1, 1, 4)), np.ones((0, 2, 1, 3))
    )
    assert out.shape == (0, 1, 2, 4)


@pytest.mark.parametrize(("size", "kernel", "padding"), [(9, 2, (-4, -4)), (2, 4, (0, 0))])
def test_a_result_without_elements_has_the_derivative_zero(size, kernel, padding):
    lhs, rhs = np.ones((1, 1, size), np.float32), np.ones((1, 1, kernel), np.float32)
    result, pullback = jx.vjp(lambda x, y: conv_general_dilated(x, y, (1,), (padding,)), lhs, rhs)
    assert result.shape == (1, 1, 0)
    for gradient, operand in zip(pullback(result), (lhs, rhs), strict=True):
        np.testing.assert_array_equal(gradient, np.zeros_like(operand))


@pytest.mark.parametrize(
    ("padding", "expected"),
    [
        ("VALID", [(0, 0), (0, 0)]),
        ("SAME", [(0, 1), (1, 1)]),
        ("SAME_LOWER", [(1, 0), (1, 1)]),
        ("same", [(0, 1), (1, 1)]),
    ],
)
def test_padding_by_name(padding, expected):
    assert padtype_to_pads((10, 11), (3, 4), (2, 3), padding) == expected
    x, k = numbers(1, 1, 10, 11), numbers(1, 1, 3, 4)
    named = conv_with_general_padding(x, k, (2, 3), padding, None, None)
    assert_close(named, conv_with_general_padding(x, k, (2, 3), expected, None, None))


def test_transposed_convolution_is_the_transpose():
    k = numbers(3, 3, 2, 4)
    layout = ("NHWC", "HWIO", "NHWC")
    for padding, strides in product(("SAME", "VALID"), ((1, 1), (2, 3))):

        def forward(x, strides=strides, padding=padding):
            return conv_general_dilated(x, k, strides, padding, dimension_numbers=layout)

        def transposed(y, strides=strides, padding=padding):
            return conv_transpose(y, k, strides, padding, transpose_kernel=True)

        # Sizes that the strides use up, so that the shape comes back.
        x = numbers(2, 7 if padding == "VALID" else 6, 6, 2)
        y = np.asarray(forward(x))
        pulled = np.asarray(jx.vjp(forward, x)[1](y)[0])
        np.testing.assert_allclose(np.asarray(transposed(y)), pulled, rtol=1e-4, atol=1e-4)


def test_transposed_convolution_with_given_padding():
    x, k = numbers(1, 4, 1), numbers(3, 1, 1)
    plain = conv_transpose(x, k, (2,), ((1, 1),))
    layout = ("NHC", "HIO", "NHC")
    wanted = conv_general_dilated(x, k, (1,), ((1, 1),), (2,), dimension_numbers=layout)
    assert_close(plain, wanted)
    consistent = conv_transpose(x, k, (2,), ((0, 1),), use_consistent_padding=True)
    assert_close(
        consistent, conv_general_dilated(x, k, (1,), ((2, 1),), (2,), dimension_numbers=layout)
    )


def test_patches_hold_features_by_window():
    x = numbers(2, 3, 5, 6)
    y = np.asarray(conv_general_dilated_patches(x, (2, 3), (1, 2), "VALID"))
    expected = np.stack(
        [x[:, c, i : i + 4, j : j + 4 : 2] for c in range(3) for i in range(2) for j in range(3)], 1
    )
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    last = np.moveaxis(x, 1, -1)
    z = conv_general_dilated_patches(
        last, (2, 3), (1, 2), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    np.testing.assert_allclose(np.moveaxis(np.asarray(z), -1, 1), expected, rtol=1e-6)


def test_a_kernel_for_each_place():
    x, k = numbers(2, 3, 5), numbers(4, 6, 4)
    check_all(
        lambda x, k: conv_general_dilated_local(x, k, (1,), "VALID", (2,)),
        [x, k],
        reference=lambda x, k: np.stack(
            [x[:, :, p : p + 2].reshape(2, 6) @ k[:, :, p].T for p in range(4)], -1
        ),
    )


def test_shapes_are_told_without_computing():
    layout = ("NHWC", "HWIO", "NHWC")
    assert conv_general_shape_tuple((2, 8, 9, 3), (3, 3, 3, 5), (2, 2), "SAME", layout) == (
        2,
        4,
        5,
        5,
    )
    for padding in ("SAME", "VALID", ((1, 2), (0, 0))):
        shape = conv_transpose_shape_tuple((2, 4, 5, 3), (3, 2, 3, 5), (2, 3), padding, layout)
        x, k = numbers(2, 4, 5, 3), numbers(3, 2, 3, 5)
        assert conv_transpose(x, k, (2, 3), padding).shape == shape


@pytest.mark.parametrize(
    "wrong",
    [
        ({}, (1,), (1,), (1,)),
        ((1, 3, 8, 8), (16, 3, 3, 3), (1, 1), [(0, 0)]),
        ((1, 3, 8, 8), (16, 3, 3, 3), (1,), [(0, 0), (0, 0)]),
        ((1, 3, 8, 8), (16, 3, 3), (1, 1), [(0, 0), (0, 0)]),
        ((1, 3, 8), (16, 3, 3), (1,), [(0, 0, 0)]),
        (3, (1,), (1,), "SAME"),
    ],
)
def test_shapes_that_do_not_fit_are_named(wrong):
    with pytest.raises(TypeError, match="conv_shape_tuple got"):
        lax.conv_shape_tuple(*wrong)


def test_dimension_numbers_have_one_canonical_form():
    assert conv_dimension_numbers((1, 2, 3), (4, 2, 3), None) == ConvDimensionNumbers(
        (0, 1, 2), (0, 1, 2), (0, 1, 2)
    )
    canonical = conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), ("NHWC", "WHIO", "NHWC"))
    assert canonical == ConvDimensionNumbers((0, 3, 2, 1), (3, 2, 0, 1), (0, 3, 2, 1))
    assert conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), canonical) == canonical


X, K = np.ones((2, 3, 5), np.float32), np.ones((4, 3, 2), np.float32)


def test_booleans_are_joined_by_and_and_or():
    x, kernel = RANDOM.random((2, 3, 6)) < 0.3, RANDOM.random((4, 3, 3)) < 0.5
    counts = correlated(x.astype(int), kernel.astype(int), (1,), [(1, 1)], (1,), (1,))
    found = conv_general_dilated(x, kernel, (1,), [(1, 1)])
    assert found.dtype == bool
    np.testing.assert_array_equal(found, counts > 0)
    summed = conv_general_dilated(x, kernel, (1,), [(1, 1)], preferred_element_type=np.int32)
    np.testing.assert_array_equal(summed, counts)


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (0, 0)])
@pytest.mark.parametrize(
    ("groups", "message"), [(0, "both are positive"), (3, "got 4 features in 3 groups")]
)
def test_what_does_not_fit_is_told_of_one_example(in_axes, groups, message):
    lhs, rhs = (
        np.ones(shape if axis is None else (2, *shape))
        for shape, axis in zip([(1, 4, 5), (4, 2, 2)], in_axes, strict=True)
    )

    def convolved(x, k):
        return conv_general_dilated(x, k, (1,), "VALID", feature_group_count=groups)

    with pytest.raises(ValueError, match=message):
        jx.vmap(convolved, in_axes)(lhs, rhs)


BAD = {
    "empty window": (
        lambda: conv(np.ones((1, 1, 4)), np.ones((1, 1, 0)), (1,), "SAME"),
        ValueError,
        r"kernel of shape \(1, 1, 0\): no window is empty",
    ),
    "ranks": (
        lambda: conv(np.ones((1, 1, 4)), np.ones((1, 1)), (1,), "SAME"),
        TypeError,
        "the same number of spatial axes",
    ),
    "rank": (lambda: conv(X, K[0], (1,), "SAME"), ValueError, "same number of spatial axes"),
    "features": (lambda: conv(X, K[:, :2], (1,), "SAME"), TypeError, "3 features in 1 groups"),
    "dtype": (lambda: conv(X, K.astype(np.int32), (1,), "SAME"), TypeError, "of one dtype"),
    "strides": (
        lambda: conv(X, K, (0,), [(0, 0)]),
        ValueError,
        "window_strides=.0,. for 1 spatial",
    ),
    "padding": (lambda: conv(X, K, (1,), "FULL"), ValueError, "unknown padding 'FULL'"),
    "pads": (lambda: conv(X, K, (1,), ((0, 0),) * 2), ValueError, "padding .* for 1 spatial axes"),
    "dilated": (
        lambda: conv_general_dilated(X, K, (1,), "SAME", (2,)),
        ValueError,
        "not defined where lhs_dilation",
    ),
    "groups": (
        lambda: conv_general_dilated(X, K, (1,), "SAME", feature_group_count=2),
        TypeError,
        "3 features in 2 groups",
    ),
    "both": (
        lambda: conv_general_dilated(
            X, K, (1,), "SAME", feature_group_count=2, batch_group_count=2
        ),
        ValueError,
        "one of them is 1",
    ),
    "batches": (
        lambda: conv_general_dilated(X, K[:3], (1,), "SAME", batch_group_count=2),
        TypeError,
        "batch_group_count=2 for a batch of 2 and 3 output features",
    ),
    "spec": (
        lambda: conv_general_dilated(X, K, (1,), "SAME", dimension_numbers=("NCW", "OIH", "NCW")),
        ValueError,
        "all the same other letters",
    ),
    "permutation": (
        lambda: conv_general_dilated(
            X, K, (1,), "SAME", dimension_numbers=((0, 1, 1), (0, 1, 2), (0, 1, 2))
        ),
        ValueError,
        "each spec names each of the 3 axes once",
    ),
    "transposed": (
        lambda: conv_transpose(X, K, (1,), "SAME_LOWER"),
        ValueError,
        "of a transposed convolution",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()
