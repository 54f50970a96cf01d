"""Functions of square matrices, and the Sylvester equation, which is their derivative's."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.api.control_flow.branching import cond
from jxkernel.api.control_flow.looping import fori_loop
from jxkernel.api.control_flow.scanning import scan
from jxkernel.api.custom.derivatives import custom_jvp
from jxkernel.api.custom.solvers import custom_linear_solve
from jxkernel.api.derivatives.autodiff import jvp
from jxkernel.core.trace import Tracer
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.creation import asarray, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.linalg.operands import (
    adjoint,
    broadcast_stacks,
    check_matrices,
    epsilon,
    from_lists,
    inexact,
    matmul,
)
from jxkernel.numpy.linalg.solutions import solve_matrices
from jxkernel.numpy.promotion import argument_aval, cast, dtype_of
from jxkernel.numpy.reductions import all as truth_of_all
from jxkernel.numpy.reductions import max as greatest
from jxkernel.numpy.reductions import min as least
from jxkernel.numpy.reductions import sum as total
from jxkernel.numpy.selection import where
from jxkernel.primitives.elementwise.complex import real
from jxkernel.primitives.elementwise.exponential import log, sqrt
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.elementwise.rounding import ceil
from jxkernel.primitives.linalg.cholesky import triangular_solve
from jxkernel.primitives.linalg.eig import eig, schur
from jxkernel.primitives.linalg.matrix import diagonal, identity_like, swapped, upper_part
from jxkernel.runtime import ArrayLike

__all__ = ["expm", "expm_frechet", "funm", "solve_sylvester", "sqrtm"]

_INT32 = np.dtype(np.int32)

# ---------------------------------------------------------------- expm

_NUMERATORS = {
    7: (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
    13: (
        64764752532480000.0,
        32382376266240000.0,
        7771770303897600.0,
        1187353796428800.0,
        129060195264000.0,
        10559470521600.0,
        670442572800.0,
        33522128640.0,
        1323241920.0,
        40840800.0,
        960960.0,
        16380.0,
        182.0,
        1.0,
    ),
}
"""Coefficients of the numerators of diagonal Padé approximants to the exponential, by order."""

_REACH = {7: 3.925724783138660, 13: 5.371920351148152}
"""Up to which norm each approximant is exact to single (order 7) and double precision (13)."""


def _approximant(x: Any, order: int) -> tuple[Any, Any]:
    """Return even and odd parts of the numerator at matrices: of p(x), and p(-x) too."""
    b = _NUMERATORS[order]
    eye = identity_like(x, np.shape(x)[-1])
    x2 = matmul(x, x)
    x4 = matmul(x2, x2)
    x6 = matmul(x4, x2)
    even = b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * eye
    odd = b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * eye
    if order == 13:
        even = even + matmul(x6, b[12] * x6 + b[10] * x4 + b[8] * x2)
        odd = odd + matmul(x6, b[13] * x6 + b[11] * x4 + b[9] * x2)
    return even, matmul(x, odd)


def _squared(x: Any, times: Any, at_most: int) -> Any:
    """Square each matrix a number of times of its own, in steps that end when none is left."""
    longest = greatest(times, initial=0)

    def step(x: Any, i: Any) -> tuple[Any, None]:
        def square(x: Any) -> Any:
            return where((i < times)[..., None, None], matmul(x, x), x)

        return cond(i < longest, square, lambda x: x, x), None

    return scan(step, x, np.arange(at_most, dtype=np.int32))[0]


@fused(static=("upper_triangular", "max_squarings"))
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """Return the exponentials of square matrices.

    Args:
      A: matrices of shape (..., n, n).
      upper_triangular: a promise that they are, which makes one solution triangular.
      max_squarings: how often an approximation may be squared: matrices of norm up to about
        2 ** max_squarings; NaN for larger ones.

    Raises:
      TypeError: ``A`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square.

    Differentiable everywhere.  Scaling and squaring of a Padé approximant: N. Higham, "The
    scaling and squaring method for the matrix exponential revisited", 2005.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import expm
    >>> expm(jnp.zeros((2, 2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    check_matrices("expm", A, square=True, argument="A")
    (x,) = inexact("expm", A)
    if not np.size(x):
        return x
    order = 13 if x.dtype in (np.float64, np.complex128) else 7
    norm = stop_gradient(greatest(total(abs(x), axis=-2), axis=-1))
    reach = norm.dtype.type(_REACH[order])
    needed = ceil(log(where(norm > reach, norm / reach, 1)) / norm.dtype.type(np.log(2)))
    times = cast(where(needed <= max_squarings, needed, 0), _INT32)
    scale = cast(2.0 ** -cast(times, norm.dtype), x.dtype)
    even, odd = _approximant(x * scale[..., None, None], order)
    if upper_triangular:
        first = triangular_solve(even - odd, even + odd, left_side=True)
    else:
        first = solve_matrices(even - odd, even + odd)
    found = _squared(first, times, max_squarings)
    fits = (needed <= max_squarings)[..., None, None]
    found = where(fits, found, np.nan)
    return upper_part(found) if upper_triangular else found


def expm_frechet(
    A: ArrayLike, E: Any, *, method: str | None = None, compute_expm: bool = True
) -> Any:
    """Return the derivative of the exponential at A in the direction E, and the exponential.

    Args:
      A: matrices of shape (..., n, n).
      E: directions of the same shape.
      method: SciPy's name of an algorithm; there is one here, the derivative of ``expm``.
      compute_expm: whether to return the exponential too, first.

    Raises:
      ValueError: the matrices are not square.
      ShapeMismatchError: the shapes differ.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import expm_frechet
    >>> expm_frechet(jnp.zeros((2, 2)), jnp.ones((2, 2)), compute_expm=False)
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    A, E = from_lists(A), from_lists(E)
    check_matrices("expm_frechet", A, square=True, argument="A")
    if argument_aval("expm_frechet", E, 1).shape != np.shape(A):
        raise ShapeMismatchError(
            "expm_frechet", [np.shape(A), np.shape(E)], "E is of the shape of A"
        )
    x, direction = inexact("expm_frechet", A, E)
    value, derivative = _exponential_and_derivative(x, direction)
    return (value, derivative) if compute_expm else derivative


@fused(name="expm_frechet")
def _exponential_and_derivative(x: Any, direction: Any) -> tuple[Any, Any]:
    return jvp(expm, (x,), (direction,))


# ---------------------------------------------------------------- the Sylvester equation


def _complex(x: Any) -> Any:
    return cast(x, np.promote_types(dtype_of(x), np.complex64))


def _shifted_solution(a: Any, shift: Any, b: Any) -> Any:
    """Solve (a + shift 1) x = b for upper triangular matrices and one vector each."""
    shifted = a + shift[..., None, None] * identity_like(a, np.shape(a)[-1])
    return triangular_solve(shifted, b[..., None], left_side=True)[..., 0]


def _triangular_sylvester(s: Any, t: Any, f: Any) -> Any:
    """Solve s y + y t = f for upper triangular s and t, column after column of y."""
    columns = np.shape(f)[-1]

    def column(j: Any, y: Any) -> Any:
        place = np.arange(columns) == j
        t_j = total(where(place, t, 0), axis=-1)
        right = total(where(place, f, 0), axis=-1) - matmul(y, t_j[..., None])[..., 0]
        shift = total(where(place, t_j, 0), axis=-1)
        return where(place, _shifted_solution(s, shift, right)[..., None], y)

    return fori_loop(0, columns, column, zeros(np.shape(f), f.dtype))


def _solved(a: Any, b: Any, c: Any, method: str) -> Any:
    """Solve a x + x b = c for complex matrices, by their Schur forms or eigenvectors."""
    if method == "eigen":
        d, p = eig(a, compute_left_eigenvectors=False)
        e, q = eig(b, compute_left_eigenvectors=False)
        inner = solve_matrices(p, matmul(c, q)) / (d[..., :, None] + e[..., None, :])
        return matmul(p, adjoint(solve_matrices(adjoint(q), adjoint(inner))))
    s, u = schur(a)
    t, v = schur(b)
    f = matmul(adjoint(u), matmul(c, v))
    return matmul(u, matmul(_triangular_sylvester(s, t, f), adjoint(v)))


def _sylvester(a: Any, b: Any, c: Any, method: str) -> Any:
    """Solve a x + x b = c; derivatives are those of the equation."""
    a, b, c = map(_complex, (a, b, c))
    return custom_linear_solve(
        lambda x: matmul(a, x) + matmul(x, b),
        c,
        lambda _, c: _solved(a, b, c, method),
        lambda _, c: _solved(swapped(a), swapped(b), c, method),
    )


def _like_operands(found: Any, *operands: Any) -> Any:
    """Return a complex result as real numbers where all operands were."""
    return found if any(x.dtype in dtypes.COMPLEX for x in operands) else real(found)


@fused(static=("method", "tol"))
def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Any:
    """Return the solution X of A X + X B = C.

    Args:
      A: matrices of shape (..., m, m).
      B: matrices of shape (..., n, n).
      C: matrices of shape (..., m, n); leading axes broadcast.
      method: ``"schur"`` (R. Bartels and G. Stewart, 1972), or ``"eigen"``, for matrices that can
        be diagonalised.
      tol: how near to 0 the sum of an eigenvalue of A and one of B may be: there the equation
        has no unique solution, and the result is NaN.

    Raises:
      TypeError: an operand is no array, or of a dtype without a kernel.
      ValueError: A or B is not square, or the method is unknown.
      ShapeMismatchError: the sizes do not fit.

    Linear in C.  On CPUs only.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import solve_sylvester
    >>> solve_sylvester(2 * jnp.eye(1), 3 * jnp.eye(1), 10 * jnp.eye(1))
    Array([[2.]], dtype=float32)
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f"solve_sylvester got method={method!r}: it is 'schur' or 'eigen'")
    A, B, C = from_lists(A), from_lists(B), from_lists(C)
    check_matrices("solve_sylvester", A, square=True, argument="A")
    check_matrices("solve_sylvester", B, square=True, argument="B")
    check_matrices("solve_sylvester", C, argument="C")
    a, b, c = inexact("solve_sylvester", A, B, C)
    if np.shape(c)[-2:] != (np.shape(a)[-1], np.shape(b)[-1]):
        raise ShapeMismatchError(
            "solve_sylvester", [np.shape(x) for x in (a, b, c)], "A m x m, B n x n and C m x n"
        )
    a, b, c = broadcast_stacks("solve_sylvester", (a, b, c), (2, 2, 2))
    if not np.size(c):
        return c
    found = _like_operands(_sylvester(a, b, c, method), a, b, c)
    values, others = (
        eig(stop_gradient(x), compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]
        for x in (a, b)
    )
    smallest = least(abs(values[..., :, None] + others[..., None, :]), axis=(-2, -1))
    return where((smallest > tol)[..., None, None], found, np.nan)


# ---------------------------------------------------------------- sqrtm


def _triangular_root(t: Any) -> Any:
    """Return the upper triangular square root of upper triangular matrices, by columns.

    With r the columns so far: column j of r² = t says (r + rⱼⱼ) r[:, j] = t[:, j] above the
    diagonal, where rⱼⱼ is a root of tⱼⱼ.
    """
    n = np.shape(t)[-1]
    roots = sqrt(diagonal(t))

    def column(j: Any, r: Any) -> Any:
        place, above = np.arange(n) == j, np.arange(n) < j
        root = total(where(place, roots, 0), axis=-1)
        t_j = total(where(place, t, 0), axis=-1)
        known = where(above, r, 0)
        vanishing = (diagonal(known) + root[..., None]) == 0
        filled = known + where(vanishing, 1, 0)[..., None] * identity_like(r, n)
        solved = _shifted_solution(filled, root, where(above, t_j, 0))
        new = where(above, solved, 0) + where(place, root[..., None], 0)
        return where(place, new[..., None], r)

    return fori_loop(0, n, column, zeros(np.shape(t), t.dtype))


@custom_jvp
def _root(x: Any) -> Any:
    t, u = schur(x)
    return matmul(u, matmul(_triangular_root(t), adjoint(u)))


@_root.defjvp
def _root_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """From r r = x: r dr + dr r = dx."""
    r = _root(*primals)
    return r, _sylvester(r, r, tangents[0], "schur")


@fused(static=("blocksize",))
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Any:
    """Return the principal square roots of square matrices.

    Args:
      A: matrices of shape (..., n, n).
      blocksize: must be 1.

    Returns:
      complex matrices whose eigenvalues have real parts that are not negative.

    Raises:
      TypeError: ``A`` is no array, or of a dtype without a kernel.
      ValueError: the matrices are not square.
      NotImplementedError: another ``blocksize`` is asked for.

    Differentiable where no eigenvalue is 0 or a negative real number.  On CPUs only.  Method of
    Schur: A. Björck and S. Hammarling, "A Schur method for the square root of a matrix", 1983.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import sqrtm
    >>> sqrtm(jnp.array([[4.0, 0.0], [0.0, 9.0]])).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("sqrtm has no version by blocks: blocksize must be 1")
    check_matrices("sqrtm", A, square=True, argument="A")
    (x,) = inexact("sqrtm", A)
    return _root(_complex(x)) if np.size(x) else _complex(x)


# ---------------------------------------------------------------- funm


def _parlett(t: Any, values: Any) -> Any:
    """Return f(t) for upper triangular t and the values of f on its diagonal.

    f(t) commutes with t, which gives each superdiagonal from those below it (B. Parlett 1974).
    """
    n = np.shape(t)[-1]
    d = diagonal(t)
    gaps = d[None, :] - d[:, None]
    safe = where(gaps == 0, 1, gaps)
    distance = np.arange(n)[None, :] - np.arange(n)[:, None]

    def step(p: Any, f: Any) -> Any:
        commutator = matmul(t, f) - matmul(f, t)
        return where(distance == p, commutator / safe, f)

    return fori_loop(1, n, step, values[:, None] * identity_like(t, n))


def _error_estimate(t: Any, f: Any) -> Any:
    n = np.shape(t)[-1]
    eps = epsilon(t.dtype)
    d = diagonal(t)
    gaps = abs(d[None, :] - d[:, None])
    off = np.triu(np.ones((n, n), bool), 1)
    nearest = least(where(off, gaps, np.inf), initial=np.inf)
    nearest = where(nearest == 0, eps, nearest)
    strict = greatest(total(where(off, abs(t), 0), axis=0), initial=0)
    estimate = greatest(asarray([eps, eps * strict / nearest]))
    return where(truth_of_all(abs(f) < np.inf), estimate, np.inf)


def funm(A: ArrayLike, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """Return a function of a square matrix, as a matrix.

    Args:
      A: a matrix of shape (n, n).
      func: the function of numbers: it is called once with the complex vector of eigenvalues.
      disp: whether to return the matrix alone, and to warn where it is not exact; otherwise an
        estimate of its relative error is returned too.

    Returns:
      a complex matrix, and a real number without ``disp``.

    Raises:
      TypeError: ``A`` is no array, or of a dtype without a kernel.
      ValueError: the matrix is not square.

    Not differentiable; inexact where eigenvalues are nearly equal.  On CPUs only.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import funm
    >>> funm(jnp.array([[4.0, 0.0], [0.0, 9.0]]), jnp.sqrt).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    A = from_lists(A)
    aval = argument_aval("funm", A)
    if aval.ndim != 2 or aval.shape[0] != aval.shape[1]:
        raise ValueError(f"funm takes one square matrix A, got shape {aval.shape}")
    (x,) = inexact("funm", A)
    t, u = schur(_complex(x))
    f = _parlett(t, _complex(func(diagonal(t))))
    found = matmul(u, matmul(f, adjoint(u)))
    error = _error_estimate(t, f)
    if not disp:
        return found, error
    if not isinstance(error, Tracer) and float(error) > 1000 * epsilon(found.dtype):
        message = f"funm: the result may have a relative error of {float(error):.1e}"
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return found
