"""Which dtypes exist, what kind each one is, and how it is named and measured.

NumPy knows the classic dtypes; ``ml_dtypes`` adds the narrow floats and the 2- and 4-bit
integers, which NumPy files under "void" and so misjudges.  The sets here are the one statement of
kinds: every predicate and rule above reads them.  ``ExtendedDType`` is the hook for dtypes that
are no number at all, such as random keys.  Nothing here reads a setting.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

__all__ = [
    "ALL",
    "BOOLEAN",
    "COMPLEX",
    "FLOATING",
    "INEXACT",
    "INTEGRAL",
    "NARROW_FLOATING",
    "NUMERIC",
    "SIGNED",
    "UNSIGNED",
    "DType",
    "DTypeLike",
    "ExtendedDType",
    "as_dtype",
    "bfloat16",
    "check_kinds",
    "extended",
    "falls_under",
    "finfo",
    "float0",
    "iinfo",
    "is_boolean",
    "is_complex",
    "is_extended",
    "is_floating",
    "is_inexact",
    "is_integral",
    "is_numeric",
    "is_signed",
    "is_unsigned",
    "isdtype",
    "issubdtype",
    "itemsize_bits",
    "kinds_in_words",
    "prng_key",
    "scalar_type_of",
    "short_name",
]

bfloat16 = ml_dtypes.bfloat16
finfo: Any = ml_dtypes.finfo
iinfo: Any = ml_dtypes.iinfo

float0 = np.dtype([("float0", np.void, 0)])
"""The dtype of tangents and cotangents of integers and booleans: one value, zero bytes."""


class extended(np.generic):
    """The abstract scalar type of every dtype that is not a number."""


class prng_key(extended):
    """The abstract scalar type of random keys."""


class ExtendedDType:
    """A dtype that NumPy cannot express; its arrays are pytrees of ordinary arrays underneath.

    A subclass is hashable, compares by content, and gives:

    Attributes:
      type: its scalar type, a subclass of ``extended``, which ``issubdtype`` judges by.
      name: its name in messages and jaxprs, such as ``key<fry>``.
      itemsize: bytes per element.

    ``scalar(number)`` gives an element, of rank 0, every word of which is that number.
    """

    __slots__ = ()

    def scalar(self, number: Any) -> Any:
        """Return an element whose key data all are a number."""
        raise NotImplementedError(f"{type(self).__name__} must define `scalar`.")

    @property
    def type(self) -> type[extended]:
        """The scalar type."""
        raise NotImplementedError(f"{type(self).__name__} must define `type`.")

    @property
    def name(self) -> str:
        """The name in messages and jaxprs."""
        raise NotImplementedError(f"{type(self).__name__} must define `name`.")

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        raise NotImplementedError(f"{type(self).__name__} must define `itemsize`.")


DType: TypeAlias = Any
"""An ``np.dtype`` or an ``ExtendedDType``."""
DTypeLike: TypeAlias = Any
"""A dtype, a scalar type, a Python scalar type, or a name."""


def _dtypes(*scalar_types: Any) -> frozenset[np.dtype]:
    return frozenset(np.dtype(scalar_type) for scalar_type in scalar_types)


BOOLEAN = _dtypes(np.bool_)
SIGNED = _dtypes(ml_dtypes.int2, ml_dtypes.int4, np.int8, np.int16, np.int32, np.int64)
UNSIGNED = _dtypes(ml_dtypes.uint2, ml_dtypes.uint4, np.uint8, np.uint16, np.uint32, np.uint64)
INTEGRAL = SIGNED | UNSIGNED
NARROW_FLOATING = _dtypes(
    ml_dtypes.float4_e2m1fn,
    ml_dtypes.float8_e3m4,
    ml_dtypes.float8_e4m3,
    ml_dtypes.float8_e4m3b11fnuz,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e8m0fnu,
)
"""The 4- and 8-bit floats, which no implicit promotion touches."""
FLOATING = NARROW_FLOATING | _dtypes(bfloat16, np.float16, np.float32, np.float64)
COMPLEX = _dtypes(np.complex64, np.complex128)
INEXACT = FLOATING | COMPLEX
NUMERIC = INTEGRAL | INEXACT
ALL = BOOLEAN | NUMERIC
"""Every dtype that an array may have, besides ``float0`` and extended dtypes."""


def as_dtype(dtype: DTypeLike) -> DType:
    """Return ``dtype`` as an ``np.dtype``, or itself when it is an extended dtype.

    Raises:
      TypeError: NumPy does not understand it.
    """
    return dtype if isinstance(dtype, ExtendedDType) else np.dtype(dtype)


def is_boolean(dtype: DType) -> bool:
    """Return whether ``dtype`` is ``bool``."""
    return dtype in BOOLEAN


def is_signed(dtype: DType) -> bool:
    """Return whether ``dtype`` is a signed integer."""
    return dtype in SIGNED


def is_unsigned(dtype: DType) -> bool:
    """Return whether ``dtype`` is an unsigned integer."""
    return dtype in UNSIGNED


def is_integral(dtype: DType) -> bool:
    """Return whether ``dtype`` is an integer, signed or not; ``bool`` is none."""
    return dtype in INTEGRAL


def is_floating(dtype: DType) -> bool:
    """Return whether ``dtype`` is a real floating-point type of any width."""
    return dtype in FLOATING


def is_complex(dtype: DType) -> bool:
    """Return whether ``dtype`` is complex."""
    return dtype in COMPLEX


def is_inexact(dtype: DType) -> bool:
    """Return whether ``dtype`` is floating or complex: whether it has derivatives."""
    return dtype in INEXACT


def is_numeric(dtype: DType) -> bool:
    """Return whether ``dtype`` is a number; ``bool`` is none."""
    return dtype in NUMERIC


def is_extended(dtype: DType) -> bool:
    """Return whether ``dtype`` is an extended dtype."""
    return isinstance(dtype, ExtendedDType)


_ABSTRACT = (
    (SIGNED, np.signedinteger),
    (UNSIGNED, np.unsignedinteger),
    (FLOATING, np.floating),
    (COMPLEX, np.complexfloating),
)


@functools.cache
def _abstract_type(scalar_type: type) -> type:
    """Return the abstract NumPy class above a concrete scalar type of ``ml_dtypes``."""
    dtype = np.dtype(scalar_type)
    for members, abstract in _ABSTRACT:
        if dtype in members:
            return abstract
    return scalar_type


def _scalar_type(of: Any) -> type:
    if isinstance(of, type) and issubclass(of, np.generic):
        return of
    return as_dtype(of).type


def dtype_argument(function: str, argument: str, given: Any) -> DType:
    """Return the dtype that a function was given as an argument.

    Raises:
      TypeError: it is no dtype.
    """
    try:
        return as_dtype(given)
    except TypeError as error:
        raise TypeError(f"{function} got {argument}={given!r:.60}: {error}") from None


_KINDS_IN_WORDS = {
    "inexact": "floating-point or complex",
    "floating": "floating-point",
    "complexfloating": "complex",
    "number": "numeric",
}


def kinds_in_words(kinds: Iterable[type]) -> str:
    """Return kinds of dtypes as messages say them.

    >>> kinds_in_words([np.inexact]), kinds_in_words([np.integer, np.bool_])
    ('floating-point or complex', 'integer or bool')
    """
    names = (kind.__name__.rstrip("_") for kind in kinds)
    return " or ".join(_KINDS_IN_WORDS.get(name, name) for name in names)


def issubdtype(a: DTypeLike, b: DTypeLike) -> bool:
    """Return whether one dtype or scalar type falls under another, as ``np.issubdtype`` does.

    Unlike NumPy's, it places the types of ``ml_dtypes`` (``bfloat16`` is an ``np.floating``) and
    extended dtypes (under ``extended``).

    Raises:
      TypeError: either is no dtype.

    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating), jnp.issubdtype(jnp.int32, jnp.floating)
    (True, False)
    """
    try:
        return falls_under(a, b)
    except TypeError:
        check_kinds(a=a, b=b)
        raise


def check_kinds(**arguments: Any) -> None:
    """Raise TypeError with the name of the first argument of ``issubdtype`` that is no dtype."""
    for argument, given in arguments.items():
        dtype_argument("issubdtype", argument, given)
        if hasattr(given, "shape") and not isinstance(given, type):
            raise TypeError(
                f"issubdtype got {argument}={given!r:.60}, which is no dtype: write x.dtype"
            ) from None


@functools.lru_cache(maxsize=4096)
def falls_under(a: DTypeLike, b: DTypeLike) -> bool:
    """Return what ``issubdtype`` does; what is no dtype is a TypeError that names no argument."""
    kind, above = _scalar_type(a), _scalar_type(b)
    if issubclass(kind, above):
        return True
    # The types of ml_dtypes derive from np.generic directly.
    return kind.__base__ is np.generic and issubclass(_abstract_type(kind), above)


_KINDS = {
    "bool": BOOLEAN,
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": INTEGRAL,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
    "numeric": NUMERIC,
}


def _is_of_kind(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, str) and kind in _KINDS:
        return dtype in _KINDS[kind]
    try:
        return dtype == as_dtype(kind)
    except TypeError:
        listed = ", ".join(repr(name) for name in _KINDS)
        raise ValueError(
            f"isdtype got kind={kind!r:.60}: {kind!r:.60} is neither a dtype nor one of the kinds "
            f"{listed}."
        ) from None


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Return whether ``dtype`` is of ``kind``, as the array API standard defines it.

    Args:
      dtype: a dtype.
      kind: a dtype; ``'bool'``, ``'signed integer'``, ``'unsigned integer'``, ``'integral'``,
        ``'real floating'``, ``'complex floating'`` or ``'numeric'``; or a tuple of these.

    Raises:
      ValueError: ``kind`` is none of these.

    >>> jnp.isdtype(jnp.float32, "real floating"), jnp.isdtype(jnp.int8, ("bool", "numeric"))
    (True, True)
    >>> jnp.isdtype(jnp.bool_, "numeric")
    False
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    found = dtype_argument("isdtype", "dtype", dtype)
    return any(_is_of_kind(found, each) for each in kinds)


def scalar_type_of(x: Any) -> type:
    """Return the Python scalar type (``bool int float complex``) of an array, scalar or dtype.

    Raises:
      TypeError: its dtype is no number.
    """
    names_dtype = isinstance(x, (type, str, np.dtype, ExtendedDType))
    dtype = as_dtype(x if names_dtype else getattr(x, "dtype", type(x)))
    for members, scalar_type in (
        (BOOLEAN, bool),
        (INTEGRAL, int),
        (FLOATING, float),
        (COMPLEX, complex),
    ):
        if dtype in members:
            return scalar_type
    raise TypeError(f"{x!r} has no Python scalar type: its dtype is {dtype}.")


def itemsize_bits(dtype: DTypeLike) -> int:
    """Return the number of bits of one element: 4 for ``int4``, which NumPy stores in 8.

    Raises:
      ValueError: arrays cannot have that dtype.
    """
    found = None if dtype is None else as_dtype(dtype)
    if found is None or (found not in ALL and not isinstance(found, ExtendedDType)):
        raise ValueError(f"itemsize_bits takes a dtype that arrays can have, got {dtype!r}")
    if found in INTEGRAL:
        return iinfo(found).bits
    return finfo(found).bits if found in FLOATING else 8 * found.itemsize


_SHORTENED = (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"))


@functools.cache
def short_name(dtype: DType) -> str:
    """Return the name that jaxprs print: ``f32``, ``bf16``, ``i32``, ``u8``, ``bool``, ``c64``."""
    if dtype == float0:
        return "float0"
    if isinstance(dtype, ExtendedDType):
        return dtype.name
    name = np.dtype(dtype).name
    for long, short in _SHORTENED:
        if name.startswith(long):
            return short + name.removeprefix(long)
    return name
