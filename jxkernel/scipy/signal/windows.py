"""Windows by name, periodic as spectra need them; computed once, when a program is traced."""

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

__all__ = ["window_named"]

# Coefficients of cosines, with alternating signs: F. Harris, "On the use of windows for harmonic
# analysis with the discrete Fourier transform", 1978, and A. Nuttall, 1981; the flat top of
# G. Heinzel, 2002.
_COSINES: dict[str, tuple[float, ...]] = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}


def _cosines(coefficients: tuple[float, ...], size: int) -> Any:
    angle = 2 * pi * np.arange(size) / size
    return sum((-1) ** k * c * np.cos(k * angle) for k, c in enumerate(coefficients))


def _bartlett(size: int) -> Any:
    return 1 - abs(2 * np.arange(size) / size - 1)


def _triangle(size: int) -> Any:
    """Return the first ``size`` elements of the symmetric triangle of one element more."""
    whole = size + 1
    place = np.arange(size)
    if whole % 2:
        return 1 - abs((place - size / 2) / ((whole + 1) / 2))
    return 1 - abs((place - size / 2) / (whole / 2))


def _cosine(size: int) -> Any:
    return np.sin(pi * (np.arange(size) + 0.5) / (size + 1))


def _kaiser(size: int, beta: float) -> Any:
    return np.kaiser(size + 1, beta)[:-1]


def _gaussian(size: int, deviation: float) -> Any:
    return np.exp(-0.5 * ((np.arange(size) - size / 2) / deviation) ** 2)


_OTHERS: dict[str, Callable[..., Any]] = {
    "bartlett": _bartlett,
    "triang": _triangle,
    "cosine": _cosine,
    "kaiser": _kaiser,
    "gaussian": _gaussian,
}


def window_named(function: str, window: str | tuple[Any, ...], size: int) -> Any:
    """Return a periodic window; one of a single sample is 1.

    Args:
      function: what it was given to, for messages.
      window: its name, or a tuple of the name and its parameters: ``("kaiser", 5.0)``.
      size: how many samples it has.

    Raises:
      ValueError: there is none of that name, or its parameters are missing.
    """
    name, *parameters = (window,) if isinstance(window, str) else window
    if name in _COSINES:
        return _cosines(_COSINES[name], size) if size > 1 else np.ones(size)
    if name not in _OTHERS:
        known = ", ".join(sorted([*_COSINES, *_OTHERS]))
        raise ValueError(
            f"{function} got window={window!r:.100}: no window is named {name!r}; there are {known}"
        )
    try:
        found = _OTHERS[name](size, *parameters)
        return found if size > 1 else np.ones(size)
    except TypeError:
        raise ValueError(
            f"{function} got window={window!r:.100}, which needs its parameter: ({name!r}, number)"
        ) from None
