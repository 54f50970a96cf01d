"""Norms of vectors and matrices, and what is read off singular values: condition and rank.

A norm has no derivative where it is 0; there the derivative given is 0, the least of those that
hold in one direction.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.decompositions import eigvalsh, svdvals
from jxkernel.numpy.linalg.operands import check_matrices, epsilon, inexact
from jxkernel.numpy.linalg.solutions import inv
from jxkernel.numpy.logic import isnan
from jxkernel.numpy.means import squared_modulus
from jxkernel.numpy.promotion import argument_aval, cast, dtype_of, promote_inexact, static_axes
from jxkernel.numpy.reductions import any as truth_of_any
from jxkernel.numpy.reductions import max as greatest
from jxkernel.numpy.reductions import min as least
from jxkernel.numpy.reductions import reduced_axes
from jxkernel.numpy.reductions import sum as total
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import expand_dims, moveaxis
from jxkernel.primitives.elementwise.exponential import sqrt
from jxkernel.runtime import ArrayLike

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]

_MATRIX_ORDERS = (None, "fro", "nuc", np.inf, -np.inf, 1, -1, 2, -2)


def _root(sums: Any, power: float) -> Any:
    """Return a root of sums, whose derivative at 0 is 0."""
    nothing = sums == 0
    safe = where(nothing, 1, sums)
    return where(nothing, 0, sqrt(safe) if power == 2 else safe ** (1 / power))


def _of_vectors(name: str, x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    how: dict[str, Any] = {"axis": axes, "keepdims": keepdims}
    if isinstance(ord, str):
        raise ValueError(f"{name} got ord={ord!r} for vectors: it is a number")
    if ord is None or ord == 2:
        return _root(total(squared_modulus(x), **how), 2)
    dtype = dtype_of(x)
    size = x if dtype in dtypes.BOOLEAN else abs(x)
    if ord == np.inf:
        return greatest(size, initial=0, **how)
    if ord == -np.inf:
        return least(size, **how)
    if ord == 0:
        return total(cast(size != 0, size.dtype), **how)
    if ord == 1:
        return total(size, **how)
    sums = total(size**ord, **how)
    return _root(sums, ord) if ord > 0 else sums ** (1 / ord)


def _of_matrices(name: str, x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if not any(ord == known for known in _MATRIX_ORDERS):
        raise ValueError(
            f"{name} got ord={ord!r} for matrices: it is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    if ord in (None, "fro"):
        return _of_vectors(name, x, 2, axes, keepdims)
    x = moveaxis(x, axes, (-2, -1))
    if ord in ("nuc", 2, -2):
        s = svdvals(x)
        if ord == "nuc":
            found = total(s, axis=-1)
        else:
            found = greatest(s, axis=-1, initial=0) if ord == 2 else least(s, -1)
    else:
        sums = total(abs(x), axis=-2 if ord in (1, -1) else -1)
        upper = ord in (1, np.inf)
        found = greatest(sums, -1, initial=0) if upper else least(sums, -1)
    return expand_dims(found, axes) if keepdims else found


@fused(static=("ord", "axis", "keepdims"), normalized=True)
def norm(
    x: ArrayLike,
    ord: int | str | float | None = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Any:
    """Return norms of vectors or matrices.

    Args:
      x: an array.
      ord: of vectors: a number p, the p-th root of the sum of p-th powers (2 if not given), 0 for
        the number of nonzero elements, inf or -inf for the greatest or least; of matrices:
        ``"fro"`` (if not given), ``"nuc"``, 1, -1, inf, -inf (sums of columns or rows), 2, -2
        (singular values).
      axis: the axis of vectors or the two of matrices; without it all of ``x`` is one vector,
        if it has one axis or ``ord`` is not given, or one matrix.
      keepdims: whether the axes stay, with size 1.

    Returns:
      a real array.

    Raises:
      TypeError: ``x`` is no array, or of a dtype without a kernel where one is needed.
      ValueError: an axis does not exist, there are more than two, ``ord`` does not fit, or there
        is no element to be the least.

    The derivative at 0 is 0 for the orders of vectors from 1 on and for ``"fro"``, 1 and inf of
    matrices; for orders of singular values it is one of several, and for a p below 1 NaN.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    (y,) = inexact("norm", x)
    rank = np.ndim(y)
    axes = tuple(range(rank)) if axis is None else reduced_axes("norm", y, axis)
    if (axis is None and ord is None) or len(axes) == 1:
        return _of_vectors("norm", y, ord, axes, keepdims)
    if len(axes) == 2:
        return _of_matrices("norm", y, ord, axes, keepdims)
    raise ValueError(
        f"norm got axis={axis} for shape {np.shape(x)}: one axis is that of vectors, two are those "
        "of matrices"
    )


def _hashable(ord: Any) -> Any:
    """Return an order as a Python value, where it is a number in an array."""
    return ord.item() if isinstance(ord, (np.ndarray, np.generic)) else ord


@fused(static=("axis", "keepdims", "ord"), name="vector_norm")
def _vector_norm(x: Any, axis: tuple[int, ...] | None, keepdims: bool, ord: Any) -> Any:
    dtype = argument_aval("vector_norm", x).dtype
    if dtype in dtypes.INEXACT:
        (y,) = inexact("vector_norm", x)
    else:  # sums and extremes of whole numbers are whole, all else is of the default float dtype
        whole = ord in (1, np.inf, -np.inf)
        y = asarray(x) if whole else cast(asarray(x), dtypes.default_float_dtype())
    return _of_vectors("vector_norm", y, ord, reduced_axes("vector_norm", y, axis), keepdims)


