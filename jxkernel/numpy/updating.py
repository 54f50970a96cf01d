"""Changed copies of arrays: what ``x.at[...].set(y)`` and its kin become.

A window at known positions is written in place of the old one; anything else is a scatter, which
by default drops what would be written out of bounds.
"""

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._lazy import late_function
from jxkernel.core.trace import evaluating
from jxkernel.core.zeros import scalar_like
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.index_parsing import Spec, parse, unwrapped
from jxkernel.numpy.indexing import Addresses, addresses, getitem, new_axes
from jxkernel.numpy.promotion import argument_aval, broadcast_to_shape, cast, dtype_of, exact_number
from jxkernel.numpy.ufuncs import named
from jxkernel.primitives.elementwise import arithmetic as ops
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_slice, dynamic_update_slice
from jxkernel.primitives.indexing.gather import (
    ScatterDimensionNumbers,
    scatter,
    scatter_add,
    scatter_sub,
)
from jxkernel.primitives.indexing.gather_numbers import canonical_mode
from jxkernel.primitives.indexing.scatter import scatter_max, scatter_min, scatter_mul
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import expand_dims, rev, squeeze
from jxkernel.primitives.sharding.constraints import mesh_cast, with_out_sharding

__all__ = ["IndexUpdater", "IndexedUpdate", "updated"]

scatter_apply = late_function("jxkernel.api.reductions", "scatter_apply")

_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": ops.add,
    "subtract": ops.sub,
    "multiply": ops.mul,
    # Of ones, which then divide the array or are its exponents.
    "divide": ops.mul,
    "power": ops.mul,
    "min": ops.min,
    "max": ops.max,
}
_SCATTERED: dict[str, Callable[..., Any]] = {
    "set": scatter,
    "add": scatter_add,
    "subtract": scatter_sub,
    "multiply": scatter_mul,
    "divide": scatter_mul,
    "power": scatter_mul,
    "min": scatter_min,
    "max": scatter_max,
}


