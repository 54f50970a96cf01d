"""``pallas_call``: a function of references as a function of arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any

from jxkernel import dtypes, tree
from jxkernel._reprs import with_type
from jxkernel.api.arguments import function_name
from jxkernel.api.traced import check_callable, leaf_avals, trace_function
from jxkernel.config import pallas_dynamic_shapes
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.dimensions import Dimension
from jxkernel.core.filtering import filtered
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.key_data import numbers_of
from jxkernel.core.trace import Tracer, place_in_source, state
from jxkernel.errors import KernelError
from jxkernel.experimental.pallas.blocks import Block, block_of
from jxkernel.experimental.pallas.grids import INDEX, Grid, program_id_p, program_size, standing_in
from jxkernel.experimental.pallas.interpretation import pallas_call_p
from jxkernel.experimental.pallas.memory import KeysAval, argument
from jxkernel.experimental.pallas.specs import GridSpec, PrefetchScalarGridSpec, no_block_spec
from jxkernel.higher_order.recorded_references import Recorder
from jxkernel.higher_order.references import AbstractRef, held
from jxkernel.numpy import asarray
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.records import record
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["memory_types", "pallas_call"]


@filtered
def pallas_call(
    kernel: Callable[..., None],
    out_shape: Any,
    *,
    grid_spec: Any = None,
    grid: Any = (),
    in_specs: Any = no_block_spec,
    out_specs: Any = no_block_spec,
    scratch_shapes: Any = (),
    input_output_aliases: Mapping[int, int] | None = None,
    debug: bool = False,
    interpret: Any = False,
    name: str | None = None,
    compiler_params: Any = None,
    cost_estimate: Any = None,
    metadata: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that runs a function of references for each step of a grid.

    The kernel is traced once and becomes a loop over the grid, for any platform.

    Args:
      kernel: gets references to blocks of the arguments, to those of the results, then to scratch
        memory; reads ``x_ref[...]``, writes ``o_ref[...] = x`` and returns None.
      out_shape: a tree of what has a shape and a dtype, such as ``ShapeDtypeStruct``: the results.
        Of a tuple or list the kernel gets one argument for each entry.
      grid_spec: a ``GridSpec`` with the grid, blocks and scratch memory, instead of the four.
      grid: the sizes of the grid's axes: ints, or traced integers; one alone for one axis.  The
        steps are taken in order, those of the last axis first; ``program_id`` says which it is.
      in_specs: a tuple or list of ``BlockSpec``, one for each argument, as trees where those are.
      out_specs: a tree of ``BlockSpec`` like the results.
      scratch_shapes: types of memory that stays from step to step, ``pltpu.VMEM(shape, dtype)``: a
        sequence, or a dict of the kernel's keywords.
      input_output_aliases: from an argument's number (of leaves, those prefetched counted) to a
        result's of the same type: the result begins as the argument, and is its memory.
      debug: whether to print the kernel's program.
      interpret: taken as true.
      name: what jaxprs call it; the kernel's name where not given.
      compiler_params: taken and not used.
      cost_estimate: taken and not used.
      metadata: taken and not used.

    Returns:
      a function of arrays (positional, trees of them) that returns arrays like ``out_shape``.
      Elements that no step writes are undefined: NaN, the least integer, or False.  Derivatives, in
      both directions, are those of what was computed; by what is undefined they are 0.  Over a grid
      of a traced size there is the forward one.

    Raises:
      KernelError: blocks or aliases do not fit; the kernel returns something or closes over arrays.
      RefError: the kernel writes a value of another shape or dtype than the part has.

    Source: docs.jax.dev, "Pallas: a JAX kernel language".

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import pallas as pl
    >>> def double(x_ref, o_ref):
    ...     o_ref[...] = x_ref[...] * 2
    >>> x, block = jnp.arange(6.0), pl.BlockSpec((2,), lambda i: (i,))
    >>> pl.pallas_call(double, x, grid=(3,), in_specs=[block], out_specs=block)(x).tolist()
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    """
    check_callable("pallas_call", "kernel", kernel)
    if grid_spec is None:
        grid_spec = GridSpec(grid, in_specs, out_specs, scratch_shapes)
    elif not _is_default(grid, in_specs, out_specs, scratch_shapes):
        raise KernelError(
            "pallas_call got a grid_spec beside grid, in_specs, out_specs or scratch_shapes.",
            **{"instead": ("put them into the grid_spec",), **place_in_source()},
        )
    aliases = tuple(sorted((input_output_aliases or {}).items()))
    layout = _Layout.of(out_shape, grid_spec)
    call = _Call(kernel, layout, aliases, name or function_name(kernel), debug)

    @wraps(kernel)
    @filtered
    def wrapped(*args: Any) -> Any:
        return call(args)

    return wrapped


