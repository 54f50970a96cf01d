"""Polynomials as vectors of coefficients, the highest power first: arithmetic, roots, fits."""

from functools import reduce
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.contractions import dot, outer
from jxkernel.numpy.convolutions import convolve
from jxkernel.numpy.creation import asarray, full_like, ones, zeros
from jxkernel.numpy.cumulative import cumsum
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.matrices import diag, vander
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    check_known,
    dtype_of,
    inexact_dtype,
    promote_dtypes,
    promote_inexact,
)
from jxkernel.numpy.rolling import roll
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import ravel
from jxkernel.numpy.sorting import argsort
from jxkernel.primitives.arguments import whole_number
from jxkernel.primitives.elementwise.arithmetic import add, mul
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.indexing.slicing import index_in_dim
from jxkernel.primitives.linalg.eig import eig
from jxkernel.primitives.linalg.eigh import svd
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.runtime import ArrayLike

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
]


def _vector(name: str, p: Any) -> Any:
    """Return coefficients as a vector.

    Raises:
      ValueError: the rank is above 1.
    """
    if argument_aval(name, p).ndim > 1:
        raise ValueError(f"{name} takes vectors of coefficients, got shape {np.shape(p)}")
    return ravel(asarray(p))


def _aligned(name: str, a1: Any, a2: Any) -> list[Any]:
    """Return polynomials of one degree and dtype, zeros put in front of those of lower degree.

    Several stand side by side, in arrays of one rank: coefficients along the first axis.
    """
    if argument_aval(name, a1).ndim != argument_aval(name, a2, 1).ndim or np.ndim(a1) < 2:
        a1, a2 = _vector(name, a1), _vector(name, a2)
    both = [asarray(p) for p in promote_dtypes(name, a1, a2)]
    size = max(p.shape[0] for p in both)
    return [
        concatenate([full_like(p, 0, shape=(size - p.shape[0], *p.shape[1:])), p]) for p in both
    ]


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Return the sum of two polynomials.

    Args:
      a1: a vector of coefficients, the highest power first; or several along further axes.
      a2: likewise.

    >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([5, 0, 1]))
    Array([5, 1, 3], dtype=int32)
    """
    first, second = _aligned("polyadd", a1, a2)
    return first + second


def polysub(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Return the difference of two polynomials.

    Args:
      a1: a vector of coefficients, the highest power first; or several along further axes.
      a2: likewise.

    >>> jnp.polysub(jnp.array([5, 0, 1]), jnp.array([1, 2]))
    Array([ 5, -1, -1], dtype=int32)
    """
    first, second = _aligned("polysub", a1, a2)
    return first - second


def _trimmed(p: Any) -> Any:
    """Return coefficients without leading zeros; their values are known now."""
    check_known("trim_leading_zeros=True", p, "leave it False")
    places = np.flatnonzero(np.asarray(stop_gradient(p)))
    return p[int(places[0]) :] if places.size else p[-1:]


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """Return the product of two polynomials.

    Args:
      a1: coefficients.
      a2: coefficients.
      trim_leading_zeros: whether to drop zeros in front of the arguments first.

    >>> jnp.polymul(jnp.array([1, 2]), jnp.array([1, 3]))
    Array([1., 5., 6.], dtype=float32)
    """
    first, second = promote_dtypes("polymul", _vector("polymul", a1), _vector("polymul", a2))
    if trim_leading_zeros and (first.size > 1 or second.size > 1):
        first, second = _trimmed(first), _trimmed(second)
    return convolve(
        first if first.size else zeros(1, first.dtype),
        second if second.size else zeros(1, second.dtype),
    )


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """Return quotient and remainder of two polynomials.

    Args:
      u: coefficients of the dividend.
      v: coefficients of the divisor.
      trim_leading_zeros: whether to drop zeros in front of the remainder.

    >>> quotient, remainder = jnp.polydiv(jnp.array([1.0, 0.0, -4.0]), jnp.array([1.0, 2.0]))
    >>> quotient.tolist(), remainder.tolist()
    ([1.0, -2.0], [0.0, 0.0, 0.0])
    """
    first, second = promote_dtypes("polydiv", _vector("polydiv", u), _vector("polydiv", v))
    weak = first.aval.weak_type
    dtype = inexact_dtype(first.dtype)
    quotient, rest = _divided(cast(first, dtype), cast(second, dtype))
    rest = cast(rest, dtype, weak)
    return quotient, _trimmed(rest) if trim_leading_zeros else rest


