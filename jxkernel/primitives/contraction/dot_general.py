"""Contractions: ``dot_general`` and the products written in terms of it.

A contraction names, for each operand, the axes that are summed over in pairs and the axes that
run together (batch axes); the result has the batch axes, then the left operand's other axes,
then the right's.
"""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel._lazy import late_function
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis, sums_put_off
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.errors import ShapeMismatchError
from jxkernel.primitives.arguments import operand_aval
from jxkernel.primitives.contraction.matrices import as_stacks
from jxkernel.primitives.contraction.precision import (
    Canonical,
    PrecisionLike,
    arithmetic,
    canonical_precision,
)
from jxkernel.primitives.elementwise.complex import real
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.shape.structural import joint_weak_type, multilinear_jvp, zero_cotangents
from jxkernel.primitives.shape.transpose import inverse_permutation, transpose
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import redivided, with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = ["DotDimensionNumbers", "batch_matmul", "dot", "dot_general", "dot_general_p"]

goes_by_columns = late_function("jxkernel.primitives.shape.short_rows", "goes_by_columns")
lower_by_columns = late_function("jxkernel.primitives.shape.short_rows", "lower_by_columns")

Axes = tuple[int, ...]
DotDimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]

dot_general_p = Primitive("dot_general").define(sharding=rules.Contracting(rules.contracting))


