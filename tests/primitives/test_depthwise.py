"""Depthwise convolutions: the same as convolving each feature by itself, derivatives included."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp

RANDOM = np.random.default_rng(0)

# The operand's and the kernel's shape, dimension numbers, and other arguments.
CASES = {
    "pictures": ((2, 9, 8, 32), (3, 3, 1, 32), ("NHWC", "HWIO", "NHWC"), {}),
    "features first": ((2, 12, 9, 8), (12, 1, 5, 2), ("NCHW", "OIHW", "NCHW"), {}),
    "turned": ((9, 2, 30, 8), (1, 3, 3, 30), ("HNCW", "IHWO", "CWNH"), {}),
    "steps": ((2, 16, 15, 16), (3, 3, 1, 16), ("NHWC", "HWIO", "NHWC"), {"window_strides": (2, 2)}),
    "dilated": (
        (2, 9, 9, 32),
        (2, 3, 1, 32),
        ("NHWC", "HWIO", "NHWC"),
        {"lhs_dilation": (2, 1), "rhs_dilation": (2, 3), "padding": ((1, -1), (4, 3))},
    ),
    "causal": ((3, 50, 32), (4, 1, 32), ("NWC", "WIO", "NWC"), {"padding": ((3, 0),)}),
}


def convolution(numbers, features, **given):
    strides = given.pop("window_strides", (1,) * (len(numbers[0]) - 2))
    padding = given.pop("padding", "SAME")
    return lambda x, k: lax.conv_general_dilated(
        x, k, strides, padding, dimension_numbers=numbers, feature_group_count=features, **given
    )


def feature_by_feature(numbers, **given):
    lhs, rhs, out = numbers
    one = convolution(numbers, 1, **given)

    def convolve(x, k):
        count = x.shape[lhs.index("C")]
        xs, ks = jnp.split(x, count, lhs.index("C")), jnp.split(k, count, rhs.index("O"))
        return jnp.concatenate(list(map(one, xs, ks)), out.index("C"))

    return convolve


def used(name):
    """Return a case as jitted functions of operand, kernel and cotangent, and these."""
    shape, kernel, numbers, given = CASES[name]
    functions = (
        convolution(numbers, shape[numbers[0].index("C")], **given),
        feature_by_feature(numbers, **given),
    )

    def with_slopes(function):
        def run(x, k, g):
            y, back = jx.vjp(function, x, k)
            return y, *back(g)

        return jx.jit(run)

    x, k = (RANDOM.standard_normal(size).astype(np.float32) for size in (shape, kernel))
    g = RANDOM.standard_normal(jx.eval_shape(functions[0], x, k).shape).astype(np.float32)
    return *map(with_slopes, functions), x, k, g


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CASES)
def test_each_feature_is_convolved_by_itself(name):
    found, expected, *arrays = used(name)
    for one, other in zip(found(*arrays), expected(*arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_16_bits_accumulate_in_32():
    shape, kernel, numbers, _ = CASES["pictures"]
    x, k = np.full(shape, 0.1, jnp.bfloat16), np.full(kernel, 3.0, jnp.bfloat16)
    y = convolution(numbers, 32)(x, k)
    assert y.dtype == jnp.bfloat16
    assert float(y[0, 4, 4, 0]) == float(jnp.bfloat16(np.float32(27) * np.float32(x[0, 0, 0, 0])))


def test_what_gains_nothing_is_left_to_the_compiler():
    def text(shape, kernel):
        function = convolution(("NHWC", "HWIO", "NHWC"), shape[-1])
        return jx.jit(function).lower(np.ones(shape), np.ones(kernel)).as_text()

    assert "stablehlo.convolution" in text((1, 4, 4, 3), (3, 3, 1, 3))
    assert "stablehlo.convolution" in text((1, 32, 32, 3), (9, 9, 1, 3))
    assert "stablehlo.convolution" not in text((1, 32, 32, 3), (7, 7, 1, 3))
