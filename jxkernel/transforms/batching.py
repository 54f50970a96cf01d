"""Batching: a function of one example becomes a function of many (``vmap``).

``BatchTrace`` gives each value a batch dimension (or none) and applies primitives' ``batch``
rules; values without one are computed once, by the trace below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.config import enable_x64
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis, extend_axes
from jxkernel.core.explicit_sharding import explicit_sharding_of
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr, names_in
from jxkernel.core.leaks import check_leaks
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import Trace, Tracer, state, swap_current
from jxkernel.core.widths import any_wide
from jxkernel.primitives.shape.broadcast import batch_to_front
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding.constraints import reshard_like
from jxkernel.sharding import NamedSharding, PartitionSpec
from jxkernel.transforms.stage import trace_flat

__all__ = ["BatchTrace", "BatchTracer", "batch_flat", "batch_program"]


class BatchTracer(Tracer):
    """One example's view of a value that holds many."""

    __slots__ = ("dim", "value")

    def __init__(self, trace: BatchTrace, value: Any, dim: int) -> None:
        aval = abstractify(value)
        self.owner = trace
        self.aval = example_aval(aval, dim)
        self.value = value
        self.dim = dim


def example_aval(aval: ShapedArray, dim: int) -> ShapedArray:
    """Return the type of one example of many that lie along an axis."""
    shape = aval.shape
    explicit_sharding = aval.explicit_sharding
    if explicit_sharding is not None:
        entries = aval.entries
        spec = explicit_sharding.spec.update(partitions=(*entries[:dim], *entries[dim + 1 :]))
        explicit_sharding = explicit_sharding_of(explicit_sharding.update(spec=spec), aval.ndim - 1)
    return ShapedArray(
        shape[:dim] + shape[dim + 1 :], aval.dtype, aval.weak_type, aval.vma, explicit_sharding
    )


def batched_aval(aval: ShapedArray, axis: Axis, dim: int = 0) -> ShapedArray:
    """Return the type of as many values of a type as a batch axis has examples."""
    shape = (*aval.shape[:dim], axis.size, *aval.shape[dim:])
    return aval.update(shape=shape, explicit_sharding=_wider(aval, axis, dim))


def _wider(aval: ShapedArray, axis: Axis, dim: int) -> Any:
    sharding = aval.explicit_sharding or (axis.mesh and NamedSharding(axis.mesh, PartitionSpec()))
    if sharding is None:
        return None
    entries = list(aval.entries)
    entries.insert(dim, axis.entry)
    wider = sharding.update(spec=sharding.spec.update(partitions=tuple(entries)))
    return explicit_sharding_of(wider, aval.ndim + 1)


