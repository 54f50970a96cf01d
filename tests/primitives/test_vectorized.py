"""Formulas in place of calls of the C library: accuracy, special values, where they are used."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import jxkernel as jx
from jxkernel import export, lax
from jxkernel import numpy as jnp
from jxkernel.primitives.elementwise.vectorized import LEAST_SIZE
from tools.accuracy import FUNCTIONS, Function, Tally, pairs

_FUNCTIONS = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
_NUMBERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 1e-45, 1e-39, 2.0**-126, 1e-20, 0.99999994]
_NUMBERS += [8388607.5, 16777215.0, 16777216.0, 1e30, 3.4028235e38, np.inf, np.nan]
_SPECIAL = np.array([sign * number for number in _NUMBERS for sign in (1, -1)], np.float32)


def _sample(function: Function) -> tuple[Any, ...]:
    if function.operands == 2:
        return next(pairs(1, chunk=1 << 17))
    exponents = np.arange(1 << 9, dtype=np.uint32)[:, None] << 23
    edges = np.array([0, 1, 2, 0x3FFFFF, 0x400000, 0x7FFFFE, 0x7FFFFF], np.uint32)
    drawn = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
    bits = np.concatenate([(exponents | edges).ravel(), drawn])
    floats = bits.view(np.float32)
    near = np.random.default_rng(1).uniform(-1.5, 1.5, 1 << 16).astype(np.float32)
    return (np.sort(np.concatenate([floats, near])),)


@_FUNCTIONS
def test_results_are_the_nearest_float_or_almost(function: Function) -> None:
    operands = _sample(function)
    tally = Tally()
    tally.add(
        function, operands, function.on_cpu(formula=True)(*operands), function.exact(*operands)
    )
    assert tally.worst < function.most, tally.where
    # The operation 1 - erf(x), which is erfc near 0, falls in steps that go back.
    assert (tally.signs, tally.turns * (function.name != "erfc")) == (0, 0)


@_FUNCTIONS
def test_special_values_are_those_of_numpy(function: Function) -> None:
    operands = (_SPECIAL,)
    if function.operands == 2:
        operands = tuple([grid.ravel() for grid in np.meshgrid(_SPECIAL, _SPECIAL)])
    exact = function.exact(*operands)
    with np.errstate(over="ignore"):
        wanted = exact.astype(np.float32)
    result = function.on_cpu(formula=True)(*operands)
    wanted[(np.abs(wanted) < 2.0**-126) & (result == 0)] *= 0
    np.testing.assert_array_max_ulp(result, wanted, 1 + int(function.most > 1))
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(wanted)[numbers])


@_FUNCTIONS
def test_narrow_floats_are_computed_in_float32(function: Function) -> None:
    for dtype in (jnp.bfloat16, np.float16):
        operands = [jnp.linspace(0.1, 0.9, LEAST_SIZE).astype(dtype)] * function.operands
        operation = function.operation
        result = jx.jit(operation)(*operands)
        wanted = operation(*[np.asarray(x).astype(np.float32) for x in operands])
        assert result.dtype == dtype
        np.testing.assert_array_equal(np.asarray(result), np.asarray(wanted.astype(dtype)))


def _text(function: Callable[..., Any], x: Any, platform: str = "cpu") -> str:
    return jx.jit(function).trace(x).lower(lowering_platforms=(platform,)).as_text()


def test_other_platforms_dtypes_and_small_arrays_keep_the_operation() -> None:
    x = jnp.ones(LEAST_SIZE)
    assert "stablehlo.sine" not in _text(jnp.sin, x)
    assert "stablehlo.sine" in _text(jnp.sin, x, "cuda")
    assert "stablehlo.sine" in _text(jnp.sin, x[1:])
    assert "stablehlo.sine" in _text(jnp.sin, x.astype(np.complex64))
    assert "result_accuracy" in _text(lambda x: lax.sin(x, accuracy=lax.AccuracyMode.HIGHEST), x)
    with jx.enable_x64(True):
        assert "stablehlo.sine" in _text(jnp.sin, jnp.ones(LEAST_SIZE, np.float64))


def test_symbolic_sizes_keep_the_operation() -> None:
    sizes: Any = export.symbolic_shape("n")
    exported = export.export(jx.jit(jnp.sin), platforms=("cpu", "cuda"))(
        jx.ShapeDtypeStruct(sizes, np.float32)
    )
    assert "stablehlo.sine" in str(exported.mlir_module())
    np.testing.assert_allclose(exported.call(jnp.ones(3)), np.sin(np.ones(3)), rtol=1e-6)


def test_exported_for_two_platforms_runs_here() -> None:
    x = np.linspace(-9, 9, LEAST_SIZE).astype(np.float32)
    exported = export.export(jx.jit(jnp.sin), platforms=("cpu", "cuda"))(x)
    np.testing.assert_allclose(exported.call(x), np.sin(x), atol=1e-7)


def test_programs_and_derivatives_show_the_function() -> None:
    x = jnp.linspace(-9, 9, LEAST_SIZE)
    jaxpr = jx.make_jaxpr(lambda x: jx.jvp(jnp.sin, (x,), (x,)))(x)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sin", "cos", "mul"]
    slope = jx.grad(lambda x: jnp.sum(jnp.sin(x)))(x)
    np.testing.assert_allclose(slope, np.cos(x), atol=1e-6)
    rows = x.reshape(4, -1)
    np.testing.assert_allclose(jx.vmap(jnp.sin)(rows), np.sin(rows), atol=1e-7)


def test_power_takes_integer_exponents() -> None:
    x = np.linspace(0.5, 2, LEAST_SIZE).astype(np.float32)
    y = np.arange(LEAST_SIZE, dtype=np.int32) % 9 - 4
    result = jx.jit(lax.pow)(x, y)
    np.testing.assert_allclose(result, x.astype(np.float64) ** y, rtol=1e-6)


def test_remainders_are_exact() -> None:
    drawn, other = next(pairs(1, chunk=1 << 16))
    small = np.random.default_rng(2).integers(0, 1 << 24, 1 << 16).astype(np.int32).view(np.float32)
    for x, y in ((drawn, other), (drawn, small), (small, small[::-1]), (small, other)):
        with np.errstate(invalid="ignore"):
            wanted = np.fmod(x, y)
        result = np.asarray(jx.jit(lax.rem)(x, y))
        np.testing.assert_array_equal(np.isnan(result), np.isnan(wanted))
        same = result.view(np.int32) == wanted.view(np.int32)
        assert (same | np.isnan(wanted)).all()


def test_operands_are_broadcast() -> None:
    x = jnp.linspace(0.5, 2, LEAST_SIZE)
    np.testing.assert_allclose(lax.atan2(x, jnp.float32(1.0)), np.arctan(x), rtol=1e-6)
    np.testing.assert_allclose(lax.pow(x, jnp.float32(0.5)), np.sqrt(x), rtol=1e-6)


@pytest.mark.parametrize("size", [1, 3, LEAST_SIZE])
def test_denormal_numbers_are_read_whatever_the_size(size: int) -> None:
    for dtype in (np.float32, jnp.bfloat16):
        x = np.full(size, 1e-40, dtype)
        wide = x.astype(np.float64)
        np.testing.assert_allclose(jnp.cbrt(-x).astype(np.float32), -np.cbrt(wide), rtol=0.01)
        angle = jnp.arctan2(x, -x).astype(np.float32)
        np.testing.assert_allclose(angle, np.arctan2(wide, -wide), rtol=0.01)


@pytest.mark.parametrize("size", [1, LEAST_SIZE])
def test_the_gamma_family_is_right_near_its_zeros_whatever_the_size(size: int) -> None:
    for function, reference, zero in (
        (lax.lgamma, special.gammaln, -2.4570246),
        (lax.lgamma, special.gammaln, 1.0000001),
        (lax.digamma, special.digamma, 1.4616321),
        (lax.digamma, special.digamma, -0.5040830),
    ):
        x = np.full(size, zero, np.float32)
        np.testing.assert_allclose(function(x), reference(x.astype(np.float64)), rtol=1e-6)


def test_the_angle_of_a_denormal_number_has_its_sign_in_double_precision() -> None:
    with jx.enable_x64(True):
        y = np.array([5e-324, 1e-310, -5e-324])
        np.testing.assert_array_equal(jnp.arctan2(y, -0.5), np.arctan2(y, -0.5))


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16, np.float32, np.float64])
def test_the_number_after_a_denormal_one_is_its_neighbour(dtype: Any) -> None:
    info = jnp.finfo(dtype)
    numbers = [0.0, info.smallest_subnormal, info.tiny, 1.0, info.max, np.inf]
    signed = np.array([sign * float(x) for x in numbers for sign in (1, -1)] + [np.nan], dtype)
    x, y = np.meshgrid(signed, signed)
    with jx.enable_x64(True), np.errstate(over="ignore"):
        result = np.asarray(jnp.nextafter(x, y)).astype(np.float64)
        wanted = np.nextafter(x, y).astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(result, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(wanted)[numbers])
