"""LU factorisation with row exchanges, and what its pivots mean as a permutation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero, zero_jvp, zero_scalar
from jxkernel.primitives.elementwise.arithmetic import add
from jxkernel.primitives.elementwise.bits import bitwise_and
from jxkernel.primitives.elementwise.compare import ge
from jxkernel.primitives.indexing.gather import take_along
from jxkernel.primitives.indexing.slicing import pad, slice_in_dim
from jxkernel.primitives.linalg.cholesky import batch_in_front, check_matrices, triangular_solve
from jxkernel.primitives.linalg.lapack import (
    Argument,
    call_gpu,
    call_lapack,
    nan_where_failed,
    on_gpu,
)
from jxkernel.primitives.linalg.matrix import (
    identity_like,
    lower_part,
    matmul,
    on_diagonal,
    places,
    upper_part,
    where,
)
from jxkernel.primitives.linalg.small import are_small, small_lu
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.structural import weak_as_operands
from jxkernel.primitives.sharding import rules

__all__ = [
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "lu_solve",
]

_INT = np.dtype(np.int32)

# ---------------------------------------------------------------- lu_pivots_to_permutation

lu_pivots_to_permutation_p = Primitive("lu_pivots_to_permutation").define(
    sharding=rules.leading(1, "it works on")
)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """Return the permutation that row exchanges amount to: row i of the result was row ``p[i]``.

    Args:
      pivots: int32, the last axis of length k: step i exchanged rows i and ``pivots[i]``.
      permutation_size: the number of rows, at least k.

    Raises:
      TypeError: the pivots are not int32.
      ValueError: there are more pivots than rows.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.linalg.lu_pivots_to_permutation(jnp.array([2, 2, 2]), 3).tolist()
    [2, 0, 1]
    """
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=int(permutation_size))


@lu_pivots_to_permutation_p.def_abstract_eval
def _permutation_abstract_eval(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    if pivots.dtype != _INT:
        raise TypeError(f"lu_pivots_to_permutation needs int32 pivots, got {pivots.short()}")
    if not pivots.ndim or pivots.shape[-1] > permutation_size:
        raise ValueError(
            f"lu_pivots_to_permutation got pivots of shape {pivots.shape} for {permutation_size} "
            "rows: the last axis has at most one exchange per row"
        )
    return ShapedArray((*pivots.shape[:-1], permutation_size), _INT)


@lu_pivots_to_permutation_p.def_lower
def _permutation_lower(context: Any, pivots: Any, *, permutation_size: int) -> Any:
    """Exchange one pair of entries after the other, all examples together."""
    given, out = context.avals_in[0], context.avals_out[0]
    last = out.ndim - 1
    kind, counter = hlo.tensor_type(out.shape, _INT), hlo.tensor_type((), _INT)
    places = context.iota(_INT, out.shape, last)
    if not given.size:
        return places
    if on_gpu(context):
        operand, result = Argument(given.shape, _INT, 1), Argument(out.shape, _INT, 1)
        return call_gpu(context, "own_lu_pivots_to_permutation", [(pivots, operand)], [result])[0]
    types = (counter, kind, hlo.tensor_type(given.shape, _INT), kind)
    start = (context.constant(0, _INT), places, pivots, places)
    loop = context.op("stablehlo.while", types, start, None, 2)
    column = (*out.shape[:-1], 1)
    column_kind = hlo.tensor_type(column, _INT)
    sizes = {"slice_sizes": hlo.dense_i64_array(column)}

    def proceeds(builder: Any, step: Any, *rest: Any) -> tuple[Any]:
        count = builder.constant(given.shape[-1], _INT)
        return (builder.compare(step, count, "LT", (), "SIGNED"),)

    def exchange(builder: Any, step: Any, order: Any, pivots: Any, places: Any) -> tuple[Any, ...]:
        zero, one = builder.constant(0, _INT), builder.constant(1, _INT)
        starts = [zero] * last + [step]
        other = builder.value("stablehlo.dynamic_slice", column_kind, (pivots, *starts), sizes)
        here = builder.value("stablehlo.dynamic_slice", column_kind, (order, *starts), sizes)
        every = tuple(range(out.ndim))
        is_other = builder.compare(
            places, builder.broadcast(other, every, out.shape, _INT), "EQ", out.shape, "SIGNED"
        )
        there = _where_true(builder, order, is_other, out.shape)
        spread = builder.broadcast(here, every, out.shape, _INT)
        order = builder.value("stablehlo.select", kind, (is_other, spread, order))
        order = builder.value(
            "stablehlo.dynamic_update_slice",
            kind,
            (order, builder.value("stablehlo.reshape", column_kind, (there,)), *starts),
        )
        return builder.value("stablehlo.add", counter, (step, one)), order, pivots, places

    context.region(loop, 0, types, proceeds)
    context.region(loop, 1, types, exchange)
    return loop.results[1]


def _where_true(builder: Any, x: Any, mask: Any, shape: tuple[int, ...]) -> Any:
    """Return, for each row, the one entry where the mask holds."""
    kind, scalar = hlo.tensor_type(shape, _INT), hlo.tensor_type((), _INT)
    zero = builder.constant(0, _INT)
    zeros = builder.broadcast(zero, (), shape, _INT)
    only = builder.value("stablehlo.select", kind, (mask, x, zeros))
    reduction = builder.op(
        "stablehlo.reduce",
        (hlo.tensor_type(shape[:-1], _INT),),
        (only, zero),
        {"dimensions": hlo.dense_i64_array((len(shape) - 1,))},
        1,
    )

    def body(inner: Any, a: Any, b: Any) -> tuple[Any]:
        return (inner.value("stablehlo.add", scalar, (a, b)),)

    builder.region(reduction, 0, (scalar, scalar), body)
    return reduction.result


lu_pivots_to_permutation_p.define(
    jvp=zero_jvp(lu_pivots_to_permutation_p),
    transpose=Undefined("its operand is a whole number"),
    batch=batch_in_front(lu_pivots_to_permutation_p),
)

# ---------------------------------------------------------------- lu

lu_p = Primitive("lu", multiple_results=True).define(sharding=rules.leading(2, "it works on"))


def lu(x: Any) -> tuple[Any, Any, Any]:
    """Factorise matrices as x[p] = l u, with l unit lower and u upper triangular.

    Args:
      x: a stack of m x n matrices.

    Returns:
      l and u in one matrix (l without its diagonal of ones), the pivots (step i exchanged rows i
      and ``pivots[i]``) and the permutation p, both int32.

    Raises:
      ValueError: the operand has no two axes.
      TypeError: the dtype has no kernel.

    A singular matrix has zeros on the diagonal of u, and no derivative there.  LAPACK ``getrf``.

    >>> from jxkernel import lax, numpy as jnp
    >>> factors, pivots, permutation = lax.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> factors.tolist(), permutation.tolist()
    ([[4.0, 4.0], [0.25, 1.0]], [1, 0])
    """
    factors, pivots, permutation = lu_p.bind(x)
    return factors, pivots, permutation


@lu_p.def_abstract_eval
@weak_as_operands
def _lu_abstract_eval(x: ShapedArray) -> list[ShapedArray]:
    check_matrices("lu", x)
    *batch, rows, columns = x.shape
    pivots = ShapedArray((*batch, min(rows, columns)), _INT)
    return [x.strip_weak_type(), pivots, ShapedArray((*batch, rows), _INT)]


@lu_p.def_lower
def _lu_lower(context: Any, x: Any) -> list[Any]:
    out, pivots_aval, permutation_aval = context.avals_out
    if not out.size:
        pivots = context.splat(0, pivots_aval.shape, _INT)
        return [x, pivots, context.iota(_INT, permutation_aval.shape, permutation_aval.ndim - 1)]
    if are_small(context, 3):
        return list(small_lu(context, x))
    matrix = Argument(out.shape, out.dtype, 2)
    factors, pivots, info = call_lapack(
        context,
        "getrf",
        [(x, matrix)],
        [matrix, Argument(pivots_aval.shape, _INT, 1), Argument(out.shape[:-2], _INT, 0)],
        dtype=out.dtype,
        aliases=[(0, 0)],
        gpu=("solver_getrf_ffi", ""),
    )
    factors = nan_where_failed(context, factors, matrix, info, "GE")
    # LAPACK counts from 1.
    kind = hlo.tensor_type(pivots_aval.shape, _INT)
    ones = context.splat(1, pivots_aval.shape, _INT)
    pivots = context.value("stablehlo.subtract", kind, (pivots, ones))
    context.avals_in, context.avals_out = [pivots_aval], [permutation_aval]
    rows = out.shape[-2]
    return [factors, pivots, _permutation_lower(context, pivots, permutation_size=rows)]


@lu_p.def_jvp
def _lu_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """From dx[p] = dl u + l du: with w = l⁻¹ dx[p] u⁻¹, dl = l lower(w) and du = upper(w) u.

    The factors are completed to square invertible matrices by parts of the identity, where x has
    more rows than columns or more columns than rows.
    """
    factors, pivots, permutation = lu_p.bind(*primals)
    rows, columns = shape_of(factors)[-2:]
    moved = take_rows(tangents[0], permutation)
    lower = _completed_lower(factors, rows, columns)
    upper = _completed_upper(factors, rows, columns)
    left = triangular_solve(lower, moved, left_side=True, lower=True, unit_diagonal=True)
    both = triangular_solve(upper, left, left_side=False, lower=False)
    t = add(matmul(lower, lower_part(both, -1)), matmul(upper_part(both), upper))
    return [factors, pivots, permutation], [
        t,
        Zero.tangent_of(pivots),
        Zero.tangent_of(permutation),
    ]


def take_rows(x: Any, rows: Any) -> Any:
    """Return the rows of each matrix at positions of its own."""
    rank = rank_of(x)
    shape = (*shape_of(rows), shape_of(x)[-1])
    places = broadcast_in_dim(rows, shape, tuple(range(rank - 1)))
    return take_along(x, places, rank - 2)


def _completed_lower(factors: Any, rows: int, columns: int) -> Any:
    """Return l as a square matrix: its columns, then those of the identity."""
    k = min(rows, columns)
    rank = rank_of(factors)
    below = lower_part(slice_in_dim(factors, 0, k, axis=rank - 1), -1)
    config = [(0, 0, 0)] * rank
    config[-1] = (0, rows - k, 0)
    zero = zero_scalar(abstractify(factors))
    return add(pad(below, zero, config), identity_like(factors, rows))


def _completed_upper(factors: Any, rows: int, columns: int) -> Any:
    """Return u as a square matrix: its rows, then those of the identity."""
    k = min(rows, columns)
    rank = rank_of(factors)
    above = upper_part(slice_in_dim(factors, 0, k, axis=rank - 2))
    config = [(0, 0, 0)] * rank
    config[-2] = (0, columns - k, 0)
    filled = pad(above, zero_scalar(abstractify(factors)), config)
    rest = bitwise_and(on_diagonal(filled), ge(places(filled)[0], np.int32(k)))
    return add(filled, where(rest, identity_like(factors, columns)))


lu_p.define(transpose=Undefined("it is not linear in its operand"), batch=batch_in_front(lu_p))


def lu_solve(factors: Any, permutation: Any, b: Any) -> Any:
    """Solve x y = b for a matrix x factorised by ``lu``; ``b`` is a stack of matrices."""
    y = triangular_solve(
        factors, take_rows(b, permutation), left_side=True, lower=True, unit_diagonal=True
    )
    return triangular_solve(factors, y, left_side=True, lower=False)
