"""Windowed reductions: the sum, greatest or least of each window of an array.

Sums are linear and transpose to sums.  The derivative of an extreme picks the tangent at the
place of the first extreme of each window (``select_and_gather_add``); its transpose adds each
cotangent back at that place (``select_and_scatter_add``).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import UndefinedPrimal, Zero, is_linear, zero_scalar
from jxkernel.dtypes import DType
from jxkernel.errors import ShapeError, ShapeMismatchError
from jxkernel.primitives.arguments import integers, sequence
from jxkernel.primitives.conv.conv_numbers import Pads, dilated, named_padding, window_count
from jxkernel.primitives.conv.taps import (
    are_few_taps,
    has_few_taps,
    lower_by_taps,
    lower_places,
    lower_spread,
)
from jxkernel.primitives.elementwise.compare import comparison_kind
from jxkernel.primitives.indexing.slicing import pad
from jxkernel.primitives.reduction.extremes import loses_nan, with_nan
from jxkernel.primitives.reduction.reduce import greatest, least
from jxkernel.primitives.shape.broadcast import accumulation_dtype, instantiate
from jxkernel.primitives.shape.structural import front, linear_jvp, zero_cotangents
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = [
    "reduce_window_max",
    "reduce_window_max_p",
    "reduce_window_min",
    "reduce_window_min_p",
    "reduce_window_shape_tuple",
    "reduce_window_sum",
    "reduce_window_sum_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
]

_INT = np.dtype(np.int32)


class Window(NamedTuple):
    """The windows of a reduction: one number (or pair) per axis of the operand.

    Attributes:
      window_dimensions: the windows' sizes.
      window_strides: the steps between windows.
      padding: what is added before and after each axis; it takes no part in the reduction.
      base_dilation: how far apart the operand's elements stand.
      window_dilation: how far apart the elements of a window stand.
    """

    window_dimensions: tuple[int, ...]
    window_strides: tuple[int, ...]
    padding: Pads
    base_dilation: tuple[int, ...]
    window_dilation: tuple[int, ...]

    def result_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return how many windows there are along each axis."""
        return tuple(
            [
                window_count(dilated(size, base) + low + high, dilated(window, apart), stride)
                for size, window, stride, (low, high), base, apart in zip(shape, *self, strict=True)
            ]
        )

    def with_axis(self, place: int) -> "Window":
        """Return the windows of an array with a batch axis at a place."""

        def inserted(values: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
            return (*values[:place], value, *values[place:])

        return Window(*[inserted(v, (0, 0) if v is self.padding else 1) for v in self])

    def are_blocks(self, aval: ShapedArray) -> bool:
        """Whether no two windows overlap: XLA reduces them as axes of a reshaped array."""
        counts = self.result_shape(aval.shape)
        rows = zip(self.window_dimensions, self.window_strides, counts, strict=True)
        return all(window == stride or count == 1 for window, stride, count in rows)

    def are_taken_by_rows(self, aval: ShapedArray) -> bool:
        """Whether windows are computed tap by tap, and along none of the taps' own rows."""
        return self.window_dimensions[-1] == 1 and are_few_taps(aval, self)

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of ``stablehlo.reduce_window``."""
        count = len(self.window_dimensions)
        return {
            "window_dimensions": hlo.dense_i64_array(self.window_dimensions),
            "window_strides": hlo.dense_i64_array(self.window_strides),
            "base_dilations": hlo.dense_i64_array(self.base_dilation),
            "window_dilations": hlo.dense_i64_array(self.window_dilation),
            "padding": hlo.dense_elements(np.array(self.padding, np.int64).reshape(count, 2)),
        }


def window_of(params: Mapping[str, Any]) -> Window:
    """Return the windows of an equation, by its parameters."""
    return Window(**{name: params[name] for name in Window._fields})


def canonical_window(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Window:
    """Return windows with all their parameters given, one per axis.

    Raises:
      ValueError: there is not one positive number per axis, or the padding's name is unknown.
    """
    rank = len(operand_shape)
    ones = (1,) * rank
    sizes = integers("reduce_window", "window_dimensions", window_dimensions)
    strides, base, apart = (
        ones if values is None else integers("reduce_window", argument, values)
        for argument, values in (
            ("window_strides", window_strides),
            ("base_dilation", base_dilation),
            ("window_dilation", window_dilation),
        )
    )
    for name, values in (
        ("window_dimensions", sizes),
        ("window_strides", strides),
        ("base_dilation", base),
        ("window_dilation", apart),
    ):
        if len(values) != rank or any(value < 1 for value in values):
            raise ShapeError(
                f"reduce_window got {name} {values} for shape {tuple(operand_shape)}: one positive "
                "number per axis"
            )
    if isinstance(padding, str):
        whole = [dilated(size, step) for size, step in zip(operand_shape, base, strict=True)]
        wide = [dilated(size, step) for size, step in zip(sizes, apart, strict=True)]
        padding = named_padding("reduce_window", whole, wide, strides, padding)
    pairs = sequence("reduce_window", "padding", padding, "(low, high)")
    pads = tuple([integers("reduce_window", "padding", pair) for pair in pairs])
    if len(pads) != rank or any(len(pair) != 2 for pair in pads):
        raise ShapeError(
            f"reduce_window got padding {pads} for shape {tuple(operand_shape)}: (low, high) per "
            "axis"
        )
    return Window(sizes, strides, tuple([(low, high) for low, high in pads]), base, apart)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape of a windowed reduction.

    Raises:
      ValueError: a parameter does not fit the operand's rank.

    >>> from jxkernel import lax
    >>> lax.reduce_window_shape_tuple((8, 8), (2, 3), (2, 1), "VALID")
    (4, 6)
    """
    window = canonical_window(
        operand_shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    return window.result_shape(operand_shape)


# ---------------------------------------------------------------- what all reductions share


def _reduction(name: str, accepted: tuple[type, ...], operation: str, start: Any) -> Primitive:
    """Return a windowed reduction with its type, lowering and batching rules."""
    primitive = Primitive(name)

    def abstract_eval(operand: ShapedArray, **window: Any) -> ShapedArray:
        real = name == "reduce_window_sum" or not dtypes.issubdtype(
            operand.dtype, np.complexfloating
        )
        if not real or not any(dtypes.issubdtype(operand.dtype, kind) for kind in accepted):
            raise TypeError(f"{name} does not accept dtype {operand.dtype.name}")
        return operand.update(shape=Window(**window).result_shape(operand.shape))

    def lower(context: Any, x: Any, **window: Any) -> Any:
        aval = context.avals_in[0]
        wide = accumulation_dtype(aval.dtype) if name == "reduce_window_sum" else None
        if wide is not None:
            x = context.value("stablehlo.convert", hlo.tensor_type(aval.shape, wide), (x,))
        dtype = wide or aval.dtype
        windows = Window(**window)
        if has_few_taps(context, aval, windows):
            y = lower_by_taps(
                context, x, aval.update(dtype=dtype), windows, operation, start(dtype)
            )
        else:
            y = _lower_window(context, x, dtype, windows, operation, start(dtype))
        if name != "reduce_window_sum" and _loses_nan(context, aval, windows):

            def spread(flags: Any, flag: ShapedArray) -> Any:
                return _lower_window(context, flags, flag.dtype, windows, "stablehlo.maximum", 0)

            y = with_nan(context, x, aval, y, context.avals_out[0].shape, spread)
        if wide is not None:
            y = context.value("stablehlo.convert", context.out_type, (y,))
        return y

    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[int], **window: Any
    ) -> tuple[Any, int]:
        moved = Window(**window).with_axis(dims[0])
        return primitive.bind(args[0], **moved._asdict()), dims[0]

    return primitive.define(
        abstract_eval=abstract_eval,
        lower=lower,
        batch=batch,
        sharding=rules.over_windows,
    )


def _loses_nan(context: Any, aval: ShapedArray, window: Window) -> bool:
    by_library = not has_few_taps(context, aval, window) and window.are_blocks(aval)
    return by_library and loses_nan(context, aval)


def _lower_window(
    context: Any, x: Any, dtype: DType, window: Window, operation: str, start: Any
) -> Any:
    scalar = hlo.tensor_type((), dtype)
    reduction = context.op(
        "stablehlo.reduce_window",
        (hlo.tensor_type(context.avals_out[0].shape, dtype),),
        (x, context.constant(start, dtype)),
        window.attributes(),
        1,
    )

    def body(inner: Any, a: Any, b: Any) -> tuple[Any]:
        return (inner.value(operation, scalar, (a, b)),)

    context.region(reduction, 0, (scalar, scalar), body)
    return reduction.result


def _bind(primitive: Primitive, operand: Any, *parameters: Any) -> Any:
    return primitive.bind(operand, **canonical_window(shape_of(operand), *parameters)._asdict())


# ---------------------------------------------------------------- sums


def _nothing(dtype: DType) -> int:
    return 0


reduce_window_sum_p = _reduction("reduce_window_sum", (np.number,), "stablehlo.add", _nothing)


def reduce_window_sum(
    operand: ArrayLike,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Return the sum of each window of an array; 16-bit floats accumulate in float32.

    Args:
      operand: an array of a number dtype.
      window_dimensions: the windows' sizes, one per axis.
      window_strides: the steps between windows; 1 where not given.
      padding: ``SAME``, ``SAME_LOWER``, ``VALID``, or (low, high) per axis.
      base_dilation: how far apart the operand's elements are placed; 1 where not given.
      window_dilation: how far apart the elements of a window stand; 1 where not given.

    Raises:
      TypeError: the dtype is no number.
      ValueError: a parameter does not fit the operand's rank.

    Linear.  StableHLO ``reduce_window`` with ``add``.
    """
    return _bind(
        reduce_window_sum_p,
        operand,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )


@reduce_window_sum_p.def_transpose
def _reduce_window_sum_transpose(ct: Any, operand: UndefinedPrimal, **window: Any) -> list[Any]:
    """Spread cotangents by the strides, and sum those of the windows that held each element."""
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    w = Window(**window)
    config: list[tuple[int, int, int]] = []
    for size, count, wide, stride, (low, _), base, apart in zip(
        operand.shape, shape_of(ct), *w, strict=True
    ):
        span, left, result = dilated(wide, apart), dilated(size, base), dilated(count, stride)
        config.append((span - low - 1, left - result + low, stride - 1))
    spread = pad(ct, zero_scalar(operand.aval), config)
    back = reduce_window_sum_p.bind(
        spread,
        window_dimensions=w.window_dimensions,
        window_strides=w.base_dilation,
        padding=((0, 0),) * len(config),
        base_dilation=(1,) * len(config),
        window_dilation=w.window_dilation,
    )
    return [back]


reduce_window_sum_p.define(jvp=linear_jvp(reduce_window_sum_p))

# ---------------------------------------------------------------- extremes

_ORDERED = (np.number, np.bool_)
reduce_window_max_p = _reduction("reduce_window_max", _ORDERED, "stablehlo.maximum", least)
reduce_window_min_p = _reduction("reduce_window_min", _ORDERED, "stablehlo.minimum", greatest)


def reduce_window_max(
    operand: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Return the greatest element of each window; NaN where a window holds one.

    Arguments and errors are those of ``reduce_window_sum``; complex numbers are refused.  A
    window of padding alone gives the least number of the dtype.  The derivative is that of the
    first greatest element.  StableHLO ``reduce_window`` with ``maximum``.
    """
    return _bind(
        reduce_window_max_p,
        operand,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )


def reduce_window_min(
    operand: Any,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Return the least element of each window; see ``reduce_window_max``."""
    return _bind(
        reduce_window_min_p,
        operand,
        window_dimensions,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )


def _extreme_jvp(primitive: Primitive, select: str) -> Any:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **window: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **window)
        moved = select_and_gather_add_p.bind(tangents[0], primals[0], select=select, **window)
        return y, moved

    return jvp


_NOT_LINEAR = Undefined("it is not linear in its operand")
reduce_window_max_p.define(jvp=_extreme_jvp(reduce_window_max_p, "max"), transpose=_NOT_LINEAR)
reduce_window_min_p.define(jvp=_extreme_jvp(reduce_window_min_p, "min"), transpose=_NOT_LINEAR)

# ---------------------------------------------------------------- places of extremes


def _worst(dtype: Any, select: str) -> Any:
    return least(dtype) if select == "max" else greatest(dtype)


def _first_extreme(dtype: Any, select: str) -> Callable[..., Any]:
    """Return what says which of two elements is the extreme, and the earlier one of equal ones.

    It is called with a builder, the elements' shape, the first element and its place, and the
    second element and its place.  NaN is preferred to numbers, as it is in the reduction itself.
    """
    kind = comparison_kind(dtype)
    direction = "GT" if select == "max" else "LT"

    def is_first(builder: Any, shape: tuple[int, ...], a: Any, i: Any, b: Any, j: Any) -> Any:
        boolean = hlo.tensor_type(shape, np.dtype(bool))

        def joined(operation: str, *operands: Any) -> Any:
            return builder.value(f"stablehlo.{operation}", boolean, operands)

        better = builder.compare(a, b, direction, shape, kind)
        level = builder.compare(a, b, "EQ", shape, kind)
        if kind == "FLOAT":
            nan, other = (builder.compare(v, v, "NE", shape, kind) for v in (a, b))
            better = joined("or", better, joined("and", nan, joined("not", other)))
            level = joined("or", level, joined("and", nan, other))
        earlier = builder.compare(i, j, "LT", shape, "SIGNED")
        return joined("or", better, joined("and", level, earlier))

    return is_first


def _lower_places(context: Any, x: Any, aval: ShapedArray, window: Window, select: str) -> Any:
    """Return, for each window, the row-major position of its first extreme.

    For a window of padding alone it is one after the last position.
    """
    flat = context.iota(_INT, (aval.size,), 0)
    places = context.value("stablehlo.reshape", hlo.tensor_type(aval.shape, _INT), (flat,))
    worst = _worst(aval.dtype, select)
    shape = window.result_shape(aval.shape)
    number, place = (hlo.tensor_type((), d) for d in (aval.dtype, _INT))
    reduction = context.op(
        "stablehlo.reduce_window",
        (hlo.tensor_type(shape, aval.dtype), hlo.tensor_type(shape, _INT)),
        (x, places, context.constant(worst, aval.dtype), context.constant(aval.size, _INT)),
        window.attributes(),
        1,
    )
    is_first = _first_extreme(aval.dtype, select)

    def body(inner: Any, a: Any, i: Any, b: Any, j: Any) -> tuple[Any, Any]:
        first = is_first(inner, (), a, i, b, j)
        return (
            inner.value("stablehlo.select", number, (first, a, b)),
            inner.value("stablehlo.select", place, (first, i, j)),
        )

    context.region(reduction, 0, (number, place, number, place), body)
    return reduction.results[1]


def _check_select(name: str, operand: ShapedArray) -> None:
    if operand.size >= 2**31:
        raise TypeError(f"{name} got {operand.size} elements: it counts at most 2**31 - 1")


def _batch_select(primitive: Primitive) -> Any:
    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, select: str, **window: Any
    ) -> tuple[Any, int]:
        moved = Window(**window).with_axis(0)
        operands = front(args, dims, axis.size)
        return primitive.bind(*operands, select=select, **moved._asdict()), 0

    return batch


def _jvp_select(primitive: Primitive) -> Any:
    """Return the JVP rule of what is linear in the first operand; the second only selects."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        if type(tangents[0]) is Zero:
            return y, Zero.tangent_of(y)
        return y, primitive.bind(instantiate(tangents[0]), primals[1], **params)

    return jvp


# ---------------------------------------------------------------- select_and_gather_add

select_and_gather_add_p = Primitive("select_and_gather_add").define(sharding=rules.over_windows)
"""``(x, operand) -> y``: for each window, the element of x where the operand's extreme is."""


@select_and_gather_add_p.def_abstract_eval
def _select_and_gather_add_abstract_eval(
    x: ShapedArray, operand: ShapedArray, *, select: str, **window: Any
) -> ShapedArray:
    if x.shape != operand.shape:
        raise ShapeMismatchError(
            "select_and_gather_add", [x.shape, operand.shape], "they must be equal"
        )
    _check_select("select_and_gather_add", operand)
    return x.update(shape=Window(**window).result_shape(operand.shape))


@select_and_gather_add_p.def_lower
def _select_and_gather_add_lower(
    context: Any, x: Any, operand: Any, *, select: str, **window: Any
) -> Any:
    aval, out = context.avals_in[1], context.avals_out[0]
    windows = Window(**window)
    if has_few_taps(context, aval, windows):
        first, worst = _first_extreme(aval.dtype, select), _worst(aval.dtype, select)
        carried = (x, context.avals_in[0])
        return lower_places(context, operand, aval, windows, first, worst, carried)[1]
    places = _lower_places(context, operand, aval, windows, select)
    flat = context.value("stablehlo.reshape", hlo.tensor_type((aval.size,), out.dtype), (x,))
    numbers = (
        f"#stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], "
        f"index_vector_dim = {out.ndim}>"
    )
    zero = context.splat(0, out.shape, out.dtype)
    if not aval.size:
        return zero
    y = context.value(
        "stablehlo.gather",
        context.out_type,
        (flat, places),
        {
            "dimension_numbers": hlo.parse_attribute(numbers),
            "slice_sizes": hlo.dense_i64_array((1,)),
        },
    )
    end = context.splat(aval.size, out.shape, _INT)
    found = context.compare(places, end, "LT", out.shape, "SIGNED")
    return context.value("stablehlo.select", context.out_type, (found, y, zero))


@select_and_gather_add_p.def_transpose
def _select_and_gather_add_transpose(ct: Any, x: Any, operand: Any, **params: Any) -> list[Any]:
    assert not is_linear(operand), "select_and_gather_add is linear in its first operand only"
    if type(ct) is Zero:
        return zero_cotangents((x, operand))
    return [select_and_scatter_add_p.bind(ct, operand, **params), None]


select_and_gather_add_p.define(
    jvp=_jvp_select(select_and_gather_add_p), batch=_batch_select(select_and_gather_add_p)
)

# ---------------------------------------------------------------- select_and_scatter_add

select_and_scatter_add_p = Primitive("select_and_scatter_add").define(sharding=rules.over_windows)
"""``(source, operand) -> y``: each source added to zeros where its window's extreme is."""


@select_and_scatter_add_p.def_abstract_eval
def _select_and_scatter_add_abstract_eval(
    source: ShapedArray, operand: ShapedArray, *, select: str, **window: Any
) -> ShapedArray:
    shape = Window(**window).result_shape(operand.shape)
    if source.shape != shape:
        raise ShapeMismatchError(
            "select_and_scatter_add",
            [source.shape, operand.shape],
            f"the operand has windows {shape}, one for each source",
        )
    _check_select("select_and_scatter_add", operand)
    return source.update(shape=operand.shape)


@select_and_scatter_add_p.def_lower
def _select_and_scatter_add_lower(
    context: Any, source: Any, operand: Any, *, select: str, **window: Any
) -> Any:
    given, aval = context.avals_in
    dtype = given.dtype
    windows = Window(**window)
    if has_few_taps(context, aval, windows):
        first, worst = _first_extreme(aval.dtype, select), _worst(aval.dtype, select)
        number, _ = lower_places(context, operand, aval, windows, first, worst)
        return lower_spread(context, source, number, dtype, aval.shape, windows)
    flat = hlo.tensor_type((aval.size,), dtype)
    places = _lower_places(context, operand, aval, windows, select)
    rank = given.ndim
    numbers = (
        f"#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        f"index_vector_dim = {rank}>"
    )
    scatter = context.op(
        "stablehlo.scatter",
        (flat,),
        (context.splat(0, (aval.size,), dtype), places, source),
        {"scatter_dimension_numbers": hlo.parse_attribute(numbers)},
        1,
    )
    scalar = hlo.tensor_type((), dtype)

    def body(inner: Any, a: Any, b: Any) -> tuple[Any]:
        return (inner.value("stablehlo.add", scalar, (a, b)),)

    context.region(scatter, 0, (scalar, scalar), body)
    return context.value("stablehlo.reshape", context.out_type, (scatter.result,))


@select_and_scatter_add_p.def_transpose
def _select_and_scatter_add_transpose(
    ct: Any, source: Any, operand: Any, **params: Any
) -> list[Any]:
    assert not is_linear(operand), "select_and_scatter_add is linear in its first operand only"
    if type(ct) is Zero:
        return zero_cotangents((source, operand))
    return [select_and_gather_add_p.bind(ct, operand, **params), None]


select_and_scatter_add_p.define(
    jvp=_jvp_select(select_and_scatter_add_p), batch=_batch_select(select_and_scatter_add_p)
)
