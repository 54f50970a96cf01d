"""Sample frequencies of transforms, and their order."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import asarray, placed, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, broadcast_to_shape, cast
from jxkernel.numpy.rolling import roll
from jxkernel.primitives.arguments import canonical_axes, listed, whole_number
from jxkernel.primitives.elementwise.arithmetic import div
from jxkernel.runtime import ArrayLike

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


@fused(static=("count", "first", "n", "dtype"), name="fftfreq")
def _frequencies(d: Any, count: int, first: int, n: int, dtype: Any) -> Any:
    cycles = np.arange(first, first + count)
    cycles = np.roll(cycles, first) if first else cycles
    width = broadcast_to_shape(cast(d, dtype) * np.asarray(n, dtype), (count,))
    return div(cycles.astype(dtype), width)


def _sampled(name: str, n: Any, d: Any, dtype: Any, device: Any, half: bool) -> Any:
    n = whole_number(name, "n", n)
    if n < 0:
        raise ValueError(f"{name} got n={n}: a number of samples is not negative")
    spacing = argument_aval(name, d, 1)
    if spacing.ndim:
        raise ValueError(f"{name} takes one sample spacing d, got shape {spacing.shape}")
    found = user_dtype(dtype, name) or dtypes.default_float_dtype()
    count, first = (n // 2 + 1, 0) if half else (n, -(n // 2))
    return placed(name, _frequencies(d, count if n else 0, first, n, found), device)


def fftfreq(n: int, d: Any = 1.0, *, dtype: DTypeLike = None, device: Any = None) -> Any:
    """Return the frequencies of the elements of a complex transform, in its order.

    Args:
      n: the length of the transform.
      d: the distance between samples; frequencies are in cycles per its unit.
      dtype: the default float dtype where not given.
      device: a device to commit the result to.

    Raises:
      ValueError: ``n`` is negative, or ``d`` is not one number.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    return _sampled("fftfreq", n, d, dtype, device, half=False)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: DTypeLike = None, device: Any = None) -> Any:
    """Return the frequencies of the elements of a real transform; arguments as ``fftfreq``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.rfftfreq(4)
    Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    return _sampled("rfftfreq", n, d, dtype, device, half=True)


def _rolled(name: str, x: Any, axes: int | Sequence[int] | None, back: bool) -> Any:
    aval = argument_aval(name, x)
    found = canonical_axes(name, range(aval.ndim) if axes is None else listed(axes), aval.ndim)
    if not found:
        return asarray(x)
    return roll(x, [-(-aval.shape[a] // 2) if back else aval.shape[a] // 2 for a in found], found)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Any:
    """Return a transform with the frequency 0 moved to the middle.

    Args:
      x: an array of any dtype.
      axes: the axes to move along; all where not given.

    Raises:
      ValueError: an axis does not exist or is named twice.

    Linear.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.fftshift(jnp.array([0, 1, 2, -2, -1]))
    Array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return _rolled("fftshift", x, axes, back=False)


def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Any:
    """Return what ``fftshift`` was applied to: the frequency 0 moved to the front.

    Arguments and errors are those of ``fftshift``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.fft.ifftshift(jnp.array([-2, -1, 0, 1, 2]))
    Array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return _rolled("ifftshift", x, axes, back=True)
