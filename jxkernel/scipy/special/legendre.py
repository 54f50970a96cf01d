"""Associated Legendre functions, and the spherical harmonics that they make.

Sources: the recurrences of DLMF 14.10.3 and 14.10.5; DLMF 14.30.1.
"""

from math import pi, sqrt
from typing import Any

import numpy as np

from jxkernel import numpy as jnp
from jxkernel.errors import ShapeError
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import check_known
from jxkernel.primitives.elementwise.complex import complex as with_parts
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.special.elementwise import computed

__all__ = ["lpmn", "lpmn_values", "sph_harm_y"]


def _normalized(count: int, cosine: Any, sine: Any) -> dict[tuple[int, int], Any]:
    """Return associated Legendre functions by degree n and order m ≤ n.

    Normalized so that with exp(imφ) they are orthonormal on the sphere; the sign (-1)ᵐ included.
    """
    rows: dict[tuple[int, int], Any] = {}
    diagonal = jnp.full_like(cosine, 1 / sqrt(4 * pi))
    for m in range(count + 1):
        if m:
            diagonal = -sqrt((2 * m + 1) / (2 * m)) * sine * diagonal
        rows[m, m] = diagonal
        if m < count:
            rows[m + 1, m] = sqrt(2 * m + 3) * cosine * diagonal
        for n in range(m + 2, count + 1):
            first = sqrt((4 * n * n - 1) / (n * n - m * m))
            second = sqrt(((n - 1) ** 2 - m * m) / (4 * (n - 1) ** 2 - 1))
            rows[n, m] = first * (cosine * rows[n - 1, m] - second * rows[n - 2, m])
    return rows


def _plain(count: int, cosine: Any, sine: Any) -> dict[tuple[int, int], Any]:
    """Return associated Legendre functions by degree n and order m ≤ n, the sign included."""
    rows: dict[tuple[int, int], Any] = {}
    diagonal = jnp.ones_like(cosine)
    for m in range(count + 1):
        if m:
            diagonal = -(2 * m - 1) * sine * diagonal
        rows[m, m] = diagonal
        if m < count:
            rows[m + 1, m] = (2 * m + 1) * cosine * diagonal
        for n in range(m + 2, count + 1):
            last, before = rows[n - 1, m], rows[n - 2, m]
            rows[n, m] = ((2 * n - 1) * cosine * last - (n + m - 1) * before) / (n - m)
    return rows


def _by_order(rows: dict[tuple[int, int], Any], count: int) -> Any:
    """Return an array of functions by order and degree, with zeros where the order is greater."""
    zero = jnp.zeros_like(rows[0, 0])
    places = range(count + 1)
    return jnp.stack([jnp.stack([rows.get((n, m), zero) for n in places]) for m in places])


def _checked(name: str, m: int, n: int, z: Any) -> Any:
    """Return the places of Legendre functions as an array."""
    if m != n:
        raise NotImplementedError(f"{name} gives all orders up to the degree: write m = n = {n}")
    z = jnp.asarray(z)
    if z.dtype not in (np.float32, np.float64):
        raise TypeError(f"{name} takes float32 or float64 numbers, got dtype {z.dtype.name}")
    if z.ndim != 1:
        raise ShapeError(f"{name} takes numbers on one axis, got shape {z.shape}")
    return z


@fused(static=("count", "normalized"), name="lpmn_values")
def _values(z: Any, count: int, normalized: bool) -> Any:
    table = _normalized if normalized else _plain
    return _by_order(table(count, z, jnp.sqrt(1 - z * z)), count)


@fused(static=("count",), name="lpmn")
def _with_slopes(z: Any, count: int) -> tuple[Any, Any]:
    rows = _plain(count, z, jnp.sqrt(1 - z * z))
    below = {place: rows.get((place[0] - 1, place[1]), 0.0) for place in rows}
    slopes = {(n, m): (n * z * rows[n, m] - (n + m) * below[n, m]) / (z * z - 1) for n, m in rows}
    return _by_order(rows, count), _by_order(slopes, count)


