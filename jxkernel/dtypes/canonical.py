"""From what users give (Python scalars, names, 64-bit dtypes) to the dtypes that arrays have.

With ``jax_enable_x64`` off, 64-bit dtypes become their 32-bit counterparts: *canonical* dtypes.
Everything cached here takes the setting as part of its key.  This module must not know of
promotion between operands.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from jxkernel._reprs import with_type
from jxkernel.config import enable_x64
from jxkernel.dtypes.kinds import (
    ALL,
    BOOLEAN,
    COMPLEX,
    FLOATING,
    INEXACT,
    INTEGRAL,
    DType,
    DTypeLike,
    ExtendedDType,
    as_dtype,
    float0,
    iinfo,
)
from jxkernel.source import users_level

__all__ = [
    "canonicalize_dtype",
    "check_and_canonicalize_user_dtype",
    "check_valid_dtype",
    "coerce_scalar",
    "default_complex_dtype",
    "default_float_dtype",
    "default_int_dtype",
    "default_uint_dtype",
    "dtype",
    "host_array",
    "is_python_scalar",
    "is_weakly_typed",
    "is_wide",
    "python_scalar_dtypes",
    "scalar_type_to_dtype",
    "to_complex_dtype",
    "to_floating_dtype",
    "to_inexact_dtype",
    "to_numeric_dtype",
]

python_scalar_dtypes: dict[type, np.dtype] = {
    bool: np.dtype("bool"),
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}
"""The dtype of each Python scalar type, before canonicalization."""

_NARROWED = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}


@functools.lru_cache(maxsize=4096)
def _canonical(dtype: DTypeLike, x64: bool) -> DType:
    dtype = as_dtype(dtype)
    return dtype if x64 else _NARROWED.get(dtype, dtype)


def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool = True) -> DType:
    """Return the dtype that an array asked to be of ``dtype`` has under the present settings.

    Args:
      dtype: a dtype, scalar type, Python scalar type or name.
      allow_extended_dtype: return extended dtypes as they are, or refuse them.

    Raises:
      TypeError: NumPy does not understand ``dtype``.
      ValueError: it is an extended dtype and these are not allowed.

    >>> import jxkernel as jx
    >>> jx.dtypes.canonicalize_dtype("float64").name
    'float32'
    """
    if not allow_extended_dtype and isinstance(dtype, ExtendedDType):
        raise ValueError(f"The extended dtype {dtype.name} has no canonical form.")
    return _canonical(dtype, enable_x64.value)


def default_int_dtype() -> np.dtype:
    """Return the dtype of Python integers: ``int32``, or ``int64`` with x64 on."""
    return _canonical(int, enable_x64.value)


def default_uint_dtype() -> np.dtype:
    """Return ``uint32``, or ``uint64`` with x64 on."""
    return _canonical(np.uint64, enable_x64.value)


def default_float_dtype() -> np.dtype:
    """Return the dtype of Python floats: ``float32``, or ``float64`` with x64 on."""
    return _canonical(float, enable_x64.value)


def default_complex_dtype() -> np.dtype:
    """Return the dtype of Python complex numbers: ``complex64``, or ``complex128``."""
    return _canonical(complex, enable_x64.value)


def is_python_scalar(x: Any) -> bool:
    """Return whether ``x`` is a Python ``bool``, ``int``, ``float`` or ``complex``.

    Subclasses count (an ``IntEnum`` member is one); NumPy scalars, some of which derive from
    ``float`` and ``complex``, do not.
    """
    if type(x) in python_scalar_dtypes:
        return True
    return isinstance(x, (int, float, complex)) and not isinstance(x, np.generic)


def is_weakly_typed(x: Any) -> bool:
    """Return whether ``x`` takes on the dtype of what it meets: scalars, and arrays made of them.

    Python numbers are weakly typed, and so are their types; ``True`` and ``False`` are not, since
    every dtype outranks ``bool`` anyway.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> jx.dtypes.is_weakly_typed(1.0), jx.dtypes.is_weakly_typed(jnp.array([1.0]))
    (True, False)
    """
    if type(x) in python_scalar_dtypes:
        return type(x) is not bool
    if isinstance(x, type):
        return x in (int, float, complex)
    weak = getattr(x, "weak_type", None)
    return is_python_scalar(x) if weak is None else bool(weak)


def _dtype_of_python_scalar(x: Any) -> np.dtype:
    for scalar_type, scalar_dtype in python_scalar_dtypes.items():
        if isinstance(x, scalar_type):
            return scalar_dtype
    raise TypeError(f"a Python number is asked for, got {with_type(x)}")


def dtype(x: Any) -> DType:
    """Return the canonical dtype of an array, a scalar, or something that names a dtype.

    Raises:
      TypeError: ``x`` is none of these; a list, for example, has no dtype.
      ValueError: ``x`` is None.

    >>> import jxkernel as jx
    >>> jx.dtypes.dtype(2.5).name, jx.dtypes.dtype("int8").name
    ('float32', 'int8')
    """
    found = python_scalar_dtypes.get(type(x))
    if found is None:
        found = getattr(x, "dtype", None)
        if not isinstance(found, (np.dtype, ExtendedDType)):
            found = _dtype_of_other(x)
    return _canonical(found, enable_x64.value)


def _dtype_of_other(x: Any) -> Any:
    """Return what names the dtype of something that is neither an array nor a plain scalar."""
    if x is None:
        raise ValueError("None has no dtype.")
    if isinstance(x, (type, str, np.dtype, ExtendedDType)):
        return x
    if is_python_scalar(x):
        return _dtype_of_python_scalar(x)
    raise TypeError(f"A value of type {type(x).__name__} has no dtype: {x!r}.")


def scalar_type_to_dtype(scalar_type: type, value: Any = None) -> np.dtype:
    """Return the canonical dtype of a Python scalar type, and check that ``value`` fits it.

    Raises:
      OverflowError: ``value`` is an integer outside the dtype's range.
    """
    found = _canonical(scalar_type, enable_x64.value)
    if scalar_type is int and value is not None:
        _check_range(value, found)
    return found


@functools.cache
def _bounds(dtype: np.dtype) -> tuple[int, int]:
    info = iinfo(dtype)
    return int(info.min), int(info.max)


def _check_range(value: int, dtype: np.dtype) -> None:
    least, most = _bounds(dtype)
    if not least <= value <= most:
        raise OverflowError(
            f"The Python int {value} does not fit {dtype.name}, which holds {least} to {most}."
        )


# Within these bounds no cast to a standard float can overflow: no warning to suppress.
_SAFE_MAGNITUDE = 65504.0


def coerce_scalar(value: Any, dtype: DTypeLike | None = None) -> np.ndarray:
    """Return a Python scalar as a rank-0 NumPy array.

    Args:
      value: a Python ``bool``, ``int``, ``float`` or ``complex``.
      dtype: the dtype of the result; by default that of the value, made canonical.

    Raises:
      OverflowError: an integer is outside the range of an integer dtype, or no float at all.
      TypeError: a complex value is given for a real dtype.
      ValueError: a NaN or infinity is given for an integer dtype.

    A float too large for the dtype becomes infinite, as in a cast between arrays.
    """
    if dtype is None:
        scalar_dtype = python_scalar_dtypes.get(type(value)) or _dtype_of_python_scalar(value)
        target = _canonical(scalar_dtype, enable_x64.value)
    else:
        target = _canonical(dtype, True)
    if target == float0:
        return np.zeros((), float0)
    if target in INTEGRAL:
        if isinstance(value, float):
            value = int(value)
        if isinstance(value, int):
            _check_range(value, target)
    if isinstance(value, complex) and target not in COMPLEX:
        raise TypeError(
            f"The complex scalar {value!r} does not fit the real dtype {target.name}; "
            "write value.real."
        )
    # By parts: abs() of a complex number may overflow, and in CPython also where a part is NaN.
    parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
    if target not in INEXACT or max(map(abs, parts)) <= _SAFE_MAGNITUDE:
        return np.asarray(value, target)
    with np.errstate(over="ignore"):
        return np.asarray(value, target)


def host_array(value: Any, dtype: DTypeLike) -> np.ndarray:
    """Return ``np.asarray(value, dtype)`` of a number, or of lists of numbers.

    Raises:
      OverflowError: a Python integer is outside the range of the dtype, in the words of this
        package.
    """
    try:
        return np.asarray(value, dtype)
    except OverflowError:
        target = np.dtype(dtype)
        if type(value) is int and target in INTEGRAL:
            _check_range(value, target)
        for item in value if isinstance(value, (list, tuple)) else ():
            host_array(item, dtype)
        raise


def check_valid_dtype(dtype: DType) -> None:
    """Raise a TypeError unless arrays can have ``dtype``."""
    if dtype in ALL or dtype == float0 or isinstance(dtype, ExtendedDType):
        return
    raise TypeError(
        f"Arrays cannot have the dtype {dtype}: only booleans, numbers and random keys have a "
        "place on a device."
    )


def check_and_canonicalize_user_dtype(dtype: DTypeLike, function: str = "") -> DType:
    """Return the canonical form of a dtype that a user wrote, warning when it narrows.

    Args:
      dtype: what the user gave.
      function: the public name of the function it was given to, for the messages.

    Raises:
      TypeError: it is no dtype that arrays can have.
    """
    try:
        if hasattr(dtype, "aval"):
            raise TypeError("an array is no dtype; write x.dtype")
        asked = as_dtype(dtype)
        check_valid_dtype(asked)
    except TypeError as error:
        raise TypeError(f"{function} got dtype={dtype!r:.60}: {error}") from None
    # Python's own scalar types ask for "the usual one", which narrowing gives.
    found = _canonical(asked, enable_x64.value)
    if found != asked and dtype not in python_scalar_dtypes:
        where = f" in {function}" if function else ""
        warnings.warn(
            f"The dtype {asked.name} asked for{where} is narrowed to {found.name}. For 64-bit "
            'dtypes write jxkernel.config.update("jax_enable_x64", True) first, or set the '
            "environment variable JXKERNEL_ENABLE_X64=1.",
            stacklevel=users_level(),
        )
    return found


_WIDE = frozenset(_NARROWED)


def is_wide(dtype: DType) -> bool:
    """Return whether a dtype is one of those that become narrower while 64 bits are off."""
    return dtype in _WIDE


def to_inexact_dtype(dtype: DTypeLike) -> np.dtype:
    """Return ``dtype`` if floating or complex, else the float as wide: 32 bits, or 64 for 64."""
    dtype = _canonical(dtype, True)
    if dtype in INEXACT:
        return dtype
    return np.dtype("float64" if dtype in _WIDE else "float32")


def to_complex_dtype(dtype: DTypeLike) -> np.dtype:
    """Return ``dtype`` if complex, else ``complex128`` for 64-bit dtypes and ``complex64``."""
    dtype = _canonical(dtype, True)
    if dtype in COMPLEX:
        return dtype
    return np.dtype("complex128" if dtype in _WIDE else "complex64")


def to_floating_dtype(dtype: DTypeLike) -> np.dtype:
    """Return ``dtype`` if floating, its parts' dtype if complex, else as ``to_inexact_dtype``."""
    dtype = _canonical(dtype, True)
    if dtype in FLOATING:
        return dtype
    return np.dtype("float64" if dtype in _WIDE else "float32")


def to_numeric_dtype(dtype: DTypeLike) -> np.dtype:
    """Return ``dtype``, or ``int32`` if it is ``bool``."""
    dtype = _canonical(dtype, True)
    return np.dtype("int32") if dtype in BOOLEAN else dtype
