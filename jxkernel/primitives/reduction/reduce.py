"""Reductions over axes: greatest, least, product, logic, and the position of an extreme.

``reduce_sum`` stands in ``broadcast``, beside its transpose.  A reduction over no elements gives
the neutral element; an extreme or its position over none is an error of ``jxkernel.numpy``,
respectively of this module.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel._lazy import late_function
from jxkernel.config import allow_f16_reductions
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import typed_scalar, zero_jvp, zero_scalar
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.dtypes.kinds import kinds_in_words
from jxkernel.primitives.arguments import canonical_axis, integers
from jxkernel.primitives.elementwise.arithmetic import div, mul
from jxkernel.primitives.elementwise.bits import bitwise_or
from jxkernel.primitives.elementwise.compare import eq, ne
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.slicing import slice_in_dim
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.shape.broadcast import (
    accumulation_dtype,
    add_any,
    batch_reduction,
    broadcast_in_dim,
    is_short_float,
    lower_reduction,
    reduce_sum,
    reduce_sum_p,
    reduced_shape,
)
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = [
    "argmax",
    "argmax_p",
    "argmin",
    "argmin_p",
    "peak",
    "reduce_and",
    "reduce_and_p",
    "reduce_max",
    "reduce_max_p",
    "reduce_min",
    "reduce_min_p",
    "reduce_or",
    "reduce_or_p",
    "reduce_prod",
    "reduce_prod_p",
    "reduce_sum",
    "reduce_sum_p",
    "reduce_xor",
    "reduce_xor_p",
    "sum_widely",
]

lower_extreme = late_function("jxkernel.primitives.reduction.extremes", "lower_extreme")
lower_position = late_function("jxkernel.primitives.reduction.extreme_places", "lower_position")

NOT_LINEAR = Undefined("it is not linear in its operand")


def sum_widely(operand: ArrayLike, axes: tuple[int, ...]) -> Any:
    """Return the sum over axes, of 16-bit floats as ``float32`` where these are not to be summed.

    Args:
      operand: an array of numbers.
      axes: the axes.

    ``reduce_sum`` has the same digits: what it refuses under ``allow_f16_reductions(False)`` is to
    be summed by one who did not say how.
    """
    dtype = abstractify(operand).dtype
    if allow_f16_reductions.value or not is_short_float(dtype):
        return reduce_sum(operand, axes)
    wide = reduce_sum(convert_element_type(operand, np.dtype(np.float32)), axes)
    return convert_element_type(wide, dtype)


def _reduction(
    name: str, accepted: tuple[type, ...], lower: Any, reference: Any, strong: bool = False
) -> Primitive:
    """Return a reduction with a parameter ``axes``, without its JVP rule.

    Args:
      name: the primitive's name.
      accepted: the NumPy scalar kinds it takes.
      lower: its lowering rule.
      reference: the NumPy function that defines its values.
      strong: whether results are strongly typed even where the operand is not.
    """
    primitive = Primitive(name)
    primitive.reference = reference

    def abstract_eval(operand: ShapedArray, *, axes: tuple[int, ...], **_: Any) -> ShapedArray:
        if not any(dtypes.issubdtype(operand.dtype, kind) for kind in accepted):
            wanted = kinds_in_words(accepted)
            raise TypeError(
                f"{name} does not accept dtype {operand.dtype.name}: it takes {wanted} dtypes"
            )
        weak = operand.weak_type and not strong
        return operand.update(shape=reduced_shape(name, operand, axes), weak_type=weak)

    return primitive.define(
        abstract_eval=abstract_eval,
        lower=lower,
        batch=batch_reduction(primitive),
        transpose=NOT_LINEAR,
        sharding=rules.reducing,
    )


def _along(function: Any) -> Any:
    """Return a NumPy reduction as the reference of one of ours."""

    def reference(x: Any, *, axes: tuple[int, ...], **_: Any) -> Any:
        return function(x, axis=axes)

    return reference


# ---------------------------------------------------------------- reduce_max, reduce_min


def least(dtype: DTypeLike) -> Any:
    """Return the number of a dtype that no other is less than: -inf where there is one."""
    return _bounds(dtype)[0]


def greatest(dtype: DTypeLike) -> Any:
    """Return the number of a dtype that no other is greater than: inf where there is one."""
    return _bounds(dtype)[1]


def _bounds(dtype: DType) -> tuple[Any, Any]:
    if dtype == np.bool_:
        return np.False_, np.True_
    if dtypes.issubdtype(dtype, np.complexfloating):
        return complex(-np.inf, -np.inf), complex(np.inf, np.inf)
    if dtypes.issubdtype(dtype, np.floating):
        infinite = typed_scalar(dtype, np.inf)
        if np.isinf(infinite.astype(np.float32)):
            return -infinite, infinite
        info: Any = dtypes.finfo(dtype)
        return info.min, info.max
    bits = dtypes.itemsize_bits(dtype)
    if dtypes.issubdtype(dtype, np.signedinteger):
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return 0, 2**bits - 1


def _lower_extreme(operation: str, direction: str, start: Any) -> Any:
    def lower(context: Any, x: Any, *, axes: tuple[int, ...], may_lose_nan: bool = False) -> Any:
        aval = context.avals_in[0]
        if dtypes.issubdtype(aval.dtype, np.complexfloating):
            return _lower_complex_extreme(context, x, axes, direction, start(aval.dtype))
        if may_lose_nan:
            return lower_reduction(context, x, axes, operation, start(aval.dtype))
        return lower_extreme(context, x, aval, axes, operation, start(aval.dtype))

    return lower


def _lower_complex_extreme(
    context: Any, x: Any, axes: tuple[int, ...], direction: str, start: complex
) -> Any:
    """Reduce complex numbers by their order: real parts first, then imaginary; NaN wins."""
    dtype = context.avals_in[0].dtype
    scalar = hlo.tensor_type((), dtype)
    part = hlo.tensor_type((), np.zeros((), dtype).real.dtype)
    boolean = hlo.tensor_type((), np.dtype(np.bool_))

    def body(inner: Any, a: Any, b: Any) -> tuple[Any]:
        (ar, br), (ai, bi) = (
            [inner.value(f"stablehlo.{name}", part, (z,)) for z in (a, b)]
            for name in ("real", "imag")
        )
        first = inner.compare(ar, br, direction, (), "FLOAT")
        level = inner.compare(ar, br, "EQ", (), "FLOAT")
        second = inner.compare(ai, bi, direction, (), "FLOAT")
        tied = inner.value("stablehlo.and", boolean, (level, second))
        larger = inner.value("stablehlo.or", boolean, (first, tied))
        # A number that is NaN in its imaginary part alone has a real part to compare.
        number = inner.compare(b, b, "EQ", (), "FLOAT")
        larger = inner.value("stablehlo.and", boolean, (larger, number))
        nan = inner.compare(a, a, "NE", (), "FLOAT")
        wins = inner.value("stablehlo.or", boolean, (larger, nan))
        return (inner.value("stablehlo.select", scalar, (wins, a, b)),)

    operation = context.op(
        "stablehlo.reduce",
        (context.out_type,),
        (x, context.constant(start, dtype)),
        {"dimensions": hlo.dense_i64_array(axes)},
        regions=1,
    )
    context.region(operation, 0, (scalar, scalar), body)
    return operation.result


def _extreme_jvp(primitive: Primitive) -> Any:
    """Return the rule by which all places of an extreme share its tangent equally.

    Where there is NaN the extreme is NaN, and its places are those of NaN.
    """

    def jvp(
        primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[int, ...], **rest: Any
    ) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        y = primitive.bind(x, axes=axes, **rest)
        shape = shape_of(x)
        kept = tuple([axis for axis in range(len(shape)) if axis not in axes])
        places = bitwise_or(eq(x, broadcast_in_dim(y, shape, kept)), ne(x, x))
        dtype = abstractify(t).dtype
        zero, one = typed_scalar(dtype, 0), typed_scalar(dtype, 1)
        ones = select_n(places, zero, broadcast_in_dim(one, shape, ()))
        return y, div(reduce_sum(select_n(places, zero, t), axes), reduce_sum(ones, axes))

    return jvp


_ORDERED = (np.number, np.bool_)

reduce_max_p = _reduction(
    "reduce_max",
    _ORDERED,
    _lower_extreme("stablehlo.maximum", "GT", least),
    _along(np.max),
)
reduce_max_p.define(jvp=_extreme_jvp(reduce_max_p))

reduce_min_p = _reduction(
    "reduce_min",
    _ORDERED,
    _lower_extreme("stablehlo.minimum", "LT", greatest),
    _along(np.min),
)
reduce_min_p.define(jvp=_extreme_jvp(reduce_min_p))


def reduce_max(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Return the greatest element along axes; NaN where there is one.

    Args:
      operand: an array of a number dtype or of booleans; complex numbers are ordered by their
        real, then their imaginary parts.
      axes: the axes to reduce, non-negative and distinct.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      ValueError: an axis does not exist or is named twice.

    Where several elements are greatest they share the derivative equally.  Over no elements the
    result is the least number of the dtype.  StableHLO ``reduce`` with ``maximum``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_max(jnp.array([[1.0, 8.0], [5.0, -2.0]]), (0,)).tolist()
    [5.0, 8.0]
    """
    if out_sharding is not None:
        return with_out_sharding(reduce_max, (operand,), out_sharding, axes)
    return reduce_max_p.bind(operand, axes=integers("reduce_max", "axes", axes))


