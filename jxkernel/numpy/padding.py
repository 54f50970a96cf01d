"""Padding: arrays made larger, the new elements constant or taken from the old ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.contractions import tensordot
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.joining import concatenate, stack
from jxkernel.numpy.mathematics import rint
from jxkernel.numpy.means import mean
from jxkernel.numpy.promotion import argument_aval, broadcast_to_shape, cast
from jxkernel.numpy.quantiles import median
from jxkernel.numpy.ranges import linspace
from jxkernel.numpy.reductions import max as greatest
from jxkernel.numpy.reductions import min as least
from jxkernel.numpy.shapes import moveaxis, reshape
from jxkernel.numpy.taking import take
from jxkernel.primitives.arguments import canonical_axis, whole_number
from jxkernel.primitives.indexing.slicing import pad as padded
from jxkernel.runtime import ArrayLike

__all__ = ["pad"]

Widths = tuple[tuple[int, int], ...]

_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}


def _depth(value: Any) -> int:
    """Return the rank of an array, or of nested sequences whose numbers may be traced."""
    if isinstance(value, (tuple, list)):
        return 1 + max(map(_depth, value), default=0)
    return np.ndim(value)


def _pairs(name: str, value: Any, rank: int, convert: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return (before, after) for each axis, of one value, one pair, or pairs.

    Raises:
      ValueError: the value does not have such a form.
    """
    if isinstance(value, dict):
        chosen = {canonical_axis("pad", axis, rank): given for axis, given in value.items()}
        value = [
            given if _depth(given) else (given, given)
            for given in (chosen.get(axis, 0) for axis in range(rank))
        ]
    if _depth(value) == 0:
        return ((convert(value), convert(value)),) * rank
    items = [item if _depth(item) else [item] for item in value]
    if _depth(value) == 1:
        flat = [convert(item[0]) for item in items]
        if len(flat) in (1, 2):
            return ((flat[0], flat[-1]),) * rank
    elif len(items) in (1, rank) and all(len(item) in (1, 2) for item in items):
        pairs = tuple((convert(item[0]), convert(item[-1])) for item in items)
        return pairs * rank if len(items) == 1 else pairs
    raise ValueError(
        f"pad got {name}={value!r:.60} for an array of rank {rank}: it is a number, a pair "
        "(before, after), or a pair for each axis"
    )


def _width(value: Any) -> int:
    return whole_number("pad", "pad_width", value)


def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Return an array with elements added before and after it along each axis.

    Args:
      array: an array.
      pad_width: how many: a number, a pair (before, after), a pair for each axis, or a dict from
        axes to these.
      mode: what the new elements are: ``"constant"`` (``constant_values``), ``"edge"``,
        ``"linear_ramp"`` (to ``end_values``), ``"maximum"``, ``"mean"``, ``"median"``,
        ``"minimum"`` (of ``stat_length`` elements), ``"reflect"``, ``"symmetric"``
        (``reflect_type`` ``"even"`` or ``"odd"``), ``"wrap"``, ``"empty"``; or a function as
        NumPy takes it, that returns the changed vector.
      **kwargs: the option of the mode.

    Raises:
      ValueError: the widths do not fit or are negative, or the option is unknown.
      NotImplementedError: there is no such mode.

    Linear in ``array`` for all but the extremes and the median.

    >>> jnp.pad(jnp.array([1, 2]), (1, 2), constant_values=9)
    Array([9, 1, 2, 9, 9], dtype=int32)
    >>> jnp.pad(jnp.array([1, 2, 3]), 2, mode="reflect")
    Array([3, 2, 1, 2, 3, 2, 1], dtype=int32)
    """
    aval = argument_aval("pad", array)
    widths = _pairs("pad_width", pad_width, aval.ndim, _width)
    if any(width < 0 for pair in widths for width in pair):
        raise ValueError(f"pad got widths {widths}: they are not negative")
    if callable(mode):
        return _by_function(array, widths, mode, kwargs)
    _check_options(mode, kwargs)
    if mode in ("constant", "empty"):
        value = kwargs.get("constant_values", 0)
        if _depth(value) == 0 and not isinstance(value, dict):
            return _constant(array, value, widths)
        return _constants(array, _pairs("constant_values", value, aval.ndim, _same), widths)
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        return _by_position(array, widths, mode, kwargs.get("reflect_type", "even"))
    if mode == "linear_ramp":
        ends = _pairs("end_values", kwargs.get("end_values", 0), aval.ndim, _same)
        return _ramp(array, ends, widths)
    length = kwargs.get("stat_length")
    lengths = ((None, None),) * aval.ndim
    if length is not None:
        lengths = _pairs("stat_length", length, aval.ndim, _length)
    return _statistic(array, widths, mode, lengths)


def _check_options(mode: Any, options: dict[str, Any]) -> None:
    """Check that there is such a mode, and that it has these options.

    Raises:
      NotImplementedError: there is no such mode.
      TypeError: an option is None.
      ValueError: the mode has no such option.
    """
    if not isinstance(mode, str) or mode not in _OPTIONS:
        raise NotImplementedError(f"pad got mode {mode!r}: there are {', '.join(_OPTIONS)}")
    unknown = set(options) - set(_OPTIONS[mode])
    if unknown:
        known = f"its option is {_OPTIONS[mode][0]}" if _OPTIONS[mode] else "it has none"
        raise ValueError(f"pad(mode={mode!r}) has no option {', '.join(sorted(unknown))}: {known}")
    for option, given in options.items():
        if given is None and option != "stat_length":
            raise TypeError(f"pad got {option}=None: leave it out, or give a value")


def _length(value: Any) -> int:
    length = whole_number("pad", "stat_length", value)
    if length < 1:
        raise ValueError(f"pad got stat_length={length}: it is at least 1")
    return length


def _same(value: Any) -> Any:
    return value


@fused(static=("widths",), name="pad")
def _constant(array: Any, value: Any, widths: Widths) -> Any:
    aval = argument_aval("pad", array)
    array, value = (cast(x, aval.dtype, aval.weak_type) for x in (array, value))
    return padded(array, value, tuple((*pair, 0) for pair in widths))


@fused(static=("widths",), name="pad")
def _constants(array: Any, values: Any, widths: Widths) -> Any:
    """Pad axis by axis with a value of its own at each end."""
    aval = argument_aval("pad", array)
    array = cast(array, aval.dtype, aval.weak_type)
    for axis, (pair, (low, high)) in enumerate(zip(values, widths, strict=True)):
        for value, ends in zip(pair, ((low, 0, 0), (0, high, 0)), strict=True):
            config = [(0, 0, 0)] * np.ndim(array)
            config[axis] = ends
            array = padded(array, cast(value, aval.dtype, aval.weak_type), config)
    return array


@fused(static=("widths", "mode", "reflect_type"), name="pad")
def _by_position(array: Any, widths: Widths, mode: Any, reflect_type: str) -> Any:
    """Let NumPy pad the positions, and take the elements there."""
    odd = reflect_type == "odd"
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad got reflect_type {reflect_type!r}: it is 'even' or 'odd'")
    for axis, pair in enumerate(widths):
        size = np.shape(array)[axis]
        if pair == (0, 0):
            continue
        if not size:
            raise ValueError(f"pad(mode={mode!r}) cannot extend axis {axis}, which has no elements")
        if odd:
            array = _odd_extension(array, pair, mode, axis)
        else:
            places = np.pad(np.arange(size), pair, mode)
            array = take(array, places, axis, mode="promise_in_bounds")
    return array


def _odd_extension(array: Any, pair: tuple[int, int], mode: Any, axis: int) -> Any:
    """Multiply by the matrix that NumPy's padding of the unit vectors gives: it is linear."""
    unit = np.eye(np.shape(array)[axis])
    weights = np.pad(unit, (pair, (0, 0)), mode, reflect_type="odd")
    extended = tensordot(asarray(weights.astype(array.dtype)), array, ((1,), (axis,)))
    return moveaxis(extended, 0, axis)