class IndexUpdater:
    """``x.at``: index it to choose what is read or changed."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> "IndexedUpdate":
        return IndexedUpdate(self.array, index)

    def __repr__(self) -> str:
        return f"IndexUpdater({self.array!r})"


_OF_ONES: dict[str, Callable[[Any, Any], Any]] = {
    "divide": operator.truediv,
    "power": operator.pow,
}
"""What is done to the array with ones that the values were written to."""


def _update(operation: str, doc: str) -> Callable[..., Any]:
    """Return the method of an update."""

    def method(
        self: "IndexedUpdate",
        values: Any,
        *,
        mode: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
    ) -> Any:
        of_ones = _OF_ONES.get(operation)
        written = updated(
            _ones_like(self.array) if of_ones else self.array,
            self.index,
            values,
            operation,
            mode=mode,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            out_sharding=out_sharding,
            wrap_negative_indices=wrap_negative_indices,
        )
        return of_ones(self.array, written) if of_ones else written

    named(method, operation, doc)
    method.__qualname__ = f"IndexedUpdate.{operation}"
    return method


class IndexedUpdate:
    """``x.at[index]``: its methods return changed copies of ``x``.

    All take ``mode``, what happens to positions out of bounds: ``None``, ``"drop"`` and ``"fill"``
    leave the array unchanged there, ``"clip"`` moves them to the nearest one,
    ``"promise_in_bounds"`` lets the caller promise that there are none; and the promises
    ``indices_are_sorted`` and ``unique_indices``.  Values are broadcast to the part that is
    indexed and converted to the array's dtype.  Where positions repeat, ``add``, ``subtract``,
    ``multiply``, ``min``, ``max`` and ``apply`` count each, and which value ``set`` keeps is not
    specified.  With ``wrap_negative_indices=False`` negative positions are out of bounds; else they
    count from the end.
    The derivative is linear in array and value for ``set`` and ``add``.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexedUpdate({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        mode: Any = None,
        fill_value: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
        strategy: Any = "auto",
    ) -> Any:
        """Return the part that is indexed; ``mode="fill"`` reads ``fill_value`` out of bounds.

        ``strategy`` is accepted: how the part is read follows from the index.
        """
        index = self.index if wrap_negative_indices else unwrapped(self.index)
        how: dict[str, Any] = {
            "mode": mode,
            "fill_value": fill_value,
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
        }
        if out_sharding is not None:
            return with_out_sharding(getitem, (self.array,), out_sharding, index, **how)
        return getitem(self.array, index, **how)

    set = _update("set", "Return a copy with the part replaced by ``values``.")
    add = _update("add", "Return a copy with ``values`` added to the part.")
    subtract = _update("subtract", "Return a copy with ``values`` subtracted from the part.")
    multiply = _update("multiply", "Return a copy with the part multiplied by ``values``.")
    mul = multiply
    divide = _update(
        "divide", "Return a copy with the part divided by ``values``; integers become floating."
    )
    power = _update("power", "Return a copy with the part raised to the power of ``values``.")
    min = _update("min", "Return a copy with the lesser of the part and ``values`` in its place.")
    max = _update("max", "Return a copy with the greater of the part and ``values`` in its place.")

    def apply(
        self,
        func: Callable[[Any], Any],
        *,
        mode: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        wrap_negative_indices: bool = True,
    ) -> Any:
        """Return a copy with an elementwise function applied to the part.

        Where arrays of positions name an element several times, the function is applied as often;
        it is then differentiable only with the promise ``unique_indices``.
        """
        index = self.index if wrap_negative_indices else unwrapped(self.index)
        parsed = parse(self.array.shape, index, staged=True, clamp=False)
        if unique_indices or parsed.expand or _names_once(parsed.leaves):
            part = IndexedUpdate(self.array, index)
            return part.set(
                func(part.get()),
                mode=mode,
                indices_are_sorted=indices_are_sorted,
                unique_indices=unique_indices,
            )
        found = addresses(self.array.shape, parsed.leaves, parsed.spec)
        if 0 in found.shape:
            return self.array
        aval = self.array.aval
        return scatter_apply(
            self.array,
            found.indices,
            lambda x: cast(func(x), aval.dtype, aval.weak_type),
            _numbers(found),
            update_shape=found.shape,
            indices_are_sorted=indices_are_sorted,
            mode=mode,
        )


@fused
def _ones_like(x: Any) -> Any:
    return broadcast_in_dim(scalar_like(x, 1), x.shape, ())


def updated(
    x: Any,
    index: Any,
    values: Any,
    operation: str,
    *,
    mode: Any = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    out_sharding: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """Return a copy of an array with a part replaced or combined with values.

    Args:
      x: an array.
      index: as for reading.
      values: a number, or an array or a list that broadcasts to the part.
      operation: ``set add subtract multiply divide power min max``.
      mode: what happens out of bounds; see ``IndexedUpdate``.
      indices_are_sorted: the caller's promise about index arrays.
      unique_indices: the caller's promise about index arrays.
      out_sharding: how the result is divided over explicit mesh axes.
      wrap_negative_indices: whether negative positions count from the end; they are out of bounds
        otherwise.

    Raises:
      IndexError: there are too many indices, or a mask does not fit.
      NonConcreteBooleanIndexError: a mask is traced.
      TypeError: an index is none, or ``values`` is no array.
      ValueError: the values do not broadcast to the part.
    """
    if not wrap_negative_indices:
        index = unwrapped(index)
    if isinstance(values, (list, tuple)):
        values = asarray(values)
    if out_sharding is not None:
        promises: dict[str, Any] = {
            "indices_are_sorted": indices_are_sorted,
            "unique_indices": unique_indices,
        }
        values = mesh_cast(values)
        how = (index, values, operation)
        return with_out_sharding(updated, (x,), out_sharding, *how, mode=mode, **promises)
    values = exact_number(values, dtype_of(x))
    aval = argument_aval(operation, values)
    mode = canonical_mode(f"at[...].{operation}", mode)
    _warn_of_loss(x, aval)
    eager = evaluating()
    parsed = parse(x.shape, index, staged=not eager, clamp=False)
    if parsed.expand:
        x = expand_dims(x, parsed.expand)
    write_now = _written if eager else _written.__wrapped__
    result = write_now(
        x,
        parsed.leaves,
        values,
        spec=parsed.spec,
        operation=operation,
        mode=mode,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
    )
    return squeeze(result, parsed.expand) if parsed.expand else result


def _warn_of_loss(x: Any, values: Any) -> None:
    """Warn where the values' dtype does not fit into the array's by promotion."""
    aval = x.aval
    if values.dtype == aval.dtype or (values.weak_type and aval.dtype in dtypes.INEXACT):
        return
    joint, _ = dtypes.lattice_result_type(
        (aval.dtype, aval.weak_type), (values.dtype, values.weak_type)
    )
    if joint != aval.dtype:
        warnings.warn(
            f"values of dtype {values.dtype.name} are converted to the array's {aval.dtype.name}, "
            "which cannot hold them all: convert one of them first",
            FutureWarning,
            stacklevel=4,
        )


@fused(
    static=("spec", "operation", "mode", "indices_are_sorted", "unique_indices"), name="at_update"
)
def _written(
    x: Any,
    leaves: Sequence[Any],
    values: Any,
    *,
    spec: Spec,
    operation: str,
    mode: Any,
    indices_are_sorted: bool,
    unique_indices: bool,
) -> Any:
    aval, value_aval = argument_aval("at", x), argument_aval("at", values)
    if operation == "set":
        joint, weak = aval.dtype, aval.weak_type
    else:
        joint, weak = dtypes.lattice_result_type(
            (aval.dtype, aval.weak_type), (value_aval.dtype, value_aval.weak_type)
        )
    x, values = cast(x, joint, weak), cast(values, joint, weak)
    if _is_window(spec):
        result = _with_window(x, leaves, values, spec, operation)
    else:
        found = addresses(aval.shape, leaves, spec)
        if 0 in found.shape:
            return cast(x, aval.dtype, aval.weak_type)
        result = _SCATTERED[operation](
            x,
            found.indices,
            _laid_out(values, found),
            _numbers(found),
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices or _names_once(leaves),
            mode=mode,
        )
    return cast(result, aval.dtype, aval.weak_type)


def _names_once(leaves: Sequence[Any]) -> bool:
    """Whether an index names no element twice: it has slices and single positions only."""
    # A symbolic size equals no number, and is not compared with one.
    return all(np.size(leaf) in (0, 1) for leaf in leaves)


def _numbers(found: Addresses) -> ScatterDimensionNumbers:
    windows = tuple(i for i, kind in enumerate(found.layout) if kind == "window")
    return ScatterDimensionNumbers(windows, found.collapsed, found.addressed)


def _laid_out(values: Any, found: Addresses) -> Any:
    """Return values broadcast to the part's shape, without its new axes."""
    shape = list(found.shape)
    for place in found.new:
        shape.insert(place, 1)
    values = broadcast_to_shape(values, shape)
    return squeeze(values, found.new) if found.new else values


# ---------------------------------------------------------------- windows


def _is_window(spec: Spec) -> bool:
    """Whether an index selects one window without gaps that lies within bounds."""
    return all(
        entry[0] in ("new", "window", "fixed", "place")
        or (entry[0] == "slice" and (abs(entry[3]) == 1 or entry[2] < 2))
        for entry in spec
    )


def _with_window(x: Any, leaves: Sequence[Any], values: Any, spec: Spec, operation: str) -> Any:
    """Replace a window by what the operation makes of it and the values."""
    data = iter(leaves)
    starts: list[Any] = []
    sizes: list[int] = []
    dropped: list[int] = []
    reversed_axes: list[int] = []
    for axis, entry in enumerate([entry for entry in spec if entry[0] != "new"]):
        kind = entry[0]
        if kind == "slice":
            _, start, count, step = entry
            starts.append(start if step > 0 or count == 0 else start + (count - 1) * step)
            sizes.append(count)
            if step < 0:
                reversed_axes.append(axis)
        elif kind == "window":
            starts.append(next(data))
            sizes.append(entry[1])
        else:
            starts.append(entry[1] if kind == "fixed" else next(data))
            sizes.append(1)
            dropped.append(axis)
    values = _as_window(values, sizes, dropped, reversed_axes, new_axes(spec))
    whole = tuple(sizes) == np.shape(x)
    if operation != "set":
        old = x if whole else dynamic_slice(x, starts, sizes)
        values = _COMBINED[operation](old, values)
    return values if whole else dynamic_update_slice(x, values, starts)


def _as_window(
    values: Any,
    sizes: list[int],
    dropped: list[int],
    reversed_axes: list[int],
    added: tuple[int, ...],
) -> Any:
    """Return values in the shape of a window: broadcast, new axes dropped, dropped ones added."""
    part = [size for axis, size in enumerate(sizes) if axis not in dropped]
    for place in added:
        part.insert(place, 1)
    values = broadcast_to_shape(values, part)
    if added:
        values = squeeze(values, added)
    if dropped:
        values = expand_dims(values, dropped)
    return rev(values, reversed_axes) if reversed_axes else values
