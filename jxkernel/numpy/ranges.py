"""Ranges: evenly spaced numbers, counted or interpolated."""

from math import ceil
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.dimensions import greater, is_symbolic
from jxkernel.core.trace import Tracer, is_unknown, place_in_source
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ConcretizationTypeError
from jxkernel.numpy.creation import asarray, astype, placed, user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    check_arguments,
    inexact_dtype,
    joint_shape,
    result_dtype,
)
from jxkernel.numpy.shapes import moveaxis
from jxkernel.primitives.arguments import canonical_axis, whole_number
from jxkernel.primitives.creation import broadcasted_iota, iota
from jxkernel.primitives.elementwise.arithmetic import add, div, mul, sub
from jxkernel.primitives.elementwise.exponential import exp, log
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.primitives.elementwise.rounding import floor
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.shape.broadcast import broadcast_in_dim

__all__ = ["arange", "geomspace", "linspace", "logspace"]

_COUNTING = frozenset(map(np.dtype, (np.float32, np.float64)))
"""Floating dtypes in which a device counts from 0 as exactly as the host does."""


@fused(static=("size", "dtype"))
def _counted(start: Any, step: Any, size: int, dtype: Any) -> Any:
    return add(mul(iota(dtype, size), cast(step, dtype)), cast(start, dtype))


