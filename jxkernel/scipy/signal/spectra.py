"""Spectra of signals: averaged over segments, and over time.

Sources: P. Welch, "The use of the fast Fourier transform for the estimation of power spectra",
1967; D. Griffin and J. Lim, "Signal estimation from modified short-time Fourier transform", 1984.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, promote_inexact
from jxkernel.primitives.arguments import canonical_axis, whole_number
from jxkernel.primitives.elementwise.complex import complex as with_parts
from jxkernel.runtime import ArrayLike
from jxkernel.scipy.signal.trends import detrend as detrended
from jxkernel.scipy.signal.windows import window_named

__all__ = ["csd", "istft", "stft", "welch"]


class _Layout(NamedTuple):
    """How a signal is cut into segments.

    Attributes:
      size: the samples of a segment.
      overlap: those it shares with the next.
      points: those of its Fourier transform.
    """

    size: int
    overlap: int
    points: int

    @property
    def step(self) -> int:
        """The distance of segments."""
        return self.size - self.overlap


def _layout(name: str, nperseg: Any, noverlap: Any, nfft: Any, length: int | None) -> _Layout:
    """Return the layout asked for, of segments no longer than the signal."""
    size = 256 if nperseg is None else whole_number(name, "nperseg", nperseg)
    if size < 1:
        raise ValueError(f"{name} takes nperseg ≥ 1, got {nperseg}")
    if length is not None:
        size = min(size, length)
    points = size if nfft is None else whole_number(name, "nfft", nfft)
    if points < size:
        raise ValueError(f"{name} takes nfft ≥ nperseg, got {nfft} and {size}")
    overlap = size // 2 if noverlap is None else whole_number(name, "noverlap", noverlap)
    if not 0 <= overlap < size:
        raise ValueError(f"{name} takes 0 ≤ noverlap < nperseg, got {noverlap} and {size}")
    return _Layout(size, overlap, points)


def _given_window(name: str, window: Any) -> tuple[Any, Any]:
    """Return a window's samples and its name, one of which is None.

    Raises:
      TypeError: there is none.
    """
    if isinstance(window, (str, tuple)):
        return None, window
    if window is None:
        raise TypeError(
            f"{name} got window=None: it takes a window's name, a tuple of the name and its "
            "parameter, or samples"
        )
    return window, None


def _window(name: str, window: Any, layout: _Layout, dtype: Any) -> Any:
    """Return the window's samples in a real dtype."""
    if isinstance(window, (str, tuple)):
        return jnp.asarray(window_named(name, window, layout.size), dtype)
    samples = jnp.asarray(window, dtype)
    if samples.shape != (layout.size,):
        raise ValueError(
            f"{name} takes a window of nperseg = {layout.size} samples, got shape {samples.shape}"
        )
    return samples


def _segments(x: Any, layout: _Layout) -> Any:
    """Return the segments of the last axis, on an axis before it."""
    count = (x.shape[-1] - layout.overlap) // layout.step
    starts = np.arange(count) * layout.step
    return x[..., starts[:, None] + np.arange(layout.size)]


def _sizes(name: str, axis: int, *signals: Any) -> tuple[list[int], Any]:
    """Return the samples of each signal, and zeros to answer with if one has none, else None.

    Raises:
      ValueError: the axis does not exist.
    """
    avals = [argument_aval(name, item, place) for place, item in enumerate(signals)]
    places = [canonical_axis(name, axis, aval.ndim) for aval in avals]
    sizes = [aval.shape[place] for aval, place in zip(avals, places, strict=True)]
    if all(np.prod(aval.shape) for aval in avals):
        return sizes, None
    shape = [size for i, size in enumerate(avals[0].shape) if i != places[0]]
    shape.insert(places[0], min(sizes))
    return sizes, jnp.zeros(shape, jnp.result_type(*promote_inexact(name, *signals)))


_Trend = str | bool | Callable[..., Any]


