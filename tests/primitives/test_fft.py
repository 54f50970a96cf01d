"""Fourier transforms: values against NumPy, every rule, lengths and dtypes that do not fit."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.primitives.fft import FftType, fft
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)


def real(*shape):
    return RANDOM.standard_normal(shape)


def complexes(*shape):
    return real(*shape) + 1j * real(*shape)


REFERENCES = {
    "FFT": lambda x, n: np.fft.fftn(x, n, range(-len(n), 0)),
    "IFFT": lambda x, n: np.fft.ifftn(x, n, range(-len(n), 0)),
    "RFFT": lambda x, n: np.fft.rfftn(x, n, range(-len(n), 0)),
    "IRFFT": lambda x, n: np.fft.irfftn(x, n, range(-len(n), 0)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lengths", [(6,), (5,), (1,), (3, 4), (2, 5), (2, 3, 4)])
@pytest.mark.parametrize("kind", REFERENCES)
def test_values_and_rules(kind, lengths):
    halved = (*lengths[:-1], lengths[-1] // 2 + 1)
    x = {"RFFT": real(2, *lengths), "IRFFT": complexes(2, *halved)}.get(kind)
    x = complexes(2, *lengths) if x is None else x
    check_all(
        lambda x: fft(x, kind, lengths), [x], reference=lambda x: REFERENCES[kind](x, lengths)
    )


def test_single_precision_stays_single():
    x = real(8).astype(np.float32)
    assert_close(fft(x, FftType.RFFT, (8,)), np.fft.rfft(x).astype(np.complex64))


def test_no_axes_and_no_elements():
    x = complexes(3).astype(np.complex64)
    assert fft(x, "fft", ()) is x
    assert fft(np.zeros((0, 4), np.complex64), "ifft", (4,)).shape == (0, 4)


BAD = {
    "dtype": (lambda: fft(np.ones(4, "f"), "irfft", (6,)), TypeError, "takes complex64 and"),
    "real": (lambda: fft(np.ones(4, "F"), "rfft", (4,)), TypeError, "takes float32 and"),
    "length": (lambda: fft(np.ones(4, "F"), "fft", (5,)), ValueError, "must be .5,"),
    "half": (lambda: fft(np.ones(4, "F"), "irfft", (4,)), ValueError, "must be .3,"),
    "many": (lambda: fft(np.ones((1,) * 4, "F"), "fft", (1,) * 4), ValueError, "one to three"),
    "type": (lambda: fft(np.ones(4, "F"), "dct", (4,)), ValueError, "'dct' is not a valid"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        jx.jit(function)()


def test_short_floats_are_taken_as_complex_numbers():
    for kind in ("fft", "ifft"):
        assert fft(np.ones(4, np.float16), kind, (4,)).dtype == np.complex64


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_integers_are_taken_as_floats(dtype: str) -> None:
    x = np.array([1, 0, 1, 1]).astype(dtype)
    for kind, reference in (("fft", np.fft.fft), ("ifft", np.fft.ifft), ("rfft", np.fft.rfft)):
        found = jx.jit(lambda x, kind=kind: fft(x, kind, (4,)))(x)
        assert found.dtype == np.complex64
        np.testing.assert_allclose(found, reference(x), atol=1e-6)
