"""Dtypes: kinds, canonical forms, Python scalars, and promotion against a table of facts."""

import enum
import itertools
import json
import math
import pathlib
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from jxkernel import dtypes
from jxkernel.config import enable_x64, numpy_dtype_promotion
from jxkernel.dtypes import (
    ALL,
    ExtendedDType,
    TypePromotionError,
    canonicalize_dtype,
    check_and_canonicalize_user_dtype,
    check_valid_dtype,
    coerce_scalar,
    dtype,
    float0,
    is_weakly_typed,
    isdtype,
    issubdtype,
    itemsize_bits,
    lattice_result_type,
    promote_types,
    result_type,
    scalar_type_of,
    scalar_type_to_dtype,
    short_name,
)

FACTS = json.loads(
    pathlib.Path(__file__).with_name("golden").joinpath("promotion.json").read_text()
)
NODES = FACTS["nodes"].split()
SCALARS = {"int*": 0, "float*": 0.0, "complex*": 0j}
NAMES = [name for name in NODES if name not in SCALARS]
MODES = [mode.split() for mode in FACTS["pairs"]]


class KeyDType(ExtendedDType):
    """A dtype of random keys, as a later layer defines it."""

    type = dtypes.prng_key
    name = "key<test>"
    itemsize = 8


class Array:
    """What promotion needs of an array."""

    def __init__(self, dtype: Any, weak_type: bool = False) -> None:
        self.dtype = np.dtype(dtype)
        self.weak_type = weak_type


class Choice(enum.IntEnum):
    """A subclass of int."""

    ONE = 1


def operand(node: str) -> Any:
    return SCALARS[node] if node in SCALARS else np.dtype(node)


def answer(*operands: Any) -> str:
    try:
        found, weak = result_type(*operands, return_weak_type_flag=True)
    except TypePromotionError:
        return "!"
    return found.name + "*" * weak


# ---------------------------------------------------------------------------- promotion


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


@pytest.mark.parametrize("special", [float0, KeyDType()])
def test_dtypes_outside_the_lattice_meet_only_themselves(special: Any) -> None:
    assert lattice_result_type((special, False), (special, False)) == (special, False)
    with pytest.raises(ValueError, match="takes no part in promotion"):
        lattice_result_type((special, False), (np.dtype("float32"), False))


# ---------------------------------------------------------------------------- canonical dtypes


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


# ---------------------------------------------------------------------------- kinds and names


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("bfloat16", np.floating, True),
        ("bfloat16", np.inexact, True),
        ("bfloat16", np.number, True),
        ("bfloat16", np.generic, True),
        ("bfloat16", np.complexfloating, False),
        ("bfloat16", "float32", False),
        ("bfloat16", "bfloat16", True),
        ("float8_e4m3fn", np.floating, True),
        ("int4", np.signedinteger, True),
        ("int4", np.integer, True),
        ("uint4", np.signedinteger, False),
        ("uint2", np.unsignedinteger, True),
        ("int32", np.int64, False),
        ("int32", np.integer, True),
        (int, np.integer, True),
        (float, np.floating, True),
        (np.floating, np.inexact, True),
        ("bool", np.number, False),
        ("bool", np.bool_, True),
        ("complex64", np.inexact, True),
        (KeyDType(), dtypes.prng_key, True),
        (KeyDType(), dtypes.extended, True),
        (KeyDType(), np.generic, True),
        (KeyDType(), np.number, False),
        ("float32", dtypes.extended, False),
        (float0, np.inexact, False),
    ],
)
def test_issubdtype(a: Any, b: Any, expected: bool) -> None:
    assert issubdtype(a, b) is expected


def test_issubdtype_agrees_with_numpy_on_its_own_dtypes() -> None:
    own = [d for d in ALL if d.kind != "V" and d != np.dtype("bfloat16")]
    abstract = [np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger]
    abstract += [np.inexact, np.floating, np.complexfloating, np.bool_]
    for concrete, above in itertools.product(own, abstract):
        if concrete.type.__module__ == "numpy":
            assert issubdtype(concrete, above) == np.issubdtype(concrete, above)