def _transforms(x: Any, window: Any, layout: _Layout, trend: _Trend, onesided: bool) -> Any:
    """Return the Fourier transforms of the windowed segments, (..., segment, frequency)."""
    pieces = _segments(x, layout)
    if callable(trend):
        pieces = trend(pieces)
    elif isinstance(trend, str):
        pieces = detrended(pieces, -1, trend)
    pieces = pieces * window.astype(pieces.dtype)
    return (jnp.fft.rfft if onesided else jnp.fft.fft)(pieces, layout.points)


def _frequencies(layout: _Layout, fs: Any, onesided: bool, dtype: Any) -> Any:
    count = layout.points
    places = np.fft.rfftfreq(count) if onesided else np.fft.fftfreq(count)
    return jnp.asarray(places, dtype) * jnp.asarray(fs, dtype)


def _real_dtype(x: Any) -> Any:
    return jnp.real(x).dtype


def _averaged(spectra: Any, average: str) -> Any:
    """Return the mean, or the median without its bias, over the last axis."""
    count = spectra.shape[-1]
    if average == "mean":
        return spectra.mean(-1)
    # The median of exponential numbers is that much of their mean.
    odd = np.arange(2, (count - 1) // 2 * 2 + 1, 2)
    bias = 1 + float((1 / (odd + 1) - 1 / odd).sum())
    if spectra.dtype in dtypes.COMPLEX:
        parts = jnp.median(spectra.real, -1), jnp.median(spectra.imag, -1)
        return with_parts(*parts) / bias
    return jnp.median(spectra, -1) / bias


@fused(
    static=("name", "window", "layout", "detrend", "onesided", "scaling", "average", "axis"),
    name="csd",
)
def _cross(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    samples: Any,
    window: Any,
    layout: _Layout,
    detrend: _Trend,
    onesided: bool,
    scaling: str,
    average: str,
    axis: int,
) -> Any:
    same = y is None
    operands = promote_inexact(name, x) if same else promote_inexact(name, x, y)
    moved = [jnp.moveaxis(jnp.asarray(item), axis, -1) for item in operands]
    moved = [*moved, moved[0]] if same else moved
    length = max(item.shape[-1] for item in moved)
    moved = [
        jnp.pad(item, [(0, 0)] * (item.ndim - 1) + [(0, length - item.shape[-1])]) for item in moved
    ]
    dtype = _real_dtype(moved[0])
    taper = _window(name, samples if window is None else window, layout, dtype)
    onesided = onesided and not any(item.dtype in dtypes.COMPLEX for item in moved)
    first, second = (_transforms(item, taper, layout, detrend, onesided) for item in moved)
    spectra = jnp.conj(first) * second
    if same:
        spectra = spectra.real
    power = taper * taper
    weight = jnp.asarray(fs, dtype) * power.sum() if scaling == "density" else taper.sum() ** 2
    spectra = spectra / weight.astype(spectra.dtype)
    if onesided:
        # The negative frequencies, left out, count too: all but zero and the highest have one.
        last = layout.points // 2 if layout.points % 2 == 0 else layout.points // 2 + 1
        factor = np.ones(spectra.shape[-1])
        factor[1:last] = 2
        spectra = spectra * jnp.asarray(factor, spectra.dtype)
    result = _averaged(jnp.moveaxis(spectra, -2, -1), average)
    return _frequencies(layout, fs, onesided, dtype), jnp.moveaxis(result, -1, axis)


def _choice(name: str, argument: str, given: Any, known: tuple[Any, ...]) -> None:
    if not callable(given) and given not in known:
        listed = ", ".join(map(repr, known))
        raise ValueError(f"{name} got {argument}={given!r}: there are {listed}")


def csd(
    x: ArrayLike,
    y: ArrayLike,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Return the cross power spectrum of two signals, averaged over segments (Welch's method).

    Args:
      x: a signal.
      y: another; None for the first.
      fs: the samples in a unit of time.
      window: a window's name, a tuple of the name and its parameter, or ``nperseg`` samples.
      nperseg: the samples of a segment; 256, or those of the signal where fewer.
      noverlap: those a segment shares with the next; half of them where not given.
      nfft: those of the Fourier transform; zeros fill up.
      detrend: what is taken from each segment: ``"constant"``, ``"linear"``, False, or a function.
      return_onesided: whether only frequencies ≥ 0 are returned, for real signals.
      scaling: ``"density"`` for power per frequency, ``"spectrum"`` for power.
      axis: the axis of time.
      average: ``"mean"`` or ``"median"``.

    Returns:
      the frequencies, in units of ``fs``, and the spectrum, whose axis of time is one of frequency;
      both empty for a signal without samples.  The spectrum of two signals is complex.

    Raises:
      ValueError: segments of no size, an axis that does not exist, or an unknown name.

    The derivative of a median is that of the middle segments.  Source: P. Welch, "The use of fast
    Fourier transform for the estimation of power spectra", 1967.

    >>> import jxkernel as jx
    >>> x = jx.numpy.arange(16.0)
    >>> jx.scipy.signal.csd(x, x, nperseg=8)[0]
    Array([0.   , 0.125, 0.25 , 0.375, 0.5  ], dtype=float32)
    """
    cut = (nperseg, noverlap, nfft, detrend)
    how = (return_onesided, scaling, axis, average)
    return _power("csd", x, y, fs, window, *cut, *how)


def _power(
    name: str,
    x: Any,
    y: Any,
    fs: Any,
    window: Any,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    average: str,
) -> tuple[Any, Any]:
    """Return the spectrum for ``csd``, or for ``welch``, which has no second signal."""
    _choice(name, "scaling", scaling, ("density", "spectrum"))
    _choice(name, "average", average, ("mean", "median"))
    _choice(name, "detrend", detrend, ("constant", "linear", False))
    argument_aval(name, fs, 1 if name == "welch" else 2)
    samples, named = _given_window(name, window)
    lengths, nothing = _sizes(name, axis, *([x] if y is None else [x, y]))
    if nothing is not None:
        real = nothing.real
        return real, real if y is None else nothing.astype(
            np.promote_types(real.dtype, np.complex64)
        )
    if named is None and nperseg is None:
        nperseg = np.shape(samples)[0]
    layout = _layout(name, nperseg, noverlap, nfft, max(lengths))
    return _cross(
        name,
        x,
        y,
        fs,
        samples,
        named,
        layout,
        detrend,
        return_onesided,
        scaling,
        average,
        axis,
    )


def welch(
    x: ArrayLike,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Any, Any]:
    """Return the power spectrum of a signal, averaged over segments (Welch's method).

    Args:
      x: the signal; integers become floating.
      fs: the samples in a unit of time.
      window: as for ``csd``.
      nperseg: the samples of a segment; 256, or those of the signal where fewer.
      noverlap: those a segment shares with the next; half of them where not given.
      nfft: those of the Fourier transform; zeros fill up.
      detrend: what is taken from each segment, as for ``csd``.
      return_onesided: whether only frequencies ≥ 0 are returned, for real signals.
      scaling: ``"density"`` or ``"spectrum"``.
      axis: the axis of time.
      average: ``"mean"`` or ``"median"``.

    Returns:
      the frequencies, in units of ``fs``, and the spectrum, real, whose axis of time is one of
      frequency.

    Raises:
      ValueError: as for ``csd``.

    Derivative and source are those of ``csd``.

    >>> import jxkernel as jx
    >>> jx.scipy.signal.welch(jx.numpy.ones(16), nperseg=8)[1].shape
    (5,)
    """
    cut = (nperseg, noverlap, nfft, detrend)
    how = (return_onesided, scaling, axis, average)
    return _power("welch", x, None, fs, window, *cut, *how)


# ---------------------------------------------------------------- over time

_BOUNDARIES: dict[Any, dict[str, Any] | None] = {
    None: None,
    "zeros": {"mode": "constant"},
    "constant": {"mode": "edge"},
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
}


def _with_frequencies(spectra: Any, axis: int) -> Any:
    """Return (..., segment, frequency) with frequencies in place of time and segments last."""
    last = jnp.moveaxis(spectra, -2, -1)
    return jnp.moveaxis(last, -2, axis - 1 if axis < 0 else axis)


@fused(
    static=("window", "layout", "detrend", "onesided", "boundary", "padded", "axis"), name="stft"
)
def _over_time(
    x: Any,
    fs: Any,
    samples: Any,
    window: Any,
    layout: _Layout,
    detrend: _Trend,
    onesided: bool,
    boundary: str | None,
    padded: bool,
    axis: int,
) -> Any:
    x = jnp.moveaxis(jnp.asarray(promote_inexact("stft", x)[0]), axis, -1)
    dtype = _real_dtype(x)
    taper = _window("stft", samples if window is None else window, layout, dtype)
    half, rest = layout.size // 2, [(0, 0)] * (x.ndim - 1)
    how = _BOUNDARIES[boundary]
    if how is not None:
        x = jnp.pad(x, [*rest, (half, half)], **how)
    if padded:
        missing = (-(x.shape[-1] - layout.size) % layout.step) % layout.size
        x = jnp.pad(x, [*rest, (0, missing)])
    onesided = onesided and x.dtype not in dtypes.COMPLEX
    spectra = _transforms(x, taper, layout, detrend, onesided)
    spectra = spectra / abs(taper.sum()).astype(spectra.dtype)
    times = np.arange(layout.size / 2, x.shape[-1] - layout.size / 2 + 1, layout.step)
    if how is not None:
        times = times - layout.size / 2
    return (
        _frequencies(layout, fs, onesided, dtype),
        jnp.asarray(times, dtype) / fs,
        _with_frequencies(spectra, axis),
    )


def stft(
    x: ArrayLike,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Any, Any, Any]:
    """Return the spectra of a signal's segments: the short-time Fourier transform.

    Args:
      x: the signal.
      fs: the samples in a unit of time.
      window: as for ``csd``.
      nperseg: the samples of a segment.
      noverlap: those a segment shares with the next; half of them where not given.
      nfft: those of the Fourier transform; zeros fill up.
      detrend: what is taken from each segment, as for ``csd``.
      return_onesided: whether only frequencies ≥ 0 are returned, for real signals.
      boundary: what is put before and after the signal, half a segment: ``"zeros"``,
        ``"constant"``, ``"even"``, ``"odd"`` or None.
      padded: whether zeros make the last segment whole.
      axis: the axis of time, in place of which comes that of frequency.

    Returns:
      the frequencies, the segments' times, and the spectra, complex, segments along the last axis.

    Raises:
      ValueError: segments of no size, or an unknown name.

    Linear in ``x``.  Source: J. Allen and L. Rabiner, "A unified approach to short-time Fourier
    analysis and synthesis", 1977.

    >>> import jxkernel as jx
    >>> jx.scipy.signal.stft(jx.numpy.ones(16), nperseg=8)[2].shape
    (5, 5)
    """
    _choice("stft", "boundary", boundary, tuple(_BOUNDARIES))
    _choice("stft", "detrend", detrend, ("constant", "linear", False))
    argument_aval("stft", fs, 1)
    given = _given_window("stft", window)
    (length,), nothing = _sizes("stft", axis, x)
    if nothing is not None:
        real = nothing.real
        return real, real, nothing.astype(np.promote_types(real.dtype, np.complex64))
    layout = _layout("stft", nperseg, noverlap, nfft, length)
    axis = whole_number("stft", "axis", axis)
    return _over_time(x, fs, *given, layout, detrend, return_onesided, boundary, padded, axis)


@fused(static=("window", "layout", "onesided", "boundary", "time_axis", "freq_axis"), name="istft")
def _restored(
    spectra: Any,
    fs: Any,
    samples: Any,
    window: Any,
    layout: _Layout,
    onesided: bool,
    boundary: bool,
    time_axis: int,
    freq_axis: int,
) -> Any:
    """Add up the segments, each windowed again, over the sum of the squared windows."""
    z = jnp.moveaxis(jnp.asarray(spectra), (time_axis, freq_axis), (-2, -1))
    pieces = (jnp.fft.irfft if onesided else jnp.fft.ifft)(z, layout.points)
    pieces = pieces[..., : layout.size]
    dtype = _real_dtype(pieces)
    taper = _window("istft", samples if window is None else window, layout, dtype)
    count = pieces.shape[-2]
    length = layout.size + (count - 1) * layout.step
    places = (np.arange(count)[:, None] * layout.step + np.arange(layout.size)).ravel()
    flat = (pieces * taper.astype(pieces.dtype)).reshape(*pieces.shape[:-2], -1)
    total = jnp.zeros((*flat.shape[:-1], length), flat.dtype).at[..., places].add(flat)
    weight = jnp.zeros(length, dtype).at[places].add(jnp.tile(taper * taper, count))
    total = total * taper.sum().astype(total.dtype)
    if boundary:
        half = layout.size // 2
        total, weight = total[..., half : length - half], weight[half : length - half]
    x = total / jnp.where(weight > 1e-10, weight, 1).astype(total.dtype)
    times = jnp.arange(x.shape[-1], dtype=dtype) / fs
    return times, jnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))


def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Any, Any]:
    """Return the signal of which spectra over time are given: the inverse of ``stft``.

    Args:
      Zxx: the spectra, as from ``stft``.
      fs: the samples in a unit of time.
      window: that of ``stft``.
      nperseg: the samples of a segment; what the frequencies tell where not given.
      noverlap: those a segment shares with the next; half of them where not given.
      nfft: those of the Fourier transform.
      input_onesided: whether the spectra are of frequencies ≥ 0 only.
      boundary: whether ``stft`` put something before and after the signal.
      time_axis: the axis of segments.
      freq_axis: that of frequencies.

    Returns:
      the times and the signal.

    Raises:
      ValueError: the axes are the same, or the sizes do not fit.

    Linear in ``Zxx``.  Source: D. Griffin and J. Lim, "Signal estimation from modified short-time
    Fourier transform", 1984.

    >>> import jxkernel as jx
    >>> spectra = jx.scipy.signal.stft(jx.numpy.ones(8), nperseg=4)[2]
    >>> jx.scipy.signal.istft(spectra, nperseg=4)[1].round(3)
    Array([1., 1., 1., 1., 1., 1., 1., 1.], dtype=float32)
    """
    aval = argument_aval("istft", Zxx)
    argument_aval("istft", fs, 1)
    given = _given_window("istft", window)
    time = canonical_axis("istft", time_axis, aval.ndim, "time_axis")
    freq = canonical_axis("istft", freq_axis, aval.ndim, "freq_axis")
    if time == freq:
        raise ValueError(
            f"istft takes spectra with axes of time and of frequency, got shape {aval.shape} with "
            f"time_axis={time_axis} and freq_axis={freq_axis}"
        )
    rows = aval.shape[freq]
    default = 2 * (rows - 1) if input_onesided else rows
    size = default if nperseg is None else whole_number("istft", "nperseg", nperseg)
    if nfft is None:
        nfft = size if not input_onesided or size != default + 1 else default + 1
        nfft = max(nfft, default) if size <= default else nfft
    layout = _layout("istft", size, noverlap, nfft, None)
    return _restored(Zxx, fs, *given, layout, input_onesided, boundary, time, freq)
