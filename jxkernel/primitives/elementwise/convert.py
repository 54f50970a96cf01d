"""Conversions of dtype: by value, by bits, and to lower precision within a dtype."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify, array_of, canonical_value
from jxkernel.core.axes import Axis
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.trace import Tracer
from jxkernel.core.zeros import UndefinedPrimal, Zero, zero_jvp
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.primitives.arguments import operand_aval, whole_number
from jxkernel.primitives.elementwise.compare import comparison_kind
from jxkernel.primitives.elementwise.families import (
    ANY,
    FLOATING,
    elementwise_batch,
    transpose_of_terms,
    unary,
)
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import Array, ArrayLike

__all__ = [
    "bitcast_convert_type",
    "bitcast_convert_type_p",
    "convert_element_type",
    "convert_element_type_p",
    "convert_on_host",
    "reduce_precision",
    "reduce_precision_p",
    "stage",
    "stage_p",
    "warn_of_imaginary_parts",
]

# ---------------------------------------------------------------- convert_element_type


def _keeps_sums(operand: ShapedArray, *, new_dtype: DType, **params: Any) -> bool:
    """Whether a sum converted is the sum of what is converted."""
    return operand.dtype != np.bool_ and new_dtype in dtypes.INEXACT


convert_element_type_p = Primitive("convert_element_type", element_work=1).define(
    sharding=rules.Linear(rules.elementwise, where=_keeps_sums)
)


def convert_element_type(operand: Any, new_dtype: DTypeLike, weak_type: bool = False) -> Any:
    """Return an array with its values converted to another dtype.

    Floats become integers by dropping the fraction; NaN becomes 0, and values out of range the
    nearest bound.  Integers wrap.  Anything but zero is true.  Complex numbers lose their
    imaginary part, with a warning.

    Args:
      operand: an array or a number.
      new_dtype: a dtype, or what names one.
      weak_type: whether the result's dtype yields to the dtypes it meets.

    Raises:
      OverflowError: it is a Python integer that the integer dtype cannot hold.
      TypeError: arrays cannot have that dtype, or a Python complex number would be real.

    Linear between floating and complex dtypes; otherwise the derivative is zero.  StableHLO
    ``convert``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.convert_element_type(jnp.array([2.7, -2.7, jnp.nan]), "int32").tolist()
    [2, -2, 0]
    """
    operand = array_of(operand)
    aval = abstractify(operand)
    dtype = dtypes.check_and_canonicalize_user_dtype(new_dtype, "convert_element_type")
    if dtype == aval.dtype and weak_type == aval.weak_type and isinstance(operand, Array):
        return operand
    if dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    if type(operand) is complex or (type(operand) is int and not -(2**31) <= operand < 2**31):
        number: Any = dtypes.coerce_scalar(operand, dtype)
        operand, aval = number, abstractify(number)
    warn_of_imaginary_parts("convert_element_type", [aval], dtype)
    if isinstance(operand, np.ndarray | np.generic):
        operand = convert_on_host(operand, dtype)
    return convert_element_type_p.bind(operand, new_dtype=dtype, weak_type=bool(weak_type))


def convert_on_host(value: Any, dtype: DTypeLike) -> Any:
    """Return a NumPy value of a dtype that arrays cannot have in another; others as they are.

    It is converted from what it is: by way of 32 bits it would wrap or lose digits first.
    """
    if dtypes.canonicalize_dtype(value.dtype) == value.dtype:
        return value
    if value.dtype in dtypes.COMPLEX and dtype not in dtypes.COMPLEX | dtypes.BOOLEAN:
        value = value.real
    if value.dtype in dtypes.FLOATING and dtype in dtypes.INTEGRAL:
        return value.astype(dtypes.canonicalize_dtype(value.dtype))
    with np.errstate(over="ignore"):
        return value.astype(dtype)


stage_p = unary(
    "stage",
    ANY,
    lower=lambda context, x: x,
    reference=np.array,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(lambda ct, x: ct),
)


def stage(x: Any, /) -> Any:
    """Return a value as one of the program that is traced now, or as an array where none is.

    Args:
      x: an array or a number; it keeps its dtype and weakness.

    Raises:
      TypeError: it is neither.

    Linear: the identity.

    >>> import jxkernel as jx
    >>> jx.lax.stage(2), jx.eval_shape(lambda: jx.lax.stage(2.0) * 3).dtype.name
    (Array(2, dtype=int32, weak_type=True), 'float32')
    """
    if isinstance(x, (Tracer, ExtendedArray)):
        return x
    return stage_p.bind(canonical_value(x, operand_aval("stage", x)))


def warn_of_imaginary_parts(name: str, avals: Sequence[ShapedArray], dtype: DTypeLike) -> None:
    """Warn where arrays are complex and are converted to a real dtype.

    Args:
      name: the function that converts them.
      avals: their types.
      dtype: the dtype.
    """
    if dtype not in dtypes.FLOATING | dtypes.INTEGRAL:
        return
    for aval in avals:
        if aval.dtype in dtypes.COMPLEX:
            warnings.warn(
                f"{name} converts {aval.dtype.name} to {dtype.name}, which drops the imaginary "
                "part: take real(x) first if that is meant",
                np.exceptions.ComplexWarning,
                stacklevel=3,
            )
            return


@convert_element_type_p.def_abstract_eval
def _convert_element_type_abstract_eval(
    operand: ShapedArray, *, new_dtype: DType, weak_type: bool
) -> ShapedArray:
    return ShapedArray(operand.shape, new_dtype, weak_type)


def _convert_reference(x: Any, *, new_dtype: DType, weak_type: bool) -> Any:
    x = np.asarray(x)
    if x.dtype in dtypes.COMPLEX and new_dtype not in dtypes.COMPLEX | dtypes.BOOLEAN:
        x = x.real
    if x.dtype in dtypes.FLOATING and new_dtype in dtypes.INTEGRAL:
        bounds = dtypes.iinfo(new_dtype)
        wide = untyped_numpy.nan_to_num(x.astype(np.float64), nan=0.0)
        inside = untyped_numpy.clip(wide, float(bounds.min), float(bounds.max) * (1 - 2.0**-53))
        return untyped_numpy.where(
            wide >= float(bounds.max), bounds.max, inside.astype(new_dtype)
        ).astype(new_dtype)
    return x.astype(new_dtype)


convert_element_type_p.reference = _convert_reference


@convert_element_type_p.def_lower
def _convert_element_type_lower(context: Any, x: Any, *, new_dtype: DType, weak_type: bool) -> Any:
    aval = context.avals_in[0]
    if new_dtype == np.bool_ and aval.dtype != np.bool_:
        zero = context.splat(0, aval.shape, aval.dtype)
        return context.compare(x, zero, "NE", aval.shape, comparison_kind(aval.dtype))
    if aval.dtype in dtypes.COMPLEX and new_dtype not in dtypes.COMPLEX:
        # XLA's folding of a constant that is converted from complex to integers ends the process.
        part = np.finfo(aval.dtype).dtype
        x = context.value("stablehlo.real", hlo.tensor_type(aval.shape, part), (x,))
    return context.value("stablehlo.convert", context.out_type, (x,))


@convert_element_type_p.def_jvp
def _convert_element_type_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, new_dtype: DType, weak_type: bool
) -> tuple[Any, Any]:
    y = convert_element_type_p.bind(*primals, new_dtype=new_dtype, weak_type=weak_type)
    if new_dtype not in dtypes.INEXACT:
        return y, Zero.tangent_of(y)
    return y, _convert(tangents[0], new_dtype, weak_type)


def _convert(x: Any, dtype: DType, weak_type: bool) -> Any:
    """Convert a tangent or cotangent, unless it is of the type already."""
    aval = abstractify(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)


@convert_element_type_p.def_transpose
def _convert_element_type_transpose(
    ct: Any, operand: UndefinedPrimal, *, new_dtype: DType, weak_type: bool
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    return [_convert(ct, operand.dtype, operand.aval.weak_type)]


convert_element_type_p.define(batch=elementwise_batch(convert_element_type_p))

# ---------------------------------------------------------------- reduce_precision


def _reduce_precision_lower(context: Any, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    attributes = {
        "exponent_bits": hlo.i32_attr(exponent_bits),
        "mantissa_bits": hlo.i32_attr(mantissa_bits),
    }
    return context.value("stablehlo.reduce_precision", context.out_type, (x,), attributes)


def _reduce_precision_reference(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    """Round to so many significant bits; exponents out of range become 0 or infinite."""
    fraction, exponent = np.frexp(np.asarray(x, np.float64))
    # The fraction lies in [0.5, 1), so the bit before the point is one of its own.
    scale = 2.0 ** (mantissa_bits + 1)
    value = np.ldexp(np.round(fraction * scale) / scale, exponent)
    bias = 2 ** (exponent_bits - 1) - 1
    largest = (2 - 2.0**-mantissa_bits) * 2.0**bias
    value = untyped_numpy.where(np.abs(value) > largest, np.copysign(np.inf, value), value)
    value = untyped_numpy.where(np.abs(value) < 2.0 ** (1 - bias), np.copysign(0, value), value)
    return untyped_numpy.where(np.isnan(x), np.nan, value).astype(np.asarray(x).dtype)


def _reduce_precision_term(ct: Any, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    return reduce_precision_p.bind(ct, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


reduce_precision_p = unary(
    "reduce_precision",
    FLOATING,
    lower=_reduce_precision_lower,
    reference=_reduce_precision_reference,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(_reduce_precision_term),
)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Any:
    """Return floats rounded to what a format of fewer bits can hold, in their own dtype.

    Args:
      operand: an array of a floating dtype.
      exponent_bits: bits of the exponent, at least 1; values beyond it become infinite or 0.
      mantissa_bits: bits of the fraction, at least 0.

    Raises:
      ValueError: a width is out of range.

    Tangents and cotangents are rounded likewise.  StableHLO ``reduce_precision``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_precision(jnp.array([1.2, 300.0]), 5, 2).tolist()
    [1.25, 320.0]
    """
    exponent = whole_number("reduce_precision", "exponent_bits", exponent_bits)
    mantissa = whole_number("reduce_precision", "mantissa_bits", mantissa_bits)
    if exponent < 1 or mantissa < 0:
        raise ValueError(
            f"reduce_precision needs exponent_bits ≥ 1 and mantissa_bits ≥ 0, got {exponent} and "
            f"{mantissa}"
        )
    return reduce_precision_p.bind(operand, exponent_bits=exponent, mantissa_bits=mantissa)


# ---------------------------------------------------------------- bitcast_convert_type

bitcast_convert_type_p = Primitive("bitcast_convert_type", element_work=1).define(
    sharding=rules.splitting_bits
)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Any:
    """Return the bits of an array read as another dtype.

    Args:
      operand: an array of a real dtype.
      new_dtype: a real dtype.  If it is k times narrower the result has a new last axis of size
        k; if it is k times wider the operand's last axis has size k and goes away.

    Raises:
      TypeError: either dtype is bool or complex and they are not the same.
      ValueError: the last axis does not hold the bits of one element.

    The derivative is zero.  StableHLO ``bitcast_convert``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.bitcast_convert_type(jnp.array([1.0, -2.0]), "uint32").tolist()
    [1065353216, 3221225472]
    >>> lax.bitcast_convert_type(jnp.array([1.0, -2.0]), "uint8").shape
    (2, 4)
    """
    dtype = dtypes.check_and_canonicalize_user_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=dtype)


@bitcast_convert_type_p.def_abstract_eval
def _bitcast_convert_type_abstract_eval(operand: ShapedArray, *, new_dtype: DType) -> ShapedArray:
    old_dtype = operand.dtype
    loose = dtypes.BOOLEAN | dtypes.COMPLEX
    if old_dtype != new_dtype and (old_dtype in loose or new_dtype in loose):
        raise TypeError(
            f"bitcast_convert_type cannot read {old_dtype.name} as {new_dtype.name}: booleans and "
            "complex numbers have no bits of their own"
        )
    old, new = dtypes.itemsize_bits(old_dtype), dtypes.itemsize_bits(new_dtype)
    if old == new:
        return ShapedArray(operand.shape, new_dtype)
    if old > new:
        return ShapedArray((*operand.shape, old // new), new_dtype)
    if operand.shape[-1:] != (new // old,):
        raise ValueError(
            f"bitcast_convert_type reads {new // old} elements of {old_dtype.name} as one of "
            f"{new_dtype.name}, so the last axis must have that size, got shape {operand.shape}"
        )
    return ShapedArray(operand.shape[:-1], new_dtype)


def _bitcast_reference(x: Any, *, new_dtype: DType) -> Any:
    x = np.asarray(x, order="C")
    if x.dtype.itemsize == new_dtype.itemsize:
        return x.view(new_dtype)
    if x.dtype.itemsize > new_dtype.itemsize:
        return x[..., None].view(new_dtype)
    return x.view(new_dtype)[..., 0]


bitcast_convert_type_p.reference = _bitcast_reference


@bitcast_convert_type_p.def_lower
def _bitcast_convert_type_lower(context: Any, x: Any, *, new_dtype: DType) -> Any:
    if context.avals_in[0].dtype == new_dtype:
        return x
    return context.value("stablehlo.bitcast_convert", context.out_type, (x,))


bitcast_convert_type_p.define(jvp=zero_jvp(bitcast_convert_type_p))


@bitcast_convert_type_p.def_batch
def _bitcast_convert_type_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, new_dtype: DType
) -> tuple[Any, int]:
    # A first axis is touched neither by the axis that comes nor by the one that goes.
    return bitcast_convert_type_p.bind(move_axis(args[0], dims[0], 0), new_dtype=new_dtype), 0


bitcast_convert_type_p.define(transpose=Undefined("bits are no linear function of values"))