@fused(static=("size", "dtype"))
def _counted_from_zero(size: int, dtype: Any) -> Any:
    return iota(dtype, size)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: DTypeLike = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return evenly spaced numbers from ``start`` up to, not including, ``stop``.

    Args:
      start: the first number; the end, from 0, where ``stop`` is not given.
      stop: the end.
      step: the distance; 1 where not given.
      dtype: that of the arguments by promotion where not given.
      device: a device to commit the result to.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ConcretizationTypeError: an argument is traced, so the length is not known.
      TypeError: an argument is no number, or ``dtype`` is bool.
      ValueError: an argument is complex.
      ZeroDivisionError: ``step`` is 0.

    >>> import jxkernel.numpy as jnp
    >>> jnp.arange(3)
    Array([0, 1, 2], dtype=int32)
    """
    if start is None:
        raise TypeError("arange got start=None: it takes a number")
    given = [x for x in (start, stop, step) if x is not None]
    names = ("start", "stop", "step")
    if stop is None:
        start, stop = 0, start
    if isinstance(stop, Tracer):
        stop = stop_gradient(stop)  # it says how many numbers there are, and has no derivative
    first, last, distance = map(_concrete_number, names, (start, stop, step))
    distance = 1 if distance is None else distance
    if distance == 0:
        raise ZeroDivisionError("arange got step=0: it would not end")
    if dtype is None:
        known = [0 if is_symbolic(x) else x for x in given]
        found = dtypes.canonicalize_dtype(dtypes.result_type(*known))
    else:
        found = user_dtype(dtype, "arange")
        if found in dtypes.BOOLEAN:
            raise TypeError("arange got dtype=bool: booleans are not counted")
    if any(map(is_symbolic, (first, last, distance))):
        size = greater(-((first - last) // distance), 0)
    else:
        size = max(0, ceil((last - first) / distance))
    return placed("arange", _range(first, last, distance, size, found), device, out_sharding)


def _range(first: Any, last: Any, distance: Any, size: Any, dtype: Any) -> Any:
    if dtype in dtypes.INTEGRAL and all(isinstance(x, int) for x in (first, distance)):
        if first == 0 and distance == 1:
            return _counted_from_zero(size, dtype)
        first, distance = (dtypes.host_array(x, dtype)[()] for x in (first, distance))
        return _counted(first, distance, size, dtype)
    if dtype in _COUNTING and first == 0 and distance == 1:
        return _counted_from_zero(size, dtype)
    # Floats are counted in double precision on the host, and rounded once.
    return asarray(np.arange(first, last, distance)[:size], dtype)


def _known_instead(argument: str, can_be_static: bool) -> tuple[str, ...]:
    """Return what to write in place of a range with a traced argument."""
    ways = [
        f"the result's length depends on {argument}: make it an argument that is known while "
        "tracing, jit(f, static_argnames=...)"
        if can_be_static
        else f"the result's length depends on {argument}, which must be known while tracing"
    ]
    if argument == "start":
        ways.append("for numbers from a traced one on, add it to a range that begins at 0")
    return tuple(ways)


def _concrete_number(argument: str, x: Any) -> Any:
    """Return a number, or the value of a rank-0 array, as a Python number; None as it is."""
    if x is None or type(x) in (int, float) or is_symbolic(x):
        return x
    aval = argument_aval("arange", x)
    if aval.shape:
        raise TypeError(f"arange takes scalars, got an array of shape {aval.shape}")
    kind = dtypes.scalar_type_of(aval.dtype)
    if kind is complex:
        raise ValueError(
            f"arange got {argument} of dtype {aval.dtype.name}: complex numbers have "
            "no order, take the real part"
        )
    if kind is not int and isinstance(x, Tracer) and not is_unknown(x):
        raise ConcretizationTypeError(
            x.describe_type(),
            why=f"arange got {argument}={x.describe_type()} that is differentiated: it counts on "
            "the host, where the derivative would be lost.",
            instead=("for numbers from a traced one on: start + step * jnp.arange(n)",),
            **place_in_source(),
        )
    try:
        return kind(x) if kind is not bool else int(bool(x))
    except ConcretizationTypeError as error:
        raise ConcretizationTypeError(
            error.tracer,
            f"arange(..., {argument}=...)",
            origin=error.origin,
            where=error.where,
            code=error.code,
            underline=error.underline,
            can_be_static=error.can_be_static,
            instead=_known_instead(argument, error.can_be_static),
        ) from None


@fused(static=("num", "endpoint", "dtype", "axis"), name="linspace")
def _spaced(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    """Interpolate in an inexact dtype: both ends are met exactly.  Integers are rounded down."""
    start, stop, inner = _ends(start, stop, dtype)
    line = _line(start, stop, num, endpoint, inner, axis)
    return cast(
        floor(line) if dtype in dtypes.INTEGRAL else line, inner if dtype is None else dtype
    )


@fused(static=("num", "endpoint", "dtype"), name="linspace")
def _spacing(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any) -> Any:
    start, stop, inner = _ends(start, stop, dtype)
    intervals = num - 1 if endpoint else num
    return (asarray(stop) - start) / intervals if intervals > 0 else asarray(np.nan, inner)


def _ends(start: Any, stop: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """Return the ends in the dtype to compute in, and this dtype.

    A number that the integers beside it cannot hold is converted from its value.
    """
    computed = inexact_dtype(result_dtype("linspace", (start, stop))[0])
    inner = dtype if dtype in dtypes.INEXACT else computed
    return cast(start, inner), cast(stop, inner), inner


def _line(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    shape = joint_shape("linspace", [np.shape(start), np.shape(stop)])
    first, last = (broadcast_to_shape(x, shape) for x in (start, stop))
    intervals = num - 1 if endpoint else num
    if num <= 1:
        line = broadcast_in_dim(first, (num, *shape), tuple(range(1, len(shape) + 1)))
    else:
        count = num - 1 if endpoint else num
        line = _interpolated(first, last, count, intervals, shape, dtype)
        if endpoint:
            line = concatenate([line, broadcast_to_shape(last, (1, *shape))], 0)
    if axis == 0:
        return line
    from_front = canonical_axis("linspace", axis, len(np.shape(line)))
    order = [*range(1, from_front + 1), 0, *range(from_front + 1, len(np.shape(line)))]
    return line.transpose(order)


def _interpolated(
    first: Any, last: Any, count: int, intervals: int, shape: tuple[int, ...], dtype: Any
) -> Any:
    part = div(broadcasted_iota(dtype, (count,) + (1,) * len(shape), 0), dtype.type(intervals))
    part = broadcast_in_dim(part, (count, *shape), tuple(range(len(shape) + 1)))
    first, last = (broadcast_to_shape(x, (count, *shape)) for x in (first, last))
    return add(mul(first, sub(dtype.type(1), part)), mul(last, part))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """Return numbers evenly spaced over an interval.

    Args:
      start: the first, a number or an array.
      stop: the last, or the end of the interval where ``endpoint`` is False.
      num: how many.
      endpoint: whether ``stop`` is among them.
      retstep: whether to return the distance as well.
      dtype: the result's dtype; otherwise the floating dtype of the arguments.
      axis: where the new axis goes in the result, if the arguments are arrays.
      device: a device to commit the result to.

    Raises:
      ValueError: ``num`` is negative, or there is no such axis.

    Linear in ``start`` and ``stop``.

    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    >>> jnp.linspace(0, 1, 4, endpoint=False)
    Array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    num = whole_number("linspace", "num", num)
    if num < 0:
        raise ValueError(f"linspace needs a number of points that is not negative, got {num}")
    if dtype is not None:
        dtype = user_dtype(dtype, "linspace", start, stop)
    axis = whole_number("linspace", "axis", axis)
    line = placed("linspace", _spaced(start, stop, num, bool(endpoint), dtype, axis), device)
    return (line, _spacing(start, stop, num, bool(endpoint), dtype)) if retstep else line


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Any:
    """Return ``base`` to the powers that ``linspace`` gives for the same arguments.

    Arguments and errors are those of ``linspace``.
    A negative ``base`` gives NaN between whole powers.

    >>> jnp.logspace(0, 3, 4, base=2)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    check_arguments("logspace", start, stop, base)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = base**exponents
    return result if dtype is None else astype(result, dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Any:
    """Return numbers spaced evenly on a logarithmic scale, from ``start`` to ``stop``.

    Arguments are those of ``linspace``; both ends have one sign, and neither is 0.

    >>> jnp.geomspace(1, 8, 4).round()
    Array([1., 2., 4., 8.], dtype=float32)
    """
    kind = inexact_dtype(result_dtype("geomspace", (start, stop))[0])
    first, last = asarray(start, kind), asarray(stop, kind)
    sign = first / abs(first)
    exponents = linspace(log(first / sign), log(last / sign), num, endpoint)
    result = moveaxis(sign * exp(exponents), 0, axis)
    return result if dtype is None else astype(result, dtype)