@fused(name="polydiv")
def _divided(u: Any, v: Any) -> tuple[Any, Any]:
    steps = u.size - v.size + 1
    if steps < 1:
        return zeros(1, u.dtype), u
    parts: list[Any] = []
    rest = u
    for place in range(steps):
        factor = rest[place] / v[0]
        parts.append(factor.reshape(1))
        rest = rest.at[place : place + v.size].add(-factor * v)
    # What the quotient has taken out is 0 by construction; rounding may say otherwise.
    return concatenate(parts), rest.at[:steps].set(0)


def polyder(p: Any, m: int = 1) -> Any:
    """Return the derivative of a polynomial.

    Args:
      p: coefficients.
      m: how often to differentiate.

    Raises:
      ValueError: ``m`` is negative.

    >>> jnp.polyder(jnp.array([3, 2, 1]))
    Array([6., 2.], dtype=float32)
    """
    order = whole_number("polyder", "m", m)
    if order < 0:
        raise ValueError(f"polyder got m={order}: it is not negative")
    p = _vector("polyder", p)
    p = cast(p, inexact_dtype(p.dtype))
    if not order:
        return p
    powers = np.arange(p.size)[::-1]
    factors = np.ones(p.size)
    for step in range(order):
        factors *= powers - step
    return p[:-order] * factors[:-order].astype(p.dtype) if order else p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return the integral of a polynomial.

    Args:
      p: coefficients.
      m: how often to integrate.
      k: the constants of integration, one or one for each time; 0 where not given.

    Raises:
      ValueError: ``m`` is negative, or there are not as many constants.

    >>> jnp.polyint(jnp.array([6, 2]), k=5)
    Array([3., 2., 5.], dtype=float32)
    """
    order = whole_number("polyint", "m", m)
    if order < 0:
        raise ValueError(f"polyint got m={order}: it is not negative")
    p = _vector("polyint", p)
    constants = zeros(order, p.dtype) if k is None else ravel(asarray(k))
    if constants.size == 1 and order != 1:
        constants = constants * ones(order, constants.dtype)
    if constants.size != order:
        raise ValueError(f"polyint got {constants.size} constants for m={order}")
    p, constants = promote_dtypes("polyint", p, constants)
    dtype = inexact_dtype(p.dtype)
    p, constants = cast(p, dtype), cast(constants, dtype)
    for step in range(order):
        divisors = np.arange(p.size, 0, -1).astype(dtype)
        p = concatenate([p / divisors, constants[step : step + 1]])
    return p


@fused(static=("unroll",), name="polyval")
def polyval(p: Any, x: Any, *, unroll: int | None = None) -> Any:
    """Return the values of a polynomial, by Horner's rule.

    A polynomial of one coefficient is this coefficient, at infinities and NaN too.

    Args:
      p: coefficients along the first axis, the highest power first; further axes broadcast with
        those of ``x``.
      x: where to evaluate.
      unroll: accepted; the rule is written out.

    >>> jnp.polyval(jnp.array([2, 0, 1]), jnp.array([0, 3]))
    Array([ 1, 19], dtype=int32)
    """
    p, x = promote_dtypes("polyval", p, x)
    if np.ndim(p) == 0:
        raise ValueError("polyval takes a vector of coefficients, got shape ()")
    shape = broadcast_shapes(np.shape(p)[1:], np.shape(x))
    x = broadcast_to_shape(x, shape)
    parts = [index_in_dim(p, place, 0, keepdims=False) for place in range(np.shape(p)[0])]
    parts = [broadcast_to_shape(part, shape) for part in parts]
    if not parts:
        return broadcast_in_dim(dtypes.dtype(p).type(0), shape, ())
    return reduce(lambda result, part: add(mul(result, x), part), parts)


# ---------------------------------------------------------------- roots and fits


@fused
def poly(seq_of_zeros: Any) -> Any:
    """Return the coefficients of the polynomial with given roots, the highest power first.

    Args:
      seq_of_zeros: the roots, a vector; or a square matrix, for its characteristic polynomial.

    Returns:
      a vector with one element more than there are roots; complex for a matrix.  The number 1
      where there are none.

    Raises:
      ValueError: it is neither a vector nor a square matrix.

    >>> import jxkernel.numpy as jnp
    >>> jnp.poly(jnp.array([1., 2.]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    aval = argument_aval("poly", seq_of_zeros)
    dtype = inexact_dtype(aval.dtype)
    zeros_of = cast(seq_of_zeros, dtype)
    if aval.ndim == 2 and aval.shape[0] == aval.shape[1]:
        zeros_of = _eigenvalues(zeros_of)
    elif aval.ndim > 1:
        raise ValueError(f"poly takes a vector or a square matrix, got shape {aval.shape}")
    zeros_of = asarray(zeros_of).reshape(-1)
    if not zeros_of.size:
        return ones((), zeros_of.dtype)
    coefficients = asarray(np.ones(1), zeros_of.dtype)
    for place in range(zeros_of.size):
        factor = concatenate([coefficients[:1] * 0 + 1, -zeros_of[place : place + 1]])
        coefficients = convolve(coefficients, factor)
    return coefficients


def _eigenvalues(matrix: Any) -> Any:
    return eig(matrix, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """Return the roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
      p: a vector of coefficients, the highest power first; or a number.
      strip_zeros: whether leading and trailing zeros are taken off first, which needs values
        known now.

    Returns:
      a complex vector, one root for each power.  Without ``strip_zeros`` it has one element less
      than there are coefficients, and NaN in place of the roots that leading zeros take away.

    Raises:
      ValueError: the coefficients have more than one axis.
      ConcretizationTypeError: several are traced and ``strip_zeros`` is True.

    Differentiable where the roots are distinct.

    >>> import jxkernel.numpy as jnp
    >>> jnp.sort(jnp.roots(jnp.array([1., -3., 2.])).real)
    Array([1., 2.], dtype=float32)
    """
    aval = argument_aval("roots", p)
    if aval.ndim > 1:
        raise ValueError(f"roots takes a vector of coefficients, got shape {aval.shape}")
    if aval.ndim == 0:
        p = asarray(p).reshape(1)
        aval = p.aval
    coefficients = cast(p, inexact_dtype(aval.dtype))
    if aval.size < 2:
        return _roots(coefficients)
    if not strip_zeros:
        return _roots_and_nan(coefficients)
    instead = "jnp.roots(p, strip_zeros=False), if the first coefficient is not 0"
    check_known("roots(strip_zeros=True)", p, instead)
    places = np.flatnonzero(np.asarray(stop_gradient(p)))
    first, last = (int(places[0]), int(places[-1]) + 1) if places.size else (0, 0)
    found = _roots(asarray(coefficients)[first:last])
    return concatenate([found, zeros(aval.shape[0] - last if places.size else 0, found.dtype)])


@fused(name="roots")
def _roots_and_nan(p: Any) -> Any:
    """Return the roots, and NaN for each leading zero.

    Leading zeros are moved to the end, where they are as many roots 0; these are put last.
    """
    leading = (cumsum(p != 0) == 0).sum()
    found = _roots(roll(p, -leading))
    found = found[argsort(found == 0)]
    return where(np.arange(found.size) < found.size - leading, found, np.nan + 1j * np.nan)


@fused(name="roots")
def _roots(p: Any) -> Any:
    dtype = dtypes.to_complex_dtype(p.dtype)
    if p.size < 2:
        return zeros(0, dtype)
    first_row = -p[1:] / p[0]
    below = diag(asarray(np.ones(p.size - 2), p.dtype), -1)
    companion = concatenate([first_row[None], below[1:]])
    # LAPACK refuses to iterate on what is not finite, so the matrix that has no roots is 0.
    finite = (companion - companion == 0).all()
    values = _eigenvalues(where(finite, companion, 0))
    return where(finite, values, np.nan + 1j * np.nan)


def polyfit(
    x: ArrayLike,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """Return the polynomial of a degree that fits points best in the sense of least squares.

    Args:
      x: a vector, where the points are.
      y: their values, a vector, or a matrix with one set of values in each column.
      deg: the degree.
      rcond: singular values of the (scaled) Vandermonde matrix below this times the greatest
        count as 0; the number of points times the dtype's precision where not given.
      full: whether to return how the fit was found as well.
      w: a weight for each point, by which its distance is multiplied.
      cov: whether to return the coefficients' covariance as well, scaled by the residuals;
        ``"unscaled"`` where weights are reciprocals of known deviations.

    Returns:
      the coefficients, the highest power first, of shape ``(deg + 1,)`` or ``(deg + 1, columns)``;
      with ``full`` a tuple of them, the sums of squared residuals, the rank, the singular values
      and ``rcond``; with ``cov`` a tuple of them and the covariance.

    Raises:
      ValueError: ``deg`` is negative, or there are too few points for a covariance.
      TypeError: shapes do not fit.

    >>> import jxkernel.numpy as jnp
    >>> jnp.polyfit(jnp.arange(4.), 2 * jnp.arange(4.) + 1, 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    order = whole_number("polyfit", "deg", deg)
    if order < 0:
        raise ValueError(f"polyfit got deg={order}: it is not negative")
    _check_points(x, y, w)
    dtype = inexact_dtype(argument_aval("polyfit", x).dtype)
    if rcond is None:
        rcond = np.shape(x)[0] * float(dtypes.finfo(dtype).eps)
    solution, residuals, rank, values, unscaled = _fit(x, y, w, rcond, order=order)
    if full:
        return solution, residuals, rank, values, rcond
    if not cov:
        return solution
    if cov != "unscaled":
        spare = np.shape(x)[0] - (order + 1)
        if spare <= 0:
            raise ValueError(
                f"polyfit(cov=True) of degree {order} needs more than {order + 1} points, got "
                f"{np.shape(x)[0]}"
            )
        unscaled = unscaled * (residuals if np.ndim(y) > 1 else residuals[0]) / spare
    return solution, unscaled


def _check_points(x: Any, y: Any, w: Any) -> None:
    """Check that places, values and weights fit each other.

    Raises:
      TypeError: they do not.
    """
    shapes = [argument_aval("polyfit", value, i).shape for i, value in enumerate((x, y))]
    if len(shapes[0]) != 1 or not shapes[0][0] or len(shapes[1]) not in (1, 2):
        raise TypeError(
            f"polyfit takes a vector x and a vector or matrix y, got shapes {shapes[0]} and "
            f"{shapes[1]}"
        )
    if shapes[0][0] != shapes[1][0]:
        raise TypeError(f"polyfit got {shapes[0][0]} places x for {shapes[1][0]} values y")
    if w is not None and np.shape(w) != shapes[0]:
        raise TypeError(f"polyfit got weights of shape {np.shape(w)} for x of shape {shapes[0]}")


@fused(static=("order",), name="polyfit")
def _fit(x: Any, y: Any, w: Any, rcond: Any, *, order: int) -> tuple[Any, ...]:
    """Return coefficients, squared residuals, rank, singular values, and the inverse of VᵀV."""
    given = (x, y) if w is None else (x, y, w)
    given = promote_inexact("polyfit", *given)
    if dtype_of(given[0]).itemsize < 4:  # singular values are found in 32 bits or more
        given = [cast(part, np.dtype(np.float32)) for part in given]
    places, values, *weighed = given
    powers = vander(places, order + 1)
    if w is not None:
        weights = weighed[0]
        powers = powers * weights[:, None]
        values = values * (weights[:, None] if values.ndim > 1 else weights)
    # Columns of length one, so that the threshold for singular values means the same for each.
    scale = ((powers * powers.conj()).real.sum(0)) ** 0.5
    scale = where(scale == 0, 1, scale)
    left, singular, right = svd(powers / scale, full_matrices=False)
    kept = singular > cast(rcond, singular.dtype) * singular[0]
    inverse = where(kept, 1 / where(kept, singular, 1), 0)
    turned = dot(left.conj().T, values if values.ndim > 1 else values[:, None])
    solution = dot(right.conj().T, inverse[:, None] * turned) / scale[:, None]
    distance = (values if values.ndim > 1 else values[:, None]) - dot(powers, solution)
    residuals = (distance * distance.conj()).real.sum(0)
    joint = right.conj().T * inverse
    unscaled = dot(joint, joint.conj().T) / outer(scale, scale)
    if values.ndim > 1:
        unscaled = unscaled[..., None]
    else:
        solution = solution[:, 0]
    return solution, residuals, kept.sum(), singular, unscaled
