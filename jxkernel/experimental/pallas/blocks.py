"""Blocks: the part of one array that a kernel gets at each step, checked, read and written.

A block that reaches beyond its array is read from, and written to, a copy of the array with
undefined elements around it, as large as whole blocks are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from jxkernel import dtypes, tree
from jxkernel._reprs import with_type
from jxkernel.api.arguments import function_name
from jxkernel.api.traced import trace_function
from jxkernel.config import pallas_poison_buffers
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.printing import jaxpr_text
from jxkernel.core.slices import Slice
from jxkernel.core.trace import place_in_source, state
from jxkernel.errors import KernelError
from jxkernel.experimental.pallas.grids import INDEX, Grid, program_size, standing_in
from jxkernel.experimental.pallas.memory import argument
from jxkernel.experimental.pallas.sizes import slices_of_any_size
from jxkernel.experimental.pallas.specs import (
    BlockDim,
    Blocked,
    BlockSpec,
    BoundedSlice,
    Element,
    Indirect,
    Squeezed,
    no_block_spec,
)
from jxkernel.higher_order.recorded_references import Recorder
from jxkernel.higher_order.references import AbstractRef
from jxkernel.numpy import take, where
from jxkernel.primitives.creation import broadcasted_iota, full, iota
from jxkernel.primitives.elementwise.arithmetic import mul
from jxkernel.primitives.elementwise.bits import bitwise_and
from jxkernel.primitives.elementwise.compare import lt
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_slice, dynamic_update_slice
from jxkernel.primitives.indexing.slicing import pad
from jxkernel.primitives.indexing.slicing import slice as slice_of
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

    def of_numbers(self, aval: ShapedArray) -> Block:
        """Return the block of what elements are made of, on a last axis.

        Args:
          aval: the type of the array of these: of random keys their words.
        """
        return Block(aval, (*self.dims, Blocked(aval.shape[-1])), self.index_map)

    def edges(self) -> list[tuple[int, int]]:
        """How many undefined elements are before and after the array, along each axis."""
        edges: list[tuple[int, int]] = []
        for dim, size, part in zip(self.dims, self.aval.shape, self._sizes, strict=True):
            if isinstance(dim, BoundedSlice | Indirect):
                edges.append((0, part if isinstance(dim, BoundedSlice) else 0))
                continue
            before, after = dim.padding if isinstance(dim, Element) else (0, 0)
            whole = max(-(-(before + size + after) // (part or 1)), 1) * part
            edges.append((before, whole - before - size if part else after))
        return edges

    def surround(self, array: Any) -> Any:
        """Return the array with undefined elements around it, where blocks reach beyond it."""
        edges = self.edges()
        if all(_is_nothing(length) for edge in edges for length in edge):
            return array
        fill = convert_element_type(_undefined_number(self.aval.dtype), self.aval.dtype)
        return pad(array, fill, [(before, after, 0) for before, after in edges])

    def cut_out(self, array: Any) -> Any:
        """Return the array without what surrounds it."""
        edges = self.edges()
        if all(_is_nothing(length) for edge in edges for length in edge):
            return array
        starts = [before for before, _ in edges]
        ends = [at + size for at, size in zip(starts, self.aval.shape, strict=True)]
        return slice_of(array, starts, ends)

    def place(self, indices: Sequence[Any], refs: Sequence[Any]) -> list[Any]:
        """Return where the part begins, in the array with what surrounds it.

        Args:
          indices: those of the grid.
          refs: references to what is prefetched.
        """
        if self.index_map is None:
            return [_first(dim) for dim in self.dims]
        outs = eval_jaxpr(self.index_map.jaxpr, self.index_map.consts, *indices, *refs)
        given = iter([convert_element_type(out, INDEX.dtype) for out in outs])
        places: list[Any] = []
        for dim in self.dims:
            at = next(given, 0)  # what elements are made of has no index
            if isinstance(dim, BoundedSlice):
                at = (at, next(given))
            places.append(mul(at, dim.block_size) if isinstance(dim, Blocked) else at)
        return places

    def read(self, array: Any, place: Sequence[Any]) -> Any:
        """Return the part of an array that is at a place."""
        part = self._gathered(self._around(array, place), place) if self.dims else array
        inside = self._inside(place)
        if inside is not None:
            part = where(inside, part, undefined(abstractify(part)))
        return reshape(part, self.seen.shape)

    def write(self, array: Any, place: Sequence[Any], part: Any) -> Any:
        """Return the array with a part at a place."""
        if not self.dims:
            return part
        part = reshape(part, self._sizes)
        inside, axis = self._inside(place), self._indirect
        if inside is not None or axis is not None:
            around = self._around(array, place)
            if inside is not None:
                part = where(inside, part, self._gathered(around, place))
            if axis is not None:
                index = (*[slice(None)] * axis, place[axis])
                part = around.at[index].set(part, mode="drop")
        return dynamic_update_slice(array, part, self._starts(place))

    @property
    def _indirect(self) -> int | None:
        found = [axis for axis, dim in enumerate(self.dims) if isinstance(dim, Indirect)]
        return found[0] if found else None

    def _starts(self, place: Sequence[Any]) -> list[Any]:
        """Return where the stretch begins that holds the part: along a gathered axis, all of it."""
        return [
            at[0] if isinstance(dim, BoundedSlice) else 0 if isinstance(dim, Indirect) else at
            for dim, at in zip(self.dims, place, strict=True)
        ]

    def _around(self, array: Any, place: Sequence[Any]) -> Any:
        """Return the stretch that holds the part."""
        sizes = [
            array.shape[axis] if isinstance(dim, Indirect) else size
            for axis, (dim, size) in enumerate(zip(self.dims, self._sizes, strict=True))
        ]
        return dynamic_slice(array, self._starts(place), sizes)

    def _gathered(self, around: Any, place: Sequence[Any]) -> Any:
        axis = self._indirect
        if axis is None:
            return around
        fill = _undefined_number(self.aval.dtype)
        return take(around, place[axis], axis, mode="fill", fill_value=fill)

    def _inside(self, place: Sequence[Any]) -> Any:
        """Return which elements of the part are in its slices; None where there are none."""
        inside = None
        for axis, (dim, at) in enumerate(zip(self.dims, place, strict=True)):
            if isinstance(dim, BoundedSlice):
                here = lt(broadcasted_iota(INDEX.dtype, self._sizes, axis), at[1])
                inside = here if inside is None else bitwise_and(inside, here)
        return inside


def _is_nothing(length: Any) -> bool:
    """Whether a length is 0; a symbolic one is not, but where it is written so."""
    return isinstance(length, int) and length == 0


def _first(dim: BlockDim) -> Any:
    """Return the place of the first part along an axis."""
    if isinstance(dim, BoundedSlice):
        return 0, dim.block_size
    return iota(INDEX.dtype, dim.block_size) if isinstance(dim, Indirect) else 0


def _dim_text(dim: BlockDim) -> str:
    if isinstance(dim, Squeezed):
        return "None"
    return str(dim.block_size) if isinstance(dim, Blocked) else repr(dim)


def block_of(
    spec: Any,
    aval: ShapedArray,
    name: str,
    grid: tuple[int | None, ...],
    prefetched: list[AbstractRef],
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
            f"the block of {name} is {with_type(spec)}.",
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
    if sum(isinstance(dim, Indirect) for dim in dims) > 1:
        raise KernelError(
            f"the block_shape of {name} is {spec.block_shape}: one axis of a block is indirect at "
            "most.",
            **place_in_source(),
        )
    index_map = None
    if spec.index_map is not None:
        index_map = _traced_map(spec.index_map, dims, name, grid, prefetched)
    return Block(aval, dims, index_map)


def _dim(entry: Any, name: str) -> BlockDim:
    if entry is None:
        return Squeezed()
    if isinstance(entry, BlockDim):
        return entry
    if not isinstance(entry, int) or entry < 1:
        raise KernelError(
            f"the block_shape of {name} has the entry {entry!r:.60}.",
            instead=(
                "an int of at least 1, known when the kernel is made",
                "None, pl.Element(...), pl.Blocked(...), pl.Squeezed(), pl.BoundedSlice(...) or "
                "pl.Indirect(...)",
            ),
            **place_in_source(),
        )
    return Blocked(int(entry))


def _traced_map(
    index_map: Callable[..., Any],
    dims: Sequence[BlockDim],
    name: str,
    grid: tuple[int | None, ...],
    prefetched: list[AbstractRef],
) -> ClosedJaxpr:
    """Return an index map as a program; of a slice it gives the start and the size.

    Raises:
      KernelError: it does not give what each axis takes, or closes over arrays.
    """
    who = f"the index_map {function_name(index_map)} of {name}"

    def place(*given: Any) -> tuple[Any, ...]:
        recorder = state.trace.recorder  # type: ignore[attr-defined]  # it is given below
        indices, rest = given[: len(grid)], given[len(grid) :]
        refs = [
            argument(recorder, aval, leaf.variable)
            for aval, leaf in zip(prefetched, rest, strict=True)
        ]
        size = partial(program_size, recorder)
        with standing_in(Grid(grid, indices.__getitem__, size)), slices_of_any_size():
            found = index_map(*indices, *refs)
        outs = tuple(found) if isinstance(found, tuple | list) else (found,)
        if len(outs) != len(dims):
            raise KernelError(
                f"the number of indices that {who} gives is {len(outs)}, and the array's rank "
                f"{len(dims)}.",
                instead=("one index for each axis, 0 for an axis that is not divided",),
                **place_in_source(),
            )
        return tuple(
            [part for dim, out in zip(dims, outs, strict=True) for part in _parts(dim, out, who)]
        )

    avals: list[Any] = [*[INDEX] * len(grid), *prefetched]
    structure = tree.structure((0,) * len(avals))
    traced = trace_function(
        "an index map", index_map, place, structure, avals, key=(grid, dims), recorder=Recorder
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


def _parts(dim: BlockDim, out: Any, who: str) -> list[Any]:
    """Return what an index map gives for an axis as integers, checked.

    Raises:
      KernelError: it is not what the axis takes.
    """
    if isinstance(dim, BoundedSlice):
        if not isinstance(out, Slice) or out.stride != 1:
            raise KernelError(
                f"{who} gave {out!r:.60} for {dim}, which takes pl.ds(start, size).",
                **place_in_source(),
            )
        return [_integer(out.start, (), who), _integer(out.size, (), who)]
    return [_integer(out, (dim.block_size,) if isinstance(dim, Indirect) else (), who)]


def _integer(out: Any, shape: tuple[int, ...], who: str) -> Any:
    aval = abstractify(out)
    if aval.shape != shape or not dtypes.is_integral(aval.dtype):
        wanted = f"of shape {shape}" if shape else "of rank 0"
        raise KernelError(
            f"{who} gave {aval.short()}, and an index is an integer {wanted}.",
            **place_in_source(),
        )
    return out
