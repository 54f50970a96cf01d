"""Convolutions of dilated operands, phase by phase, beside those with the zeros written out."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp

RANDOM = np.random.default_rng(0)

CASES = {
    "3-D, twice": ((2, 2, 2), (3, 3, 3), [(1, 1)] * 3, 1),
    "3-D, even kernel, cut before": ((2, 1, 3), (4, 2, 2), [(-3, 2), (0, 1), (-1, -2)], 1),
    "3-D, kernel shorter than the dilation": ((2, 2, 3), (1, 2, 1), [(0, 0), (2, 3), (5, 0)], 1),
    "3-D, all of an end cut": ((2, 2, 2), (3, 3, 3), [(-20, 20), (1, 1), (12, -12)], 1),
    "3-D, groups": ((2, 2, 2), (3, 2, 3), [(1, 2), (0, 0), (2, 1)], 2),
}


def _convolution(x, w, dilations, padding, groups):
    numbers = ("NDHWC", "DHWIO", "NDHWC")
    return lax.conv_general_dilated(
        x,
        w,
        (1,) * 3,
        padding,
        dilations,
        dimension_numbers=numbers,
        feature_group_count=groups,
    )


def _written_out(x, w, dilations, padding, groups):
    zeros = [(0, 0, 0), *[(0, 0, n - 1) for n in dilations], (0, 0, 0)]
    x = lax.pad(x, np.zeros((), x.dtype), zeros)
    return _convolution(x, w, (1, 1, 1), padding, groups)


def _operands(kernel, groups, dtype=np.float32):
    x = RANDOM.standard_normal((2, 17, 18, 19, 4)).astype(dtype)
    return x, RANDOM.standard_normal((*kernel, 4 // groups, 4)).astype(dtype)


@pytest.mark.parametrize("name", CASES)
def test_phases_are_the_convolution_with_zeros(name):
    dilations, kernel, padding, groups = CASES[name]
    x, w = _operands(kernel, groups)
    x[0, 3, 4, 5, 1], x[1, 0, 0, 0, 2] = np.inf, np.nan
    compiled = jx.jit(_convolution, static_argnums=(2, 3, 4))
    fixed = (tuple(dilations), tuple(padding), groups)
    assert compiled.lower(x, w, *fixed).as_text().count("stablehlo.convolution") > 1
    expected = jx.jit(_written_out, static_argnums=(2, 3, 4))(x, w, *fixed)
    np.testing.assert_allclose(compiled(x, w, *fixed), expected, rtol=1e-4, atol=1e-4)


def test_derivatives_of_convolutions_with_steps_and_of_transposed_ones():
    x, w = _operands((3, 3, 3), 1)

    def stepping(x):
        return jnp.sum(jnp.sin(lax.conv_general_dilated(
            x, w, (2, 2, 2), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
        )))  # fmt: skip

    def transposed(w):
        out = lax.conv_transpose(
            x, w, (2, 2, 2), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
        )
        return jnp.sum(jnp.sin(out))

    for function, at in ((stepping, x), (transposed, w)):
        t = RANDOM.standard_normal(at.shape).astype(np.float32)
        _, forward = jx.jvp(function, (at,), (t,))
        backward = jnp.vdot(jx.jit(jx.grad(function))(at), t)
        np.testing.assert_allclose(backward, forward, rtol=1e-3)


def test_the_jaxpr_and_other_platforms_have_the_dilated_convolution():
    dilations, kernel, padding, groups = CASES["3-D, twice"]
    x, w = _operands(kernel, groups)
    traced = jx.jit(lambda x, w: _convolution(x, w, dilations, padding, groups)).trace(x, w)
    assert "lhs_dilation=(2, 2, 2)" in str(traced.jaxpr)
    assert traced.lower().as_text().count("stablehlo.convolution") == 8
    elsewhere = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert elsewhere.count("stablehlo.convolution") == 1


def test_large_images_in_channels_first_order():
    x = RANDOM.standard_normal((2, 8, 100, 90)).astype(np.float32)
    w = RANDOM.standard_normal((8, 8, 3, 4)).astype(np.float32)

    def two(x, zeros, dilation):
        x = lax.pad(x, np.float32(0), zeros)
        return lax.conv_general_dilated(x, w, (1, 1), [(1, 2), (2, 0)], dilation)

    found = jx.jit(lambda x: two(x, [(0, 0, 0)] * 4, (2, 3)))(x)
    zeros = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 2)]
    expected = jx.jit(lambda x: two(x, zeros, (1, 1)))(x)
    assert found.size >= 1 << 19
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