def _numbers(given: Any) -> Any:
    """Return dimension numbers as nested tuples of ints.

    Raises:
      TypeError: they are no two pairs of sequences of whole numbers.
    """
    try:
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = given
        return (
            (tuple(map(index, lhs_contract)), tuple(map(index, rhs_contract))),
            (tuple(map(index, lhs_batch)), tuple(map(index, rhs_batch))),
        )
    except (TypeError, ValueError):
        raise TypeError(
            f"dot_general got dimension_numbers={given!r:.100}: they are ((lhs_contract, "
            "rhs_contract), (lhs_batch, rhs_batch)), each a sequence of axes"
        ) from None


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Multiply two arrays and sum over pairs of axes.

    Args:
      lhs: an array.
      rhs: an array; of two dtypes the result has one, by the order that XLA puts them in.
      dimension_numbers: ``((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))``.
      precision: how precisely float32 is multiplied on hardware that could be less precise.
      preferred_element_type: the dtype of sums and result; the operands' where not given.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Returns:
      an array with the batch axes, then the left operand's other axes, then the right's.

    Raises:
      TypeError: axes do not fit.
      ShapeMismatchError: axes that are paired differ in size.

    Linear in each operand.  StableHLO ``dot_general``.

    >>> from jxkernel import lax, numpy as jnp
    >>> x, y = jnp.ones((7, 2, 3)), jnp.ones((7, 3, 4))
    >>> lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
    (7, 2, 4)
    """
    if out_sharding is not None:
        how = (dimension_numbers, precision, preferred_element_type)
        return with_out_sharding(dot_general, (lhs, rhs), out_sharding, *how)
    numbers = _numbers(dimension_numbers)
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(
            preferred_element_type, "dot_general"
        )
    return _product(
        lhs, rhs, numbers, canonical_precision("dot_general", precision), preferred_element_type
    )


def _product(
    lhs: Any, rhs: Any, numbers: DotDimensionNumbers, precision: Canonical, preferred: Any
) -> Any:
    """Bind the primitive; sums over mesh axes that are put off now are named."""
    (lhs_contract, rhs_contract), _ = numbers
    put_off = sums_put_off(lhs, lhs_contract) or sums_put_off(rhs, rhs_contract)
    if put_off:
        lhs, rhs = _divided_alike(lhs, rhs, numbers)
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=numbers,
        precision=precision,
        preferred_element_type=preferred,
        **put_off,
    )


def _divided_alike(lhs: Any, rhs: Any, numbers: DotDimensionNumbers) -> tuple[Any, Any]:
    """Return operands with an axis that is summed divided in both, where it is in one."""
    (lhs_contract, rhs_contract), _ = numbers
    avals = abstractify(lhs), abstractify(rhs)
    entries = [list(aval.entries) for aval in avals]
    mesh = next(aval.explicit_sharding.mesh for aval in avals if aval.explicit_sharding is not None)
    for left, right in zip(lhs_contract, rhs_contract, strict=True):
        entries[0][left] = entries[0][left] or entries[1][right]
        entries[1][right] = entries[1][right] or entries[0][left]
    return redivided(lhs, entries[0], mesh), redivided(rhs, entries[1], mesh)


def _check_axes(lhs: ShapedArray, rhs: ShapedArray, numbers: DotDimensionNumbers) -> None:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    for side, aval, axes in (
        ("left", lhs, (*lhs_contract, *lhs_batch)),
        ("right", rhs, (*rhs_contract, *rhs_batch)),
    ):
        if len(set(axes)) != len(axes) or not all(0 <= axis < aval.ndim for axis in axes):
            raise TypeError(
                f"dot_general got axes {axes} for its {side} operand of shape {aval.shape}: they "
                f"are distinct, contracting and batch axes together, and from 0 to {aval.ndim - 1}"
            )
    for kind, left, right in (
        ("contracting", lhs_contract, rhs_contract),
        ("batch", lhs_batch, rhs_batch),
    ):
        if [lhs.shape[axis] for axis in left] != [rhs.shape[axis] for axis in right]:
            raise ShapeMismatchError(
                "dot_general",
                [lhs.shape, rhs.shape],
                f"{kind} axes {left} of the left operand and {right} of the right must have "
                "equal sizes",
            )


def _free_axes(aval_ndim: int, *used: Axes) -> Axes:
    """Return the axes of an operand that are neither summed over nor batch axes."""
    taken = {axis for axes in used for axis in axes}
    return tuple([axis for axis in range(aval_ndim) if axis not in taken])


@dot_general_p.def_abstract_eval
def _dot_general_abstract_eval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Canonical,
    preferred_element_type: DType,
    unreduced: tuple[Any, ...] = (),
) -> ShapedArray:
    _check_axes(lhs, rhs, dimension_numbers)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    shape = (
        *[lhs.shape[axis] for axis in lhs_batch],
        *[lhs.shape[axis] for axis in _free_axes(lhs.ndim, lhs_contract, lhs_batch)],
        *[rhs.shape[axis] for axis in _free_axes(rhs.ndim, rhs_contract, rhs_batch)],
    )
    weak = joint_weak_type((lhs, rhs))
    if preferred_element_type is not None:
        return ShapedArray(shape, preferred_element_type, weak)
    return ShapedArray(shape, max(lhs.dtype, rhs.dtype, key=_precedence), weak)


def _precedence(dtype: DType) -> tuple[Any, ...]:
    """Return what orders dtypes where two meet: as in XLA, one of the two is the result's.

    Complex before real, floating before whole, booleans last; then range, width, and signed before
    unsigned.
    """
    inexact = dtype in dtypes.INEXACT
    return (
        dtype in dtypes.COMPLEX,
        inexact,
        dtype not in dtypes.BOOLEAN,
        dtypes.finfo(dtype).maxexp if inexact else 0,
        dtype.itemsize,
        dtype not in dtypes.UNSIGNED,
    )


@dot_general_p.def_lower
def _dot_general_lower(
    context: Any,
    x: Any,
    y: Any,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Canonical,
    preferred_element_type: DType,
    unreduced: tuple[Any, ...] = (),
) -> Any:
    lhs, rhs = context.avals_in
    how = arithmetic(precision, (lhs.dtype, rhs.dtype), context.module.platform)
    x, y = (
        _converted(context, value, aval.shape, aval.dtype, dtype)
        for value, aval, dtype in zip((x, y), (lhs, rhs), how.operands, strict=True)
    )
    out = context.avals_out[0]
    dtype, shape = how.result or out.dtype, out.shape
    types = [ShapedArray(lhs.shape, how.operands[0]), ShapedArray(rhs.shape, how.operands[1])]
    if types[0] == types[1] and types[0].dtype == dtype:
        summed = _summed_by_columns(context, types[0], dimension_numbers)
        if summed:
            x = context.value("stablehlo.multiply", hlo.tensor_type(lhs.shape, dtype), (x, y))
            product = lower_by_columns(context, x, types[0], summed, "stablehlo.add")
            return _converted(context, product, out.shape, dtype, out.dtype)
    stacks = as_stacks(context, x, y, types, dimension_numbers)
    if stacks is not None:
        (x, y), dimension_numbers, shape = stacks.operands, stacks.numbers, stacks.shape
    numbers = hlo.dot_dimension_numbers(*dimension_numbers)
    attributes = {**how.attributes, "dot_dimension_numbers": numbers}
    kind = hlo.tensor_type(shape, dtype)
    product = context.value("stablehlo.dot_general", kind, (x, y), attributes)
    if shape != out.shape:
        kind = hlo.tensor_type(out.shape, dtype)
        product = context.value("stablehlo.reshape", kind, (product,))
    return _converted(context, product, out.shape, dtype, out.dtype)


def _summed_by_columns(
    context: Any, aval: ShapedArray, dimension_numbers: DotDimensionNumbers
) -> tuple[int, ...]:
    """Return the axes to sum over, if products of many short vectors are sums of columns."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    leading = tuple(range(len(lhs_batch)))
    if lhs_contract != rhs_contract or not lhs_batch == rhs_batch == leading:
        return ()
    if len(leading) + len(lhs_contract) < aval.ndim or aval.dtype.itemsize < 4:
        return ()
    found = goes_by_columns(context, aval, lhs_contract, "stablehlo.add")
    return lhs_contract if found else ()