def reduce_min(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Return the least element along axes; NaN where there is one.

    Arguments, errors and derivative are like those of ``reduce_max``.  StableHLO ``reduce`` with
    ``minimum``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_min(jnp.array([[1.0, 8.0], [5.0, -2.0]]), (0,)).tolist()
    [1.0, -2.0]
    """
    if out_sharding is not None:
        return with_out_sharding(reduce_min, (operand,), out_sharding, axes)
    return reduce_min_p.bind(operand, axes=integers("reduce_min", "axes", axes))


def peak(operand: Any, axes: Sequence[int]) -> Any:
    """Return the greatest element along axes, of no known value where NaN is among them.

    It is for a shift before exponentials, which give NaN themselves. On a CPU ``reduce_max`` of
    many elements looks for NaN in a second pass, and this does not.

    Args:
      operand: as of ``reduce_max``.
      axes: likewise.

    >>> from jxkernel import numpy as jnp
    >>> from jxkernel.primitives.reduction.reduce import peak
    >>> peak(jnp.array([[1.0, 8.0], [5.0, -2.0]]), (0,)).tolist()
    [5.0, 8.0]
    """
    return reduce_max_p.bind(operand, axes=integers("peak", "axes", axes), may_lose_nan=True)


# ---------------------------------------------------------------- reduce_prod


def _lower_product(context: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    wide = accumulation_dtype(context.avals_in[0].dtype)
    return lower_reduction(context, x, axes, "stablehlo.multiply", 1, wide)


reduce_prod_p = _reduction("reduce_prod", (np.number,), _lower_product, _along(np.prod))


def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Any:
    """Return the product of the elements along axes, in their own dtype.

    16-bit floats are multiplied in float32.  Integers wrap.

    Args:
      operand: an array of a number dtype.
      axes: the axes to reduce, non-negative and distinct.

    Raises:
      ValueError: an axis does not exist or is named twice.

    The derivative is right where elements are zero.  StableHLO ``reduce`` with ``multiply``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_prod(jnp.array([[2, 3], [4, 5]]), (0, 1)).item()
    120
    """
    return reduce_prod_p.bind(operand, axes=integers("reduce_prod", "axes", axes))


@reduce_prod_p.def_jvp
def _reduce_prod_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[int, ...]
) -> tuple[Any, Any]:
    """Multiply dual numbers pairwise, in a tree: division by an element would fail at zero."""
    (x,), (t,) = primals, tangents
    y = reduce_prod_p.bind(x, axes=axes)
    if not axes:
        return y, t
    x, t = _reduced_in_front(x, axes), _reduced_in_front(t, axes)
    size = shape_of(x)[0]
    if not size:
        return y, broadcast_in_dim(zero_scalar(abstractify(t)), shape_of(y), ())
    while size > 1:
        half = size // 2
        a, b = slice_in_dim(x, 0, half), slice_in_dim(x, half, 2 * half)
        da, db = slice_in_dim(t, 0, half), slice_in_dim(t, half, 2 * half)
        rest, t_rest = slice_in_dim(x, 2 * half, size), slice_in_dim(t, 2 * half, size)
        x, t = mul(a, b), add_any(mul(da, b), mul(a, db))
        if size % 2:
            x, t = concatenate([x, rest], 0), concatenate([t, t_rest], 0)
        size = half + size % 2
    return y, reshape(t, shape_of(y))


def _reduced_in_front(x: Any, axes: tuple[int, ...]) -> Any:
    """Return an array with the reduced axes as one, in front."""
    for place, axis in enumerate(sorted(axes)):
        x = move_axis(x, axis, place)
    shape = shape_of(x)
    count = int(np.prod(shape[: len(axes)]))
    return reshape(x, (count, *shape[len(axes) :]))


# ---------------------------------------------------------------- reduce_and, _or, _xor


_LEAST_BYTES, _LEAST_ROW = 1 << 14, 64
"""From so many booleans on, and in rows of so many, XLA reduces bytes faster on CPU."""


def _are_bytes(context: Any, aval: ShapedArray, axes: tuple[int, ...]) -> bool:
    """Whether booleans are to be reduced as bytes, for which XLA has vector instructions.

    Of short rows, and down a few columns, it has none.
    """
    shape = aval.shape
    if aval.dtype != np.bool_ or context.module.platform != "cpu" or any(map(is_symbolic, shape)):
        return False
    kept = [axis not in axes for axis in range(len(shape))]
    row = 1
    for axis in reversed(range(len(shape))):
        if kept[axis] != kept[-1]:
            break
        row *= shape[axis]
    return row >= _LEAST_ROW and prod(shape) >= _LEAST_BYTES


def _logical(
    name: str, operation: str, start: int, reference: Any, of_bytes: str | None = None
) -> Primitive:
    """Return a bitwise reduction.

    Args:
      name: the primitive's name.
      operation: the StableHLO name of the binary operation.
      start: its neutral element: 0, or -1 for all bits.
      reference: the NumPy function that defines its values.
      of_bytes: the operation that does the same to bytes which are 0 or 1, if there is one.
    """

    def lower(context: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
        aval = context.avals_in[0]
        if of_bytes is not None and _are_bytes(context, aval, axes):
            return lower_reduction(context, x, axes, of_bytes, -start, np.dtype(np.uint8))
        # -1 converted to any whole-number dtype has all bits set.
        neutral = np.asarray(start).astype(aval.dtype) if start else 0
        return lower_reduction(context, x, axes, operation, neutral)

    primitive = _reduction(name, (np.integer, np.bool_), lower, reference, strong=True)
    return primitive.define(jvp=zero_jvp(primitive))


reduce_and_p = _logical(
    "reduce_and",
    "stablehlo.and",
    -1,
    _along(untyped_numpy.bitwise_and.reduce),
    "stablehlo.minimum",
)
reduce_or_p = _logical(
    "reduce_or", "stablehlo.or", 0, _along(untyped_numpy.bitwise_or.reduce), "stablehlo.maximum"
)
reduce_xor_p = _logical("reduce_xor", "stablehlo.xor", 0, _along(untyped_numpy.bitwise_xor.reduce))


def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Return the bitwise (of booleans, logical) conjunction along axes.

    Raises:
      TypeError: the dtype is neither integer nor boolean.
      ValueError: an axis does not exist or is named twice.

    The derivative is zero.  StableHLO ``reduce`` with ``and``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_and(jnp.array([[True, False], [True, True]]), (1,)).tolist()
    [False, True]
    """
    return reduce_and_p.bind(operand, axes=integers("reduce_and", "axes", axes))


def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Return the bitwise (of booleans, logical) disjunction along axes; see ``reduce_and``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_or(jnp.array([[4, 1], [0, 2]]), (1,)).tolist()
    [5, 2]
    """
    return reduce_or_p.bind(operand, axes=integers("reduce_or", "axes", axes))


def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Return the bitwise exclusive disjunction along axes; see ``reduce_and``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_xor(jnp.array([[6, 3], [2, 2]]), (1,)).tolist()
    [5, 0]
    """
    return reduce_xor_p.bind(operand, axes=integers("reduce_xor", "axes", axes))


# ---------------------------------------------------------------- argmax, argmin


def _position(name: str, operation: str, start: Any, reference: Any) -> Primitive:
    primitive = Primitive(name)
    primitive.reference = reference

    def abstract_eval(
        operand: ShapedArray, *, axes: tuple[int, ...], index_dtype: DTypeLike
    ) -> ShapedArray:
        (axis,) = axes
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(f"{name} gives positions as integers, not as {index_dtype.name}")
        if dtypes.issubdtype(operand.dtype, np.complexfloating):
            raise TypeError(f"{name} does not accept dtype {operand.dtype.name}: it has no order")
        if not operand.shape[axis]:
            raise ValueError(
                f"{name} got shape {operand.shape}, whose axis {axis} is empty: no element is "
                "extreme"
            )
        return ShapedArray(reduced_shape(name, operand, axes), index_dtype)

    def lower(context: Any, x: Any, *, axes: tuple[int, ...], index_dtype: DTypeLike) -> Any:
        return lower_position(context, x, axes[0], operation, start(context.avals_in[0].dtype))

    return primitive.define(
        abstract_eval=abstract_eval,
        lower=lower,
        jvp=zero_jvp(primitive),
        transpose=NOT_LINEAR,
        batch=batch_reduction(primitive),
        sharding=rules.reducing,
    )


def _position_reference(function: Any) -> Any:
    def reference(x: Any, *, axes: tuple[int, ...], index_dtype: DTypeLike) -> Any:
        return function(x, axis=axes[0]).astype(index_dtype)

    return reference


argmax_p = _position(
    "argmax", "stablehlo.maximum", least, _position_reference(untyped_numpy.argmax)
)
argmin_p = _position(
    "argmin", "stablehlo.minimum", greatest, _position_reference(untyped_numpy.argmin)
)


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Any:
    """Return the first position of the greatest element along an axis; of NaN where there is one.

    Args:
      operand: an array of a real dtype or of booleans.
      axis: the axis; negative counts from the end.
      index_dtype: the integer dtype of the positions.

    Raises:
      ValueError: there is no such axis, or it is empty.
      TypeError: the dtype has no order, or ``index_dtype`` is no integer dtype.

    The derivative is zero.  StableHLO ``reduce``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.argmax(jnp.array([[1, 9, 9], [5, 0, 2]]), 1, "int32").tolist()
    [1, 0]
    """
    return _bind_position(argmax_p, operand, axis, index_dtype)


def argmin(operand: Any, axis: int, index_dtype: DTypeLike) -> Any:
    """Return the first position of the least element along an axis; see ``argmax``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.argmin(jnp.array([[1, 9, 9], [5, 0, 2]]), 1, "int32").tolist()
    [0, 1]
    """
    return _bind_position(argmin_p, operand, axis, index_dtype)


def _bind_position(primitive: Primitive, operand: Any, axis: int, index_dtype: DType) -> Any:
    place = canonical_axis(primitive.name, axis, rank_of(operand))
    dtype = dtypes.check_and_canonicalize_user_dtype(index_dtype, primitive.name)
    return primitive.bind(operand, axes=(place,), index_dtype=dtype)
