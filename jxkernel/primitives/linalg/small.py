"""Small matrices by the thousand, one element at a time.

A kernel of LAPACK is called for each matrix of a stack, and for matrices of 2 x 2 or 3 x 3 the
call is most of the work.  Here each place of the matrices is an array over the stack, and the
steps of the factorisation are arithmetic on these arrays, which XLA fuses and vectorizes.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType
from jxkernel.primitives.elementwise.formula import Formula, Scope

__all__ = ["are_small", "small_cholesky", "small_lu", "small_triangular_solve"]

_FEWEST = 1 << 13
"""The matrices of a stack from which this is done: a tenth of a microsecond is saved for each, and
compiling takes 20 to 150 ms longer."""
_MOST_COLUMNS = 16
"""The right-hand sides up to which a kernel's call is most of a triangular solve."""
_FLOATS = ("float32", "float64")
_INT = np.dtype(np.int32)
_BOOL = np.dtype(np.bool_)


def are_small(context: Any, rows: int) -> bool:
    """Whether the matrices of the first operand are many, square and of at most so many rows."""
    aval = context.avals_in[0]
    if context.module.platform != "cpu" or context.module.partitioned:
        return False
    if aval.dtype.name not in _FLOATS or any(map(is_symbolic, aval.shape)):
        return False
    *stack, n, columns = aval.shape
    few = len(context.avals_in) == 1 or _columns_of(context.avals_in[1], n) <= _MOST_COLUMNS
    return 0 < n == columns <= rows and prod(stack) >= _FEWEST and few


def _columns_of(b: ShapedArray, n: int) -> int:
    """Return how many vectors of n elements each right-hand side has."""
    return b.shape[-1] * b.shape[-2] // n


def small_lu(context: Any, x: Any) -> tuple[Any, Any, Any]:
    """Append the factorisation by rows with exchanges; see ``lu``.

    The greatest element of a column is its pivot, the first of equal ones, and a column of zeros
    is left as it is, as LAPACK does.

    Returns:
      the factors in one matrix, the pivots counted from 0, and the permutation.
    """
    aval, n = context.avals_in[0], context.avals_in[0].shape[-1]
    scope = Scope(context, aval.shape[:-2])
    at = _places_of(scope, x, aval)
    rows = [[at(i, j) for j in range(n)] for i in range(n)]
    order = [scope.lift(i, _INT) for i in range(n)]
    pivots: list[Formula] = []
    for k in range(n):
        pivot = scope.lift(k, _INT)
        greatest = rows[k][k].magnitude()
        for i in range(k + 1, n):
            size = rows[i][k].magnitude()
            above = size > greatest
            greatest, pivot = above.where(size, greatest, size), above.where(i, pivot, pivot)
        pivots.append(pivot)
        for i in range(k + 1, n):
            here = _stored(pivot.equals(i))
            pairs = [_exchanged(here, a, b) for a, b in zip(rows[k], rows[i], strict=True)]
            rows[k], rows[i] = [a for a, _ in pairs], [b for _, b in pairs]
            order[k], order[i] = _exchanged(here, order[k], order[i])
        for i in range(k + 1, n):
            zero = rows[k][k].equals(0)
            rows[i][k] = zero.where(rows[i][k], rows[i][k] / rows[k][k], rows[i][k])
            rows[i][k + 1 :] = [a - rows[i][k] * b for a, b in _after(k, rows[i], rows[k])]
    last = len(scope.shape)
    return _matrices(scope, rows), _joined(scope, pivots, last), _joined(scope, order, last)


def _stored(value: Formula) -> Formula:
    """Return a value that is computed once, and not again in each loop that reads it."""
    return value.scope.apply("stablehlo.optimization_barrier", (value,), value.dtype)


def _after(k: int, row: Sequence[Formula], other: Sequence[Formula]) -> Any:
    """Return the pairs of elements behind a column of two rows."""
    return zip(row[k + 1 :], other[k + 1 :], strict=True)


def _exchanged(condition: Formula, a: Formula, b: Formula) -> tuple[Formula, Formula]:
    """Return two values, exchanged where a condition holds."""
    return condition.where(b, a, a), condition.where(a, b, a)


