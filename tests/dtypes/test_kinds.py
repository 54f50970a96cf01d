"""Kinds, names and sizes of dtypes."""

import itertools
from typing import Any

import numpy as np
import pytest

from jxkernel import dtypes
from jxkernel.dtypes import (
    ALL,
    ExtendedDType,
    float0,
    isdtype,
    issubdtype,
    itemsize_bits,
    scalar_type_of,
    short_name,
)
from tests.dtypes.examples import FACTS, NAMES, KeyDType


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
    for special in (float0, KeyDType()):
        with pytest.raises(TypeError, match="no Python scalar type"):
            scalar_type_of(special)


def test_float0_takes_no_bytes() -> None:
    assert float0.itemsize == 0
    assert np.zeros((3,), float0).nbytes == 0


def test_extended_dtype_says_what_a_subclass_must_define() -> None:
    class Unfinished(ExtendedDType):
        pass

    for attribute in ("type", "name", "itemsize"):
        with pytest.raises(NotImplementedError, match=f"Unfinished must define `{attribute}`"):
            getattr(Unfinished(), attribute)
