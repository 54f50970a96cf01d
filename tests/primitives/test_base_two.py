"""exp2 and log2: exact at whole powers of two, near between them, and standard at the ends."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax

DTYPES = ("float16", "bfloat16", "float32", "float64")


@pytest.fixture(autouse=True)
def _wide():
    with jx.enable_x64(True):
        yield


@pytest.mark.parametrize("platform", ["cpu", "other"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_powers_are_exact(dtype, platform, monkeypatch):
    if platform == "other":
        # What other platforms have in place of the formula for float32 on CPUs.
        monkeypatch.setattr("jxkernel.primitives.elementwise.vectorized.NARROW", ())
    info = jnp.finfo(dtype)
    powers = jnp.arange(info.minexp, info.maxexp).astype(dtype)
    wanted = np.ldexp(1.0, np.asarray(powers).astype(int)).astype(powers.dtype)
    np.testing.assert_array_equal(jx.jit(lambda x: jnp.exp2(x))(powers), wanted)
    np.testing.assert_array_equal(jx.jit(lambda x: jnp.log2(x))(wanted), powers)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ends_are_those_of_numpy(dtype):
    info = np.finfo(dtype)
    x = np.array([info.maxexp, info.minexp - 60, np.inf, -np.inf, np.nan, 0.0, -0.0], dtype)
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_array_equal(jnp.exp2(x), np.exp2(x))
    least = info.smallest_subnormal
    x = np.array([0.0, -0.0, -1.0, -np.inf, np.inf, np.nan, least, 5 * least, -least], dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.log2(x)
    np.testing.assert_allclose(jnp.log2(x), wanted, rtol=4 * info.eps)


def test_float64_is_right_to_two_units():
    x = np.random.default_rng(0).uniform(-1000, 1000, 50_000)
    np.testing.assert_array_max_ulp(np.asarray(jnp.exp2(x)), np.exp2(x), 3)
    np.testing.assert_array_max_ulp(np.asarray(jnp.log2(np.exp2(x))), np.log2(np.exp2(x)), 2)


def test_derivatives_and_complex_numbers():
    np.testing.assert_allclose(jx.grad(jnp.exp2)(3.0), 8 * np.log(2))
    np.testing.assert_allclose(jx.grad(jnp.log2)(8.0), 1 / (8 * np.log(2)))
    z = np.array([1 + 2j, -0.5 - 1j, np.inf + 0j])
    np.testing.assert_allclose(jnp.exp2(z[:2]), np.exp2(z[:2]))
    np.testing.assert_allclose(jnp.log2(z), np.log2(z))


def test_an_accuracy_asks_for_operations_of_xla():
    x = jnp.ones(3, "float32")
    text = jx.jit(lambda x: lax.log2(x, accuracy=lax.AccuracyMode.HIGHEST)).lower(x).as_text()
    assert "stablehlo.log" in text
    assert "bitcast" not in text
