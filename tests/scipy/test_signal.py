"""Signals: convolution, trends and spectra, against SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.signal as reference

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.scipy import signal

_random = np.random.default_rng(20260101)
LONG, SHORT = (_random.normal(size=n).astype(np.float32) for n in (30, 7))
PLANE, PATCH = (_random.normal(size=n).astype(np.float32) for n in ((5, 6), (2, 3)))
CUBE = _random.normal(size=(2, 30, 3)).astype(np.float32)
WAVE = (LONG + 1j * LONG[::-1]).astype(np.complex64)


def assert_same(found: Any, wanted: Any, note: Any = "") -> None:
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    leaves = jx.tree.leaves(found)
    assert len(leaves) == len(wanted)
    for ours, theirs in zip(leaves, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=3e-4, atol=3e-5, err_msg=str(note))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolutions_are_those_of_scipy(name: str, mode: str) -> None:
    ours, theirs = getattr(signal, name), getattr(reference, name)
    pairs = ((LONG, SHORT), (SHORT, LONG), (PLANE, PATCH), (WAVE, WAVE[:4]))
    for first, second in pairs:
        wanted = theirs(first, second, mode)
        assert_same(ours(first, second, mode), wanted)
        assert_same(ours(first, second, mode, method="fft"), wanted)
    twice = jx.jit(jx.vmap(lambda x: ours(x, SHORT, mode)))(CUBE[:, :, 0])
    assert_same(twice[1], theirs(CUBE[1, :, 0], SHORT, mode))
    flat = getattr(signal, f"{name}2d")(PLANE, PATCH, mode)
    assert_same(flat, getattr(reference, f"{name}2d")(PLANE, PATCH, mode))
    along = signal.fftconvolve(PLANE, PLANE[:, :3], mode, axes=[1])
    assert_same(along, reference.fftconvolve(PLANE, PLANE[:, :3], mode, axes=[1]))


def test_convolution_is_linear_and_takes_integers() -> None:
    slope = jx.grad(lambda x: (signal.convolve(x, SHORT) * jnp.arange(36.0)).sum())(LONG)
    wanted = reference.correlate(np.arange(36.0), SHORT, "valid")
    np.testing.assert_allclose(slope, wanted, rtol=1e-4, atol=1e-3)
    whole = signal.convolve(np.array([1, 2]), np.array([1, 1]))
    assert (whole.dtype, whole.tolist()) == (np.float32, [1, 3, 2])


def test_trends_are_taken_away() -> None:
    assert_same(signal.detrend(LONG), reference.detrend(LONG))
    assert_same(signal.detrend(PLANE, 0, bp=[2]), reference.detrend(PLANE, 0, bp=[2]))
    assert_same(signal.detrend(PLANE, 1, "constant"), reference.detrend(PLANE, 1, "constant"))


WINDOWS = (
    *("hann", "hamming", "blackman", "boxcar", "bartlett", "triang", "cosine", "nuttall"),
    *("blackmanharris", "flattop", ("kaiser", 3.0), ("gaussian", 2.0)),
)


@pytest.mark.parametrize("size", [7, 8])
def test_windows_are_those_of_scipy(size: int) -> None:
    def spectra(x: Any) -> Any:
        return [signal.welch(x, window=window, nperseg=size)[1] for window in WINDOWS]

    for window, found in zip(WINDOWS, jx.jit(spectra)(LONG), strict=True):
        assert_same(found, reference.welch(LONG, window=window, nperseg=size)[1], window)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scaling": "spectrum", "average": "median"},
        {"detrend": "linear", "nfft": 16},
        {"detrend": False, "noverlap": 2, "fs": 3.0},
        {"return_onesided": False},
    ],
)
def test_averaged_spectra_are_those_of_scipy(options: dict[str, Any]) -> None:
    for x, y in ((LONG, LONG[::-1].copy()), (WAVE, LONG), (LONG, LONG[:20])):
        found = signal.csd(x, y, nperseg=8, **options)
        assert_same(found, reference.csd(x, y, nperseg=8, **options))
    found = signal.welch(CUBE, nperseg=8, axis=1, **options)
    assert_same(found, reference.welch(CUBE, nperseg=8, axis=1, **options))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"boundary": None, "noverlap": 5},
        {"boundary": "even", "nfft": 12},
        {"boundary": "odd", "padded": False},
        {"boundary": "constant", "detrend": "constant"},
        {"return_onesided": False, "fs": 4.0, "window": "boxcar"},
    ],
)
def test_spectra_over_time_are_those_of_scipy(options: dict[str, Any]) -> None:
    for size in (7, 8):
        found = signal.stft(LONG, nperseg=size, **options)
        assert_same(found, reference.stft(LONG, nperseg=size, **options))
    for axis in (1, np.array(1)):
        found = signal.stft(CUBE, nperseg=8, axis=axis, **options)
        assert_same(found, reference.stft(CUBE, nperseg=8, axis=1, **options))


@pytest.mark.parametrize("options", [{}, {"noverlap": 5}, {"nfft": 12}, {"nperseg": 7}])
def test_signals_are_restored(options: dict[str, Any]) -> None:
    options = {"nperseg": 8, **options}
    spectra = reference.stft(LONG, **options)[2].astype(np.complex64)
    assert_same(signal.istft(spectra, **options), reference.istft(spectra, **options))


def test_signals_are_restored_along_any_axis() -> None:
    both = reference.stft(WAVE, nperseg=8, return_onesided=False)[2]
    restored = signal.istft(both, input_onesided=False)[1]
    assert_same(restored[:30], WAVE)
    spectra = np.moveaxis(reference.stft(CUBE, nperseg=8, axis=1)[2], -1, 0)
    restored = signal.istft(spectra, time_axis=0, freq_axis=2)[1]
    assert_same(restored[:30], np.moveaxis(CUBE, 1, 0))
    slope = jx.grad(lambda x: abs(signal.stft(x, nperseg=8)[2]).sum())(LONG)
    assert bool(jnp.isfinite(slope).all())


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: signal.convolve(LONG, SHORT, "some"), ValueError, "mode='some'.*'same'"),
        (lambda: signal.convolve(LONG, PLANE), ValueError, r"same number of dimensions.*\(30,\)"),
        (lambda: signal.convolve(LONG, LONG[:0]), ValueError, "not empty"),
        (lambda: signal.correlate(LONG, SHORT, method="x"), ValueError, "method='x'.*'fft'"),
        (lambda: signal.convolve(PLANE, PLANE[:2].T, "valid"), ValueError, "at least as large"),
        (lambda: signal.convolve2d(LONG, LONG), ValueError, "matrices, got arrays of rank 1"),
        (
            lambda: signal.correlate2d(PLANE, PATCH, boundary="wrap"),
            NotImplementedError,
            "boundary='wrap'",
        ),
        (
            lambda: signal.fftconvolve(LONG, SHORT, axes=[1]),
            ValueError,
            r"fftconvolve got axis 1 .* rank 1",
        ),
        (lambda: signal.detrend(LONG, type="cubic"), ValueError, "type='cubic'.*'linear'"),
        (lambda: signal.detrend(LONG, bp=[40]), ValueError, "breaks .40. outside"),
        (lambda: signal.welch(LONG, window="box"), ValueError, "named 'box'.*boxcar"),
        (lambda: signal.welch(LONG, window="kaiser"), ValueError, "needs its parameter"),
        (lambda: signal.welch(LONG, nperseg=8, noverlap=8), ValueError, "noverlap < nperseg"),
        (lambda: signal.welch(LONG, nperseg=8, nfft=4), ValueError, "nfft ≥ nperseg"),
        (lambda: signal.csd(LONG, LONG, average="mode"), ValueError, "average='mode'.*'median'"),
        (lambda: signal.stft(LONG, boundary="open"), ValueError, "boundary='open'.*'zeros'"),
        (lambda: signal.istft(LONG), ValueError, "istft got freq_axis -2 .* rank 1"),
    ],
)
def test_wrong_arguments_are_named(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=f"(?s){message}"):
        call()


@pytest.mark.parametrize(
    ("name", "shape"), [("welch", (0,)), ("welch", (2, 0)), ("csd", (0,)), ("stft", (2, 0))]
)
def test_signals_without_samples_have_empty_spectra(name, shape):
    x = jnp.zeros(shape)
    found = (
        getattr(jx.scipy.signal, name)(x, x) if name == "csd" else getattr(jx.scipy.signal, name)(x)
    )
    assert {y.shape for y in found} == {shape}
    assert found[-1].dtype == ("float32" if name == "welch" else "complex64")


@pytest.mark.parametrize("name", ["welch", "stft", "detrend"])
def test_spectra_and_trends_of_a_number_name_the_axis(name):
    with pytest.raises(ValueError, match=f"{name} got axis -1"):
        getattr(jx.scipy.signal, name)(1.0)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_transforms_of_nothing_give_nothing(mode):
    for first, second in ((LONG, LONG[:0]), (LONG[:0], LONG), (PLANE, PLANE[:, :0])):
        wanted = reference.fftconvolve(first, second, mode)
        assert signal.fftconvolve(first, second, mode).shape == wanted.shape == (0,)


def test_detrend_takes_a_list_and_fftconvolve_of_numbers_is_floating():
    np.testing.assert_allclose(
        jx.scipy.signal.detrend([1.0, 2.0, 6.0], type="constant"), [-2, -1, 3]
    )
    assert jx.scipy.signal.fftconvolve(1, 2).dtype == "float32"


@pytest.mark.parametrize("window", ["hann", "bartlett", "triang", "cosine", ("gaussian", 2.0)])
def test_segments_of_one_sample_are_scipys(window: Any) -> None:
    x = np.arange(6, dtype=np.float32)
    for function in ("stft", "welch"):
        found = getattr(signal, function)(x, window=window, nperseg=1)
        wanted = getattr(reference, function)(x, window=window, nperseg=1)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
