"""Products of matrices and vectors, diagonals and traces, as the array API standard has them.

Source of the order of products: the recurrence over ways to bracket a chain of matrices (Cormen,
Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter 14.2).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy import contractions, cross_products, matrices
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.operands import check_matrices
from jxkernel.numpy.linalg.solutions import inv
from jxkernel.numpy.promotion import argument_aval
from jxkernel.numpy.shapes import matrix_transpose
from jxkernel.primitives.arguments import sequence, whole_number
from jxkernel.primitives.linalg.matrix import identity_like
from jxkernel.runtime import ArrayLike

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


def matmul(
    x1: Any, x2: Any, /, *, precision: Any = None, preferred_element_type: DTypeLike = None
) -> Any:
    """Return the matrix product; see ``jxkernel.numpy.matmul``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.matmul(jnp.ones((1, 3)), jnp.ones((3, 1)))
    Array([[3.]], dtype=float32)
    """
    return contractions.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def tensordot(
    x1: Any,
    x2: Any,
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Any:
    """Return the product summed over pairs of axes; see ``jxkernel.numpy.tensordot``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((2, 3)))
    Array(6., dtype=float32)
    """
    return contractions.tensordot(
        x1,
        x2,
        axes,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Return inner products along an axis, the first operand conjugated.

    Args:
      x1: an array; it broadcasts against ``x2`` but for the axis.
      x2: an array with as many elements along the axis.
      axis: the axis that is summed over, from the end.
      precision: as for ``dot``.
      preferred_element_type: the dtype of the sums.

    Raises:
      AxisError: there is no such axis.
      ShapeMismatchError: the sizes along the axis differ.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.vecdot(jnp.array([1j]), jnp.array([1j]))
    Array(1.+0.j, dtype=complex64)
    """
    return contractions.vecdot(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """Return the matrix of products of the elements of two vectors.

    Args:
      x1: a vector of m elements, one for each row.
      x2: a vector of n elements, one for each column.

    Raises:
      ValueError: an operand is not a vector.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    shapes = [argument_aval("outer", x, i).shape for i, x in enumerate((x1, x2))]
    if any(len(shape) != 1 for shape in shapes):
        raise ValueError(f"outer takes two vectors, got shapes {shapes[0]} and {shapes[1]}")
    return contractions.outer(x1, x2)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Any:
    """Return the cross products of vectors of three elements.

    Args:
      x1: an array with three elements along the axis.
      x2: likewise; other axes broadcast.
      axis: the axis of the vectors.

    Raises:
      ValueError: the axis does not exist, or its size is not 3.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    return cross_products.cross(x1, x2, axis=axis)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Any:
    """Return the diagonals of matrices.

    Args:
      x: matrices of shape (..., m, n).
      offset: which diagonal: positive ones lie above the main one.

    Raises:
      ValueError: there are not two axes.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    check_matrices("diagonal", x, argument="x")
    return matrices.diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Any:
    """Return the sums of diagonals of matrices.

    Args:
      x: matrices of shape (..., m, n).
      offset: which diagonal: positive ones lie above the main one.
      dtype: the dtype to sum in; see ``jxkernel.numpy.sum``.

    Raises:
      ValueError: there are not two axes.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    check_matrices("trace", x, argument="x")
    return matrices.trace(x, offset, -2, -1, dtype)


@fused(static=("n",), name="matrix_power")
def _power(a: Any, n: int) -> Any:
    if not n:
        return identity_like(a, np.shape(a)[-1])
    base = inv(a) if n < 0 else a
    n = abs(n)
    result = None
    while n:
        if n % 2:
            result = base if result is None else contractions.matmul(result, base)
        n //= 2
        base = contractions.matmul(base, base) if n else base
    return result


def matrix_power(a: ArrayLike, n: int) -> Any:
    """Return square matrices to a whole power, by squaring.

    Args:
      a: matrices of shape (..., m, m).
      n: the power; negative ones are those of the inverse, which make integers floats.

    Raises:
      TypeError: ``n`` is not an integer.
      ValueError: the matrices are not square.

    The power 0 is the identity, of a singular matrix too.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 5)
    Array([[1, 5],
           [0, 1]], dtype=int32)
    """
    check_matrices("matrix_power", a, square=True)
    return _power(a, whole_number("matrix_power", "n", n))


# ---------------------------------------------------------------- multi_dot


def _brackets(sizes: Sequence[int]) -> list[list[int]]:
    """Return, for each run of matrices i to j, after which one to split it: fewest products."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i][j], split[i][j] = min(options)
    return split


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """Return the product of several matrices, in the order that needs the fewest multiplications.

    Args:
      arrays: two or more matrices; the first and the last may be vectors.
      precision: how precisely to multiply; see ``lax.Precision``.

    Raises:
      ValueError: there are fewer than two, or one is not a matrix.
      ShapeMismatchError: sizes of neighbours differ.

    Linear in each matrix.  Source of the order: T. Cormen and others, "Introduction to algorithms",
    on chains of matrices.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)])
    Array([12., 12.], dtype=float32)
    """
    arrays = sequence("multi_dot", "arrays", arrays, "matrices")
    shapes = [argument_aval("multi_dot", x, i).shape for i, x in enumerate(arrays)]
    if len(arrays) < 2:
        raise ValueError(f"multi_dot takes two arrays or more, got {len(arrays)}")
    vectors = {0, len(arrays) - 1}
    fits = [len(s) == 2 or (len(s) == 1 and i in vectors) for i, s in enumerate(shapes)]
    if not all(fits):
        raise ValueError(
            f"multi_dot got shapes {shapes}: all are matrices, the first and last may be vectors"
        )
    if any(a[-1] != b[0] for a, b in pairwise(shapes)):
        raise ShapeMismatchError("multi_dot", shapes, "neighbours share a size")
    return _chain(arrays, precision=precision)


@fused(static=("precision",), name="multi_dot")
def _chain(arrays: Sequence[Any], precision: Any) -> Any:
    shapes = [np.shape(x) for x in arrays]
    first = shapes[0][0] if len(shapes[0]) == 2 else 1
    split = _brackets([first, *(shape[0] for shape in shapes[1:]), shapes[-1][-1]])

    def product(i: int, j: int) -> Any:
        if i == j:
            return arrays[i]
        middle = split[i][j]
        left, right = product(i, middle), product(middle + 1, j)
        return contractions.matmul(left, right, precision=precision)

    return product(0, len(arrays) - 1)
