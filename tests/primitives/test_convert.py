"""Conversions by value and by bits: what is kept, what is cut, what is refused."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.config import enable_x64


@pytest.mark.parametrize(
    ("values", "old", "new", "expected"),
    [
        ([2.9, -2.9, np.nan], "float32", "int32", [2, -2, 0]),
        ([1e20, -1e20, np.inf], "float32", "int32", [2**31 - 1, -(2**31), 2**31 - 1]),
        ([-1.0, 300.0], "float32", "uint8", [0, 255]),
        ([300, -1], "int32", "uint8", [44, 255]),
        ([0.0, -0.0, 0.5, np.nan], "float32", "bool", [False, False, True, True]),
        ([True, False], "bool", "float32", [1.0, 0.0]),
        ([1 + 2j, 2j], "complex64", "bool", [True, True]),
        ([2, 3], "int32", "complex64", [2 + 0j, 3 + 0j]),
        ([65519.0, 65520.0], "float32", "float16", [65504.0, np.inf]),
    ],
)
def test_values_convert(values: Any, old: str, new: str, expected: Any) -> None:
    result = lax.convert_element_type(np.array(values, old), new)
    assert result.dtype == new
    np.testing.assert_array_equal(result, np.array(expected, new))


def test_complex_to_real_warns_and_drops_the_imaginary_part() -> None:
    with pytest.warns(np.exceptions.ComplexWarning, match="take real"):
        result = lax.convert_element_type(np.complex64([1 + 2j]), np.float32)
    np.testing.assert_array_equal(result, [1.0])


def test_nothing_to_convert_returns_the_array_itself() -> None:
    x = lax.exp(np.float32([1.0]))
    assert lax.convert_element_type(x, np.float32) is x


def test_strength_changes_without_changing_the_dtype() -> None:
    weak = lax.exp(1.0)
    assert weak.weak_type
    strong = lax.convert_element_type(weak, np.float32)
    assert not strong.weak_type
    assert lax.convert_element_type(strong, np.float32, weak_type=True).weak_type


def test_wide_dtypes_narrow_with_a_warning_unless_enabled() -> None:
    with pytest.warns(UserWarning, match="float64 asked for in convert_element_type"):
        assert lax.convert_element_type(np.float32(1), np.float64).dtype == np.float32
    with enable_x64(True):
        assert lax.convert_element_type(np.float32(1), np.float64).dtype == np.float64
    assert lax.convert_element_type(np.int32(1), float).dtype == np.float32


def test_dtypes_without_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match="Arrays cannot have the dtype"):
        lax.convert_element_type(np.float32(1), "U5")


@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_derivative_ends_at_integers(dtype: str) -> None:
    def through(x: Any) -> Any:
        return lax.convert_element_type(lax.convert_element_type(x, dtype), np.float32)

    assert float(jx.grad(through)(np.float32(1.5))) == 0.0


def test_derivative_has_the_dtype_of_the_operand() -> None:
    gradient = jx.grad(lambda x: lax.convert_element_type(x, np.float32))(np.float16(1.5))
    assert (gradient.dtype, float(gradient)) == (np.float16, 1.0)


@pytest.mark.parametrize(
    ("shape", "old", "new", "result"),
    [
        ((2,), "float32", "int32", (2,)),
        ((2,), "float32", "int8", (2, 4)),
        ((2, 4), "int8", "float32", (2,)),
        ((0, 2), "int16", "uint32", (0,)),
        ((), "float32", "uint16", (2,)),
    ],
)
def test_bits_change_the_last_axis(shape: Any, old: str, new: str, result: Any) -> None:
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(old)
    y = lax.bitcast_convert_type(x, new)
    assert (y.shape, y.dtype) == (result, new)
    np.testing.assert_array_equal(lax.bitcast_convert_type(y, old), x)


def test_bits_that_do_not_fill_an_element_are_refused() -> None:
    with pytest.raises(ValueError, match="reads 4 elements of int8 as one of float32"):
        lax.bitcast_convert_type(np.zeros((2, 3), np.int8), np.float32)


def test_staged_values_are_those_of_the_trace() -> None:
    staged = []
    jx.make_jaxpr(lambda x: staged.extend([lax.stage(2), lax.stage(np.arange(3)), lax.stage(x)]))(1)
    assert all(isinstance(x, jx.core.Tracer) for x in staged)
    assert [(x.dtype.name, x.weak_type) for x in staged[:2]] == [("int32", True), ("int32", False)]
    assert lax.stage(True).tolist() is True
    assert jx.grad(lambda x: lax.stage(x) * x)(3.0) == 6
    key = jx.random.key(0)
    assert lax.stage(key) is key
    with pytest.raises(TypeError, match=r"stage: .*list is not a valid array type"):
        lax.stage([1, 2])


@pytest.mark.parametrize(
    ("exponent_bits", "mantissa_bits", "expected"),
    [
        (5, 10, [3.140625, 1e-3, np.inf, 0.0]),
        (8, 7, [3.140625, 1e-3, 1e10, 1e-10]),
        (4, 1, [3.0, 0.0, np.inf, 0.0]),
    ],
)
def test_reduced_precision_is_that_of_the_narrower_format(
    exponent_bits: int, mantissa_bits: int, expected: list[float]
) -> None:
    x = np.float32([3.1415926, 1e-3, 1e10, 1e-10])
    y = lax.reduce_precision(x, exponent_bits, mantissa_bits)
    np.testing.assert_allclose(y, np.float32(expected), rtol=2.0**-mantissa_bits / 2)
    again = lax.reduce_precision(y, exponent_bits, mantissa_bits)
    np.testing.assert_array_equal(again, y)


def test_widths_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="exponent_bits ≥ 1 and mantissa_bits ≥ 0, got 0 and 3"):
        lax.reduce_precision(np.float32(1), 0, 3)