PREDICATES = {
    "is_boolean": "bool",
    "is_signed": "signed integer",
    "is_unsigned": "unsigned integer",
    "is_integral": "integral",
    "is_floating": "real floating",
    "is_complex": "complex floating",
    "is_numeric": "numeric",
}


@pytest.mark.parametrize(("predicate", "kind"), PREDICATES.items())
def test_predicates_and_standard_kinds_agree(predicate: str, kind: str) -> None:
    for name in NAMES:
        assert getattr(dtypes, predicate)(np.dtype(name)) is isdtype(name, kind)


def test_each_dtype_is_of_exactly_one_kind() -> None:
    kinds = ("bool", "signed integer", "unsigned integer", "real floating", "complex floating")
    for name in NAMES:
        assert sum(isdtype(name, kind) for kind in kinds) == 1
    assert {np.dtype(name) for name in NAMES} == ALL


def test_isdtype_takes_dtypes_and_tuples() -> None:
    assert isdtype("float32", np.float32)
    assert isdtype("int4", ("bool", "integral"))
    assert not isdtype("int4", ("bool", "float32"))
    with pytest.raises(ValueError, match=r"'float' is neither .*'real floating'|'floating' is nei"):
        isdtype("float32", "floating")


def test_inexact_and_extended_predicates() -> None:
    assert [n for n in NAMES if dtypes.is_inexact(np.dtype(n))] == [
        n for n in NAMES if isdtype(n, ("real floating", "complex floating"))
    ]
    assert dtypes.is_extended(KeyDType())
    assert not dtypes.is_extended(np.dtype("float32"))
    assert not dtypes.is_inexact(KeyDType())


def test_short_names_are_those_of_jaxprs() -> None:
    assert [short_name(np.dtype(name)) for name in NAMES] == FACTS["short_names"].split()
    assert short_name(float0) == "float0"
    assert short_name(KeyDType()) == "key<test>"


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("bool", 8),
        ("int4", 4),
        ("uint2", 2),
        ("float4_e2m1fn", 4),
        ("float8_e5m2", 8),
        ("bfloat16", 16),
        ("int64", 64),
        ("complex128", 128),
    ],
)
def test_itemsize_bits(name: str, bits: int) -> None:
    assert itemsize_bits(name) == bits


def test_finfo_and_iinfo_know_narrow_dtypes() -> None:
    assert dtypes.finfo("bfloat16").eps == 2**-7
    assert dtypes.finfo("float32").eps == 2**-23
    assert float(dtypes.finfo("float8_e4m3fn").max) == 448
    assert (dtypes.iinfo("int4").min, dtypes.iinfo("int4").max) == (-8, 7)
    assert dtypes.iinfo("uint64").max == 2**64 - 1
    with pytest.raises(ValueError, match=r"float32|'f'"):
        dtypes.iinfo("float32")


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ("bfloat16", float),
        (np.int32(1), int),
        (np.dtype("uint4"), int),
        (np.ones(1, "complex64"), complex),
        (True, bool),
        (np.float32, float),
        (1.5, float),
    ],
)
def test_scalar_type_of(x: Any, expected: type) -> None:
    assert scalar_type_of(x) is expected


def test_scalar_type_of_what_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match="no Python scalar type"):
        scalar_type_of(float0)


def test_float0_takes_no_bytes() -> None:
    assert float0.itemsize == 0
    assert np.zeros((3,), float0).nbytes == 0


def test_extended_dtype_says_what_a_subclass_must_define() -> None:
    class Unfinished(ExtendedDType):
        pass

    for attribute in ("type", "name", "itemsize"):
        with pytest.raises(NotImplementedError, match=f"Unfinished must define `{attribute}`"):
            getattr(Unfinished(), attribute)
