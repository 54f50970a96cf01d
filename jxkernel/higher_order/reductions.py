"""Reductions by a program: ``reduce``, ``reduce_window`` and ``scatter_apply``.

The program combines scalars.  Compiled, it is the body of one StableHLO operation; to be
differentiated or given a batch of start values the reduction is unrolled into applications of
the program to whole arrays, in logarithmically many steps or one per place of a window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import Any

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.errors import ShapeError, ShapeMismatchError, UndefinedRuleError
from jxkernel.higher_order.programs import evaluate_compiled
from jxkernel.primitives.conv.reduce_window import Window
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.gather import batch_scatter, gather_of_scatter, scatter_p
from jxkernel.primitives.indexing.gather_lowering import lower_scatter
from jxkernel.primitives.indexing.gather_numbers import ScatterDimensionNumbers
from jxkernel.primitives.indexing.slicing import pad, slice, slice_in_dim
from jxkernel.primitives.shape.broadcast import batch_to_front, broadcast_in_dim, reduced_shape
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.transforms.batching import batch_flat
from jxkernel.transforms.jvp import jvp_flat

__all__ = ["reduce_p", "reduce_window_p", "scatter_apply_p", "select_and_scatter_p"]


def apply_elementwise(computation: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """Apply a program of scalars to the elements of arrays of one shape."""
    shape = shape_of(operands[0])
    size = prod(shape)
    flat = [reshape(x, (size,)) for x in operands]

    def run(*scalars: Any) -> list[Any]:
        return eval_jaxpr(computation.jaxpr, computation.consts, *scalars)

    outs, dims = batch_flat(run, flat, [0] * len(flat), Axis(size))
    return [reshape(batch_to_front(y, dim, size), shape) for y, dim in zip(outs, dims, strict=True)]


def _spread(scalars: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    return [broadcast_in_dim(scalar, shape, ()) for scalar in scalars]


def _halves(args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return operands and start values, which are bound one after the other."""
    count = len(args) // 2
    return list(args[:count]), list(args[count:])


def _check_types(name: str, avals: Sequence[ShapedArray], computation: ClosedJaxpr) -> None:
    operands, inits = _halves(avals)
    if any(aval.shape != operands[0].shape for aval in operands):
        raise ShapeMismatchError(name, [aval.shape for aval in operands], "all must be equal")
    for operand, init, out in zip(operands, inits, computation.out_avals, strict=True):
        if init.shape or not operand.dtype == init.dtype == out.dtype or out.shape:
            raise TypeError(
                f"{name} got an operand {operand.short()}, a start value {init.short()} and a "
                f"computation that gives {out.short()}: start value and result are scalars of the "
                "operand's dtype"
            )


def _region(
    context: Any, operation: Any, computation: ClosedJaxpr, avals: Sequence[ShapedArray]
) -> None:
    """Make the program the body of an operation."""
    scalars = [ShapedArray((), aval.dtype) for aval in avals]
    context.lower_region(
        operation, 0, scalars, lambda inner, *args: inner.nested(computation, args)
    )


def _unrolled_jvp(unrolled: Callable[..., Any]) -> Any:
    def jvp(
        primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        return jvp_flat(lambda *args: unrolled(*args, **params), primals, tangents)

    return jvp


_NOT_LINEAR = Undefined("it is not known to be linear: its derivative is expressed otherwise")

# ---------------------------------------------------------------- reduce

reduce_p = Primitive("reduce", multiple_results=True).define(sharding=rules.reducing)
"""``(*operands, *starts) -> results``: reduce arrays together over ``dimensions``."""


@reduce_p.def_abstract_eval
def _reduce_abstract_eval(
    *avals: ShapedArray, computation: ClosedJaxpr, dimensions: tuple[int, ...]
) -> list[ShapedArray]:
    _check_types("reduce", avals, computation)
    operands, _ = _halves(avals)
    shape = reduced_shape("reduce", operands[0], dimensions)
    return [ShapedArray(shape, aval.dtype) for aval in operands]


@reduce_p.def_lower
def _reduce_lower(
    context: Any, *values: Any, computation: ClosedJaxpr, dimensions: tuple[int, ...]
) -> Sequence[Any]:
    operation = context.op(
        "stablehlo.reduce",
        context.out_types,
        values,
        {"dimensions": hlo.dense_i64_array(dimensions)},
        1,
    )
    _region(context, operation, computation, context.avals_in)
    return operation.results


def _unrolled_reduce(
    *args: Any, computation: ClosedJaxpr, dimensions: tuple[int, ...]
) -> list[Any]:
    """Combine the halves of the reduced axis until one position is left, then the start values."""
    operands, inits = _halves(args)
    xs = [_reduced_in_front(x, dimensions) for x in operands]
    size, *rest = shape_of(xs[0])
    starts = _spread(inits, tuple(rest))
    while size > 1:
        half = size // 2
        first = [slice_in_dim(x, 0, half) for x in xs]
        second = [slice_in_dim(x, half, 2 * half) for x in xs]
        both = apply_elementwise(computation, [*first, *second])
        if size % 2:
            both = [
                concatenate([y, slice_in_dim(x, size - 1, size)], 0)
                for x, y in zip(xs, both, strict=True)
            ]
        xs, size = both, half + size % 2
    if not size:
        return starts
    return apply_elementwise(computation, [*starts, *(reshape(x, rest) for x in xs)])


def _reduced_in_front(x: Any, axes: tuple[int, ...]) -> Any:
    """Return an array with the reduced axes as one, in front."""
    for place, axis in enumerate(sorted(axes)):
        x = move_axis(x, axis, place)
    shape = shape_of(x)
    count = len(axes)
    return reshape(x, (prod(shape[:count]), *shape[count:]))


@reduce_p.def_batch
def _reduce_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    computation: ClosedJaxpr,
    dimensions: tuple[int, ...],
) -> tuple[list[Any], list[int | None]]:
    operands, inits = _halves(args)
    operand_dims, init_dims = _halves(dims)
    if any(dim is not None for dim in init_dims):
        return batch_flat(
            lambda *xs: _unrolled_reduce(*xs, computation=computation, dimensions=dimensions),
            args,
            dims,
            axis,
        )
    moved = [batch_to_front(x, d, axis.size) for x, d in zip(operands, operand_dims, strict=True)]
    later = tuple([dimension + 1 for dimension in dimensions])
    out = reduce_p.bind(*moved, *inits, computation=computation, dimensions=later)
    return out, [0] * len(out)


