"""Copies of arrays with elements set by mask or place, and without the zeros at their ends."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel.numpy.creation import asarray
from jxkernel.numpy.cumulative import cumsum
from jxkernel.numpy.indexing import within
from jxkernel.numpy.promotion import argument_aval, cast, check_known
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import ravel, reshape
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.arguments import canonical_axes, listed
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.runtime import ArrayLike

__all__ = ["place", "put", "trim_zeros"]


def _refuse_in_place(name: str) -> None:
    raise ValueError(f"arrays do not change: {name}(..., inplace=False) returns a copy")


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """Return a copy of an array with values where a mask holds, one after the other.

    Args:
      arr: an array.
      mask: booleans, as many as ``arr`` has elements.
      vals: the values, repeated as often as needed.
      inplace: must be False: arrays do not change.

    Raises:
      ValueError: ``inplace`` is True, the sizes differ, or there is no value.

    >>> import jxkernel.numpy as jnp
    >>> x = jnp.arange(4)
    >>> jnp.place(x, x > 1, jnp.array([8, 9]), inplace=False)
    Array([0, 1, 8, 9], dtype=int32)
    """
    if inplace:
        _refuse_in_place("place")
    shapes = [argument_aval("place", x, i).shape for i, x in enumerate((arr, mask))]
    arr, values = asarray(arr), ravel(asarray(vals))
    chosen = ravel(asarray(mask)).astype(bool)
    if chosen.size != arr.size:
        raise ValueError(f"place got arr of shape {shapes[0]} and mask of shape {shapes[1]}")
    if not values.size:
        raise ValueError("place got no values to place: vals has size 0")
    if not arr.size:
        return arr
    turn = (cumsum(chosen) - 1) % values.size
    placed = cast(values[turn].astype(arr.dtype), arr.dtype, arr.aval.weak_type)
    set_all = where(chosen, placed, ravel(arr))
    return reshape(set_all, arr.shape)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """Return a copy of an array with values at places of the flattened array.

    Args:
      a: an array.
      ind: integers, the places.
      v: the values, repeated as often as needed.
      mode: what to do with places out of bounds: ``"clip"`` takes the nearest, ``"wrap"`` counts on
        from the start. Where not given, negative ones count from the end, and the nearest is taken.
      inplace: must be False: arrays do not change.

    Raises:
      ValueError: ``inplace`` is True, or there is no such mode.
      NotImplementedError: the mode is ``"raise"``, which needs values that are known.

    >>> import jxkernel.numpy as jnp
    >>> jnp.put(jnp.zeros(3), jnp.array([0, 2]), 5, inplace=False)
    Array([5., 0., 5.], dtype=float32)
    """
    if inplace:
        _refuse_in_place("put")
    if mode == "raise":
        raise NotImplementedError("put(mode='raise') must look at values: 'clip', 'wrap' or None")
    if mode not in (None, "clip", "wrap"):
        raise ValueError(f"put got mode {mode!r}: it is 'clip', 'wrap' or None")
    for position, x in enumerate((a, ind, v)):
        argument_aval("put", x, position)
    a, places, values = asarray(a), ravel(asarray(ind)), ravel(asarray(v))
    if not places.size:
        return a
    if not values.size:
        raise ValueError("put got no values to put: v has size 0")
    if mode is None:
        places = where(places < 0, places + a.size, places)
    places = within(places, a.size, mode or "clip")
    values = values[np.arange(places.size) % values.size].astype(a.dtype)
    return reshape(IndexUpdater(ravel(a))[places].set(values, mode="drop"), a.shape)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """Return an array without the zeros at its ends.

    Args:
      filt: an array whose values are known now.
      trim: ``"f"`` for the front, ``"b"`` for the back, ``"fb"`` for both.
      axis: the axes to trim; all where not given.

    Raises:
      ConcretizationTypeError: the array is traced: the result's shape depends on values.
      ValueError: ``trim`` is none of these.

    >>> import jxkernel.numpy as jnp
    >>> jnp.trim_zeros(jnp.array([0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int32)
    """
    argument_aval("trim_zeros", filt)
    kept = trim.lower() if isinstance(trim, str) else trim
    if isinstance(kept, list) or kept not in ("f", "b", "fb", "bf"):
        raise ValueError(f"trim_zeros got trim {trim!r}: it is 'f', 'b' or 'fb'")
    instead = "trim before jit: the shape of the result depends on values"
    check_known("trim_zeros", filt, instead)
    rank = np.ndim(filt)
    axes = tuple(range(rank)) if axis is None else canonical_axes("trim_zeros", listed(axis), rank)
    found = np.nonzero(np.asarray(stop_gradient(filt)))
    bounds = [slice(None)] * rank
    for i in axes:
        first, last = (found[i].min(), found[i].max() + 1) if found[i].size else (0, 0)
        bounds[i] = slice(
            int(first) if "f" in kept else 0,
            int(last) if "b" in kept or not found[i].size else None,
        )
    return asarray(filt)[tuple(bounds)]
