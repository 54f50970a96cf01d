"""Convolution and correlation in any number of dimensions, directly or by Fourier transforms."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, promote_inexact
from jxkernel.primitives.arguments import canonical_axes, whole_numbers
from jxkernel.primitives.conv.variants import conv_general_dilated
from jxkernel.runtime import ArrayLike

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

_MODES = ("full", "same", "valid")


def _checked(name: str, in1: Any, in2: Any, mode: str) -> None:
    """Refuse operands of different ranks, empty ones, and unknown modes."""
    shapes = _shapes(name, in1, in2, mode)
    if 0 in shapes[0] + shapes[1]:
        raise ValueError(f"{name} takes operands that are not empty, got {shapes[0]}, {shapes[1]}")
    if mode == "valid":
        pairs = list(zip(*shapes, strict=True))
        if not (all(a >= b for a, b in pairs) or all(a <= b for a, b in pairs)):
            raise ValueError(
                f"{name}(mode='valid') needs one operand to be at least as large as the other "
                f"along every axis, got shapes {shapes[0]} and {shapes[1]}"
            )


def _shapes(name: str, in1: Any, in2: Any, mode: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of operands of one rank."""
    if mode not in _MODES:
        raise ValueError(f"{name} got mode={mode!r}: there are {', '.join(map(repr, _MODES))}")
    shapes = argument_aval(name, in1).shape, argument_aval(name, in2, 1).shape
    if len(shapes[0]) != len(shapes[1]):
        raise ValueError(
            f"{name} takes operands of the same number of dimensions, got shapes {shapes[0]} and "
            f"{shapes[1]}"
        )
    return shapes


def _cut(full: Any, first: Sequence[int], second: Sequence[int], mode: str) -> Any:
    """Return the part of the full result that a mode asks for."""
    if mode == "full":
        return full
    bounds: list[slice] = []
    for n, m in zip(first, second, strict=True):
        start, size = ((m - 1) // 2, n) if mode == "same" else (min(n, m) - 1, abs(n - m) + 1)
        bounds.append(slice(start, start + size))
    return full[tuple(bounds)]


def _direct(name: str, in1: Any, in2: Any, mode: str, precision: Any) -> Any:
    in1, in2 = map(jnp.asarray, promote_inexact(name, in1, in2))
    if not in1.ndim:
        return in1 * in2
    padding = [(size - 1, size - 1) for size in in2.shape]
    strides = [1] * in1.ndim
    flipped = jnp.flip(in2)
    full = conv_general_dilated(
        in1[None, None], flipped[None, None], strides, padding, precision=precision
    )
    return _cut(full[0, 0], in1.shape, in2.shape, mode)


@fused(static=("name", "mode", "precision"), name="convolve")
def _convolved(in1: Any, in2: Any, name: str, mode: str, precision: Any) -> Any:
    return _direct(name, in1, in2, mode, precision)


@fused(static=("name", "mode", "precision"), name="correlate")
def _correlated(in1: Any, in2: Any, name: str, mode: str, precision: Any) -> Any:
    """Convolve with the second operand reversed and conjugated."""
    return _direct(name, in1, jnp.conj(jnp.flip(jnp.asarray(in2))), mode, precision)


def _by_method(name: str, method: str) -> bool:
    """Return whether a method is that by Fourier transforms."""
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"{name} got method={method!r}: there are 'auto', 'direct' and 'fft'")
    return method == "fft"


def convolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """Return the convolution of two arrays.

    Args:
      in1: an array of a number dtype; integers become floating, and of two dtypes both are
        promoted.
      in2: another, of the same rank.
      mode: ``"full"``, ``"same"`` for the middle of ``in1``'s shape, or ``"valid"`` for what does
        not depend on zeros beyond the ends.
      method: ``"direct"`` (what ``"auto"`` means) or ``"fft"``.
      precision: that of the products, as for ``lax.dot``.

    Raises:
      ValueError: ranks differ, an operand is empty, there is no such mode or method, or in mode
        ``"valid"`` neither operand contains the other.
      TypeError: an operand is no array and no number.

    Along an axis of m and n elements the full result has m + n - 1, the valid one
    max(m, n) - min(m, n) + 1.  Element k is Σ in1[i] in2[k - i].  Linear in each operand.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.signal.convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0]))
    Array([1., 3., 2.], dtype=float32)
    """
    _checked("convolve", in1, in2, mode)
    if _by_method("convolve", method):
        return fftconvolve(in1, in2, mode)
    return _convolved(in1, in2, "convolve", mode, precision)