def _converted(context: Any, value: Any, shape: Any, dtype: DType, wanted: Any) -> Any:
    if dtype == wanted:
        return value
    return context.value("stablehlo.convert", hlo.tensor_type(shape, wanted), (value,))


dot_general_p.define(jvp=multilinear_jvp(dot_general_p))


@dot_general_p.def_transpose
def _dot_general_transpose(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Canonical,
    preferred_element_type: DType,
    unreduced: tuple[Any, ...] = (),
) -> list[Any]:
    if type(ct) is Zero:
        return zero_cotangents((lhs, rhs))
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if is_linear(lhs):
        kept = len(_free_axes(len(lhs.shape), lhs_contract, lhs_batch))
        first = _cotangent_of_left(
            ct,
            lhs.aval,
            rhs,
            dimension_numbers,
            range(len(lhs_batch) + kept, rank_of(ct)),
            precision,
            preferred_element_type,
        )
        return [first, None]
    kept = len(_free_axes(rank_of(lhs), lhs_contract, lhs_batch))
    swapped = ((rhs_contract, lhs_contract), (rhs_batch, lhs_batch))
    second = _cotangent_of_left(
        ct,
        rhs.aval,
        lhs,
        swapped,
        range(len(lhs_batch), len(lhs_batch) + kept),
        _swapped(precision),
        preferred_element_type,
    )
    return [None, second]


def _swapped(precision: Canonical) -> Canonical:
    """Return the precision of a product whose operands changed places."""
    if type(precision) is tuple:
        return (precision[1], precision[0])
    return precision


def _cotangent_of_left(
    ct: Any,
    operand: ShapedArray,
    other: Any,
    numbers: DotDimensionNumbers,
    others_axes: range,
    precision: Canonical,
    preferred_element_type: DType,
) -> Any:
    """Contract the cotangent with the other operand over the axes that came from it alone.

    Args:
      ct: the cotangent of the product.
      operand: the type of the operand sought.
      other: the operand that is known.
      numbers: the dimension numbers, those of the operand sought first.
      others_axes: the axes of ``ct`` that came from ``other`` alone.
      precision: how precisely to multiply.
      preferred_element_type: the dtype of the sums.
    """
    (contract, other_contract), (batch, other_batch) = numbers
    other_kept = _free_axes(rank_of(other), other_contract, other_batch)
    sought = (tuple(others_axes), other_kept), (tuple(range(len(batch))), other_batch)
    product = _product(ct, other, sought, precision, preferred_element_type)
    # Its axes: batch, the operand's own, then the summed ones in the order of the other operand.
    summed = [axis for _, axis in sorted(zip(other_contract, contract, strict=True))]
    order = [*batch, *_free_axes(operand.ndim, contract, batch), *summed]
    back = inverse_permutation(order)
    if dtypes.issubdtype(abstractify(product).dtype, np.complexfloating):
        product = _as_complex_as(operand, product)
    return convert_element_type(transpose(product, back), operand.dtype)


