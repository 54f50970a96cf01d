"""Questions about arrays and dtypes, answered with a Python value or an array of booleans."""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import array_of
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.trace import Tracer
from jxkernel.dtypes import DTypeLike, finfo, iinfo, isdtype, promote_types, result_type
from jxkernel.dtypes.kinds import check_kinds, dtype_argument, falls_under
from jxkernel.numpy.arithmetic import absolute
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.logic import isfinite, isnan
from jxkernel.numpy.promotion import argument_aval, broadcast_shapes, promote_inexact
from jxkernel.primitives.reduction.reduce import reduce_and
from jxkernel.runtime import ArrayImpl, ArrayLike

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "can_cast",
    "finfo",
    "iinfo",
    "isclose",
    "iscomplexobj",
    "isdtype",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "promote_types",
    "result_type",
]

iterable = np.iterable


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Return whether one dtype or scalar type falls under another: see ``dtypes.issubdtype``.

    Args:
      arg1: a dtype or scalar type.
      arg2: another.

    Raises:
      TypeError: either is no dtype.

    >>> jnp.issubdtype(jnp.bfloat16, jnp.floating), jnp.issubdtype(jnp.int32, jnp.floating)
    (True, False)
    """
    try:
        return falls_under(arg1, arg2)
    except TypeError:
        check_kinds(arg1=arg1, arg2=arg2)
        raise


_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Return whether values of one dtype may be converted to another, as NumPy's rules say.

    Args:
      from_: a dtype, or an array of it.
      to: a dtype.
      casting: what may be lost: ``"no"`` and ``"equiv"`` nothing and no conversion, ``"safe"`` no
        value, ``"same_kind"`` precision and range, ``"unsafe"`` all.

    Raises:
      TypeError: either is no dtype.
      ValueError: there is no such rule.

    >>> jnp.can_cast(jnp.int8, jnp.int32), jnp.can_cast("float32", "int8")
    (True, False)
    """
    if casting not in _CASTINGS:
        raise ValueError(f"can_cast got casting={casting!r:.60}: there are {', '.join(_CASTINGS)}")
    source = dtype_argument("can_cast", "from_", from_)
    return np.can_cast(source, dtype_argument("can_cast", "to", to), casting)


@fused(static=("equal_nan",))
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Any:
    """Return where |a - b| ≤ atol + rtol · |b|.

    Args:
      a: an array or number.
      b: an array or number.
      rtol: the relative tolerance.
      atol: the absolute tolerance.
      equal_nan: whether NaN is close to NaN.

    Infinities are close where they are equal.

    >>> jnp.isclose(jnp.array([1.0, 1.1]), 1.000001)
    Array([ True, False], dtype=bool)
    """
    return _close("isclose", a, b, rtol, atol, equal_nan)


def _close(name: str, a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    x, y = promote_inexact(name, a, b)
    # Beside an infinite y the bound is infinite too.
    near = isfinite(y) & (absolute(x - y) <= atol + rtol * absolute(y))
    result = (x == y) | near
    return result | (isnan(x) & isnan(y)) if equal_nan else result


@fused(static=("equal_nan",))
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether all elements are close; see ``isclose``.

    >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.000001]))
    Array(True, dtype=bool)
    """
    close = _close("allclose", a, b, rtol, atol, equal_nan)
    return reduce_and(close, tuple(range(np.ndim(close))))


@fused(static=("equal_nan",))
def _all_equal(a: Any, b: Any, equal_nan: bool) -> Any:
    same = a == b
    # What is not itself is NaN; keys and integers have none.
    same = same | ((a != a) & (b != b)) if equal_nan else same
    return reduce_and(same, tuple(range(np.ndim(same))))


@fused
def _false() -> Any:
    return np.bool_(False)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether two arrays have one shape and equal elements.

    Args:
      a1: an array, or a list of numbers.
      a2: an array, or a list of numbers.
      equal_nan: whether NaN equals NaN.

    >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2]))
    Array(True, dtype=bool)
    >>> jnp.array_equal(jnp.array([1, 1]), 1)
    Array(False, dtype=bool)
    """
    a1, a2 = _of_list(a1), _of_list(a2)
    first, second = argument_aval("array_equal", a1), argument_aval("array_equal", a2, 1)
    if first.shape != second.shape:
        return _false()
    return _all_equal(_array(a1), a2, equal_nan)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Return whether two arrays are equal once broadcast; False where they do not broadcast.

    Lists of numbers are taken too.

    Raises:
      TypeError: an operand is no array and no number.

    >>> jnp.array_equiv(jnp.array([1, 1]), 1)
    Array(True, dtype=bool)
    """
    a1, a2 = _of_list(a1), _of_list(a2)
    first, second = argument_aval("array_equiv", a1), argument_aval("array_equiv", a2, 1)
    try:
        broadcast_shapes(first.shape, second.shape)
    except ValueError:
        return _false()
    return _all_equal(_array(a1), a2, False)


@fused
def _array(x: Any) -> Any:
    return x


def _of_list(x: Any) -> Any:
    return asarray(x) if isinstance(x, (list, tuple)) else x


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype of an array, number or list of numbers is complex.

    >>> jnp.iscomplexobj(jnp.array([0j])), jnp.iscomplexobj(3)
    (True, False)
    """
    return dtypes.dtype(_of_list(array_of(x))) in dtypes.COMPLEX


def isrealobj(x: Any) -> bool:
    """Return whether the dtype of an array, number or list of numbers is not complex.

    >>> jnp.isrealobj(jnp.array([0j])), jnp.isrealobj(3)
    (False, True)
    """
    return not iscomplexobj(x)


def isscalar(element: Any) -> bool:
    """Return whether something is a number, or an array of rank 0.

    >>> jnp.isscalar(3.5), jnp.isscalar(jnp.array(3)), jnp.isscalar(jnp.array([3]))
    (True, True, False)
    """
    element = array_of(element)
    if isinstance(element, (ArrayImpl, Tracer, ExtendedArray)):
        return element.ndim == 0
    return bool(np.isscalar(element))
