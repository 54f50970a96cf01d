"""Linear systems and eigenvalues of large matrices."""

from collections.abc import Callable
from typing import Any

from jxkernel import numpy as jnp
from jxkernel.api.control_flow.looping import while_loop
from jxkernel.core.jaxpr import Value
from jxkernel.experimental.sparse.older import CSR
from jxkernel.transforms.composed import Composed

__all__ = ["lobpcg_standard", "spsolve", "spsolve_p"]


def _spsolve(
    data: Value, indices: Value, indptr: Value, b: Value, *, tol: float, reorder: int
) -> Any:
    matrix = CSR((data, indices, indptr), shape=(b.shape[0], b.shape[0]))
    return jnp.linalg.solve(matrix.todense(), b)


spsolve_p = Composed("spsolve", _spsolve, linear=(3,))


def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1
) -> Any:
    """Return the solution x of a sparse system A x = b.

    Args:
      data: the stored elements of A, row by row.
      indices: their columns.
      indptr: where each row begins among them, and where the last ends.
      b: a vector.
      tol: accepted; the solution is as exact as that of ``numpy.linalg.solve``.
      reorder: accepted.

    A is made dense to be solved.
    """
    rows = [jnp.asarray(each) for each in (data, indices, indptr)]
    return spsolve_p.bind(*rows, jnp.asarray(b), tol=tol, reorder=reorder)


def lobpcg_standard(
    A: Any | Callable[[Any], Any], X: Any, m: int = 100, tol: Any = None
) -> tuple[Any, Any, Any]:
    """Return the largest eigenvalues of a symmetric matrix with non-negative ones.

    Args:
      A: the matrix, or a function that multiplies a matrix by it.
      X: a matrix of n rows and k columns to begin with; 5 k is less than n.
      m: how many steps there may be.
      tol: how small a residual may be, relative to the sizes of what it is a difference of; the
        precision of the dtype where not given.

    Returns:
      k eigenvalues in descending order, the eigenvectors as columns, and the number of steps.

    Raises:
      ValueError: the shapes do not fit.

    Source: A. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM J. Sci. Comput. 2001.
    """
    start = jnp.asarray(X)
    if start.ndim != 2 or not 0 < 5 * start.shape[1] < start.shape[0]:
        raise ValueError(
            "lobpcg_standard begins with a matrix of n rows and k > 0 columns, 5 k < n, got shape "
            f"{start.shape}"
        )
    apply = A if callable(A) else lambda x: A @ x
    least = jnp.finfo(start.dtype).eps if tol is None else tol
    vectors = _orthonormal(start)
    values, vectors = _ritz(apply, vectors, start.shape[1])

    def unfinished(state: Any) -> Any:
        step, values, vectors, _ = state
        return (step < m) & ~jnp.all(_converged(apply, values, vectors, least))

    def improve(state: Any) -> Any:
        step, values, vectors, directions = state
        residual = apply(vectors) - vectors * values
        basis = _orthonormal(jnp.concatenate([vectors, residual, directions], 1))
        values, better = _ritz(apply, basis, vectors.shape[1])
        return step + 1, values, better, better - vectors @ (vectors.T @ better)

    begin = (0, values, vectors, jnp.zeros_like(vectors))
    steps, values, vectors, _ = while_loop(unfinished, improve, begin)
    return values, vectors, steps


def _orthonormal(x: Any) -> Any:
    """Return columns that span those of a matrix; zeros in place of those that depend on others."""
    for _ in range(2):
        sizes = jnp.linalg.norm(x, axis=0)
        x = x / jnp.where(sizes > 0, sizes, 1)
        values, turns = jnp.linalg.eigh(x.T @ x)
        tiny = values <= jnp.finfo(x.dtype).eps * x.shape[1] * jnp.max(values)
        x = jnp.where(tiny, 0, (x @ turns) / jnp.sqrt(jnp.where(tiny, 1, values)))
    return x


def _ritz(apply: Any, basis: Any, count: int) -> tuple[Any, Any]:
    """Return the best eigenvalues and vectors within the span of a basis, the largest first."""
    values, turns = jnp.linalg.eigh(basis.T @ apply(basis))
    return values[::-1][:count], basis @ turns[:, ::-1][:, :count]


def _converged(apply: Any, values: Any, vectors: Any, least: Any) -> Any:
    product = apply(vectors)
    residual = jnp.linalg.norm(product - vectors * values, axis=0)
    scale = jnp.linalg.norm(product, axis=0) + jnp.abs(values)
    return residual <= least * scale * 10 * vectors.shape[0] ** 0.5
