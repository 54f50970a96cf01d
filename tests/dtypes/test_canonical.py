"""Canonical forms, the dtypes of Python scalars, and the dtypes that users write."""

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from jxkernel import dtypes
from jxkernel.config import enable_x64
from jxkernel.dtypes import (
    ALL,
    canonicalize_dtype,
    check_and_canonicalize_user_dtype,
    check_valid_dtype,
    coerce_scalar,
    dtype,
    float0,
    is_weakly_typed,
    itemsize_bits,
    scalar_type_to_dtype,
)
from tests.dtypes.examples import FACTS, NAMES, Array, Choice, KeyDType


@pytest.mark.parametrize("bits", ["x32", "x64"])
@pytest.mark.parametrize("function", FACTS["conversions"]["x32"])
def test_conversion_of_every_dtype_is_the_known_one(bits: str, function: str) -> None:
    convert: Callable[[Any], np.dtype] = getattr(dtypes, function)
    expected = dict(zip(NAMES, FACTS["conversions"][bits][function].split(), strict=True))
    with enable_x64(bits == "x64"):
        found = {name: convert(np.dtype(name)).name for name in NAMES}
    if function in ("to_inexact_dtype", "to_floating_dtype"):
        # The reference forgets the 2-bit integers; here they go the way of the 4-bit ones.
        for name in ("int2", "uint2"):
            assert found.pop(name) == "float32"
            del expected[name]
    assert found == expected


@pytest.mark.parametrize(
    ("given", "narrow", "wide"),
    [
        (int, "int32", "int64"),
        (float, "float32", "float64"),
        (complex, "complex64", "complex128"),
        (bool, "bool", "bool"),
        (np.uint64, "uint32", "uint64"),
        ("f8", "float32", "float64"),
        (np.dtype("int64"), "int32", "int64"),
        (ml_dtypes.bfloat16, "bfloat16", "bfloat16"),
    ],
)
def test_canonicalize_dtype_follows_the_setting(given: Any, narrow: str, wide: str) -> None:
    assert canonicalize_dtype(given).name == narrow
    with enable_x64(True):
        assert canonicalize_dtype(given).name == wide
    assert canonicalize_dtype(given).name == narrow


def test_canonicalize_dtype_of_extended_dtypes() -> None:
    key = KeyDType()
    assert canonicalize_dtype(key) is key
    assert canonicalize_dtype(float0) == float0
    with pytest.raises(ValueError, match="key<test>"):
        canonicalize_dtype(key, allow_extended_dtype=False)


def test_default_dtypes_follow_the_setting() -> None:
    functions = (
        dtypes.default_int_dtype,
        dtypes.default_uint_dtype,
        dtypes.default_float_dtype,
        dtypes.default_complex_dtype,
    )
    assert [f().name for f in functions] == ["int32", "uint32", "float32", "complex64"]
    with enable_x64(True):
        assert [f().name for f in functions] == ["int64", "uint64", "float64", "complex128"]


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (True, "bool"),
        (1, "int32"),
        (1.0, "float32"),
        (1j, "complex64"),
        (Choice.ONE, "int32"),
        (np.float64(1), "float32"),
        (np.complex128(1), "complex64"),
        (np.ones(2, "int64"), "int32"),
        (Array("bfloat16"), "bfloat16"),
        (int, "int32"),
        (np.float16, "float16"),
        ("uint8", "uint8"),
        (np.dtype("float64"), "float32"),
    ],
)
def test_dtype_of_values_and_names(x: Any, expected: str) -> None:
    assert dtype(x).name == expected


@pytest.mark.parametrize(("x", "error"), [([1.0], TypeError), ({}, TypeError), (None, ValueError)])
def test_dtype_of_what_has_none_is_an_error(x: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="has no dtype"):
        dtype(x)


@pytest.mark.parametrize(
    ("x", "weak"),
    [
        (1, True),
        (1.0, True),
        (1j, True),
        (True, False),
        (Choice.ONE, True),
        (int, True),
        (float, True),
        (bool, False),
        (np.float64(1), False),
        (np.complex128(1), False),
        (np.float32, False),
        (np.ones(2), False),
        (Array("float32", True), True),
        (Array("float32", False), False),
        ("float32", False),
    ],
)
def test_is_weakly_typed(x: Any, weak: bool) -> None:
    assert is_weakly_typed(x) is weak


# ---------------------------------------------------------------------------- Python scalars


def limits(name: str) -> tuple[int, int]:
    info = ml_dtypes.iinfo(name)
    return int(info.min), int(info.max)


