"""The transforms: complex, real to half-complex and back, over one axis, two or several.

``norm`` says where the factor 1/n is: ``"backward"`` in inverse transforms, ``"forward"`` in
forward ones, ``"ortho"`` its square root in both.  All are linear (those of a conjugated operand
over the real numbers).  Numbers of fewer than 32 bits are transformed in 32.
"""

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import counted
from jxkernel.numpy.creation import asarray, zeros
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.mathematics import conj
from jxkernel.numpy.promotion import argument_aval, cast, inexact_dtype
from jxkernel.numpy.shapes import moveaxis
from jxkernel.primitives.arguments import canonical_axes, whole_number, whole_numbers
from jxkernel.primitives.fft import FftType
from jxkernel.primitives.fft import fft as transform
from jxkernel.primitives.indexing.slicing import pad, slice_in_dim
from jxkernel.primitives.linalg.lapack import real_dtype
from jxkernel.runtime import ArrayLike

__all__ = [
    "fft",
    "fft2",
    "fftn",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "resized",
    "rfft",
    "rfft2",
    "rfftn",
]

_INVERSE = (FftType.IFFT, FftType.IRFFT)
_NORMS = (None, "backward", "ortho", "forward")
_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
_AT_ONCE = 3
"""How many axes the primitive transforms in one application."""


def resized(x: Any, axis: int, size: int) -> Any:
    """Return an array cut, or filled up with zeros, along an axis."""
    own = np.shape(x)[axis]
    if own > size:
        return slice_in_dim(x, 0, size, axis=axis)
    if own == size:
        return x
    config = [(0, 0, 0)] * np.ndim(x)
    config[axis] = (0, size - own, 0)
    return pad(x, x.dtype.type(0), config)


