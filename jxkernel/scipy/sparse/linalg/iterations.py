"""Krylov methods on trees of arrays; solutions are differentiated by the system they solve.

Operators are functions of a tree like ``b``, or matrices.  Iterations end when the residual's
length is at most max(tol · |b|, atol), or after ``maxiter`` of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.api.control_flow.looping import fori_loop, while_loop
from jxkernel.api.custom.solvers import custom_linear_solve
from jxkernel.core.avals import shape_of
from jxkernel.core.filtering import filtered
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.contractions import matmul, vdot
from jxkernel.numpy.creation import zeros
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.linalg.decompositions import qr
from jxkernel.numpy.linalg.norms import norm
from jxkernel.numpy.linalg.operands import adjoint
from jxkernel.numpy.logic import isnan
from jxkernel.numpy.promotion import argument_aval, cast, inexact_dtype
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import ravel, reshape
from jxkernel.primitives.arguments import is_array
from jxkernel.primitives.contraction.precision import Precision
from jxkernel.primitives.linalg.cholesky import triangular_solve

__all__ = ["bicgstab", "cg", "gmres"]

Operator = Callable[[Any], Any]
_EXACTLY = Precision.HIGHEST


def _dot(x: Any, y: Any) -> Any:
    """Return the inner product of two trees, the first conjugated."""
    pairs = zip(tree.leaves(x), tree.leaves(y), strict=True)
    return sum(vdot(a, b, precision=_EXACTLY) for a, b in pairs)


def _length(x: Any) -> Any:
    return abs(_dot(x, x)) ** 0.5


def _sum(x: Any, y: Any, factor: Any) -> Any:
    """Return x + factor y."""
    return tree.map(lambda a, b: a + cast(factor, a.dtype) * b, x, y)


def _difference(x: Any, y: Any) -> Any:
    return tree.map(lambda a, b: a - b, x, y)


def _operator(name: str, argument: str, given: Any) -> Operator:
    """Return the function that multiplies by a matrix, or by an object with ``__matmul__``.

    Raises:
      TypeError: it is no function, no array and has no ``__matmul__``.
      ValueError: the matrix is not square.
    """
    if callable(given):
        return given
    if not is_array(given) and hasattr(given, "__matmul__") and not hasattr(given, "__array__"):
        return lambda x: given @ x
    shape = argument_aval(name, given).shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{name} takes {argument} as a function or a square matrix, got {shape}")
    return lambda x: matmul(given, x, precision=_EXACTLY)


def _identity(x: Any) -> Any:
    return x


def _bound(b: Any, tol: Any, atol: Any) -> Any:
    size = _length(b)
    relative = cast(tol, size.dtype) * size
    least = cast(atol, size.dtype)
    return where(relative > least, relative, least)


def _safe(x: Any) -> Any:
    return where(x == 0, 1, x)


# ---------------------------------------------------------------- the iterations


def _conjugate_gradients(
    A: Operator, b: Any, x0: Any, M: Operator, tol: Any, atol: Any, maxiter: Any
) -> Any:
    bound = _bound(b, tol, atol)
    r = _difference(b, A(x0))
    p = z = M(r)

    def going(state: Any) -> Any:
        _, r, _, _, k = state
        return (_length(r) > bound) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        q = A(p)
        alpha = gamma / _safe(_dot(p, q))
        x, r = _sum(x, p, alpha), _sum(r, q, -alpha)
        z = M(r)
        new = _dot(r, z)
        return x, r, new, _sum(z, p, new / _safe(gamma)), k + 1

    return while_loop(going, step, (x0, r, _dot(r, z), p, np.int32(0)))[0]


def _stabilized(
    A: Operator, b: Any, x0: Any, M: Operator, tol: Any, atol: Any, maxiter: Any
) -> Any:
    bound = _bound(b, tol, atol)
    start = _difference(b, A(x0))
    one = _dot(b, b) * 0 + 1

    def going(state: Any) -> Any:
        return (_length(state[1]) > bound) & (state[-1] < maxiter) & (state[-1] >= 0)

    def step(state: Any) -> Any:
        x, r, p, q, rho, alpha, omega, k = state
        new = _dot(start, r)
        beta = new / _safe(rho) * alpha / _safe(omega)
        p = _sum(r, _sum(p, q, -omega), beta)
        turned = M(p)
        q = A(turned)
        alpha = new / _safe(_dot(start, q))
        s = _sum(r, q, -alpha)
        half = M(s)
        t = A(half)
        # Where half a step was enough, the other half is not taken.
        omega = where(_length(s) <= bound, 0, _dot(t, s) / _safe(_dot(t, t)))
        x = _sum(_sum(x, turned, alpha), half, omega)
        # A breakdown cannot be repaired: -1 says so.
        count = where((new == 0) | (alpha == 0), -1, k + 1)
        return x, _sum(s, t, -omega), p, q, new, alpha, omega, cast(count, np.dtype(np.int32))

    zero = tree.map(lambda a: a * 0, start)
    state = (x0, start, zero, zero, one, one, one, np.int32(0))
    return while_loop(going, step, state)[0]


def _flattened(structure: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return functions from a tree to one vector and back; all leaves are of one dtype."""
    leaves, kind = tree.flatten(structure)
    shapes = [shape_of(leaf) for leaf in leaves]
    ends = np.cumsum([0, *[int(np.prod(shape)) for shape in shapes]])

    def flat(x: Any) -> Any:
        parts = [ravel(leaf) for leaf in tree.leaves(x)]
        return parts[0] if len(parts) == 1 else concatenate(parts)

    def back(v: Any) -> Any:
        return kind.unflatten(
            [reshape(v[ends[i] : ends[i + 1]], shape) for i, shape in enumerate(shapes)]
        )

    return flat, back