@pytest.mark.parametrize("name", sorted(d.name for d in dtypes.INTEGRAL))
def test_integers_at_the_limits_fit_and_beyond_them_overflow(name: str) -> None:
    least, most = limits(name)
    for value in (least, most):
        array = coerce_scalar(value, name)
        assert (array.dtype, array.shape, int(array)) == (np.dtype(name), (), value)
    for value in (least - 1, most + 1, 2**100, -(2**100)):
        with pytest.raises(
            OverflowError, match=f"{value} does not fit {name}, .* {least} to {most}"
        ):
            coerce_scalar(value, name)


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        (True, None, "bool"),
        (1, None, "int32"),
        (1.5, None, "float32"),
        (1j, None, "complex64"),
        (Choice.ONE, None, "int32"),
        (3, "bfloat16", "bfloat16"),
        (3, "complex64", "complex64"),
        (True, "float8_e4m3fn", "float8_e4m3fn"),
        (2, "bool", "bool"),
    ],
)
def test_coerced_scalar_has_value_and_dtype(value: Any, name: Any, expected: str) -> None:
    array = coerce_scalar(value, name)
    assert (array.dtype.name, array.shape) == (expected, ())
    assert array.astype(complex) == (bool(value) if expected == "bool" else value)


def test_integer_beyond_the_default_dtype_overflows_only_without_x64() -> None:
    with pytest.raises(OverflowError, match="int32"):
        coerce_scalar(2**31)
    with pytest.raises(OverflowError, match="int32"):
        scalar_type_to_dtype(int, 2**31)
    with enable_x64(True):
        assert coerce_scalar(2**31).dtype.name == "int64"
        assert scalar_type_to_dtype(int, 2**63 - 1).name == "int64"
        with pytest.raises(OverflowError, match="int64"):
            scalar_type_to_dtype(int, 2**63)


@pytest.mark.parametrize("name", ["float16", "float32", "bfloat16", "complex64"])
def test_float_beyond_the_dtype_is_infinite_without_a_warning(name: str) -> None:
    assert np.isinf(coerce_scalar(1e300, name).astype(complex).real)
    assert np.isnan(coerce_scalar(math.nan, name).astype(complex).real)


@pytest.mark.parametrize(
    ("value", "name", "error", "message"),
    [
        (1j, "float32", TypeError, "does not fit the real dtype float32"),
        (1j, "int32", TypeError, "does not fit the real dtype int32"),
        (math.nan, "int32", ValueError, "NaN"),
        (math.inf, "int32", OverflowError, "infinity"),
        (300.0, "int8", OverflowError, "300 does not fit int8"),
        (10**400, "float32", OverflowError, "too large"),
    ],
)
def test_scalar_that_has_no_place_in_the_dtype_is_refused(
    value: Any, name: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        coerce_scalar(value, name)


def test_fractions_are_cut_off_towards_zero() -> None:
    assert [int(coerce_scalar(x, "int32")) for x in (1.9, -1.9)] == [1, -1]


# ---------------------------------------------------------------------------- users' dtypes


@pytest.mark.parametrize("bad", ["O", "S3", "datetime64[s]", "V4", [("a", "f4")]])
def test_dtype_that_arrays_cannot_have_is_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match="Arrays cannot have the dtype"):
        check_and_canonicalize_user_dtype(bad)


def test_valid_dtypes_are_accepted() -> None:
    for valid in (*ALL, float0, KeyDType()):
        check_valid_dtype(valid)


def test_narrowing_a_dtype_that_was_asked_for_warns_and_says_how_to_keep_it() -> None:
    with pytest.warns(UserWarning, match=r"float64 asked for in zeros .*jax_enable_x64"):
        assert check_and_canonicalize_user_dtype("float64", "zeros").name == "float32"
    with enable_x64(True):
        assert check_and_canonicalize_user_dtype("float64", "zeros").name == "float64"


@pytest.mark.parametrize("asked", [float, int, "int32", np.float32])
def test_dtype_that_keeps_its_meaning_does_not_warn(asked: Any) -> None:
    assert itemsize_bits(check_and_canonicalize_user_dtype(asked)) == 32


@pytest.mark.parametrize("value", [complex(1.5e308, 1.5e308), complex(math.nan, math.inf), 3j])
def test_a_complex_number_of_any_size_is_coerced(value: complex) -> None:
    array = coerce_scalar(value, np.dtype(np.complex128))
    np.testing.assert_array_equal(array, np.complex128(value))
