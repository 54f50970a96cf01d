"""Cosine transforms of the second type, and their inverses, over one axis or several.

Source: N. Ahmed, T. Natarajan and K. R. Rao, "Discrete cosine transform", 1974; by one Fourier
transform of the same length: J. Makhoul, "A fast cosine transform in one and two dimensions",
1980.  With v the elements at even places followed by those at odd places in reverse, V its
Fourier transform and W_k = exp(-iπk/2n) V_k, the transform is 2 Re W_k, and because v is real
-2 Im W_k is its element n - k: half of V says all.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.numpy.fft.transforms import resized
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, cast, inexact_dtype
from jxkernel.primitives.arguments import canonical_axes, whole_numbers
from jxkernel.primitives.elementwise.complex import complex as with_parts
from jxkernel.runtime import ArrayLike

__all__ = ["dct", "dctn", "idct", "idctn"]

_NORMS = (None, "backward", "ortho")


def _rotation(size: int, sign: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return exp(±iπk/2n) for the first half of the frequencies."""
    angles = np.arange(size // 2 + 1) * (np.pi / (2 * size))
    return np.exp(sign * 1j * angles).astype(np.promote_types(dtype, np.complex64))


def _lengths_of_cosines(size: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return the norms of twice the cosines that the transform multiplies by."""
    return np.sqrt(np.where(np.arange(size) == 0, 4 * size, 2 * size)).astype(dtype)


def _cosines(x: Any, norm: str | None) -> Any:
    """Transform real numbers along the last axis."""
    size = x.shape[-1]
    v = jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1)
    w = jnp.fft.rfft(v) * _rotation(size, -1, x.dtype)
    rest = w.imag[..., 1 : (size + 1) // 2][..., ::-1]
    y = 2 * jnp.concatenate([w.real, -rest], -1)
    return y / _lengths_of_cosines(size, x.dtype) if norm == "ortho" else y


def _from_cosines(y: Any, norm: str | None) -> Any:
    """Undo ``_cosines``."""
    size, half = y.shape[-1], y.shape[-1] // 2
    if norm == "ortho":
        y = y * _lengths_of_cosines(size, y.dtype)
    mirrored = jnp.concatenate([jnp.zeros_like(y[..., :1]), y[..., ::-1]], -1)[..., : half + 1]
    w = with_parts(y[..., : half + 1] if size > 1 else y, -mirrored)
    v = jnp.fft.irfft(w * (_rotation(size, 1, y.dtype) / 2), size)
    even, odd = v[..., : size - half], v[..., size - half :][..., ::-1]
    pairs = jnp.stack([even, resized(odd, odd.ndim - 1, size - half)], -1)
    return pairs.reshape(*y.shape[:-1], 2 * (size - half))[..., :size]


@fused(static=("inverse", "lengths", "axes", "norm", "name"), name="dct")
def _transformed(
    x: Any, inverse: bool, lengths: tuple[int, ...], axes: tuple[int, ...], norm: Any, name: str
) -> Any:
    x = cast(x, np.promote_types(inexact_dtype(argument_aval(name, x).dtype), np.float32))
    if x.dtype in dtypes.COMPLEX:
        parts = (
            _transformed(part, inverse, lengths, axes, norm, name) for part in (x.real, x.imag)
        )
        return with_parts(*parts)
    for axis, length in zip(axes, lengths, strict=True):
        x = resized(x, axis, length)
        if x.size:
            along = jnp.moveaxis(x, axis, -1)
            along = _from_cosines(along, norm) if inverse else _cosines(along, norm)
            x = jnp.moveaxis(along, -1, axis)
    return x


def _over(
    name: str, x: Any, type: int, s: Sequence[int] | None, axes: Sequence[int], norm: str | None
) -> Any:
    """Check the arguments of a transform over some axes, and transform."""
    aval = argument_aval(name, x)
    if type != 2:
        raise NotImplementedError(f"{name} got type={type!r}: only the second type is there")
    if norm not in _NORMS:
        raise ValueError(f'{name} got norm={norm!r}: it is None, "backward" or "ortho"')
    found = canonical_axes(name, axes, aval.ndim)
    own = tuple([aval.shape[axis] for axis in found])
    lengths = own if s is None else whole_numbers(name, "s", s)
    if len(lengths) != len(found):
        raise ValueError(f"{name} got {len(lengths)} lengths {lengths} for the axes {found}")
    if any(length < 1 for length in lengths):
        raise ValueError(f"{name} got lengths {lengths}: each must be positive; give n or s")
    return _transformed(x, name.startswith("i"), lengths, found, norm, name)


def _over_several(name: str, x: Any, type: int, s: Any, axes: Any, norm: str | None) -> Any:
    rank = argument_aval(name, x).ndim
    s = None if s is None else whole_numbers(name, "s", s)
    if axes is None:
        axes = range(rank) if s is None else range(rank - len(s), rank)
    return _over(name, x, type, s, (axes,) if isinstance(axes, int) else axes, norm)


def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """Return the discrete cosine transform along an axis: 2 Σ x_m cos(πk(2m + 1) / 2n).

    Args:
      x: an array of shape (..., m, ...); integers, and numbers of fewer than 32 bits, become
        float32.
      type: the type of the transform, which must be 2.
      n: the length of the transform; the array is cut or filled up with zeros.  m if not given.
      axis: the axis to transform.
      norm: ``"ortho"`` for an orthogonal transform; ``"backward"`` or None for the sum above.

    Returns:
      an array of shape (..., n, ...).

    Raises:
      TypeError: ``x`` is no array and no number.
      ValueError: the axis does not exist, its length or ``n`` is not positive, or ``norm`` is
        unknown.
      NotImplementedError: ``type`` is not 2.

    Linear; real and imaginary parts are transformed apart.

    >>> import jxkernel as jx
    >>> jx.scipy.fft.dct(jx.numpy.array([3.0, 1.0]), norm="ortho").round(3)
    Array([2.828, 1.414], dtype=float32)
    """
    return _over("dct", x, type, None if n is None else (n,), (axis,), norm)


def idct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """Return what ``dct`` transforms to an array; arguments and errors are the same.

    >>> import jxkernel as jx
    >>> jx.scipy.fft.idct(jx.numpy.array([8.0, 0.0]))
    Array([2., 2.], dtype=float32)
    """
    return _over("idct", x, type, None if n is None else (n,), (axis,), norm)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """Return the discrete cosine transform over several axes, along one after the other.

    Args:
      x: an array, as for ``dct``.
      type: the type of the transform, which must be 2.
      s: the lengths of the transform, one for each axis; those of the array if not given.
      axes: the axes to transform; the last ``len(s)``, or all, if not given.
      norm: as for ``dct``.

    Raises:
      ValueError: there is not one length for each axis, an axis repeats, or as ``dct``.
      NotImplementedError: ``type`` is not 2.

    Linear, as ``dct``.

    >>> import jxkernel as jx
    >>> jx.scipy.fft.dctn(jx.numpy.ones((2, 2)))[0, 0]
    Array(16., dtype=float32)
    """
    return _over_several("dctn", x, type, s, axes, norm)


def idctn(
    x: Any,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """Return what ``dctn`` transforms to an array; arguments and errors are the same.

    >>> import jxkernel as jx
    >>> jx.scipy.fft.idctn(jx.numpy.array([[16.0, 0.0]]))
    Array([[2., 2.]], dtype=float32)
    """
    return _over_several("idctn", x, type, s, axes, norm)