def _arnoldi(A: Operator, r: Any, size: Any, restart: int) -> tuple[Any, Any]:
    """Return an orthonormal basis (n, restart + 1) of the Krylov space, and A in it.

    Vectors are orthogonalised twice, which is as good as exactly.
    """
    basis = zeros((np.shape(r)[0], restart + 1), r.dtype)
    first = r / cast(_safe(size), r.dtype)
    basis = where(np.arange(restart + 1) == 0, first[:, None], basis)
    matrix = zeros((restart + 1, restart), r.dtype)

    def step(k: Any, state: Any) -> Any:
        basis, matrix = state
        v = matmul(basis, cast(np.arange(restart + 1) == k, r.dtype), precision=_EXACTLY)
        w = A(v)
        scale = norm(w)
        column = zeros((restart + 1,), r.dtype)
        for _ in range(2):
            part = matmul(adjoint(basis), w, precision=_EXACTLY)
            w, column = w - matmul(basis, part, precision=_EXACTLY), column + part
        left = norm(w)
        # What rounding leaves of a vector inside the space is nothing.
        left = where(left > float(np.finfo(left.dtype).eps) * scale, left, 0)
        w = where(left > 0, w / cast(_safe(left), w.dtype), 0)
        place = np.arange(restart + 1) == k + 1
        basis = where(place, w[:, None], basis)
        column = where(place, cast(left, r.dtype), column)
        return basis, where(np.arange(restart) == k, column[:, None], matrix)

    return fori_loop(0, restart, step, (basis, matrix))


def _least_residual(matrix: Any, size: Any) -> Any:
    """Return the coefficients that make the residual least; 0 for directions without effect."""
    q, r = qr(matrix)
    right = adjoint(q)[:, 0] * cast(size, matrix.dtype)
    count = np.shape(r)[0]
    diagonal = abs(r[np.arange(count), np.arange(count)])
    empty = diagonal <= float(np.finfo(diagonal.dtype).eps)
    r = r + cast(where(empty, 1, 0), r.dtype) * np.eye(count, dtype=r.dtype)
    return triangular_solve(r, where(empty, 0, right)[:, None], left_side=True)[:, 0]


def _generalized_minimal_residual(
    A: Operator, b: Any, x0: Any, M: Operator, tol: Any, atol: Any, restart: int, maxiter: Any
) -> Any:
    flat, back = _flattened(b)
    bound = _bound(b, tol, atol)

    def product(v: Any) -> Any:
        return flat(M(A(back(v))))

    def residual(x: Any) -> Any:
        return _difference(b, A(back(x)))

    def going(state: Any) -> Any:
        _, r, k = state
        return (_length(r) > bound) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, k = state
        right = flat(M(r))
        size = norm(right)
        basis, matrix = _arnoldi(product, right, size, restart)
        moved = matmul(basis[:, :restart], _least_residual(matrix, size), precision=_EXACTLY)
        x = x + moved
        return x, residual(x), k + 1

    x = flat(x0)
    return back(while_loop(going, step, (x, residual(x), np.int32(0)))[0])


# ---------------------------------------------------------------- as users call them


