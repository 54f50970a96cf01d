"""Resampling: each axis is multiplied by a matrix of weights, made by a kernel of the distance.

Samples lie at the middles of cells of width 1.  Sources: R. Keys, "Cubic convolution
interpolation for digital image processing", 1981; C. Duchon, "Lanczos filtering in one and two
dimensions", 1979.
"""

import enum
from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from jxkernel.numpy.contractions import tensordot
from jxkernel.numpy.creation import canonical_shape
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.mathematics import sinc
from jxkernel.numpy.promotion import argument_aval, cast, inexact_dtype, promote_inexact
from jxkernel.numpy.reductions import sum as total
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import moveaxis
from jxkernel.numpy.taking import take
from jxkernel.primitives.arguments import canonical_axes
from jxkernel.primitives.contraction.precision import Precision
from jxkernel.primitives.elementwise.arithmetic import max as greater
from jxkernel.runtime import ArrayLike

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """Kernels by which new samples are made of old ones."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> "ResizeMethod":
        """Return the method of a name, such as ``"linear"`` or ``"bicubic"``.

        Raises:
          ValueError: there is none.
        """
        if s not in _NAMES:
            raise ValueError(f"unknown resize method {s!r}: there are {', '.join(_NAMES)}")
        return _NAMES[s]


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}


def _triangle(x: Any) -> Any:
    return greater(x.dtype.type(0), 1 - x)


def _lanczos(radius: int) -> Callable[[Any], Any]:
    return lambda x: where(x < radius, sinc(x) * sinc(x / radius), 0)


def _cubic(a: float) -> Callable[[Any], Any]:
    """Return the piecewise cubic kernel of slope ``a`` at 1."""

    def kernel(x: Any) -> Any:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((x - 5) * x + 8) * (a * x) - 4 * a
        return where(x < 1, near, where(x < 2, far, 0))

    return kernel


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.5),
}


def _positions(size: int, scale: Any, translation: Any, dtype: Any) -> Any:
    """Return where the middles of new cells lie among the old ones, whose middles are 0, 1 ..."""
    middles = np.arange(size).astype(dtype) + dtype.type(0.5)
    return (middles - translation) / scale - dtype.type(0.5)


def _weights(
    before: int, after: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool
) -> Any:
    """Return the matrix (before, after) of the share of each old sample in each new one."""
    dtype = scale.dtype
    places = _positions(after, scale, translation, dtype)
    old = np.arange(before).astype(dtype)[:, None]
    if method is ResizeMethod.AREA:
        half = 0.5 / scale
        low, high = places - half, places + half
        overlap = _least(old + 0.5, high) - _greatest(old - 0.5, low)
        shares = greater(dtype.type(0), overlap)
    else:
        width = greater(dtype.type(1), 1 / scale) if antialias else dtype.type(1)
        if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
            return _with_repeated_borders(before, places)
        shares = _KERNELS[method](abs(places[None, :] - old) / width)
    sums = total(shares, axis=0, keepdims=True)
    enough = abs(sums) > 1000 * float(np.finfo(np.float32).eps)
    shares = where(enough, shares / where(enough, sums, 1), 0)
    inside = (places >= -0.5) & (places <= before - 0.5)
    return where(inside[None, :], shares, 0)


def _with_repeated_borders(before: int, places: Any) -> Any:
    """Return weights of the steeper cubic, samples beyond a border counting as those at it."""
    reach = 2
    old = np.arange(-reach, before + reach).astype(places.dtype)[:, None]
    shares = _cubic(-0.75)(abs(places[None, :] - old))
    owner = np.clip(np.arange(-reach, before + reach), 0, before - 1)
    folding = (owner == np.arange(before)[:, None]).astype(places.dtype)
    return tensordot(folding, shares, 1, precision=Precision.HIGHEST)


def _least(x: Any, y: Any) -> Any:
    return where(x < y, x, y)


def _greatest(x: Any, y: Any) -> Any:
    return where(x > y, x, y)


def _applied(image: Any, weights: Any, axis: int, precision: Any) -> Any:
    product = tensordot(image, cast(weights, image.dtype), ((axis,), (0,)), precision=precision)
    return moveaxis(product, -1, axis)


@fused(static=("shape", "axes", "method", "antialias", "precision"), name="scale_and_translate")
def _resampled(
    image: Any,
    scale: Any,
    translation: Any,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Any:
    dtype = inexact_dtype(argument_aval("resize", image).dtype)
    x = cast(image, dtype)
    part = _weights_dtype(image)
    scales, shifts = cast(scale, part), cast(translation, part)
    for i, axis in enumerate(axes):
        given = (np.shape(x)[axis], shape[axis], scales[i], shifts[i])
        x = _applied(x, _weights(*given, method, antialias), axis, precision)
    return x


def _weights_dtype(image: Any) -> Any:
    """Return the real dtype to compute weights in: that of the image, or float32."""
    dtype = inexact_dtype(argument_aval("resize", image).dtype)
    return np.promote_types(np.zeros((), dtype).real.dtype, np.float32)


@fused(static=("shape", "axes"), name="resize")
def _nearest(image: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    for axis in axes:
        before, after = np.shape(image)[axis], shape[axis]
        places = np.floor((np.arange(after) + 0.5) * (before / max(after, 1))).astype(np.int32)
        image = take(image, np.clip(places, 0, before - 1), axis)
    return image


def _method(method: str | ResizeMethod) -> ResizeMethod:
    return method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)


def _checked(name: str, image: Any, shape: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the image's shape and the one wanted."""
    own, wanted = argument_aval(name, image).shape, canonical_shape(shape, name)
    if len(own) != len(wanted):
        raise ValueError(f"{name} got shape={wanted} for an image of shape {own}: as many axes")
    return own, wanted


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """Return an image of another shape.

    Args:
      image: an array, its axes in any order: those whose size does not change stay as they are.
      shape: the result's shape.
      method: the kernel: ``"nearest"``, ``"linear"`` (``"bilinear"``, ``"trilinear"``,
        ``"triangle"``), ``"cubic"`` (``"bicubic"``, ``"tricubic"``), ``"cubic-pytorch"``
        (``"bicubic-pytorch"``), ``"lanczos3"``, ``"lanczos5"``, ``"area"``, or a ``ResizeMethod``.
      antialias: whether the kernel is widened where the image becomes smaller.
      precision: how precisely to multiply.

    Returns:
      an array of the dtype of ``image``, floating except for ``"nearest"``.

    Raises:
      TypeError: ``image`` is no array.
      ValueError: the method is unknown, the numbers of axes differ, or an empty axis shall grow.

    Linear in ``image``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import image
    >>> image.resize(jnp.array([0.0, 2.0]), (4,), "linear")
    Array([0. , 0.5, 1.5, 2. ], dtype=float32)
    """
    chosen = _method(method)
    own, wanted = _checked("resize", image, shape)
    axes = tuple(i for i, (a, b) in enumerate(zip(own, wanted, strict=True)) if a != b)
    if any(own[axis] == 0 for axis in axes):
        raise ValueError(f"resize got an image of shape {own}: an empty axis has nothing to grow")
    if chosen is ResizeMethod.NEAREST:
        return _nearest(image, wanted, axes)
    if not axes:
        return promote_inexact("resize", image)[0]
    part = _weights_dtype(image)
    scale = np.array([wanted[axis] / own[axis] for axis in axes], part)
    # An empty result needs no samples, and a scale that is not 0.
    scale = np.where(scale == 0, 1, scale).astype(part)
    shift = np.zeros(len(axes), part)
    return _resampled(image, scale, shift, wanted, axes, chosen, bool(antialias), precision)


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """Return an image scaled and then moved, cut out to a shape.

    A point at x along an axis moves to x · scale + translation.

    Args:
      image: an array.
      shape: the result's shape.
      spatial_dims: the axes to resample; the others keep their size.
      scale: a number for each of them.
      translation: a number for each of them.
      method: the kernel; see ``resize``.  ``"nearest"`` is not one.
      antialias: whether the kernel is widened where the scale is below 1.
      precision: how precisely to multiply.

    Returns:
      a floating array, 0 where no old sample is near.

    Raises:
      TypeError: ``image`` is no array.
      ValueError: the method is unknown, or the sizes do not fit.

    Linear in ``image``; differentiable in ``scale`` and ``translation``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import image
    >>> image.scale_and_translate(
    ...     jnp.array([1.0, 2.0]), (3,), (0,), jnp.ones(1), jnp.ones(1), "linear")
    Array([0., 1., 2.], dtype=float32)
    """
    name = "scale_and_translate"
    chosen = _method(method)
    if chosen is ResizeMethod.NEAREST:
        raise ValueError(f"{name} has no method 'nearest': it has no derivative; use resize")
    own, wanted = _checked(name, image, shape)
    axes = canonical_axes(name, map(index, spatial_dims), len(own))
    for argument, value in (("scale", scale), ("translation", translation)):
        found = argument_aval(name, value).shape
        if found != (len(axes),):
            raise ValueError(f"{name} takes a {argument} for each of {len(axes)} axes, got {found}")
    for axis, (before, after) in enumerate(zip(own, wanted, strict=True)):
        if axis not in axes and before != after:
            raise ValueError(
                f"{name} got shape={wanted} for an image of shape {own}: axis {axis} is none of "
                f"spatial_dims and keeps its size"
            )
    return _resampled(image, scale, translation, wanted, axes, chosen, bool(antialias), precision)