reduce_p.define(
    jvp=_unrolled_jvp(_unrolled_reduce), transpose=_NOT_LINEAR, evaluate=evaluate_compiled(reduce_p)
)

# ---------------------------------------------------------------- reduce_window

reduce_window_p = Primitive("reduce_window", multiple_results=True).define(
    sharding=rules.over_windows
)
"""``(*operands, *starts) -> results``: reduce each window of arrays together."""


@reduce_window_p.def_abstract_eval
def _reduce_window_abstract_eval(
    *avals: ShapedArray, computation: ClosedJaxpr, **window: Any
) -> list[ShapedArray]:
    _check_types("reduce_window", avals, computation)
    operands, _ = _halves(avals)
    shape = Window(**window).result_shape(operands[0].shape)
    return [ShapedArray(shape, aval.dtype) for aval in operands]


@reduce_window_p.def_lower
def _reduce_window_lower(
    context: Any, *values: Any, computation: ClosedJaxpr, **window: Any
) -> Sequence[Any]:
    operation = context.op(
        "stablehlo.reduce_window", context.out_types, values, Window(**window).attributes(), 1
    )
    _region(context, operation, computation, context.avals_in)
    return operation.results


def _unrolled_window(*args: Any, computation: ClosedJaxpr, **window: Any) -> list[Any]:
    """Combine, place by place of the window, what all windows have there."""
    w = Window(**window)
    operands, inits = _halves(args)
    counts = w.result_shape(shape_of(operands[0]))
    config = [
        (low, high, base - 1) for (low, high), base in zip(w.padding, w.base_dilation, strict=True)
    ]
    padded = [pad(x, init, config) for x, init in zip(operands, inits, strict=True)]
    totals = _spread(inits, counts)
    if not prod(counts):
        return totals
    for place in product(*map(range, w.window_dimensions)):
        starts = [i * apart for i, apart in zip(place, w.window_dilation, strict=True)]
        limits = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, counts, w.window_strides, strict=True)
        ]
        parts = [slice(x, starts, limits, w.window_strides) for x in padded]
        totals = apply_elementwise(computation, [*totals, *parts])
    return totals


@reduce_window_p.def_batch
def _reduce_window_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    computation: ClosedJaxpr,
    **window: Any,
) -> tuple[list[Any], list[int | None]]:
    operands, inits = _halves(args)
    operand_dims, init_dims = _halves(dims)
    if any(dim is not None for dim in init_dims):
        return batch_flat(
            lambda *xs: _unrolled_window(*xs, computation=computation, **window), args, dims, axis
        )
    moved = [batch_to_front(x, d, axis.size) for x, d in zip(operands, operand_dims, strict=True)]
    wider = Window(**window).with_axis(0)
    out = reduce_window_p.bind(*moved, *inits, computation=computation, **wider._asdict())
    return out, [0] * len(out)


reduce_window_p.define(
    jvp=_unrolled_jvp(_unrolled_window),
    transpose=_NOT_LINEAR,
    evaluate=evaluate_compiled(reduce_window_p),
)

# ---------------------------------------------------------------- select_and_scatter

select_and_scatter_p = Primitive("select_and_scatter").define(sharding=rules.same)
"""``(operand, source, start) -> y``: each source combined with where its window's choice is.

Two programs of two scalars say it: ``select_jaxpr`` whether the first is to be chosen rather than
the second, ``scatter_jaxpr`` how sources that meet at one place are combined, ``start`` first.
StableHLO ``select_and_scatter``.
"""