@fused(static=("widths",), name="pad")
def _ramp(array: Any, ends: Any, widths: Widths) -> Any:
    aval = argument_aval("pad", array)
    array = cast(array, aval.dtype)
    for axis, ((first, last), (low, high)) in enumerate(zip(ends, widths, strict=True)):
        array = moveaxis(array, axis, 0)
        before = linspace(first, array[0], low, endpoint=False, dtype=aval.dtype)
        after = linspace(last, array[-1], high, endpoint=False, dtype=aval.dtype)[::-1]
        array = moveaxis(concatenate([before, array, after], 0), 0, axis)
    return cast(array, aval.dtype, aval.weak_type)


_STATISTICS = {"maximum": greatest, "mean": mean, "median": median, "minimum": least}


@fused(static=("widths", "mode", "lengths"), name="pad")
def _statistic(array: Any, widths: Widths, mode: str, lengths: Any) -> Any:
    aval = argument_aval("pad", array)
    array = cast(array, aval.dtype)
    reduce = _STATISTICS[mode]
    for axis, ((low, high), (first, last)) in enumerate(zip(widths, lengths, strict=True)):
        array = moveaxis(array, axis, 0)
        size = array.shape[0]
        parts = [
            array[: size if first is None else first],
            array[size - (size if last is None else min(last, size)) :],
        ]
        edges = [_rounded(reduce(part, 0, keepdims=True), aval.dtype) for part in parts]
        before, after = (
            broadcast_to_shape(edge, (count, *array.shape[1:]))
            for edge, count in zip(edges, (low, high), strict=True)
        )
        array = moveaxis(concatenate([before, array, after], 0), 0, axis)
    return cast(array, aval.dtype, aval.weak_type)


def _rounded(x: Any, dtype: Any) -> Any:
    """Return a mean in the array's own dtype, rounded where that is of integers."""
    return cast(rint(x) if dtype in dtypes.INTEGRAL else x, dtype)


def _by_function(
    array: Any, widths: Widths, function: Callable[..., Any], options: dict[str, Any]
) -> Any:
    """Let a function change each line of the array padded with zeros, axis by axis."""
    array = _constant(array, 0, widths)
    for axis, pair in enumerate(widths):
        lines = moveaxis(array, axis, -1)
        flat = [
            function(line, pair, axis, options) for line in reshape(lines, (-1, lines.shape[-1]))
        ]
        if any(line is None for line in flat):
            raise TypeError(
                f"pad got mode={function!r:.100}, which returned None: arrays cannot be written "
                "to, so it returns the changed vector"
            )
        array = moveaxis(reshape(stack(flat), lines.shape), -1, axis)
    return array
