"""Windows: weights that taper a signal toward its ends."""

from math import pi
from operator import index
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.creation import ones
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.mathematics import cos, i0, sqrt
from jxkernel.numpy.ranges import arange
from jxkernel.primitives.arguments import whole_number

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def _places(name: str, M: int) -> Any:
    """Return 0, 1, ..., M - 1 in the default float dtype; None for at most one place."""
    count = whole_number(name, "M", M)
    return arange(count, dtype=dtypes.default_float_dtype()) if count > 1 else None


def _cosines(name: str, M: int, first: float, second: float, third: float = 0.0) -> Any:
    places = _places(name, M)
    if places is None:
        return ones(max(index(M), 0))
    angle = places * (2 * pi / (index(M) - 1))
    window = first - second * cos(angle)
    return window + third * cos(2 * angle) if third else window


def bartlett(M: int) -> Any:
    """Return the triangular window of ``M`` points, 0 at both ends.

    >>> jnp.bartlett(5)
    Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    places = _places("bartlett", M)
    if places is None:
        return ones(max(index(M), 0))
    return 1 - abs(2 * places - (index(M) - 1)) / (index(M) - 1)


def blackman(M: int) -> Any:
    """Return the Blackman window of ``M`` points, three cosine terms.

    >>> [f"{weight:.2f}" for weight in jnp.blackman(5)]
    ['-0.00', '0.34', '1.00', '0.34', '-0.00']
    """
    return _cosines("blackman", M, 0.42, 0.5, 0.08)


def hamming(M: int) -> Any:
    """Return the Hamming window of ``M`` points, a raised cosine that stays above 0.

    >>> [f"{weight:.2f}" for weight in jnp.hamming(5)]
    ['0.08', '0.54', '1.00', '0.54', '0.08']
    """
    return _cosines("hamming", M, 0.54, 0.46)


def hanning(M: int) -> Any:
    """Return the Hann window of ``M`` points, a raised cosine that is 0 at both ends.

    >>> [f"{weight:.2f}" for weight in jnp.hanning(5)]
    ['0.00', '0.50', '1.00', '0.50', '0.00']
    """
    return _cosines("hanning", M, 0.5, 0.5)


def kaiser(M: int, beta: Any) -> Any:
    """Return the Kaiser window of ``M`` points.

    Args:
      M: the number of points.
      beta: the shape: 0 for a rectangle, greater for a narrower window.

    >>> [f"{weight:.2f}" for weight in jnp.kaiser(5, 2.0)]
    ['0.44', '0.83', '1.00', '0.83', '0.44']
    """
    places = _places("kaiser", M)
    if places is None:
        return ones(max(index(M), 0))
    return _kaiser(places, beta)


@fused(name="kaiser")
def _kaiser(places: Any, beta: Any) -> Any:
    middle = (np.shape(places)[0] - 1) / 2
    return i0(beta * sqrt(1 - ((places - middle) / middle) ** 2)) / i0(beta)