def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Any:
    """Return associated Legendre functions Pₙᵐ(z) of all orders and degrees, the sign included.

    Args:
      m: the greatest order, which is the greatest degree.
      n: the greatest degree.
      z: the places, from -1 to 1, an array of one axis, float32 or float64.
      is_normalized: whether they are normalized as spherical harmonics are.

    Returns:
      an array of shape ``(m + 1, n + 1, len(z))``, zero where the order is above the degree.

    Raises:
      NotImplementedError: ``m`` and ``n`` differ.
      TypeError: ``z`` has another dtype.
      ValueError: ``z`` has not one axis.

    Derivatives at -1 and 1 are not finite.  Source: DLMF 14.10.3.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy import special
    >>> p = special.lpmn_values(1, 1, jnp.array([0.6]), False)
    >>> [round(x, 2) for x in p[:, 1, 0].tolist()]
    [0.6, -0.8]
    """
    return _values(_checked("lpmn_values", m, n, z), int(n), bool(is_normalized))


def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Any, Any]:
    """Return associated Legendre functions Pₙᵐ(z) of all orders and degrees, and their derivatives.

    Args:
      m: the greatest order, which is the greatest degree.
      n: the greatest degree.
      z: the places, between -1 and 1, an array of one axis, float32 or float64.

    Returns:
      two arrays of shape ``(m + 1, n + 1, len(z))``; derivatives at -1 and 1 are NaN or infinite.

    Raises:
      NotImplementedError, TypeError, ValueError: as ``lpmn_values``.

    Source: DLMF 14.10.3, 14.10.5.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy import special
    >>> special.lpmn(1, 1, jnp.array([0.6]))[1][:, 1, 0].round(2)
    Array([1.  , 0.75], dtype=float32)
    """
    return _with_slopes(_checked("lpmn", m, n, z), int(n))


# ---------------------------------------------------------------- spherical harmonics


@fused(static=("n_max",), name="sph_harm_y")
def _sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, n_max: int) -> Any:
    """Take each element's row of the table of Legendre functions, and turn it by its azimuth."""
    n, m, theta, phi = jnp.broadcast_arrays(*map(jnp.asarray, (n, m, theta, phi)))

    def compute(theta: Any, phi: Any) -> Any:
        # Beyond its range the polar angle names the same point from the other side.
        sine = jnp.sin(theta)
        sine = jnp.where((theta >= 0) & (theta <= np.pi), sine, abs(sine))
        rows = _normalized(n_max, jnp.cos(theta), sine)
        table = jnp.stack([rows[n, m] for n in range(n_max + 1) for m in range(n + 1)])
        size = abs(m)
        degree = jnp.minimum(n, n_max)
        place = jnp.clip(degree * (degree + 1) // 2 + size, 0, table.shape[0] - 1)
        value = jnp.take_along_axis(table, place[None], 0)[0]
        value = jnp.where((m < 0) & (size % 2 == 1), -value, value)
        value = jnp.where((size > n) | (n < 0), 0, value)
        return value * jnp.cos(m * phi), value * jnp.sin(m * phi)

    return with_parts(*computed("sph_harm_y", compute, theta, phi))


def sph_harm_y(
    n: Any,
    m: Any,
    theta: Any,
    phi: Any,
    diff_n: int | None = None,
    n_max: int | None = None,
) -> Any:
    """Return spherical harmonics Yₙᵐ(θ, φ), orthonormal on the sphere.

    Args:
      n: the degrees, integers ≥ 0.
      m: the orders, integers; 0 results where |m| > n.
      theta: the polar angles, from 0 to π; others by the absolute value of their sine.
      phi: the azimuths.
      diff_n: must be None: take derivatives by ``grad``.
      n_max: the greatest degree; needed where ``n`` is traced.

    Returns:
      a complex array of the arguments' common shape.

    Raises:
      NotImplementedError: ``diff_n`` is given.
      ConcretizationTypeError: ``n`` is traced and ``n_max`` not given.

    Source: the recurrence of DLMF 14.10.3, normalized.

    >>> from jxkernel.scipy import special
    >>> special.sph_harm_y(0, 0, 0.5, 0.5).real.round(4)
    Array(0.2821, dtype=float32)
    """
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y(diff_n=...): differentiate the function instead")
    if n_max is None:
        n_max = _greatest(n)
    return _sph_harm_y(n, m, theta, phi, int(n_max))


def _greatest(n: Any) -> int:
    """Return the greatest degree of a known array, for which the table is made."""
    check_known("the greatest degree n of sph_harm_y", n, "give n_max=")
    return int(np.max(n, initial=0))
