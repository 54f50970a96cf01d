"""Convolutions of vectors as products: the same numbers, and nothing spreads from NaN or inf."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel import numpy as jnp

LONG = 40_000


def _vectors(count: int, dtype: Any = np.float32) -> tuple[Any, Any]:
    draw = np.random.default_rng(count)
    return draw.standard_normal(LONG).astype(dtype), draw.standard_normal(count).astype(dtype)


def _is_product(function: Any, *arrays: Any) -> bool:
    return "stablehlo.dot_general" in jx.jit(function).lower(*arrays).as_text()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("count", [4, 5, 31, 33, 101, 128, 129, 300])
def test_convolve_and_correlate_are_those_of_numpy(count: int, mode: Any) -> None:
    x, w = _vectors(count)
    for name in ("convolve", "correlate"):

        def function(x: Any, w: Any, name: str = name) -> Any:
            return getattr(jnp, name)(x, w, mode)

        assert _is_product(function, x, w)
        wanted = getattr(np, name)(x.astype(np.float64), w, mode)
        np.testing.assert_allclose(jx.jit(function)(x, w), wanted, atol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_where_it_is(bad: float) -> None:
    x, w = _vectors(101)
    x[[0, 777, LONG - 1]] = bad
    found = np.asarray(jx.jit(jnp.convolve)(x, w))
    wanted = np.convolve(x, w)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    finite = np.isfinite(wanted)
    np.testing.assert_allclose(found[finite], wanted[finite], atol=1e-4)


def test_float64_and_batches() -> None:
    with jx.enable_x64(True):
        x, w = _vectors(64, np.float64)
        assert _is_product(jnp.convolve, x, w)
        np.testing.assert_allclose(jx.jit(jnp.convolve)(x, w), np.convolve(x, w), rtol=1e-9)
    x, w = _vectors(50)
    rows = x.reshape(4, -1)
    many = jx.vmap(jnp.convolve, (0, None))
    wanted = [np.convolve(row, w) for row in rows]
    np.testing.assert_allclose(jx.jit(many)(rows, w), wanted, atol=1e-4)


def test_padding_on_one_side_and_the_layout_with_channels_last() -> None:
    x, w = _vectors(40)
    numbers = ("NHC", "HIO", "NHC")

    def function(x: Any, w: Any) -> Any:
        operands = (x[None, :, None], w[:, None, None])
        padding = [(39, 0)]
        return lax.conv_general_dilated(*operands, (1,), padding, dimension_numbers=numbers)

    assert _is_product(function, x, w)
    wanted = np.convolve(x, w[::-1])[:LONG]
    np.testing.assert_allclose(jx.jit(function)(x, w)[0, :, 0], wanted, atol=1e-4)


def test_derivatives_are_those_of_the_convolution() -> None:
    x, w = _vectors(60)
    back = jx.jit(jx.grad(lambda x, w: jnp.sum(jnp.convolve(x, w, "same") ** 2), (0, 1)))
    y = 2 * np.convolve(x.astype(np.float64), w, "same")
    from_x = np.convolve(y, w[::-1])[30 : 30 + LONG]
    np.testing.assert_allclose(back(x, w)[0], from_x, atol=5e-3)
    padded = np.pad(x.astype(np.float64), (30, 29))
    from_w = np.correlate(padded, y, "valid")[::-1]
    np.testing.assert_allclose(back(x, w)[1], from_w, rtol=1e-3, atol=0.1)


@pytest.mark.parametrize(
    ("stride", "dilation", "dtype"), [(2, 1, np.float32), (1, 2, np.float32), (1, 1, np.float16)]
)
def test_other_convolutions_stay_as_they_are(stride: int, dilation: int, dtype: Any) -> None:
    x, w = _vectors(40, dtype)

    def function(x: Any, w: Any) -> Any:
        return lax.conv_general_dilated(
            x[None, None], w[None, None], (stride,), "SAME", rhs_dilation=(dilation,)
        )

    assert not _is_product(function, x, w)
    lowered = jx.jit(jnp.convolve).trace(x, w).lower(lowering_platforms=("cuda",))
    assert "stablehlo.convolution" in lowered.as_text()