def correlate(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """Return the cross-correlation of two arrays: in1 convolved with in2 reversed, conjugated.

    Args:
      in1: an array; integers become floating.
      in2: another, of the same rank.
      mode: as for ``convolve``.
      method: as for ``convolve``.
      precision: that of the products.

    Raises:
      ValueError, TypeError: as for ``convolve``.

    Element k of the full result is Σ in1[i + k - (n - 1)] conj(in2[i]), where in2 has n elements.
    Shapes and dtypes are those of ``convolve``.  Linear in ``in1`` and in the conjugate of ``in2``.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.signal.correlate(jnp.array([1.0, 2.0]), jnp.array([0.0, 1.0]))
    Array([1., 2., 0.], dtype=float32)
    """
    _checked("correlate", in1, in2, mode)
    if _by_method("correlate", method):
        return fftconvolve(in1, jnp.conj(jnp.flip(jnp.asarray(in2))), mode)
    return _correlated(in1, in2, "correlate", mode, precision)


def _checked_plane(name: str, in1: Any, in2: Any, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            f"{name}(boundary={boundary!r}, fillvalue={fillvalue!r}): there is 'fill' with 0; "
            "pad in1 by jnp.pad and ask for mode='valid'"
        )
    ranks = argument_aval(name, in1).ndim, argument_aval(name, in2, 1).ndim
    if ranks != (2, 2):
        raise ValueError(f"{name} takes matrices, got arrays of rank {ranks[0]} and {ranks[1]}")


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """Return the convolution of two matrices.

    Args:
      in1: a matrix; integers become floating.
      in2: another.
      mode: as for ``convolve``.
      boundary: must be ``"fill"``.
      fillvalue: must be 0.
      precision: that of the products.

    Raises:
      NotImplementedError: another boundary.
      ValueError: as for ``convolve``, or an operand is no matrix.

    Shapes and dtypes are those of ``convolve``.  Linear in each operand.

    >>> import jxkernel as jx
    >>> jx.scipy.signal.convolve2d(jx.numpy.ones((2, 2)), jx.numpy.ones((1, 2)), "valid")
    Array([[2.],
           [2.]], dtype=float32)
    """
    _checked_plane("convolve2d", in1, in2, boundary, fillvalue)
    _checked("convolve2d", in1, in2, mode)
    return _convolved(in1, in2, "convolve2d", mode, precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: Any = None,
) -> Any:
    """Return the cross-correlation of two matrices; arguments are those of ``convolve2d``.

    Args:
      in1: a matrix; integers become floating.
      in2: another.
      mode: as for ``convolve``.
      boundary: must be ``"fill"``.
      fillvalue: must be 0.
      precision: that of the products.

    Raises:
      NotImplementedError: another boundary.
      ValueError: as for ``convolve2d``.

    Shapes and dtypes are those of ``convolve``.  Linear in ``in1`` and in the conjugate of ``in2``.

    >>> import jxkernel as jx
    >>> jx.scipy.signal.correlate2d(jx.numpy.ones((2, 2)), jx.numpy.ones((1, 2)), "valid")
    Array([[2.],
           [2.]], dtype=float32)
    """
    _checked_plane("correlate2d", in1, in2, boundary, fillvalue)
    _checked("correlate2d", in1, in2, mode)
    full = _correlated(in1, in2, "correlate2d", "full" if mode == "same" else mode, precision)
    if mode != "same":
        return full
    # The middle is that of in2 as it is, not reversed: beside an even size one further on.
    starts = [size // 2 for size in np.shape(in2)]
    sizes = np.shape(in1)
    return full[tuple(slice(i, i + n) for i, n in zip(starts, sizes, strict=True))]


@fused(static=("mode", "axes"), name="fftconvolve")
def _transformed(in1: Any, in2: Any, mode: str, axes: tuple[int, ...]) -> Any:
    in1, in2 = map(jnp.asarray, promote_inexact("fftconvolve", in1, in2))
    sizes = tuple(in1.shape[axis] + in2.shape[axis] - 1 for axis in axes)
    if in1.dtype in dtypes.COMPLEX:
        forward, backward = jnp.fft.fftn, jnp.fft.ifftn
    else:
        forward, backward = jnp.fft.rfftn, jnp.fft.irfftn
    full = backward(forward(in1, sizes, axes) * forward(in2, sizes, axes), sizes, axes)
    first = [n if i in axes else full.shape[i] for i, n in enumerate(in1.shape)]
    second = [n if i in axes else 1 for i, n in enumerate(in2.shape)]
    return _cut(full, first, second, mode).astype(in1.dtype)


def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Any = None) -> Any:
    """Return the convolution of two arrays by Fourier transforms.

    Args:
      in1: an array; integers become floating.
      in2: another, of the same rank.
      mode: as for ``convolve``.
      axes: the axes to convolve along, all where not given; along others the arrays broadcast.

    Raises:
      ValueError: as for ``convolve``; an operand may be empty, and then so is the result.

    Shapes and dtypes are those of ``convolve``; the rounding error is relative to the greatest
    element of the result.  Linear in each operand.  Source: the convolution theorem.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.signal.fftconvolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0])).shape
    (3,)
    """
    rank = argument_aval("fftconvolve", in1).ndim
    if 0 in sum(_shapes("fftconvolve", in1, in2, mode), ()):
        return jnp.zeros(0, promote_inexact("fftconvolve", in1, in2)[0].dtype)
    if axes is None:
        _checked("fftconvolve", in1, in2, mode)
        along = tuple(range(rank))
    else:
        _checked("fftconvolve", in1, in2, mode if mode != "valid" else "same")
        listed = whole_numbers("fftconvolve", "axes", axes)
        along = canonical_axes("fftconvolve", listed, rank)
    if not along:
        return jnp.multiply(*promote_inexact("fftconvolve", in1, in2))
    return _transformed(in1, in2, mode, along)
