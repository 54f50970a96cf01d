"""Matrices with a pattern, made of a vector or of a size.

Those that a size determines are computed on the host in whole numbers, as far as they are whole,
and given as arrays of the default float dtype.
"""

from math import comb
from operator import index
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeMismatchError
from jxkernel.numpy.creation import asarray, user_dtype, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.linalg.operands import broadcast_stacks, inexact
from jxkernel.numpy.mathematics import conj
from jxkernel.numpy.promotion import argument_aval, cast, dtype_of, promote_dtypes, promote_strongly
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import reshape
from jxkernel.primitives.arguments import whole_number
from jxkernel.primitives.creation import full_like
from jxkernel.runtime import ArrayLike

__all__ = [
    "banded",
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
    "toeplitz",
]


def _vectors(name: str, x: Any, least: int = 0) -> Any:
    """Return an argument as vectors along its last axis; a number is a vector of one.

    Raises:
      TypeError: it is no array and no number.
      ValueError: the vectors are shorter than ``least``.
    """
    aval = argument_aval(name, x)
    x = cast(x, dtype_of(x), aval.weak_type)
    if not aval.ndim:
        x = reshape(x, (1,))
    if np.shape(x)[-1] < least:
        raise ValueError(f"{name} takes vectors of {least} elements or more, got {aval.shape}")
    return x


def banded(*diagonals: tuple[int, Any]) -> Any:
    """Return square matrices of given diagonals: pairs of an offset and vectors, of one dtype."""
    offset, first = diagonals[0]
    n = np.shape(first)[-1] + abs(offset)
    rows, columns = np.indices((n, n))
    result = full_like(first, 0, shape=(*np.shape(first)[:-1], n, n))
    for offset, values in diagonals:
        if np.shape(values)[-1]:
            place = np.clip(rows if offset >= 0 else columns, 0, np.shape(values)[-1] - 1)
            result = where(columns - rows == offset, values[..., place], result)
    return result


# ---------------------------------------------------------------- of vectors