def _is_default(grid: Any, in_specs: Any, out_specs: Any, scratch_shapes: Any) -> bool:
    specs = in_specs is no_block_spec and out_specs is no_block_spec
    return specs and grid == () and not scratch_shapes


def _grid_sizes(grid: Any) -> tuple[tuple[int | None, ...], list[Any]]:
    """Return the sizes of a grid, None for one that is data, and those that are.

    Raises:
      KernelError: one is no whole number.
    """
    sizes: list[int | None] = []
    values: list[Any] = []
    for size in tuple(grid) if isinstance(grid, tuple | list) else (grid,):
        if isinstance(size, Tracer) and _is_index(size.aval):
            sizes.append(None)
            values.append(convert_element_type(size, INDEX.dtype))
            continue
        if isinstance(size, Dimension) and pallas_dynamic_shapes.value:
            sizes.append(None)
            values.append(asarray(size, INDEX.dtype))
            continue
        if isinstance(size, Tracer | Dimension) or not hasattr(size, "__index__"):
            raise KernelError(f"the grid has the size {size!r:.100}.", **_other_size(size))
        sizes.append(max(size.__index__(), 0))
    return tuple(sizes), values


def _is_index(aval: ShapedArray) -> bool:
    """Whether a type is that of an integer of rank 0."""
    return not aval.shape and dtypes.is_integral(aval.dtype)


def _other_size(size: Any) -> dict[str, Any]:
    """Return what a message says to write in place of a size."""
    instead = ("ints, or integers of rank 0: pl.cdiv(x.shape[0], 8)",)
    if isinstance(size, Dimension):
        instead = ("export it in a block: with pl.pallas_export_experimental(True):",)
    return {"instead": instead, **place_in_source()}


def memory_types(scratch: Any) -> Any:
    """Return a tree with the types of references in the places of types of memory.

    Raises:
      KernelError: one is no type of memory.
    """
    return tree.map(_memory_type, scratch)


def _memory_type(kind: Any) -> AbstractRef:
    if isinstance(kind, ShapedArray):
        return AbstractRef(kind)
    found = kind if isinstance(kind, AbstractRef) else getattr(kind, "ref_aval", None)
    if not isinstance(found, AbstractRef):
        raise KernelError(
            f"{with_type(kind)} is no type of memory.",
            instead=("pltpu.VMEM(shape, dtype)", "pl.ANY(shape, dtype)"),
            **place_in_source(),
        )
    return found


@record()
class _Layout:
    """What a kernel is called with.

    Attributes:
      outs: the types of the results.
      out_tree: the structure of the results.
      spec: the grid and the blocks.
      grid: the sizes of the grid; None for one that is data.
      sizes: those that are data.
      scratch: a tree of types of references.
    """

    outs: list[ShapedArray]
    out_tree: Any
    spec: Any
    grid: tuple[int | None, ...]
    sizes: list[Any]
    scratch: Any

    @staticmethod
    def of(out_shape: Any, spec: Any) -> _Layout:
        """Return a layout as the user gave it."""
        if not isinstance(spec, GridSpec | PrefetchScalarGridSpec):
            raise KernelError(
                f"pallas_call got the grid_spec {with_type(spec)}.",
                instead=("pl.GridSpec(grid=..., in_specs=..., out_specs=...)",),
                **place_in_source(),
            )
        shapes, out_tree = tree.flatten(_as_tuple(out_shape), is_leaf=_has_type)
        scratch = _as_tuple(spec.scratch_shapes)
        if not isinstance(scratch, tuple | dict):
            scratch = (scratch,)
        return _Layout(
            list(map(_out_type, shapes)),
            out_tree,
            spec,
            *_grid_sizes(spec.grid),
            memory_types(scratch),
        )


def _as_tuple(given: Any) -> Any:
    return tuple(given) if isinstance(given, list) else given