def _solved(
    name: str, method: Callable[..., Any], A: Any, b: Any, x0: Any, M: Any, symmetric: bool
) -> tuple[Any, None]:
    operator = _operator(name, "A", A)
    precondition = _identity if M is None else _operator(name, "M", M)
    for position, leaf in enumerate(tree.leaves(b)):
        argument_aval(name, leaf, position)
    dtype = np.result_type(*[argument_aval(name, leaf).dtype for leaf in tree.leaves(b)])
    wide = inexact_dtype(dtype)
    b = tree.map(lambda leaf: cast(leaf, wide), b)
    start = tree.map(lambda leaf: leaf * 0, b)
    if x0 is not None:
        if tree.structure(x0) != tree.structure(b):
            raise ValueError(f"{name} takes x0 like b, got {tree.structure(x0)}")
        start = tree.map(lambda leaf: cast(leaf, wide), x0)
        if any(
            shape_of(x) != shape_of(y)
            for x, y in zip(tree.leaves(start), tree.leaves(b), strict=True)
        ):
            shapes = [shape_of(leaf) for leaf in (*tree.leaves(start), *tree.leaves(b))]
            raise ShapeMismatchError(name, shapes, "x0 is of the shape of b")

    def solve(A: Operator, b: Any) -> Any:
        return method(A, b, start, precondition)

    solution = custom_linear_solve(operator, b, solve, transpose_solve=solve, symmetric=symmetric)
    return solution, None


def _count(b: Any) -> int:
    return sum(int(np.prod(shape_of(leaf))) for leaf in tree.leaves(b))


@filtered
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve A x = b by conjugate gradients, for a Hermitian positive definite operator.

    Args:
      A: a matrix, an object that multiplies as one (``A @ x``), or a linear function from a tree
        like ``b`` to one of its shapes.
      b: the right-hand side: a tree of arrays.
      x0: where to start; zeros if not given.
      tol: which residual is small enough, as a part of the length of ``b``.
      atol: which residual is small enough in any case.
      maxiter: after how many steps to end; 10 times the number of unknowns if not given.
      M: an operator near to the inverse of A, to need fewer steps.

    Returns:
      the solution, like ``b``, and None.

    Raises:
      TypeError: the operator changes structure, shapes or dtypes.
      ValueError: a matrix is not square.
      ShapeMismatchError: ``x0`` is not like ``b``.

    Derivatives in ``b`` and in what A closes over are those of the equation.  M. Hestenes and
    E. Stiefel, "Methods of conjugate gradients for solving linear systems", 1952.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.sparse.linalg import cg
    >>> cg(lambda x: 2 * x, jnp.ones(2))[0]
    Array([0.5, 0.5], dtype=float32)
    """
    limit = 10 * _count(b) if maxiter is None else maxiter
    method = partial(_conjugate_gradients, tol=tol, atol=atol, maxiter=limit)
    return _solved("cg", method, A, b, x0, M, symmetric=True)


@filtered
def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve A x = b by stabilized biconjugate gradients, for any invertible operator.

    Arguments, results and errors are those of ``cg``.  H. van der Vorst, "Bi-CGSTAB", 1992.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.sparse.linalg import bicgstab
    >>> bicgstab(lambda x: 2 * x, jnp.ones(2))[0]
    Array([0.5, 0.5], dtype=float32)
    """
    limit = 10 * _count(b) if maxiter is None else maxiter
    method = partial(_stabilized, tol=tol, atol=atol, maxiter=limit)
    return _solved("bicgstab", method, A, b, x0, M, symmetric=False)


@filtered
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """Solve A x = b by the generalized minimal residual method, for any invertible operator.

    Args:
      A: as for ``cg``.
      b: as for ``cg``.
      x0: as for ``cg``.
      tol: as for ``cg``.
      atol: as for ``cg``.
      restart: how many directions to span before beginning again from what was found.
      maxiter: how often to begin; 10 times the number of unknowns if not given.
      M: as for ``cg``.
      solve_method: ``"batched"`` or ``"incremental"``: here the same.

    Returns:
      the solution, like ``b``, and -1 where it is NaN, else 0.

    Raises:
      TypeError, ShapeMismatchError: as ``cg``.
      ValueError: a matrix is not square, or ``solve_method`` is unknown.

    Y. Saad and M. Schultz, "GMRES", 1986.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.sparse.linalg import gmres
    >>> bool(jnp.allclose(gmres(lambda x: 2 * x, jnp.ones(2))[0], 0.5))
    True
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"gmres got solve_method={solve_method!r}: it is 'batched' or 'incremental'"
        )
    size = _count(b)
    method = partial(
        _generalized_minimal_residual,
        tol=tol,
        atol=atol,
        restart=min(restart, size),
        maxiter=10 * size if maxiter is None else maxiter,
    )
    solution, _ = _solved("gmres", method, A, b, x0, M, symmetric=False)
    return solution, where(isnan(_length(solution)), -1, 0)
