"""Promotion: every pair against a table of facts, weak types, strict mode, refusals."""

import itertools
from typing import Any

import numpy as np
import pytest

from jxkernel import dtypes
from jxkernel.config import enable_x64, numpy_dtype_promotion
from jxkernel.dtypes import (
    TypePromotionError,
    canonicalize_dtype,
    float0,
    itemsize_bits,
    lattice_result_type,
    promote_types,
    result_type,
)
from jxkernel.errors import KeyTypeError
from tests.dtypes.examples import FACTS, NAMES, NODES, SCALARS, Array, Choice, KeyDType

MODES = [mode.split() for mode in FACTS["pairs"]]


def operand(node: str) -> Any:
    return SCALARS[node] if node in SCALARS else np.dtype(node)


def answer(*operands: Any) -> str:
    try:
        found, weak = result_type(*operands, return_weak_type_flag=True)
    except TypePromotionError:
        return "!"
    return found.name + "*" * weak


@pytest.mark.parametrize(("bits", "mode"), MODES)
def test_result_type_of_every_pair_is_the_known_one(bits: str, mode: str) -> None:
    rows = [row.split() for row in FACTS["pairs"][f"{bits} {mode}"]]
    assert [len(row) for row in rows] == list(range(1, len(NODES) + 1))
    with enable_x64(bits == "x64"), numpy_dtype_promotion(mode):
        triangle = [[(a, b) for b in NODES[: i + 1]] for i, a in enumerate(NODES)]
        found = [[answer(operand(a), operand(b)) for a, b in row] for row in triangle]
        swapped = [[answer(operand(b), operand(a)) for a, b in row] for row in triangle]
    assert found == rows
    assert swapped == rows


@pytest.mark.parametrize(("bits", "mode"), MODES)
def test_dtype_joined_with_itself_is_itself(bits: str, mode: str) -> None:
    with enable_x64(bits == "x64"), numpy_dtype_promotion(mode):
        for name in NAMES:
            assert lattice_result_type(*[(np.dtype(name), False)] * 3) == (
                canonicalize_dtype(name),
                False,
            )


def test_result_does_not_depend_on_grouping_where_all_pairs_meet() -> None:
    wide = [np.dtype(name) for name in NAMES if itemsize_bits(name) >= 8 and "float8" not in name]
    with enable_x64(True):
        for triple in itertools.combinations([*wide, int, float, complex], 3):
            together = result_type(*triple)
            for a, b, c in itertools.permutations(triple):
                partial, weak = result_type(a, b, return_weak_type_flag=True)
                assert lattice_result_type((partial, weak), dtypes.lattice._pair(c))[0] == together


WEAK = [
    # A weak operand counts as a Python scalar of its kind, whatever its width.
    ([Array("float16", True)], "float32*"),
    ([Array("float16", True), 1], "float32*"),
    ([Array("float16", True), np.int32(1)], "float32*"),
    ([Array("float16", True), np.float16(1)], "float16"),
    ([Array("int8", True), np.int32(1)], "int32"),
    ([Array("int8", True), np.bool_(True)], "int32*"),
    ([Array("int8", True), 1.0, np.bool_(True)], "float32*"),
    ([Array("int8", True), Array("float16", True)], "float32*"),
    ([Array("int32"), 1.5], "float32*"),
    ([Array("int32"), np.float16(1.5)], "float16"),
    ([Array("bfloat16"), 1.5, 2], "bfloat16"),
    ([Array("bfloat16"), 1j], "complex64"),
    ([Array("uint8"), Array("int8"), 1], "int16"),
    ([True, True], "bool"),
    ([True, 1], "int32*"),
    ([int, "int8"], "int8"),
    ([float, "int8"], "float32*"),
    ([np.float64(1), 1], "float32"),
    ([np.int64(1), np.uint64(1)], "int32"),
    ([Choice.ONE, np.int8(1)], "int8"),
    ([None], "float32"),
]


@pytest.mark.parametrize(("operands", "expected"), WEAK)
def test_result_type_of_arrays_and_scalars(operands: list[Any], expected: str) -> None:
    assert answer(*operands) == expected


def test_unsigned_and_signed_64_bits_meet_in_a_weak_float() -> None:
    with enable_x64(True):
        assert answer(np.uint64(1), np.int64(1)) == "float64*"
        assert answer(np.uint64(1), np.int64(1), np.float16(1)) == "float16"


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_result_type_is_found_anew_when_a_setting_changes(mode: str) -> None:
    assert result_type(np.float64(1), 1.0).name == "float32"
    with enable_x64(True), numpy_dtype_promotion(mode):
        assert result_type(np.float64(1), 1.0).name == "float64"
    assert result_type(np.float64(1), 1.0).name == "float32"


def test_promotion_error_names_dtypes_mode_and_way_out() -> None:
    with (
        numpy_dtype_promotion("strict"),
        pytest.raises(TypePromotionError, match=r"float32 and int32.*strict mode") as error,
    ):
        result_type(np.float32(1), np.int32(1))
    assert error.value.dtypes == ("float32", "int32")
    assert error.value.mode == "strict"
    assert "astype" in str(error.value)


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("float8_e4m3fn", "float32"), "fewer than 16 bits"),
        (("int4", "int8"), "fewer than 8 bits"),
        (("uint2", "float32"), "fewer than 8 bits"),
    ],
)
def test_narrow_dtypes_are_not_promoted_and_the_error_says_why(
    pair: tuple[str, str], reason: str
) -> None:
    with pytest.raises(TypePromotionError, match=reason):
        promote_types(*pair)


PROMOTED = [
    # (operands, with x64 off, with x64 on)
    (("int32", "uint32"), "int32", "int64"),
    (("int8", "uint32"), "int32", "int64"),
    (("int64", "uint32"), "int64", "int64"),
    (("uint64", "int8"), "float64", "float64"),
    (("int32", float), "float64", "float64"),
    (("int8", complex), "complex128", "complex128"),
    (("bfloat16", complex), "complex64", "complex64"),
    (("bool", int), "int64", "int64"),
    ((bool, float), "float64", "float64"),
    ((int, "int8"), "int8", "int8"),
    (("complex64", "float64"), "complex128", "complex128"),
    (("float64", "float64"), "float64", "float64"),
]


@pytest.mark.parametrize(("pair", "narrow", "wide"), PROMOTED)
def test_promote_types_speaks_of_dtypes_alone(pair: Any, narrow: str, wide: str) -> None:
    for operands in (pair, pair[::-1]):
        assert promote_types(*operands).name == narrow
        with enable_x64(True):
            assert promote_types(*operands).name == wide


def test_result_type_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        result_type()


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        (([1, 2],), r"type list has no dtype: \[1, 2\]"),
        (("datetime64[s]", "int32"), r"dtype datetime64\[s\]"),
        (("O", "int32"), "dtype object"),
        (("nonsense",), "not understood"),
    ],
)
def test_what_has_no_dtype_for_arrays_is_refused(operands: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        result_type(*operands)


@pytest.mark.parametrize(
    ("special", "error", "message"),
    [(float0, ValueError, "takes no part"), (KeyDType(), KeyTypeError, "promotion got key")],
)
def test_dtypes_outside_the_lattice_meet_only_themselves(
    special: Any, error: type[Exception], message: str
) -> None:
    assert lattice_result_type((special, False), (special, False)) == (special, False)
    with pytest.raises(error, match=message):
        lattice_result_type((special, False), (np.dtype("float32"), False))