def _over_last_axes(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    """Transform the last axes, at most three at once; the last of all is the special one."""
    rank, count = np.ndim(x), len(lengths)
    first, last = lengths[:-_AT_ONCE], lengths[-_AT_ONCE:]
    if kind in (FftType.FFT, FftType.RFFT):
        x = transform(x, kind, last)
        plain = FftType.FFT
    else:
        plain = FftType.IFFT
    for position, length in enumerate(first, rank - count):
        x = moveaxis(transform(moveaxis(x, position, -1), plain, (length,)), -1, position)
    return transform(x, kind, last) if kind in _INVERSE else x


def _scale(kind: FftType, lengths: tuple[int, ...], norm: str | None) -> float:
    """Return the factor beside that of the primitive, whose inverses are divided by n."""
    total = prod(lengths)
    backward = 1.0 if norm in (None, "backward") else float(total)
    root = sqrt(total) if norm == "ortho" else backward
    return root if kind in _INVERSE else 1 / root


@fused(static=("kind", "lengths", "axes", "norm", "name"), name="fft")
def _transformed(
    a: Any, kind: FftType, lengths: tuple[int, ...], axes: tuple[int, ...], norm: Any, name: str
) -> Any:
    dtype = np.promote_types(inexact_dtype(argument_aval(name, a).dtype), np.float32)
    wide = dtype if kind is FftType.RFFT else np.promote_types(dtype, np.complex64)
    x = cast(a, wide)
    if not axes:
        return x
    sizes = list(lengths)
    if kind is FftType.IRFFT:
        sizes[-1] = lengths[-1] // 2 + 1
    for axis, size in zip(axes, sizes, strict=True):
        x = resized(x, axis, size)
    last = tuple(range(-len(axes), 0))
    y = _over_last_axes(moveaxis(x, axes, last), kind, lengths)
    scale = _scale(kind, lengths, norm)
    y = moveaxis(y, last, axes)
    return y if scale == 1 else y * y.dtype.type(scale)


def _default_lengths(shape: tuple[int, ...], axes: tuple[int, ...], kind: FftType) -> list[int]:
    lengths = [shape[axis] for axis in axes]
    if kind is FftType.IRFFT and lengths:
        lengths[-1] = max(2 * (lengths[-1] - 1), 0)
    return lengths


def _checked(
    name: str, a: Any, s: Sequence[int] | None, axes: Sequence[int] | None, kind: FftType
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the lengths and axes of a transform."""
    aval = argument_aval(name, a)
    s = None if s is None else whole_numbers(name, "s", s)
    if axes is None:
        axes = range(aval.ndim) if s is None else range(aval.ndim - len(s), aval.ndim)
    found = canonical_axes(name, axes, aval.ndim)
    if kind is FftType.RFFT and aval.dtype in dtypes.COMPLEX:
        raise ValueError(
            f"{name} takes real numbers, got dtype {aval.dtype.name}: use "
            f"{name.replace('ihfft', 'fft').replace('rfft', 'fft')}, or the real part"
        )
    if s is None:
        return tuple(_default_lengths(aval.shape, found, kind)), found
    if len(s) != len(found):
        raise ValueError(
            f"{name} got {counted(len(s), 'length')} s={s} for "
            f"{counted(len(found), 'axis')} {found}"
        )
    if any(length < 1 for length in s):
        raise ValueError(f"{name} got lengths {s}: each must be positive")
    return s, found


def _several(
    name: str, a: Any, s: Sequence[int] | None, axes: Sequence[int] | None, norm: Any, kind: FftType
) -> Any:
    lengths, found = _checked(name, a, s, axes, kind)
    if isinstance(norm, list) or norm not in _NORMS:
        raise ValueError(f'{name} got norm={norm!r}: it is "backward", "ortho" or "forward"')
    if 0 in lengths:
        return _nothing(a, lengths, found, kind, name)
    return _transformed(a, kind, lengths, found, norm, name)


def _nothing(
    a: Any, lengths: tuple[int, ...], axes: tuple[int, ...], kind: FftType, name: str
) -> Any:
    """Return the transform of an array without elements along one of the axes."""
    aval = argument_aval(name, a)
    shape = list(aval.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    if kind is FftType.RFFT:
        shape[axes[-1]] = lengths[-1] // 2 + 1
    dtype = np.promote_types(inexact_dtype(aval.dtype), np.complex64)
    return zeros(shape, real_dtype(dtype) if kind is FftType.IRFFT else dtype)


def _along(name: str, a: Any, n: int | None, axis: int, norm: Any, kind: FftType) -> Any:
    if isinstance(axis, Sequence):
        raise ValueError(f"{name} transforms one axis, got axis={axis}: use {name}n")
    lengths = None if n is None else (whole_number(name, "n", n),)
    return _several(name, a, lengths, (axis,), norm, kind)


def _planar(
    name: str, a: Any, s: Sequence[int] | None, axes: Sequence[int], norm: Any, kind: FftType
) -> Any:
    axes = whole_numbers(name, "axes", axes)
    if len(axes) != 2:
        raise ValueError(f"{name} transforms two axes, got axes={axes}")
    return _several(name, a, s, axes, norm, kind)


# ---------------------------------------------------------------- one axis


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the discrete Fourier transform along an axis.

    Args:
      a: an array, of shape (..., m, ...).
      n: the length of the transform; the array is cut or filled up with zeros.  m if not given.
      axis: the axis to transform.
      norm: ``"backward"`` (the default), ``"ortho"`` or ``"forward"``.

    Returns:
      a complex array of shape (..., n, ...).

    Raises:
      TypeError: ``a`` is no array and no number.
      ValueError: the axis does not exist, ``n`` is not positive, or ``norm`` is unknown.

    Linear.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.fft(jnp.array([1.0, 0.0, 0.0]))
    Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _along("fft", a, n, axis, norm, FftType.FFT)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the inverse of ``fft`` along an axis; arguments and errors are the same.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.ifft(jnp.array([3.0, 0.0, 0.0]))
    Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _along("ifft", a, n, axis, norm, FftType.IFFT)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the first half of the transform of real numbers along an axis.

    Args:
      a: a real array.
      n: the length of the transform; that of the axis if not given.
      axis: the axis to transform.
      norm: as for ``fft``.

    Returns:
      a complex array with n // 2 + 1 elements along the axis; the others are their conjugates.

    Raises:
      ValueError: ``a`` is complex, or as ``fft``.

    Linear.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.rfft(jnp.array([1.0, 2.0, 3.0]))[0]
    Array(6.+0.j, dtype=complex64)
    """
    return _along("rfft", a, n, axis, norm, FftType.RFFT)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the real numbers whose ``rfft`` is given.

    Args:
      a: an array of m elements along the axis, the first half of a transform.
      n: the length of the result; 2 (m - 1) if not given, so give it where it is odd.
      axis: the axis to transform.
      norm: as for ``fft``.

    Raises:
      ValueError: as ``fft``.

    Linear over the real numbers: imaginary parts at frequency 0, and at n / 2, do not count.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.irfft(jnp.array([4.0, 0.0, 0.0]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    return _along("irfft", a, n, axis, norm, FftType.IRFFT)


def _swapped(norm: Any) -> Any:
    """Return what a norm is called for the inverse transform; what is none is left as it is."""
    return _SWAPPED.get(norm, norm) if norm is None or isinstance(norm, str) else norm


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return the real transform of a signal with Hermitian symmetry, of which half is given.

    Args:
      a: an array of m elements along the axis.
      n: the length of the result; 2 (m - 1) if not given.
      axis: the axis to transform.
      norm: as for ``fft``: this is a forward transform.

    Raises:
      ValueError: as ``fft``.

    Linear over the real numbers.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.hfft(jnp.array([1.0, 0.0, 0.0]))
    Array([1., 1., 1., 1.], dtype=float32)
    """
    argument_aval("hfft", a)
    return _along("hfft", conj(a), n, axis, _swapped(norm), FftType.IRFFT)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Return half of the Hermitian signal whose ``hfft`` is given; arguments as ``rfft``.

    A list of numbers is taken too.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.ihfft(jnp.array([3.0, 0.0, 0.0]))
    Array([1.-0.j, 1.-0.j], dtype=complex64)
    """
    return conj(_along("ihfft", asarray(a), n, axis, _swapped(norm), FftType.RFFT))


# ---------------------------------------------------------------- two axes


def fft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Any:
    """Return the transform over two axes; see ``fftn``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.fft2(jnp.ones((2, 2)))[0, 0]
    Array(4.+0.j, dtype=complex64)
    """
    return _planar("fft2", a, s, axes, norm, FftType.FFT)


def ifft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Any:
    """Return the inverse transform over two axes; see ``fftn``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.ifft2(jnp.ones((2, 2)))[0, 0]
    Array(1.+0.j, dtype=complex64)
    """
    return _planar("ifft2", a, s, axes, norm, FftType.IFFT)


def rfft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Any:
    """Return half of the transform of real numbers over two axes; see ``rfftn``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.rfft2(jnp.ones((4, 4))).shape
    (4, 3)
    """
    return _planar("rfft2", a, s, axes, norm, FftType.RFFT)


def irfft2(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Any:
    """Return the inverse of ``rfft2``; see ``irfftn``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.irfft2(jnp.ones((4, 3))).shape
    (4, 4)
    """
    return _planar("irfft2", a, s, axes, norm, FftType.IRFFT)


# ---------------------------------------------------------------- several axes


def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """Return the discrete Fourier transform over several axes.

    Args:
      a: an array.
      s: the length along each axis, to which the array is cut or filled up with zeros; the
        array's own if not given.
      axes: the axes; all if not given, or as many of the last ones as ``s`` is long.
      norm: ``"backward"`` (the default), ``"ortho"`` or ``"forward"``.

    Raises:
      TypeError: ``a`` is no array and no number.
      ValueError: an axis does not exist or is named twice, a length is not positive, there are
        not as many lengths as axes, or ``norm`` is unknown.

    Linear.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.fftn(jnp.ones((2, 2, 2)))[0, 0, 0]
    Array(8.+0.j, dtype=complex64)
    """
    return _several("fftn", a, s, axes, norm, FftType.FFT)


def ifftn(
    a: Any,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """Return the inverse of ``fftn``; arguments and errors are the same.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.ifftn(jnp.ones((2, 2, 2)))[0, 0, 0]
    Array(1.+0.j, dtype=complex64)
    """
    return _several("ifftn", a, s, axes, norm, FftType.IFFT)


def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """Return half of the transform of real numbers over several axes.

    Args:
      a: a real array.
      s: the length along each axis; see ``fftn``.
      axes: the axes; the last of them is the one that is halved.
      norm: as for ``fftn``.

    Raises:
      ValueError: ``a`` is complex, there is no axis, or as ``fftn``.

    Linear.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.rfftn(jnp.ones((2, 2, 4))).shape
    (2, 2, 3)
    """
    return _several("rfftn", a, s, axes, norm, FftType.RFFT)


def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Any:
    """Return the inverse of ``rfftn``; the last length is 2 (m - 1) if ``s`` is not given.

    Args:
      a: an array, the first half of a transform along the last of the axes.
      s: the length of the result along each axis.
      axes: as for ``rfftn``.
      norm: as for ``fftn``.

    Raises:
      ValueError: as ``rfftn``.

    Linear over the real numbers.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.irfftn(jnp.ones((2, 2, 3))).shape
    (2, 2, 4)
    """
    return _several("irfftn", a, s, axes, norm, FftType.IRFFT)