class BatchTrace(Trace):
    """Processes primitives on values with a batch dimension."""

    __slots__ = ("axis",)
    maps = True

    def __init__(self, parent: Trace, axis: Axis) -> None:
        self.parent = parent
        self.axis = axis

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply the batch rule, or pass unbatched work to the trace below."""
        if enable_x64.seen and not enable_x64.value and any_wide(map(abstractify, args)):
            with enable_x64(True):
                return self.process(primitive, args, params)
        values: list[Any] = []
        dims: list[int | None] = []
        batched = False
        for arg in args:
            if type(arg) is BatchTracer and arg.owner is self:
                values.append(arg.value)
                dims.append(arg.dim)
                batched = True
            else:
                values.append(arg)
                dims.append(None)
        previous = swap_current(self.parent)
        try:
            if not batched and not self._named_by(primitive, params):
                return self.parent.process(primitive, tuple(values), params)
            out, out_dims = primitive.rule("batch")(self.axis, values, dims, **params)
        finally:
            swap_current(previous)
        if primitive.multiple_results:
            return [self.wrap(y, dim) for y, dim in zip(out, out_dims, strict=True)]
        return self.wrap(out, out_dims)

    def _named_by(self, primitive: Primitive, params: dict[str, Any]) -> bool:
        """Whether the work differs between examples although no argument does: it asks which."""
        return self.axis.name is not None and self.axis.name in names_in(primitive, params)

    def wrap(self, value: Any, dim: int | None) -> Any:
        """Return a value as a tracer of this trace, or as it is without a batch dimension."""
        if dim is None:
            return value
        if self.axis.entry is not None and abstractify(value).entries[dim] != self.axis.entry:
            value = self._divided(value, dim)
        return BatchTracer(self, value, dim)

    def _divided(self, value: Any, dim: int) -> Any:
        """Return a value whose batch axis is divided as that of all values is."""
        aval = batched_aval(example_aval(abstractify(value), dim), self.axis, dim)
        previous = swap_current(self.parent)
        try:
            return reshard_like(value, aval)
        finally:
            swap_current(previous)

    def is_of_numbers(self, tracer: Tracer) -> bool:
        """Whether a tracer is made of arguments that are single numbers: an example is not."""
        return False

    def describe(self, tracer: Tracer) -> tuple[str, ...]:
        """Say that the value is one example of many, and describe the whole of it."""
        own = f"Inside vmap it stands for one of {self.axis.size} examples."
        value = getattr(tracer, "value", None)
        rest = value.owner.describe(value) if isinstance(value, Tracer) else ()
        return (own, *rest)


def batch_flat(
    function: Callable[..., Sequence[Any]],
    args: Sequence[Any],
    dims: Sequence[int | None],
    axis: Axis,
) -> tuple[list[Any], list[int | None]]:
    """Apply a function of flat arguments to examples; return results and their batch dims."""
    trace = BatchTrace(state.trace, axis)
    tracers = [trace.wrap(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    previous = swap_current(trace)
    try:
        if axis.name is None:
            outs = function(*tracers)
        else:
            with extend_axes([(axis.name, axis.size)]):
                outs = function(*tracers)
    finally:
        swap_current(previous)
    pairs = [
        (out.value, out.dim) if type(out) is BatchTracer and out.owner is trace else (out, None)
        for out in outs
    ]
    outs = tracers = ()
    check_leaks(trace)
    return [value for value, _ in pairs], [dim for _, dim in pairs]


def batch_program(
    closed: ClosedJaxpr, axis: Axis, batched: tuple[bool, ...], force: bool | tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Return a program over examples, batch axes first, and which results have one.

    Args:
      closed: the program for one example.
      axis: the batch axis.
      batched: for each argument, whether it has the batch axis (at 0).
      force: whether (or for which) results must have the axis even where they need not.
    """
    return closed.remember(_make_batched, axis, batched, force)


def _make_batched(
    closed: ClosedJaxpr, axis: Axis, batched: tuple[bool, ...], force: bool | tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    jaxpr = closed.jaxpr
    forced = (force,) * len(jaxpr.outvars) if isinstance(force, bool) else force
    avals = [
        batched_aval(aval, axis) if has else aval
        for aval, has in zip(jaxpr.in_avals, batched, strict=True)
    ]
    out_batched: list[bool] = []

    def run(*args: Any) -> list[Any]:
        dims = [0 if has else None for has in batched]
        outs, out_dims = batch_flat(
            lambda *xs: eval_jaxpr(jaxpr, closed.consts, *xs), args, dims, axis
        )
        out_batched[:] = [
            dim is not None or must for dim, must in zip(out_dims, forced, strict=True)
        ]
        return [
            out if dim is None and not must else to_dim(out, dim, 0, axis)
            for out, dim, must in zip(outs, out_dims, forced, strict=True)
        ]

    program = trace_flat(run, avals, name=f"vmap_{jaxpr.name}")
    return program, tuple(out_batched)


def to_dim(value: Any, dim: int | None, wanted: int, axis: Axis) -> Any:
    """Return a result with its batch axis at ``wanted``, divided as that of every value is."""
    moved = move_axis(batch_to_front(value, dim, axis.size), 0, wanted)
    if dim is not None or axis.entry is None:
        return moved
    return reshard_like(moved, batched_aval(abstractify(value), axis, wanted))
