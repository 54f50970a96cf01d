"""Discrete Fourier transforms with NumPy's names and arguments.

Place in the pipeline: a part of ``numpy`` that is imported at its first use.  Transforms are made
of the primitive ``fft``; each call is one program.
"""

from jxkernel.numpy.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from jxkernel.numpy.fft.transforms import (
    fft,
    fft2,
    fftn,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
