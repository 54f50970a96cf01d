"""Blocks: the part of one array that a kernel gets at each step, checked, read and written.

A block that reaches beyond its array is read from, and written to, a copy of the array with
undefined elements around it, as large as whole blocks are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel import dtypes, tree
from jxkernel.api.arguments import function_name
from jxkernel.api.traced import trace_function
from jxkernel.config import pallas_poison_buffers
from jxkernel.core.avals import ShapedArray
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.printing import jaxpr_text
from jxkernel.core.trace import place_in_source, state
from jxkernel.errors import KernelError
from jxkernel.experimental.pallas.grids import INDEX, Grid, standing_in
from jxkernel.experimental.pallas.specs import (
    BlockDim,
    Blocked,
    BlockSpec,
    Element,
    Squeezed,
    no_block_spec,
)
from jxkernel.higher_order.recorded_references import Recorder
from jxkernel.higher_order.references import AbstractRef
from jxkernel.primitives.creation import full
from jxkernel.primitives.elementwise.arithmetic import mul
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_slice, dynamic_update_slice
from jxkernel.primitives.indexing.slicing import pad, slice
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.records import record

__all__ = ["Block", "block_of", "scratch", "undefined"]


def undefined(aval: ShapedArray) -> Any:
    """Return an array that nobody wrote to: NaN, the least integers, or False."""
    return full(aval.shape, _undefined_number(aval.dtype), aval.dtype)


def scratch(aval: ShapedArray) -> Any:
    """Return memory that nobody wrote to: undefined, or zeros where that is asked for."""
    return undefined(aval) if pallas_poison_buffers.value else full(aval.shape, 0, aval.dtype)


def _undefined_number(dtype: Any) -> Any:
    if dtypes.is_integral(dtype):
        return dtypes.iinfo(dtype).min
    return False if dtypes.is_boolean(dtype) else float("nan")


@record()
class Block:
    """The part of an array that a kernel gets at each step of its grid.

    Attributes:
      aval: the type of the array.
      dims: what each axis of the part is.
      index_map: from the indices of the grid, and references to what is prefetched, to the place of
        the part; None for the first part.
    """

    aval: ShapedArray
    dims: tuple[BlockDim, ...]
    index_map: ClosedJaxpr | None

    def __repr__(self) -> str:
        sizes = ", ".join(map(_dim_text, self.dims))
        comma = "," if len(self.dims) == 1 else ""
        text = jaxpr_text(self.index_map.jaxpr) if self.index_map else "the first"
        return f"({sizes}{comma}) of {self.aval.short()} at {text}"

    @property
    def seen(self) -> ShapedArray:
        """The type of the part, as the kernel sees it."""
        kept = [dim for dim in self.dims if not isinstance(dim, Squeezed)]
        return ShapedArray(tuple([dim.block_size for dim in kept]), self.aval.dtype)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple([1 if isinstance(dim, Squeezed) else dim.block_size for dim in self.dims])

    def edges(self) -> list[tuple[int, int]]:
        """How many undefined elements are before and after the array, along each axis."""
        edges: list[tuple[int, int]] = []
        for dim, size, part in zip(self.dims, self.aval.shape, self._sizes, strict=True):
            before, after = dim.padding if isinstance(dim, Element) else (0, 0)
            whole = max(-(-(before + size + after) // (part or 1)), 1) * part
            edges.append((before, whole - before - size if part else after))
        return edges

    def surround(self, array: Any) -> Any:
        """Return the array with undefined elements around it, where blocks reach beyond it."""
        edges = self.edges()
        if not any(map(any, edges)):
            return array
        fill = convert_element_type(_undefined_number(self.aval.dtype), self.aval.dtype)
        return pad(array, fill, [(before, after, 0) for before, after in edges])

    def cut_out(self, array: Any) -> Any:
        """Return the array without what surrounds it."""
        edges = self.edges()
        if not any(map(any, edges)):
            return array
        starts = [before for before, _ in edges]
        ends = [at + size for at, size in zip(starts, self.aval.shape, strict=True)]
        return slice(array, starts, ends)

    def place(self, indices: Sequence[Any], refs: Sequence[Any]) -> list[Any]:
        """Return where the part begins, in the array with what surrounds it.

        Args:
          indices: those of the grid.
          refs: references to what is prefetched.
        """
        if self.index_map is None:
            return [0] * len(self.dims)
        places = eval_jaxpr(self.index_map.jaxpr, self.index_map.consts, *indices, *refs)
        steps = [dim.block_size if isinstance(dim, Blocked) else 1 for dim in self.dims]
        places = [convert_element_type(place, INDEX.dtype) for place in places]
        return [mul(at, step) for at, step in zip(places, steps, strict=True)]

    def read(self, array: Any, place: Sequence[Any]) -> Any:
        """Return the part of an array that begins at a place."""
        part = dynamic_slice(array, place, self._sizes) if self.dims else array
        return reshape(part, self.seen.shape)

    def write(self, array: Any, place: Sequence[Any], part: Any) -> Any:
        """Return the array with a part at a place."""
        if not self.dims:
            return part
        return dynamic_update_slice(array, reshape(part, self._sizes), place)


def _dim_text(dim: BlockDim) -> str:
    if isinstance(dim, Squeezed):
        return "None"
    return repr(dim) if isinstance(dim, Element) else str(dim.block_size)


def block_of(
    spec: Any, aval: ShapedArray, name: str, grid: tuple[int, ...], prefetched: list[AbstractRef]
) -> Block:
    """Return the block that a spec means of an array.

    Args:
      spec: a ``BlockSpec``, or ``no_block_spec``.
      aval: the type of the array.
      name: what the user calls the array, for messages.
      grid: the sizes of the kernel's grid.
      prefetched: the types of the references that index maps get.

    Raises:
      KernelError: they do not fit each other.
    """
    if spec is no_block_spec:
        spec = BlockSpec()
    if not isinstance(spec, BlockSpec):
        raise KernelError(
            f"the block of {name} is {spec!r:.60} of type {type(spec).__name__}.",
            instead=("a BlockSpec", "pl.no_block_spec, for the whole array"),
            **place_in_source(),
        )
    if spec.block_shape is None:
        dims: tuple[BlockDim, ...] = tuple([Blocked(size) for size in aval.shape])
    else:
        dims = tuple([_dim(entry, name) for entry in spec.block_shape])
    if len(dims) != len(aval.shape):
        raise KernelError(
            f"the block_shape {spec.block_shape} of {name} has rank {len(dims)}, and the array, "
            f"{aval.short()}, has rank {len(aval.shape)}.",
            instead=("one entry for each axis: None for one that the kernel is not to see",),
            **place_in_source(),
        )
    index_map = None
    if spec.index_map is not None:
        index_map = _traced_map(spec.index_map, len(dims), name, grid, prefetched)
    return Block(aval, dims, index_map)


def _dim(entry: Any, name: str) -> BlockDim:
    if entry is None:
        return Squeezed()
    if isinstance(entry, Squeezed | Element | Blocked):
        return entry
    if not isinstance(entry, int) or entry < 1:
        raise KernelError(
            f"the block_shape of {name} has the entry {entry!r:.60}.",
            instead=(
                "an int of at least 1, known when the kernel is made",
                "None, pl.Element(...), pl.Blocked(...) or pl.Squeezed()",
            ),
            **place_in_source(),
        )
    return Blocked(int(entry))


def _traced_map(
    index_map: Callable[..., Any],
    count: int,
    name: str,
    grid: tuple[int, ...],
    prefetched: list[AbstractRef],
) -> ClosedJaxpr:
    """Return an index map as a program.

    Raises:
      KernelError: it does not give an integer for each axis, or closes over arrays.
    """

    def place(*given: Any) -> tuple[Any, ...]:
        recorder = state.trace.recorder  # type: ignore[attr-defined]  # it is given below
        indices, rest = given[: len(grid)], given[len(grid) :]
        refs = [
            recorder.parameter(aval, leaf.variable)
            for aval, leaf in zip(prefetched, rest, strict=True)
        ]
        with standing_in(Grid(grid, indices.__getitem__)):
            found = index_map(*indices, *refs)
        return tuple(found) if isinstance(found, tuple | list) else (found,)

    avals: list[Any] = [*[INDEX] * len(grid), *prefetched]
    structure = tree.structure((0,) * len(avals))
    traced = trace_function(
        "an index map", index_map, place, structure, avals, key=grid, recorder=Recorder
    )
    who = f"the index_map {function_name(index_map)} of {name}"
    outs = traced.out_avals
    if len(outs) != count:
        raise KernelError(
            f"the number of indices that {who} gives is {len(outs)}, and the array's rank {count}.",
            instead=("one index for each axis, 0 for an axis that is not divided",),
            **place_in_source(),
        )
    for out in outs:
        if out.shape or not dtypes.is_integral(out.dtype):
            raise KernelError(
                f"{who} gave {out.short()}, and an index is an integer of rank 0.",
                **place_in_source(),
            )
    if traced.closed.consts:
        raise KernelError(
            f"{who} closes over an array, {traced.closed.jaxpr.constvars[0].aval.short()}.",
            instead=(
                "compute with the indices of the grid alone",
                "prefetch the array: pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, ...)",
            ),
            **place_in_source(),
        )
    return traced.closed