@fused(name="toeplitz")
def _toeplitz(c: Any, r: Any) -> Any:
    c, r = promote_strongly("toeplitz", _vectors("toeplitz", c), _vectors("toeplitz", r))
    c, r = broadcast_stacks("toeplitz", (c, r), (1, 1))
    m, n = np.shape(c)[-1], np.shape(r)[-1]
    if not m or not n:
        return zeros((*np.shape(c)[:-1], m, n), c.dtype)
    values = concatenate([c[..., ::-1], r[..., 1:]], axis=-1)
    rows, columns = np.indices((m, n))
    return values[..., m - 1 - rows + columns]


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return the matrices that are constant along diagonals.

    Args:
      c: first columns, of shape (..., m).
      r: first rows, of shape (..., n), of which the first element is not read; the conjugate of
        ``c`` if not given.  Leading axes broadcast.

    Raises:
      TypeError: an argument is no array and no number.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import toeplitz
    >>> toeplitz(jnp.array([1, 2]), jnp.array([1, 3, 4]))
    Array([[1, 3, 4],
           [2, 1, 3]], dtype=int32)
    """
    argument_aval("toeplitz", c)
    return _toeplitz(c, conj(c) if r is None else r)


@fused
def hankel(c: Any, r: Any = None) -> Any:
    """Return the matrices that are constant along anti-diagonals.

    Args:
      c: first columns, of shape (..., m).
      r: last rows, of shape (..., n), of which the first element is not read; zeros, m of them,
        if not given.  Leading axes broadcast.

    Raises:
      TypeError: an argument is no array.
      ValueError: ``c`` or ``r`` is a number.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import hankel
    >>> hankel(jnp.array([1, 2]), jnp.array([2, 3, 4]))
    Array([[1, 2, 3],
           [2, 3, 4]], dtype=int32)
    """
    for name, vector in (("c", c), ("r", r)):
        if vector is not None and not argument_aval("hankel", vector).ndim:
            raise ValueError(f"hankel takes vectors {name}, got a number")
    c = _vectors("hankel", c)
    r = zeros(np.shape(c), c.dtype) if r is None else _vectors("hankel", r)
    c, r = broadcast_stacks("hankel", promote_strongly("hankel", c, r), (1, 1))
    m, n = np.shape(c)[-1], np.shape(r)[-1]
    if not m or not n:
        return zeros((*np.shape(c)[:-1], m, n), c.dtype)
    rows, columns = np.indices((m, n))
    return concatenate([c, r[..., 1:]], axis=-1)[..., rows + columns]


@fused
def circulant(c: Any) -> Any:
    """Return the matrices whose columns are a vector, moved down by one more each.

    Args:
      c: first columns, of shape (..., n).

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import circulant
    >>> circulant(jnp.array([1, 2]))
    Array([[1, 2],
           [2, 1]], dtype=int32)
    """
    c = _vectors("circulant", c)
    n = np.shape(c)[-1]
    rows, columns = np.indices((n, n))
    return c[..., (rows - columns) % n] if n else zeros((*np.shape(c), 0), c.dtype)


@fused
def companion(a: Any) -> Any:
    """Return the matrices whose eigenvalues are the roots of polynomials.

    Args:
      a: coefficients, the highest power first, of shape (..., n), n at least 2.

    Returns:
      matrices of shape (..., n - 1, n - 1).

    Raises:
      ValueError: there are fewer than 2 coefficients.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import companion
    >>> companion(jnp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (x,) = inexact("companion", _vectors("companion", a, 2))
    first = -x[..., 1:] / x[..., :1]
    n = np.shape(first)[-1]
    return where(np.arange(n)[:, None] == 0, first[..., None, :], np.eye(n, k=-1, dtype=x.dtype))


@fused
def fiedler(a: Any) -> Any:
    """Return the symmetric matrices of distances |aᵢ - aⱼ|.

    Args:
      a: numbers of shape (..., n).

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import fiedler
    >>> fiedler(jnp.array([1, 4]))
    Array([[0, 3],
           [3, 0]], dtype=int32)
    """
    a = _vectors("fiedler", a)
    return abs(a[..., :, None] - a[..., None, :])


@fused
def fiedler_companion(a: Any) -> Any:
    """Return the pentadiagonal matrices whose eigenvalues are the roots of polynomials.

    Args:
      a: coefficients, the highest power first, of shape (..., n), n at least 1.

    Returns:
      matrices of shape (..., n - 1, n - 1).

    Raises:
      ValueError: there is no coefficient.

    M. Fiedler, "A note on companion matrices", 2003.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import fiedler_companion
    >>> fiedler_companion(jnp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (x,) = inexact("fiedler_companion", _vectors("fiedler_companion", a, 1))
    x = x / x[..., :1]
    n = np.shape(x)[-1] - 1
    if n < 1:
        return zeros((*np.shape(x)[:-1], n, n), x.dtype)
    ones, source = np.zeros((n, n), x.dtype), np.zeros((n, n), int)
    if n > 1:
        ones[1, 0] = 1
    ones[range(3, n, 2), range(1, n - 2, 2)] = 1
    ones[range(0, n - 2, 2), range(2, n, 2)] = 1
    source[range(2, n, 2), range(1, n - 1, 2)] = range(3, n + 1, 2)
    source[range(0, n - 1, 2), range(1, n, 2)] = range(2, n + 1, 2)
    source[0, 0] = 1
    return where(source > 0, -x[..., source], ones)


@fused
def leslie(f: Any, s: Any) -> Any:
    """Return the matrices of age-structured growth: f in the first row, s below the diagonal.

    Args:
      f: fecundities, of shape (..., n).
      s: survival rates, of shape (..., n - 1); leading axes broadcast.

    Raises:
      ShapeMismatchError: the sizes do not fit.

    P. Leslie, "On the use of matrices in certain population mathematics", 1945.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import leslie
    >>> leslie(jnp.array([1.0, 2.0]), jnp.array([0.5]))
    Array([[1. , 2. ],
           [0.5, 0. ]], dtype=float32)
    """
    f, s = promote_dtypes("leslie", _vectors("leslie", f), _vectors("leslie", s))
    n = np.shape(f)[-1]
    if n < 2 or np.shape(s)[-1] != n - 1:
        raise ShapeMismatchError(
            "leslie", [np.shape(f), np.shape(s)], "f has n elements, two or more, and s n - 1"
        )
    f, s = broadcast_stacks("leslie", (f, s), (1, 1))
    return where(np.arange(n)[:, None] == 0, f[..., None, :], banded((-1, s)))


@fused(static=("n", "mode"))
def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Any:
    """Return the matrices whose product with a vector is its convolution with ``a``.

    Args:
      a: vectors of shape (..., m), m at least 1.
      n: the length of the other vector.
      mode: which part of the convolution; see ``jxkernel.numpy.convolve``.

    Returns:
      matrices of shape (..., k, n), with k as ``mode`` says.

    Raises:
      ValueError: ``n`` is not positive, ``mode`` is unknown, or ``a`` is empty.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import convolution_matrix
    >>> convolution_matrix(jnp.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    n = index(n)
    if n < 1:
        raise ValueError(f"convolution_matrix got n={n}: it is positive")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolution_matrix got mode={mode!r}: it is 'full', 'same' or 'valid'")
    x = _vectors("convolution_matrix", a, 1)
    m = np.shape(x)[-1]
    shorter, longer = min(m, n), max(m, n)
    start, count = 0, m + n - 1
    if mode == "same":
        start, count = (shorter - 1) // 2, longer
    if mode == "valid":
        start, count = shorter - 1, longer - shorter + 1
    rows, columns = np.indices((count, n))
    place = rows + start - columns
    inside = ((place >= 0) & (place < m)).astype(x.dtype)
    return x[..., np.clip(place, 0, m - 1)] * inside


@fused(name="block_diag")
def _block_diag(*arrs: Any) -> Any:
    blocks = promote_dtypes("block_diag", *arrs)
    blocks = [reshape(x, (1,) * (2 - np.ndim(x)) + np.shape(x)) for x in blocks]
    width = sum(np.shape(x)[1] for x in blocks)
    dtype = dtype_of(blocks[0])
    before, rows = 0, []
    for x in blocks:
        height, own = np.shape(x)
        left, right = (zeros((height, size), dtype) for size in (before, width - before - own))
        rows.append(concatenate([left, cast(x, dtype), right], axis=1))
        before += own
    return concatenate(rows, axis=0)


def block_diag(*arrs: Any) -> Any:
    """Return the matrix with given matrices along its diagonal, and zeros elsewhere.

    Args:
      *arrs: matrices; vectors count as one row, numbers as one element.

    Raises:
      TypeError: an argument is no array and no number.
      ValueError: an argument has more than two axes.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.linalg import block_diag
    >>> block_diag(jnp.array([1, 2]), 3)
    Array([[1, 2, 0],
           [0, 0, 3]], dtype=int32)
    """
    for position, x in enumerate(arrs):
        shape = argument_aval("block_diag", x, position).shape
        if len(shape) > 2:
            raise ValueError(f"block_diag takes matrices, got shape {shape} as argument {position}")
    return _block_diag(*arrs) if arrs else zeros((1, 0))


# ---------------------------------------------------------------- of a size


def _size(name: str, n: Any, least: int = 0) -> int:
    n = whole_number(name, "n", n)
    if n < least:
        raise ValueError(f"{name} got n={n}: it is {least} or more")
    return n


def _floats(matrix: Any) -> Any:
    return asarray(np.asarray(matrix, np.float64), dtypes.default_float_dtype())


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike = None) -> Any:
    """Return the matrix whose product with a vector is its discrete Fourier transform.

    Args:
      n: the size.
      scale: None, ``"sqrtn"`` to divide by the root of n, which makes it unitary, or ``"n"``.
      dtype: a complex dtype; the default one if not given.

    Raises:
      ValueError: ``scale`` is unknown, ``n`` negative, or the dtype not complex.

    >>> from jxkernel.scipy.linalg import dft
    >>> dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    n = _size("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft got scale={scale!r}: it is None, 'sqrtn' or 'n'")
    found = user_dtype(dtype, "dft") or dtypes.canonicalize_dtype(np.complex128)
    if found not in dtypes.COMPLEX:
        raise ValueError(f"dft got dtype={found.name}: it is complex")
    turns = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    divisor = {None: 1.0, "sqrtn": np.sqrt(max(n, 1)), "n": float(max(n, 1))}[scale]
    return asarray(np.exp(-2j * np.pi * turns / max(n, 1)) / divisor, found)


def hadamard(n: int, dtype: DTypeLike = int) -> Any:
    """Return a symmetric matrix of 1 and -1 with orthogonal columns (Sylvester's).

    Args:
      n: the size, a power of 2.
      dtype: the dtype; None is the default float.

    Raises:
      ValueError: ``n`` is not a power of 2.

    >>> from jxkernel.scipy.linalg import hadamard
    >>> hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    n = whole_number("hadamard", "n", n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard got n={n}: it is a power of 2")
    both = np.arange(n)[:, None] & np.arange(n)
    dtype = user_dtype(float if dtype is None else dtype, "hadamard")
    return asarray(1 - 2 * (np.bitwise_count(both).astype(int) % 2), dtype)


def helmert(n: int, full: bool = False) -> Any:
    """Return the matrix of Helmert's orthonormal contrasts.

    Args:
      n: the size, at least 1.
      full: whether the first row, of equal elements, is kept.

    Returns:
      a matrix of n rows, or of n - 1 without ``full``, and n columns.

    Raises:
      ValueError: ``n`` is not positive.

    >>> from jxkernel.scipy.linalg import helmert
    >>> helmert(2).shape
    (1, 2)
    """
    n = _size("helmert", n, 1)
    rows = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n, dtype=float))
    rows[0] = 1
    weights = np.arange(n) * np.arange(1, n + 1)
    weights[0] = n
    rows /= np.sqrt(weights)[:, None]
    return _floats(rows if full else rows[1:])


def hilbert(n: int) -> Any:
    """Return Hilbert's matrix, with elements 1 / (i + j + 1).

    >>> from jxkernel.scipy.linalg import hilbert
    >>> hilbert(2)[0]
    Array([1. , 0.5], dtype=float32)
    """
    n = _size("hilbert", n)
    return _floats(1 / (np.arange(n)[:, None] + np.arange(n) + 1.0))


def invhilbert(n: int) -> Any:
    """Return the inverse of Hilbert's matrix, which has whole elements.

    >>> from jxkernel.scipy.linalg import invhilbert
    >>> invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    n = _size("invhilbert", n)
    return _floats(
        [
            [
                (-1) ** (i + j)
                * (i + j + 1)
                * comb(n + i, n - j - 1)
                * comb(n + j, n - i - 1)
                * comb(i + j, i) ** 2
                for j in range(n)
            ]
            for i in range(n)
        ]
        or np.zeros((0, 0))
    )


_KINDS = ("symmetric", "lower", "upper")


def _kind(name: str, kind: str | None) -> str:
    if kind is None:
        return "symmetric"
    if kind not in _KINDS:
        raise ValueError(f"{name} got kind={kind!r}: it is 'symmetric', 'lower' or 'upper'")
    return kind


def _binomials(n: int, signed: bool) -> Any:
    """Return the lower triangular matrix of binomial coefficients, as Python integers."""
    matrix = np.zeros((n, n), object)
    for i in range(n):
        for j in range(i + 1):
            matrix[i, j] = comb(i, j) * ((-1) ** (i + j) if signed else 1)
    return matrix


def pascal(n: int, kind: str | None = None) -> Any:
    """Return the matrix of binomial coefficients.

    Args:
      n: the size.
      kind: ``"symmetric"`` (if not given): i + j over i; ``"lower"``: i over j; ``"upper"``.

    Raises:
      ValueError: ``kind`` is unknown, or ``n`` negative.

    >>> from jxkernel.scipy.linalg import pascal
    >>> pascal(3, "lower")
    Array([[1., 0., 0.],
           [1., 1., 0.],
           [1., 2., 1.]], dtype=float32)
    """
    chosen, lower = _kind("pascal", kind), _binomials(_size("pascal", n), signed=False)
    return _floats({"symmetric": lower @ lower.T, "lower": lower, "upper": lower.T}[chosen])


def invpascal(n: int, kind: str | None = None) -> Any:
    """Return the inverse of ``pascal``, which has whole elements; arguments are the same.

    >>> from jxkernel.scipy.linalg import invpascal
    >>> invpascal(2)
    Array([[ 2., -1.],
           [-1.,  1.]], dtype=float32)
    """
    chosen, lower = _kind("invpascal", kind), _binomials(_size("invpascal", n), signed=True)
    return _floats({"symmetric": lower.T @ lower, "lower": lower, "upper": lower.T}[chosen])