def _has_type(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _out_type(value: Any) -> ShapedArray:
    if not _has_type(value):
        raise KernelError(
            f"pallas_call got the out_shape {with_type(value)}.",
            instead=("jax.ShapeDtypeStruct(shape, dtype)",),
            **place_in_source(),
        )
    if dtypes.is_extended(value.dtype):
        raise KernelError(
            f"pallas_call got the out_shape {value.dtype.name}{list(value.shape)}: a kernel writes "
            "numbers.",
            instead=("random.key_data in the kernel, and random.wrap_key_data of the result",),
            **place_in_source(),
        )
    return ShapedArray(tuple(value.shape), dtypes.canonicalize_dtype(value.dtype))


@record(eq=False)
class _Call:
    """A kernel with all that it was given but arrays.

    Attributes:
      kernel: the user's function.
      layout: the grid, the blocks and the results.
      aliases: from arguments' numbers to results'.
      name: what it is called.
      debug: whether to print the program.
    """

    kernel: Callable[..., None]
    layout: _Layout
    aliases: tuple[tuple[int, int], ...]
    name: str
    debug: bool

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Apply the kernel to arrays."""
        leaves, in_tree = tree.flatten(args)
        avals = [_strong(aval) for aval in leaf_avals(self.name, "args", leaves, in_tree)]
        names = [f"args{tree.keystr(path)}" for path in tree.leaf_paths(in_tree)]
        self._check(names, avals)
        layout = self.layout
        count = tree.structure(args[: layout.spec.num_scalar_prefetch]).num_leaves
        keys = [
            physical.structure(leaf) if dtypes.is_extended(aval.dtype) else None
            for leaf, aval in zip(leaves, avals, strict=True)
        ]
        numbers = [abstractify(numbers_of(leaf)) for leaf in leaves]
        prefetched = [
            _ref_aval(aval, *of) for aval, *of in zip(avals[:count], numbers, keys, strict=False)
        ]
        in_blocks = self._in_blocks(args, names, avals, prefetched)
        out_blocks = self._out_blocks(prefetched)
        self._check_shared(in_blocks, out_blocks, names, count)
        types = prefetched
        for at, block in enumerate(in_blocks, count):
            if keys[at] is not None:
                in_blocks[at - count] = block.of_numbers(numbers[at])
            types.append(_ref_aval(block.seen, in_blocks[at - count].seen, keys[at]))
        types += [AbstractRef(block.seen) for block in out_blocks]
        closed = self._traced(in_tree, types)
        if self.debug:
            sys.stdout.write(f"{closed}\n")
        outs = pallas_call_p.bind(
            *layout.sizes,
            *[numbers_of(held(leaf, aval.dtype)) for leaf, aval in zip(leaves, avals, strict=True)],
            jaxpr=closed,
            grid=layout.grid,
            in_blocks=tuple(in_blocks),
            out_blocks=out_blocks,
            input_output_aliases=self.aliases,
            name=self.name,
        )
        return layout.out_tree.unflatten(outs)

    def _check(self, names: list[str], avals: list[ShapedArray]) -> None:
        """Check the aliases.

        Raises:
          KernelError: something does not fit.
        """
        outs = self.layout.outs
        for at, out in self.aliases:
            if not (0 <= at < len(avals) and 0 <= out < len(outs)):
                raise KernelError(
                    f"input_output_aliases has {at}: {out}, and the kernel {self.name} takes "
                    f"arrays numbered below {len(avals)}, and gives some below {len(outs)}.",
                    **place_in_source(),
                )
            if avals[at] != outs[out]:
                raise KernelError(
                    f"input_output_aliases has {at}: {out}, and {names[at]} is "
                    f"{avals[at].short()} where the result is {outs[out].short()}.",
                    **place_in_source(),
                )

    def _check_shared(
        self,
        in_blocks: Sequence[Block],
        out_blocks: Sequence[Block],
        names: list[str],
        count: int,
    ) -> None:
        """Check that blocks of an argument and of the result that is its memory reach as far.

        Raises:
          KernelError: they reach beyond the array by different lengths.
        """
        for at, out in self.aliases:
            if at < count:
                raise KernelError(
                    f"input_output_aliases has {at}: {out}, and {names[at]} is prefetched.",
                    instead=("an argument that comes after those that are prefetched",),
                    **place_in_source(),
                )
            edges = in_blocks[at - count].edges(), out_blocks[out].edges()
            if edges[0] != edges[1]:
                raise KernelError(
                    f"input_output_aliases has {at}: {out}, and the blocks of {names[at]} and of "
                    f"the result reach beyond the array by different lengths: {edges[0]} and "
                    f"{edges[1]} before and after it.",
                    instead=("blocks of the same shape", "pad the array to whole blocks before"),
                    **place_in_source(),
                )

    def _in_blocks(
        self,
        args: tuple[Any, ...],
        names: list[str],
        avals: list[ShapedArray],
        prefetched: list[AbstractRef],
    ) -> list[Block]:
        """Return the blocks of the arguments that are not prefetched.

        Raises:
          KernelError: the specs do not fit the arguments.
        """
        spec, count = self.layout.spec, len(prefetched)
        rest = args[spec.num_scalar_prefetch :]
        if spec.in_specs is no_block_spec:
            specs = [no_block_spec] * (len(avals) - count)
        else:
            specs = self._like(tree.structure(rest), _as_tuple(spec.in_specs), "in_specs", "args")
        return [
            block_of(one, aval, name, self.layout.grid, prefetched)
            for one, aval, name in zip(specs, avals[count:], names[count:], strict=True)
        ]

    def _out_blocks(self, prefetched: list[AbstractRef]) -> tuple[Block, ...]:
        """Return the blocks of the results.

        Raises:
          KernelError: the specs do not fit the results.
        """
        layout = self.layout
        specs = [no_block_spec] * len(layout.outs)
        if layout.spec.out_specs is not no_block_spec:
            given = _as_tuple(layout.spec.out_specs)
            specs = self._like(layout.out_tree, given, "out_specs", "out_shape")
        paths = tree.leaf_paths(layout.out_tree)
        names = [f"out_shape{tree.keystr(path)}" for path in paths]
        return tuple(
            [
                block_of(one, aval, name, layout.grid, prefetched)
                for one, aval, name in zip(specs, layout.outs, names, strict=True)
            ]
        )

    def _like(self, structure: Any, specs: Any, which: str, what: str) -> list[Any]:
        """Return the specs that stand where a tree has leaves.

        Raises:
          KernelError: they stand elsewhere.
        """
        found, given = tree.flatten(specs)
        if given != structure:
            raise KernelError(
                f"{which} of the kernel {self.name} has {given.num_leaves} specs, arranged as "
                f"{structure_text(given)}, and {what} has {structure.num_leaves} arrays, as "
                f"{structure_text(structure)}.",
                instead=(f"a BlockSpec for each array of {what}, or pl.no_block_spec",),
                **place_in_source(),
            )
        return found

    def _traced(self, in_tree: Any, types: list[AbstractRef]) -> ClosedJaxpr:
        """Return the kernel as a program of references.

        Args:
          in_tree: the structure of the arguments.
          types: the types of references to what is prefetched and to blocks.

        Raises:
          KernelError: it returns something, or closes over arrays.
        """
        kernel, layout = self.kernel, self.layout
        scratch_types, scratch_tree = tree.flatten(layout.scratch)

        def run(ins: Any, outs: Any, scratch: Any) -> None:
            recorder = state.trace.recorder  # type: ignore[attr-defined]  # it is given below

            def index(axis: int) -> Any:
                return recorder.record(program_id_p, axis=axis)[0]

            def more_memory(kind: AbstractRef) -> Any:
                return argument(recorder, kind, recorder.trace.argument(kind).variable)

            ins, outs, scratch = tree.map(
                lambda leaf: argument(recorder, leaf.aval, leaf.variable), (ins, outs, scratch)
            )
            outs = outs if isinstance(outs, tuple) else (outs,)
            rest, named = ((), scratch) if isinstance(scratch, dict) else (scratch, {})
            size = partial(program_size, recorder)
            with standing_in(Grid(layout.grid, index, size, more_memory)):
                result = kernel(*ins, *outs, *rest, **named)
            if result is not None:
                raise KernelError(
                    f"the kernel {self.name} returned {with_type(result)}: it writes its "
                    f"results and returns None.",
                    instead=("o_ref[...] = result",),
                    **place_in_source(),
                )

        structure = tree.structure(
            (
                in_tree.unflatten([0] * in_tree.num_leaves),
                layout.out_tree.unflatten([0] * layout.out_tree.num_leaves),
                scratch_tree.unflatten([0] * scratch_tree.num_leaves),
            )
        )
        avals: list[Any] = [*types, *scratch_types]
        traced = trace_function(
            "pallas_call", kernel, run, structure, avals, key=layout.grid, recorder=Recorder
        )
        if traced.closed.consts:
            [*_, variable] = traced.closed.jaxpr.constvars
            raise KernelError(
                f"the kernel {self.name} closes over an array, {variable.aval.short()}.",
                instead=(
                    "pass it to the kernel as an argument",
                    "a Python number, or an array that is made in the kernel",
                ),
                **place_in_source(),
            )
        return traced.closed


def _ref_aval(aval: ShapedArray, numbers: ShapedArray, structure: Any) -> AbstractRef:
    """Return the type of a reference, of random keys with how they are made of numbers."""
    return AbstractRef(aval) if structure is None else KeysAval(aval, numbers, structure)


def _strong(aval: ShapedArray) -> ShapedArray:
    return ShapedArray(aval.shape, aval.dtype)
