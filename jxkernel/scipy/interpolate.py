"""Interpolation of values on a grid."""

from itertools import product
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import tree
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import promote_inexact

__all__ = ["RegularGridInterpolator"]


def _cell(line: Any, x: Any) -> tuple[Any, Any]:
    """Return the number of the cell in which x lies, the first or last beyond, and where in it."""
    index = jnp.clip(jnp.searchsorted(line, x, side="right") - 1, 0, line.size - 2)
    low, high = line[index], line[index + 1]
    return index, (x - low) / (high - low)


def _interpolated(cells: Any, values: Any, method: str) -> Any:
    spread = (-1, *[1] * (values.ndim - len(cells)))
    if method == "nearest":
        return values[tuple(jnp.where(share <= 0.5, i, i + 1) for i, share in cells)]
    total: Any = 0
    for corner in product((0, 1), repeat=len(cells)):
        weight: Any = 1
        for side, (_, share) in zip(corner, cells, strict=True):
            weight = weight * (share if side else 1 - share)
        places = tuple(i + side for side, (i, _) in zip(corner, cells, strict=True))
        total = total + values[places] * weight.reshape(spread)
    return total


@fused(static=("method", "filled"), name="RegularGridInterpolator")
def _evaluated(
    grid: Any, values: Any, points: Any, fill_value: Any, method: str, filled: bool
) -> Any:
    cells = [_cell(line, points[:, axis]) for axis, line in enumerate(grid)]
    result = _interpolated(cells, values, method)
    spread = (-1, *[1] * (values.ndim - len(grid)))
    missing: Any = (points != points).any(-1)
    if filled:
        beyond: Any = False
        for axis, line in enumerate(grid):
            beyond = beyond | (points[:, axis] < line[0]) | (points[:, axis] > line[-1])
        result = jnp.where(beyond.reshape(spread), fill_value, result)
    return jnp.where(missing.reshape(spread), np.nan, result)


@tree.register_pytree_node_class
class RegularGridInterpolator:
    """Interpolation between values on a grid whose lines need not be evenly spaced.

    Args:
      points: for each axis of the grid a vector of increasing places.
      values: the values, whose leading axes are those of the grid.
      method: ``"linear"`` or ``"nearest"``.
      bounds_error: must be False: an error cannot depend on traced values.
      fill_value: the value beyond the grid; None to extrapolate.

    Raises:
      ValueError: the shapes do not fit, places do not increase, or there is no such method.
      NotImplementedError: ``bounds_error`` is true.

    Linear in ``values``.

    >>> import jxkernel as jx
    >>> jnp = jx.numpy
    >>> line = jx.scipy.interpolate.RegularGridInterpolator((jnp.arange(3.0),), jnp.arange(3.0))
    >>> line(jnp.array([[0.5], [1.25]]))
    Array([0.5 , 1.25], dtype=float32)
    """

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator(bounds_error=True): use fill_value for what lies beyond"
            )
        _check_method(method)
        self.method = method
        self.bounds_error = bounds_error
        self.fill_value = fill_value
        self.grid = tuple(jnp.asarray(line) for line in points)
        (self.values,) = promote_inexact("RegularGridInterpolator", jnp.asarray(values))
        sizes = tuple(line.size for line in self.grid)
        if any(line.ndim != 1 or line.size < 2 for line in self.grid):
            raise ValueError(
                "RegularGridInterpolator takes vectors of at least two places, got shapes "
                f"{[line.shape for line in self.grid]}"
            )
        if self.values.shape[: len(sizes)] != sizes:
            raise ValueError(
                f"RegularGridInterpolator takes values of shape {sizes} or more, got "
                f"{self.values.shape}"
            )
        for axis, line in enumerate(points):
            if isinstance(line, np.ndarray) and not (np.diff(line) > 0).all():
                raise ValueError(f"the places along axis {axis} of the grid do not increase")

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """Return the values at points.

        Args:
          xi: points, their coordinates along the last axis (a vector holds one point after
            another), or a tuple of one array for each axis.
          method: in place of the one given before.
        """
        method = self.method if method is None else _check_method(method)
        if isinstance(xi, tuple):
            points = jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, xi)), -1)
        else:
            points = jnp.asarray(xi)
            if points.ndim == 1 and points.size % len(self.grid) == 0:
                points = points.reshape(-1, len(self.grid))
        if points.ndim == 0 or points.shape[-1] != len(self.grid):
            raise ValueError(
                f"this grid has {len(self.grid)} axes, got points of shape {points.shape}"
            )
        flat = points.reshape(-1, len(self.grid))
        filled = self.fill_value is not None
        fill = self.fill_value if filled else 0.0
        found = _evaluated(self.grid, self.values, flat, fill, method, filled)
        return found.reshape((*points.shape[:-1], *self.values.shape[len(self.grid) :]))

    def tree_flatten(self) -> Any:
        """Return the arrays, and what is not an array."""
        return (self.grid, self.values, self.fill_value), (self.method, self.bounds_error)

    @classmethod
    def tree_unflatten(cls, kept: Any, arrays: Any) -> "RegularGridInterpolator":
        """Return the interpolator made of such arrays."""
        made = object.__new__(cls)
        made.grid, made.values, made.fill_value = arrays
        made.method, made.bounds_error = kept
        return made


def _check_method(method: str) -> str:
    if method not in ("linear", "nearest"):
        raise ValueError(
            f"RegularGridInterpolator got method={method!r}: there are 'linear' and 'nearest'"
        )
    return method