@select_and_scatter_p.def_abstract_eval
def _select_and_scatter_abstract_eval(
    operand: ShapedArray, source: ShapedArray, start: ShapedArray, **params: Any
) -> ShapedArray:
    name = "select_and_scatter"
    rank, window = operand.ndim, _plain_window(**params)
    if not rank or any(len(part) != rank for part in window):
        raise ShapeError(f"{name} takes a size, a step and a padding for each of {rank} axes")
    if start.shape or not operand.dtype == source.dtype == start.dtype:
        raise TypeError(
            f"{name} got {operand.short()}, {source.short()} and {start.short()}: operand, source "
            "and start value are of one dtype, and the start value is a scalar"
        )
    if source.shape != window.result_shape(operand.shape):
        raise ShapeMismatchError(
            name,
            [operand.shape, source.shape],
            f"there is a source for each of the windows {window.result_shape(operand.shape)}",
        )
    return ShapedArray(operand.shape, operand.dtype)


def _plain_window(
    *,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    **programs: Any,
) -> Window:
    ones = (1,) * len(window_dimensions)
    return Window(window_dimensions, window_strides, padding, ones, ones)


@select_and_scatter_p.def_lower
def _select_and_scatter_lower(
    context: Any,
    *values: Any,
    select_jaxpr: Any,
    select_consts: Sequence[Any] = (),
    scatter_jaxpr: Any,
    scatter_consts: Sequence[Any] = (),
    **window: Any,
) -> Any:
    attributes = _plain_window(**window).attributes()
    kept = ("window_dimensions", "window_strides", "padding")
    operation = context.op(
        "stablehlo.select_and_scatter",
        context.out_types,
        values,
        {name: attributes[name] for name in kept},
        2,
    )
    scalar = ShapedArray((), context.avals_in[0].dtype)
    programs = ((select_jaxpr, select_consts), (scatter_jaxpr, scatter_consts))
    for place, (jaxpr, consts) in enumerate(programs):
        closed = ClosedJaxpr(jaxpr, consts)
        body = partial(_nested, closed)
        context.lower_region(operation, place, [scalar, scalar], body)
    return operation.result


def _nested(closed: ClosedJaxpr, inner: Any, *args: Any) -> Sequence[Any]:
    return inner.nested(closed, args)


select_and_scatter_p.define(
    jvp=Undefined("max and sum have rules of their own: select_and_scatter_add_p"),
    transpose=_NOT_LINEAR,
    batch=Undefined("max and sum have rules of their own: select_and_scatter_add_p"),
)

# ---------------------------------------------------------------- scatter_apply

scatter_apply_p = Primitive("scatter_apply", multiple_results=True)
"""``(operand, indices, places) -> [y]``: apply a program to the elements of windows.

``places`` has the shape that updates would have; its values are not read.
"""


@scatter_apply_p.def_abstract_eval
def _scatter_apply_abstract_eval(
    operand: ShapedArray,
    indices: ShapedArray,
    places: ShapedArray,
    *,
    computation: ClosedJaxpr,
    **params: Any,
) -> list[ShapedArray]:
    (out,) = computation.out_avals
    if out.shape or out.dtype != operand.dtype:
        raise TypeError(
            f"scatter_apply got a function that gives {out.short()} for elements of an operand "
            f"{operand.short()}: it keeps their type"
        )
    return [scatter_p.abstract((operand, indices, places), params)]


@scatter_apply_p.def_lower
def _scatter_apply_lower(
    context: Any, x: Any, indices: Any, places: Any, *, computation: ClosedJaxpr, **params: Any
) -> list[Any]:
    def combine(builder: Any, old: Any, new: Any) -> Any:
        inner = type(context)(builder.ip, builder.loc, context.module)
        return inner.nested(computation, [old])[0]

    return [lower_scatter(context, x, indices, places, combine, **params)]


def _unrolled_scatter_apply(
    operand: Any, indices: Any, places: Any, *, computation: ClosedJaxpr, **params: Any
) -> list[Any]:
    """Read the windows, apply the program and write them back: right where none overlap."""
    old = gather_of_scatter(operand, indices, shape_of(places), **params)
    new = apply_elementwise(computation, [old])[0]
    return [scatter_p.bind(operand, indices, new, **params)]


@scatter_apply_p.def_jvp
def _scatter_apply_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    if not params["unique_indices"] and prod(shape_of(primals[1])[:-1]) > 1:
        raise UndefinedRuleError(
            "scatter_apply",
            "jvp",
            "it cannot be differentiated where windows may overlap: if they do not, say so with "
            "unique_indices=True",
        )
    return jvp_flat(lambda *args: _unrolled_scatter_apply(*args, **params), primals, tangents)


@scatter_apply_p.def_batch
def _scatter_apply_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: Any,
) -> tuple[list[Any], list[int]]:
    operands, numbers = batch_scatter(axis, args, dims, dimension_numbers)
    if dims[1] is not None:
        params["indices_are_sorted"] = False
    return scatter_apply_p.bind(*operands, dimension_numbers=numbers, **params), [0]


scatter_apply_p.define(transpose=_NOT_LINEAR, evaluate=evaluate_compiled(scatter_apply_p))