def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: int | str | float = 2,
) -> Any:
    """Return norms of vectors; several axes form one vector, as all do if none is given.

    Args:
      x: an array.
      axis: the axes of the vectors.
      keepdims: whether the axes stay, with size 1.
      ord: a number, as for ``norm``.

    Returns:
      a real array; of integers and booleans the sums (``ord=1``) and the greatest and least stay
      whole.

    Raises:
      TypeError: ``x`` is no array.
      ValueError: an axis does not exist, or ``ord`` is not a number.

    The derivative at 0 is 0 for orders from 1 on, and NaN for those between 0 and 1.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.vector_norm(jnp.ones((2, 2)))
    Array(2., dtype=float32)
    """
    return _vector_norm(x, static_axes("vector_norm", axis), bool(keepdims), _hashable(ord))


@fused(static=("keepdims", "ord"), normalized=True)
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: str | int = "fro") -> Any:
    """Return norms of matrices, over the last two axes.

    Args:
      x: matrices of shape (..., m, n).
      keepdims: whether the two axes stay, with size 1.
      ord: as for ``norm``.

    Raises:
      TypeError: ``x`` is no array, or of a dtype without a kernel where one is needed.
      ValueError: there are not two axes, or ``ord`` does not fit.

    The derivative at 0 is 0 for ``"fro"``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.matrix_norm(jnp.ones((2, 2)))
    Array(2., dtype=float32)
    """
    check_matrices("matrix_norm", x, argument="x")
    (y,) = inexact("matrix_norm", x)
    rank = np.ndim(y)
    return _of_matrices("matrix_norm", y, ord, (rank - 2, rank - 1), keepdims)


# ---------------------------------------------------------------- condition and rank


@fused(static=("p",), normalized=True)
def cond(x: Any, p: Any = None) -> Any:
    """Return the condition numbers of matrices.

    Args:
      x: matrices of shape (..., m, n), square unless ``p`` is None, 2 or -2.
      p: the order of the norm, as for ``norm``: the condition number is the norm of x times that
        of its inverse.

    Returns:
      a real array of shape (...), inf for a singular matrix, where there is no derivative.

    Raises:
      TypeError: ``x`` is no array, or of a dtype without a kernel.
      ValueError: there are not two axes, the matrices are empty or not square.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]]))
    Array(2., dtype=float32)
    """
    by_values = p is None or p in (2, -2)
    check_matrices("cond", x, square=not by_values, argument="x")
    (y,) = promote_inexact("cond", x)
    shape = np.shape(y)
    if 0 in shape[-2:]:
        raise ValueError(f"cond takes matrices that are not empty, got shape {shape}")
    if by_values:
        s = svdvals(y)
        found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        axes = (len(shape) - 2, len(shape) - 1)
        found = _of_matrices("cond", y, p, axes, False) * _of_matrices(
            "cond", inv(y), p, axes, False
        )
    given = truth_of_any(isnan(y), axis=(-2, -1))
    return where(isnan(found) & ~given, np.inf, found)


@fused(static=("hermitian", "absolute"), name="matrix_rank")
def _rank(x: Any, tolerance: Any, hermitian: bool, absolute: bool) -> Any:
    (y,) = inexact("matrix_rank", x)
    if np.ndim(y) < 2:
        return cast(truth_of_any(y != 0), np.dtype(np.int32))
    check_matrices("matrix_rank", y, square=hermitian, argument="M")
    s = abs(eigvalsh(y)) if hermitian else svdvals(y)
    if tolerance is None:
        tolerance = s.dtype.type(max(np.shape(y)[-2:]) * epsilon(s.dtype))
    bound = cast(tolerance, s.dtype)
    if not absolute:
        bound = bound * greatest(s, axis=-1, initial=0)
    return total(
        s > (bound[..., None] if np.ndim(bound) else bound),
        axis=-1,
        dtype=dtypes.default_int_dtype(),
    )


def matrix_rank(M: ArrayLike, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """Return the ranks of matrices: how many singular values are not 0.

    Args:
      M: matrices of shape (..., m, n); a vector counts as one row.
      rtol: singular values up to ``rtol`` times the greatest count as 0: a number, or one for
        each matrix.  max(m, n) times the dtype's precision if not given.
      hermitian: whether the matrices are Hermitian, for which eigenvalues serve.
      tol: in place of ``rtol``, a bound that is not relative.

    Returns:
      an array of shape (...) of the default integer dtype; of a vector, int32.

    Raises:
      TypeError: ``M`` is no array, or of a dtype without a kernel.
      ValueError: both ``rtol`` and ``tol`` are given.

    The derivative is zero.

    >>> import jxkernel.numpy as jnp
    >>> jnp.linalg.matrix_rank(jnp.ones((3, 3)))
    Array(1, dtype=int32)
    """
    argument_aval("matrix_rank", M)
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank takes rtol or tol, not both")
    return _rank(M, tol if rtol is None else rtol, bool(hermitian), tol is not None)