def small_cholesky(context: Any, x: Any) -> Any:
    """Append the factor of Cholesky; NaN in the lower triangle where there is none."""
    aval, n = context.avals_in[0], context.avals_in[0].shape[-1]
    scope = Scope(context, aval.shape[:-2])
    at = _places_of(scope, x, aval)
    factor: dict[tuple[int, int], Formula] = {}
    fails = scope.lift(False, _BOOL)
    for j in range(n):
        for i in range(j, n):
            rest = at(i, j)
            for k in range(j):
                rest = rest - factor[i, k] * factor[j, k]
            if i == j:
                # A pivot that is NaN spreads by itself, and LAPACK does not call it a failure.
                fails = scope.apply("stablehlo.or", (fails, rest <= 0), _BOOL)
            factor[i, j] = rest.sqrt() if i == j else rest / factor[j, j]
    zero = scope.lift(0, aval.dtype)
    whole = {place: fails.where(np.nan, value, zero) for place, value in factor.items()}
    return _matrices(scope, [[whole.get((i, j), zero) for j in range(n)] for i in range(n)])


def small_triangular_solve(
    context: Any,
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    unit_diagonal: bool,
) -> Any:
    """Append the substitution of one unknown after the other; see ``triangular_solve``.

    With a on the right it is the transposed system: the unknowns are columns instead of rows.
    """
    matrices, sides = context.avals_in
    n, across = matrices.shape[-1], left_side == transpose_a
    scope = Scope(context, (*sides.shape[:-2], sides.shape[-1 if left_side else -2]))
    at = _places_of(scope, a, matrices)
    unknowns: dict[int, Formula] = {}
    for i in range(n) if lower != across else reversed(range(n)):
        rest = _line(scope, b, sides, i, left_side=left_side)
        for k, known in unknowns.items():
            rest = rest - (at(k, i) if across else at(i, k)) * known
        unknowns[i] = rest if unit_diagonal else rest / at(i, i)
    return _joined(scope, [unknowns[i] for i in range(n)], sides.ndim - (2 if left_side else 1))


def _line(scope: Scope, b: Any, aval: ShapedArray, i: int, *, left_side: bool) -> Formula:
    """Return a row of each right-hand side; a column where the unknowns are columns."""
    lines = [slice(None)] * (aval.ndim - 2)
    lines += [slice(i, i + 1), slice(None)] if left_side else [slice(None), slice(i, i + 1)]
    return Formula(scope, _cut(scope, b, aval, lines, scope.shape), aval.dtype)


def _places_of(scope: Scope, x: Any, aval: ShapedArray) -> Callable[[int, int], Formula]:
    """Return what gives the element at a row and a column, over the stack, in a scope's shape."""
    stack = aval.shape[:-2]

    def at(i: int, j: int) -> Formula:
        place = [*[slice(None)] * len(stack), slice(i, i + 1), slice(j, j + 1)]
        value = _cut(scope, x, aval, place, stack)
        if scope.shape != stack:
            axes = tuple(range(len(stack)))
            value = scope.builder.broadcast(value, axes, scope.shape, aval.dtype)
        return Formula(scope, value, aval.dtype)

    return at


def _cut(
    scope: Scope, x: Any, aval: ShapedArray, place: Sequence[slice], shape: tuple[int, ...]
) -> Any:
    """Return a part of an array, reshaped."""
    bounds = [one.indices(size) for one, size in zip(place, aval.shape, strict=True)]
    sizes = tuple([stop - start for start, stop, _ in bounds])
    attributes = {
        "start_indices": hlo.dense_i64_array(tuple([start for start, _, _ in bounds])),
        "limit_indices": hlo.dense_i64_array(tuple([stop for _, stop, _ in bounds])),
        "strides": hlo.dense_i64_array((1,) * aval.ndim),
    }
    kind = hlo.tensor_type(sizes, aval.dtype)
    part = scope.builder.value("stablehlo.slice", kind, (x,), attributes)
    return scope.builder.value("stablehlo.reshape", hlo.tensor_type(shape, aval.dtype), (part,))


def _matrices(scope: Scope, places: Sequence[Sequence[Formula]]) -> Any:
    """Return matrices of elements: rows first, which is faster than all at once."""
    n, dtype = len(places[0]), places[0][0].dtype
    last = len(scope.shape)
    rows = [_joined(scope, row, last) for row in places]
    return _beside(scope.builder, rows, (*scope.shape, n), dtype, last)


def _joined(scope: Scope, parts: Sequence[Formula], axis: int) -> Any:
    """Return parts beside each other along a new axis."""
    values = [part.value for part in parts]
    return _beside(scope.builder, values, scope.shape, parts[0].dtype, axis)


def _beside(
    builder: hlo.Builder, parts: Sequence[Any], shape: tuple[int, ...], dtype: DType, axis: int
) -> Any:
    one = hlo.tensor_type((*shape[:axis], 1, *shape[axis:]), dtype)
    values = [builder.value("stablehlo.reshape", one, (part,)) for part in parts]
    together = hlo.tensor_type((*shape[:axis], len(parts), *shape[axis:]), dtype)
    along = {"dimension": hlo.i64_attr(axis)}
    return builder.value("stablehlo.concatenate", together, values, along)
