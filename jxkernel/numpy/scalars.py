"""Scalar types and constants: ``float32(3)`` makes an array, and names a dtype.

Each dtype that an array may have is here as a class that stands for it wherever a dtype is
asked for, and that makes an array of it when called.
"""

from typing import Any

import ml_dtypes
import numpy as np

from jxkernel.numpy.creation import asarray

__all__ = [
    "bfloat16",
    "bool",
    "bool_",
    "cdouble",
    "complex64",
    "complex128",
    "complex_",
    "csingle",
    "double",
    "e",
    "euler_gamma",
    "float4_e2m1fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "float_",
    "inf",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "nan",
    "newaxis",
    "pi",
    "single",
    "uint",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

e = np.e
euler_gamma = np.euler_gamma
inf = np.inf
nan = np.nan
newaxis = None
pi = np.pi


class ScalarType(type):
    """The class of the scalar types: equal and hashing as the dtype they stand for."""

    dtype: Any

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        if cls is other:
            return True
        return isinstance(other, (type, np.dtype, ScalarType)) and _dtype_of(other) == cls.dtype

    def __call__(cls, x: Any) -> Any:
        return asarray(x, cls.dtype)

    def __repr__(cls) -> str:
        return f"<class 'jxkernel.numpy.{cls.__name__}'>"

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


def _dtype_of(other: Any) -> Any:
    """Return the dtype that something names; None where it names none."""
    if isinstance(other, ScalarType):
        return other.dtype
    if isinstance(other, np.dtype):
        return other
    return np.dtype(other) if issubclass(other, np.generic) else None


def _scalar_type(name: str) -> Any:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    doc = f"The dtype {name}; called, it makes an array of it."
    return ScalarType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "jxkernel.numpy"})


bool = bool_ = _scalar_type("bool")
int2 = _scalar_type("int2")
int4 = _scalar_type("int4")
int8 = _scalar_type("int8")
int16 = _scalar_type("int16")
int32 = _scalar_type("int32")
int64 = _scalar_type("int64")
uint2 = _scalar_type("uint2")
uint4 = _scalar_type("uint4")
uint8 = _scalar_type("uint8")
uint16 = _scalar_type("uint16")
uint32 = _scalar_type("uint32")
uint64 = _scalar_type("uint64")
float4_e2m1fn = _scalar_type("float4_e2m1fn")
float8_e3m4 = _scalar_type("float8_e3m4")
float8_e4m3 = _scalar_type("float8_e4m3")
float8_e4m3b11fnuz = _scalar_type("float8_e4m3b11fnuz")
float8_e4m3fn = _scalar_type("float8_e4m3fn")
float8_e4m3fnuz = _scalar_type("float8_e4m3fnuz")
float8_e5m2 = _scalar_type("float8_e5m2")
float8_e5m2fnuz = _scalar_type("float8_e5m2fnuz")
float8_e8m0fnu = _scalar_type("float8_e8m0fnu")
bfloat16 = _scalar_type("bfloat16")
float16 = _scalar_type("float16")
float32 = _scalar_type("float32")
float64 = _scalar_type("float64")
complex64 = _scalar_type("complex64")
complex128 = _scalar_type("complex128")

single, double, csingle, cdouble = float32, float64, complex64, complex128
int_, uint, float_, complex_ = int64, uint64, float64, complex128