def _as_complex_as(operand: ShapedArray, ct: Any) -> Any:
    """Return the real part of a cotangent that belongs to a real operand."""
    return ct if dtypes.issubdtype(operand.dtype, np.complexfloating) else real(ct)


@dot_general_p.def_batch
def _dot_general_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension_numbers: DotDimensionNumbers,
    **params: Any,
) -> tuple[Any, int]:
    """Let the batch axes of both operands run together, or that of one be an axis of its own."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    left, right = dims
    if left is not None:
        lhs_contract, lhs_batch = _shifted(lhs_contract, left), _shifted(lhs_batch, left)
    if right is not None:
        rhs_contract, rhs_batch = _shifted(rhs_contract, right), _shifted(rhs_batch, right)
    if left is not None and right is not None:
        lhs_batch, rhs_batch = (left, *lhs_batch), (right, *rhs_batch)
        dim = 0
    elif left is not None:
        own = _free_axes(rank_of(args[0]), lhs_contract, lhs_batch)
        dim = len(lhs_batch) + own.index(left)
    else:
        assert right is not None, "one operand at least is batched"
        others = _free_axes(rank_of(args[0]), lhs_contract, lhs_batch)
        own = _free_axes(rank_of(args[1]), rhs_contract, rhs_batch)
        dim = len(lhs_batch) + len(others) + own.index(right)
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return dot_general_p.bind(*args, dimension_numbers=numbers, **params), dim


def _shifted(axes: Axes, dim: int) -> Axes:
    """Return axes as they are counted with a batch axis at ``dim``."""
    return tuple([axis + (axis >= dim) for axis in axes])


def _dot_general_cost(
    avals_in: Sequence[ShapedArray],
    avals_out: Sequence[ShapedArray],
    *,
    dimension_numbers: DotDimensionNumbers,
    **params: Any,
) -> int:
    """Return two operations (a product and a sum) per result element and summed position."""
    summed = 1
    for axis in dimension_numbers[0][0]:
        summed *= avals_in[0].shape[axis]
    return 2 * avals_out[0].size * summed


dot_general_p.define(cost=_dot_general_cost)

# ---------------------------------------------------------------- products of vectors and matrices


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Any:
    """Return the product of vectors or matrices, or of arrays by dimension numbers.

    Without ``dimension_numbers`` both operands are vectors or matrices, and the last axis of the
    left is summed over with the first of the right.  The other arguments are those of
    ``dot_general``.

    Raises:
      TypeError: an operand is neither vector nor matrix.
      ShapeMismatchError: the axes summed over differ in size.

    Linear in each operand.  StableHLO ``dot_general``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1])).tolist()
    [12, 34]
    """
    if dimension_numbers is None:
        ranks = rank_of(lhs), rank_of(rhs)
        if not all(1 <= rank <= 2 for rank in ranks):
            raise TypeError(
                f"dot got shapes {shape_of(lhs)} and {shape_of(rhs)}: it takes vectors and "
                "matrices; dot_general takes others"
            )
        dimension_numbers = (((ranks[0] - 1,), (0,)), ((), ()))
    how = (dimension_numbers, precision, preferred_element_type)
    return dot_general(lhs, rhs, *how, out_sharding=out_sharding)


def batch_matmul(lhs: Any, rhs: Any, precision: PrecisionLike = None) -> Any:
    """Return the products of matrices in two stacks of equal shape.

    Raises:
      TypeError: an operand is no stack of matrices.
      ShapeMismatchError: the stacks' shapes differ, or the matrices' do not fit.

    Linear in each operand.  StableHLO ``dot_general``.

    >>> from jxkernel import lax, numpy as jnp
    >>> x = jnp.arange(8.0).reshape(2, 2, 2)
    >>> lax.batch_matmul(x, x).tolist()
    [[[2.0, 3.0], [6.0, 11.0]], [[46.0, 55.0], [66.0, 79.0]]]
    """
    rank = operand_aval("batch_matmul", lhs).ndim
    if rank < 2 or rank != operand_aval("batch_matmul", rhs).ndim:
        raise TypeError(
            f"batch_matmul got shapes {shape_of(lhs)} and {shape_of(rhs)}: both are stacks of "
            "matrices of one rank"
        )
    batch = tuple(range(rank - 2))
    return dot_general(lhs, rhs, (((rank - 1,), (rank - 2,)), (batch, batch)), precision)
