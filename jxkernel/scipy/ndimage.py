"""Sampling of arrays between their elements."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import jxkernel.numpy as jnp
from jxkernel import dtypes
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import argument_aval, inexact_dtype
from jxkernel.runtime import ArrayLike

__all__ = ["map_coordinates"]

_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _place(index: Any, size: int, mode: str) -> Any:
    """Return where the element of an index is, by the mode, for indices out of bounds too."""
    if mode == "wrap":
        return index % size
    if mode == "mirror":
        period = max(2 * (size - 1), 1)
        return abs((index + size - 1) % period - (size - 1))
    if mode == "reflect":
        index = index % (2 * size)
        return jnp.where(index < size, index, 2 * size - 1 - index)
    return jnp.clip(index, 0, size - 1)


def _folded(coordinate: Any, size: int, mode: str) -> Any:
    """Return a coordinate between the elements whose mirror image it is, by the mode."""
    if mode == "mirror":
        period = max(2 * (size - 1), 1)
        image = abs((coordinate + size - 1) % period - (size - 1))
        # SciPy leaves one that is less than 1 beyond the last element, and mirrors its index.
        rest = coordinate % period
        return jnp.where((coordinate > 0) & (rest > size - 1) & (rest < size), rest, image)
    if mode == "reflect":
        from_edge = (coordinate + 0.5) % (2 * size)
        return jnp.minimum(from_edge, 2 * size - from_edge) - 0.5
    return coordinate


def _neighbours(coordinate: Any, size: int, order: int, mode: str) -> list[tuple[Any, Any]]:
    """Return the indices beside a coordinate, with their weights."""
    if order == 0:
        # Half-way between two, and half-way between their images, SciPy takes the second.
        nearest = jnp.floor(_folded(coordinate, size, mode) + 0.5)
        if mode == "constant":
            # As far before the first element as half-way, the constant is, as it is after the last.
            nearest = jnp.where(coordinate == -0.5, -1, nearest)
        return [(nearest.astype("int32"), jnp.ones_like(coordinate))]
    low = jnp.floor(coordinate)
    share = coordinate - low
    index = low.astype("int32")
    return [(index, 1 - share), (index + 1, share)]


@fused(static=("order", "mode"), name="map_coordinates")
def _sampled(input: Any, coordinates: Any, cval: Any, order: int, mode: str) -> Any:
    input = jnp.asarray(input)
    beside = []
    for coordinate, size in zip(coordinates, input.shape, strict=True):
        kind = inexact_dtype(argument_aval("map_coordinates", coordinate).dtype)
        beside.append(_neighbours(jnp.asarray(coordinate, kind), size, order, mode))
    total: Any = 0
    for corner in product(*beside):
        places = tuple(
            _place(index, size, mode) for (index, _), size in zip(corner, input.shape, strict=True)
        )
        value = input[places]
        if mode == "constant":
            inside: Any = True
            for (index, _), size in zip(corner, input.shape, strict=True):
                inside = inside & (index >= 0) & (index < size)
            value = jnp.where(inside, value, jnp.asarray(cval, input.dtype))
        for _, weight in corner:
            value = value * weight
        total = total + value
    if input.dtype in dtypes.INTEGRAL:
        # As SciPy rounds: a half away from zero.
        total = jnp.trunc(total + jnp.copysign(0.5, total))
    return total.astype(input.dtype)


def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[Any],
    order: int,
    mode: str = "constant",
    cval: Any = 0.0,
) -> Any:
    """Return an array's values at coordinates between its elements.

    Args:
      input: the array.
      coordinates: for each of its axes an array of places, all of one shape.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: what lies beyond the ends: ``"constant"`` (``cval``), ``"nearest"``, ``"wrap"``,
        ``"mirror"`` about the last element or ``"reflect"`` about its edge.
      cval: the value beyond the ends.

    Returns:
      an array of the coordinates' shape and the input's dtype; integers are rounded.

    Raises:
      ValueError: there is not one array of coordinates for each axis.
      NotImplementedError: another order or mode.

    Linear in ``input``; the derivative in a coordinate is the slope of the line it is on.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> jx.scipy.ndimage.map_coordinates(jnp.arange(3.0), [jnp.array([0.5, 1.25])], order=1)
    Array([0.5 , 1.25], dtype=float32)
    """
    rank = argument_aval("map_coordinates", input).ndim
    if len(coordinates) != rank:
        raise ValueError(
            f"map_coordinates takes one array of coordinates for each axis: got "
            f"{len(coordinates)} for an input of rank {rank}"
        )
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates(order={order}): there are 0 and 1")
    if mode not in _MODES:
        raise NotImplementedError(f"map_coordinates(mode={mode!r}): there are {', '.join(_MODES)}")
    return _sampled(input, tuple(coordinates), cval, order, mode)
