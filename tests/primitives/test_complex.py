"""Complex numbers: the convention of cotangents, and the derivatives that are not holomorphic."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax

Z = np.complex64(3 - 4j)


@pytest.mark.parametrize(
    ("function", "gradient"),
    [
        (lax.abs, 0.6 + 0.8j),
        (lax.real, 1.0),
        (lax.imag, -1j),
        (lambda z: lax.real(lax.mul(z, lax.conj(z))), 6 + 8j),
        (lambda z: lax.real(lax.mul(z, z)), 6 - 8j),
    ],
    ids=["abs", "real", "imag", "squared modulus", "real part of the square"],
)
def test_gradient_of_a_real_function_is_the_conjugate_of_steepest_ascent(
    function: Any, gradient: complex
) -> None:
    np.testing.assert_allclose(jx.grad(function)(Z), gradient, rtol=1e-6)


def test_modulus_has_no_slope_at_the_origin() -> None:
    assert complex(jx.grad(lax.abs)(np.complex64(0))) == 0


def test_sign_turns_at_right_angles_only() -> None:
    sign, along = jx.jvp(lax.sign, (Z,), (Z,))
    np.testing.assert_allclose(sign, 0.6 - 0.8j, rtol=1e-6)
    np.testing.assert_allclose(along, 0, atol=1e-7)
    _, across = jx.jvp(lax.sign, (Z,), (Z * np.complex64(1j),))
    np.testing.assert_allclose(across, 1j * (0.6 - 0.8j), rtol=1e-6)
    assert complex(jx.jvp(lax.sign, (np.complex64(0),), (Z,))[1]) == 0


def test_conjugate_of_a_real_array_is_complex() -> None:
    result = lax.conj(np.float32([1.0, -2.0]))
    assert result.dtype == np.complex64
    np.testing.assert_array_equal(result, [1.0, -2.0])


def test_parts_and_whole_are_inverse_under_all_transforms() -> None:
    def rebuilt(z: Any) -> Any:
        return lax.complex(lax.real(z), lax.imag(z))

    z = np.complex64([1 + 2j, complex(-0.0, -3)])
    np.testing.assert_array_equal(rebuilt(z), z)
    np.testing.assert_array_equal(jx.vmap(rebuilt)(z), z)
    (pulled,) = jx.vjp(rebuilt, z)[1](z)
    np.testing.assert_array_equal(pulled, z)
    np.testing.assert_array_equal(jx.jvp(rebuilt, (z,), (z,))[1], z)


@pytest.mark.parametrize("real", [1.0, -3.0, 0.5, -0.5])
def test_slope_of_acosh_is_right_on_both_sides_of_its_branch_cut(real: float) -> None:
    for imaginary in (0.5, -0.5):
        z, step = np.complex64(complex(real, imaginary)), 1e-2
        numeric = (np.arccosh(z + step) - np.arccosh(z - step)) / (2 * step)
        np.testing.assert_allclose(jx.jvp(lax.acosh, (z,), (np.complex64(1),))[1], numeric, 1e-3)


def test_atan2_continues_the_angle_to_complex_coordinates() -> None:
    x, y = np.complex64([1 + 2j, -1 + 0.5j, 0.3]), np.complex64([0.5 - 1j, 2j, 1])
    quotient = (y + 1j * x) / np.sqrt(x * x + y * y)
    np.testing.assert_allclose(lax.atan2(x, y), -1j * np.log(quotient), rtol=1e-5, atol=1e-6)
    assert np.isnan(lax.atan2(np.complex64(1j), np.complex64(1)))
    assert jx.numpy.arctan2(x, 1.0).dtype == np.complex64


@pytest.mark.parametrize("x", [2, 2.5])
def test_integer_pow_of_a_python_number_is_an_array(x):
    found = jx.lax.integer_pow(x, 1)
    assert isinstance(found, jx.Array)
    assert found.aval.weak_type
    assert found.item() == x


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("how", [lambda x: x, jx.jit])
def test_a_number_with_an_infinite_part_is_infinite(dtype, how):
    with jx.enable_x64(True):
        parts = np.array([np.inf, np.nan, np.nan, -np.inf, np.inf, 1, 3, 4, np.nan, 0])
        x = parts.astype(np.float32 if dtype == np.complex64 else np.float64).view(dtype)
        np.testing.assert_array_equal(how(lax.abs)(x), np.abs(x))
        np.testing.assert_array_equal(how(lax.abs)(x), [np.inf, np.inf, np.inf, 5, np.nan])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_small_hyperbolic_sines_do_not_cancel(dtype):
    with jx.enable_x64(True):
        z = np.array(
            [1e-3, 1e-5 + 1j, 1e-9 + 1e-9j, -1e-6 - 2j, 0.99 + 3j, -1.01 + 3j, 30j, 8], dtype
        )
        near = 20 * np.finfo(dtype).eps
        np.testing.assert_allclose(lax.sinh(z), np.sinh(z.astype(np.complex128)), rtol=near)
        parts = np.sinh(z.astype(np.complex128))
        np.testing.assert_allclose(lax.sinh(z).real, parts.real, rtol=1e3 * near)
        corners = np.array([np.inf, -np.inf, 1j * np.inf, -0.0, complex(np.nan, 0)], dtype)
        np.testing.assert_array_equal(np.abs(lax.sinh(corners)), np.abs(np.sinh(corners)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("power", [lax.pow, jx.numpy.power, jx.jit(lax.pow)])
def test_zero_to_a_power_that_grows_is_zero(dtype, power):
    with jx.enable_x64(True):
        y = np.array([1 + 1j, 1e-3 + 5j, 2, 2.5 - 1j, 0], dtype)
        zero = np.zeros((), dtype)
        np.testing.assert_array_equal(power(np.zeros_like(y), y), [0, 0, 0, 0, 1])
        assert np.isnan(power(zero, dtype(-1 + 1j)))
        assert np.isnan(power(zero, dtype(complex(1, np.nan))))
        slopes = jx.jvp(power, (zero, dtype(2 + 1j)), (dtype(1), dtype(1)))[1]
        assert slopes == 0


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_the_greater_of_a_number_and_nan_is_nan(name):
    x = np.complex64([0, complex(-1.5, np.nan), complex(np.nan, 5), 1 + 1j, 2, complex(1, np.nan)])
    for y in (x[::-1].copy(), np.roll(x, 2)):
        found = getattr(jx.numpy, name)(x, y)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(x) | np.isnan(y))
        numbers = ~np.isnan(found)
        wanted = getattr(np, name)(x, y)
        np.testing.assert_array_equal(np.asarray(found)[numbers], wanted[numbers])
    running = (lax.cummax if name == "maximum" else lax.cummin)(x)
    np.testing.assert_array_equal(np.isnan(running), [False] + 5 * [True])
