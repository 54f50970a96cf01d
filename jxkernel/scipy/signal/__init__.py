"""Signals: convolution, correlation, trends and spectra.

Place in the pipeline: above ``numpy`` and its Fourier transforms.
"""

from jxkernel.scipy.signal.convolving import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
)
from jxkernel.scipy.signal.spectra import csd, istft, stft, welch
from jxkernel.scipy.signal.trends import detrend

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
