"""Convolution in any layout, with strides, dilation and groups; bilinear, so all rules close.

``conv_general_dilated`` multiplies windows of the left operand with a kernel (without flipping
it) and sums.  With respect to either operand its transpose is again one convolution, and a batch
axis becomes part of the batch, of the features, or of the groups.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import Zero, is_linear, typed_scalar
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.errors import ShapeError
from jxkernel.primitives.arguments import integers, operand_aval, sequence, whole_number
from jxkernel.primitives.contraction.precision import Canonical, PrecisionLike, canonical_precision
from jxkernel.primitives.conv.conv_numbers import (
    ConvDimensionNumbers,
    Pads,
    canonical_numbers,
    dilated,
    in_order,
    named_padding,
    window_count,
)
from jxkernel.primitives.conv.depthwise import is_depthwise, lower_depthwise
from jxkernel.primitives.conv.phases import has_phases, lower_phases
from jxkernel.primitives.conv.sliding import lower_sliding, slides
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.shape.broadcast import filled
from jxkernel.primitives.shape.reshape import reshape, rev
from jxkernel.primitives.shape.structural import (
    joint_weak_type,
    multilinear_jvp,
    same_dtype,
    zero_cotangents,
)
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = ["conv", "conv_general_dilated", "conv_general_dilated_p", "conv_with_general_padding"]


class _Window(NamedTuple):
    """The parameters of a convolution that its rules compute with.

    Attributes:
      window_strides: the steps between windows.
      padding: what is added (or, negative, removed) before and after each spatial axis.
      lhs_dilation: how far apart the operand's elements stand.
      rhs_dilation: how far apart the kernel's elements stand.
      dimension_numbers: which axis is what.
      feature_group_count: into how many groups features fall, convolved apart.
      batch_group_count: into how many groups the batch falls, each with its output features.
    """

    window_strides: tuple[int, ...]
    padding: Pads
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    dimension_numbers: ConvDimensionNumbers
    feature_group_count: int
    batch_group_count: int

    def spatial(self, lhs_shape: Sequence[int], rhs_shape: Sequence[int]) -> list["_Span"]:
        """Return, for each spatial axis, the sizes with dilation."""
        numbers = self.dimension_numbers
        spans: list[_Span] = []
        for place, stride in enumerate(self.window_strides):
            left = dilated(lhs_shape[numbers.lhs_spec[2 + place]], self.lhs_dilation[place])
            right = dilated(rhs_shape[numbers.rhs_spec[2 + place]], self.rhs_dilation[place])
            low, high = self.padding[place]
            windows = window_count(left + low + high, right, stride)
            spans.append(_Span(left, right, windows, dilated(windows, stride), low, high))
        return spans


class _Span(NamedTuple):
    """Sizes along one spatial axis: operand and kernel dilated, result plain and dilated."""

    left: int
    right: int
    windows: int
    result: int
    low: int
    high: int


conv_general_dilated_p = Primitive("conv_general_dilated").define(
    sharding=rules.Contracting(rules.convolving)
)


def check_steps(name: str, count: int, **steps: tuple[int, ...]) -> None:
    """Check that arguments of the function ``name`` have a positive number per spatial axis.

    Raises:
      ValueError: one has not.
    """
    for argument, given in steps.items():
        if len(given) != count or any(step < 1 for step in given):
            raise ShapeError(
                f"{name} got {argument}={given} for {count} spatial axes: one positive number for "
                "each"
            )


def spatial_padding(name: str, padding: Any, count: int) -> Pads:
    """Return padding by numbers as (low, high) per spatial axis.

    Raises:
      ValueError: it is not.
    """
    pairs = sequence(name, "padding", padding, "(low, high)")
    pads = tuple([integers(name, "padding", pair) for pair in pairs])
    if len(pads) != count or any(len(pair) != 2 for pair in pads):
        raise ShapeError(f"{name} got padding {pads} for {count} spatial axes: (low, high) each")
    return tuple([(low, high) for low, high in pads])


def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Any:
    """Convolve (correlate) an array with a kernel over any number of spatial axes.

    Args:
      lhs: an array with a batch axis, a feature axis and spatial axes.
      rhs: the kernel, with an output feature axis, an input feature axis and spatial axes.
      window_strides: the steps between windows, one per spatial axis.
      padding: ``SAME``, ``SAME_LOWER``, ``VALID``, or (low, high) per spatial axis.
      lhs_dilation: how far apart the operand's elements are placed; 1 where not given.
      rhs_dilation: how far apart the kernel's elements are placed; 1 where not given.
      dimension_numbers: which axis is what; see ``conv_dimension_numbers``.
      feature_group_count: the features fall into so many groups, each convolved with its share
        of the kernel's output features.
      batch_group_count: the batch falls into so many groups, each convolved with its share of
        the kernel's output features.
      precision: how precisely float32 is multiplied on hardware that could be less precise.
      preferred_element_type: the dtype of sums and result; the operands' where not given.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      TypeError: dtypes differ, or a count does not divide its axis.
      ValueError: parameters do not fit the operands' ranks.

    Linear in each operand.  StableHLO ``convolution``.

    >>> from jxkernel import lax, numpy as jnp
    >>> x, kernel = jnp.arange(5.0).reshape(1, 1, 5), jnp.array([[[1.0, 10.0]]])
    >>> lax.conv_general_dilated(x, kernel, (2,), [(0, 1)]).tolist()
    [[[10.0, 32.0, 4.0]]]
    """
    if out_sharding is not None:
        how = (window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers)
        counts = (feature_group_count, batch_group_count, precision, preferred_element_type)
        return with_out_sharding(conv_general_dilated, (lhs, rhs), out_sharding, *how, *counts)
    name = "conv_general_dilated"
    lhs_shape, rhs_shape = operand_aval(name, lhs).shape, operand_aval(name, rhs).shape
    numbers = canonical_numbers(name, lhs_shape, rhs_shape, dimension_numbers)
    ones = (1,) * (len(lhs_shape) - 2)
    left_dilation = ones if lhs_dilation is None else integers(name, "lhs_dilation", lhs_dilation)
    right_dilation = ones if rhs_dilation is None else integers(name, "rhs_dilation", rhs_dilation)
    strides = integers(name, "window_strides", window_strides)
    steps = {"lhs_dilation": left_dilation, "rhs_dilation": right_dilation}
    check_steps(name, len(ones), window_strides=strides, **steps)
    if isinstance(padding, str):
        if any(step != 1 for step in left_dilation):
            raise ValueError(
                f"{name} got padding {padding!r}, which is not defined where lhs_dilation is "
                f"{left_dilation}: give (low, high) per axis, or use conv_transpose"
            )
        sizes = [lhs_shape[axis] for axis in numbers.lhs_spec[2:]]
        windows = map(dilated, [rhs_shape[axis] for axis in numbers.rhs_spec[2:]], right_dilation)
        padding = named_padding(name, sizes, list(windows), strides, padding)
    return conv_general_dilated_p.bind(
        lhs,
        rhs,
        window_strides=strides,
        padding=spatial_padding(name, padding, len(ones)),
        lhs_dilation=left_dilation,
        rhs_dilation=right_dilation,
        dimension_numbers=numbers,
        feature_group_count=whole_number(name, "feature_group_count", feature_group_count),
        batch_group_count=whole_number(name, "batch_group_count", batch_group_count),
        precision=canonical_precision(name, precision),
        preferred_element_type=_dtype_of_sums(name, preferred_element_type),
    )


def _dtype_of_sums(name: str, dtype: DType) -> Any:
    return None if dtype is None else dtypes.check_and_canonicalize_user_dtype(dtype, name)


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Convolve with padding by name and axes in the default order; see ``conv_general_dilated``.

    >>> from jxkernel import lax, numpy as jnp
    >>> x, kernel = jnp.arange(4.0).reshape(1, 1, 4), jnp.ones((1, 1, 2))
    >>> lax.conv(x, kernel, (1,), "VALID").tolist()
    [[[1.0, 3.0, 5.0]]]
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Convolve with dilation and axes in the default order; see ``conv_general_dilated``.

    >>> from jxkernel import lax, numpy as jnp
    >>> x, kernel = jnp.arange(4.0).reshape(1, 1, 4), jnp.ones((1, 1, 2))
    >>> lax.conv_with_general_padding(x, kernel, (1,), [(1, 0)], None, (2,)).tolist()
    [[[1.0, 2.0, 4.0]]]
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


# ---------------------------------------------------------------- type and lowering


@conv_general_dilated_p.def_abstract_eval
def _conv_abstract_eval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    precision: Canonical,
    preferred_element_type: DType,
    **window: Any,
) -> ShapedArray:
    dtype = preferred_element_type or same_dtype("conv_general_dilated", (lhs, rhs))
    if lhs.dtype != np.bool_ and not dtypes.issubdtype(lhs.dtype, np.number):
        raise TypeError(f"conv_general_dilated does not accept dtype {lhs.dtype.name}")
    w = _Window(**window)
    _check_groups(w, lhs, rhs)
    numbers = w.dimension_numbers
    if any(rhs.shape[axis] == 0 for axis in numbers.rhs_spec[2:]):
        raise ShapeError(
            f"conv_general_dilated got a kernel of shape {rhs.shape}: no window is empty"
        )
    sizes = [
        lhs.shape[numbers.lhs_spec[0]] // w.batch_group_count,
        rhs.shape[numbers.rhs_spec[0]],
        *[span.windows for span in w.spatial(lhs.shape, rhs.shape)],
    ]
    weak = preferred_element_type is None and joint_weak_type((lhs, rhs))
    return ShapedArray(in_order(sizes, numbers.out_spec), dtype, weak)


def _check_groups(w: _Window, lhs: ShapedArray, rhs: ShapedArray) -> None:
    numbers = w.dimension_numbers
    features, groups = lhs.shape[numbers.lhs_spec[1]], w.feature_group_count
    batch, batches = lhs.shape[numbers.lhs_spec[0]], w.batch_group_count
    out, taken = rhs.shape[numbers.rhs_spec[0]], rhs.shape[numbers.rhs_spec[1]]
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        raise ValueError(
            f"conv_general_dilated got feature_group_count={groups} and "
            f"batch_group_count={batches}: both are positive, and one of them is 1"
        )
    if features != taken * groups or out % groups:
        raise ShapeError(
            f"conv_general_dilated got {features} features in {groups} groups for a kernel of "
            f"shape {rhs.shape} with {taken} input and {out} output features: each group has the "
            "kernel's input features, and an equal share of its output features"
        )
    if batch % batches or out % batches:
        raise ShapeError(
            f"conv_general_dilated got batch_group_count={batches} for a batch of {batch} and "
            f"{out} output features: it divides both"
        )


def _spec_text(spec: Sequence[int], names: str) -> str:
    letters = [""] * len(spec)
    letters[spec[0]], letters[spec[1]] = names
    for place, axis in enumerate(spec[2:]):
        letters[axis] = str(place)
    return f"[{', '.join(letters)}]"


@conv_general_dilated_p.def_lower
def _conv_lower(
    context: Any,
    x: Any,
    y: Any,
    *,
    precision: Canonical,
    preferred_element_type: DType,
    **window: Any,
) -> Any:
    w = _Window(**window)
    lhs, rhs = context.avals_in
    out = context.avals_out[0]
    if dtypes.issubdtype(out.dtype, np.complexfloating):
        return _lower_complex(context, x, y, w, precision)
    if is_depthwise(context, w):
        return lower_depthwise(context, x, y, w)
    x = _converted(context, x, lhs, out.dtype)
    y = _converted(context, y, rhs, out.dtype)
    kind = context.out_type
    if slides(context, w):

        def convolution(builder: Any) -> Any:
            return _append(builder, x, y, w, precision, kind)

        return lower_sliding(context, x, y, w, convolution)
    if has_phases(context, w):
        undilated = w._replace(lhs_dilation=(1,) * len(w.lhs_dilation))

        def convolve(x: Any, y: Any, padding: Pads, kind: Any) -> Any:
            return _append(context, x, y, undilated._replace(padding=padding), precision, kind)

        return lower_phases(context, x, y, w, convolve)
    return _append(context, x, y, w, precision, kind)


def _converted(context: Any, value: Any, aval: ShapedArray, dtype: DType) -> Any:
    """Return an integer operand in the dtype of the sums; floats are widened by XLA."""
    if aval.dtype == dtype:
        return value
    return context.value("stablehlo.convert", hlo.tensor_type(aval.shape, dtype), (value,))


def _append(context: Any, x: Any, y: Any, w: _Window, precision: Canonical, kind: Any) -> Any:
    lhs_spec, rhs_spec, out_spec = w.dimension_numbers
    numbers = (
        f"#stablehlo.conv<{_spec_text(lhs_spec, 'bf')}x{_spec_text(rhs_spec, 'oi')}"
        f"->{_spec_text(out_spec, 'bf')}>"
    )
    names = [p.name for p in precision] if type(precision) is tuple else ["DEFAULT", "DEFAULT"]
    padding = np.array(w.padding, np.int64).reshape(len(w.window_strides), 2)
    attributes = {
        "window_strides": hlo.dense_i64_array(w.window_strides),
        "padding": hlo.dense_elements(padding),
        "lhs_dilation": hlo.dense_i64_array(w.lhs_dilation),
        "rhs_dilation": hlo.dense_i64_array(w.rhs_dilation),
        "dimension_numbers": hlo.parse_attribute(numbers),
        "feature_group_count": hlo.i64_attr(w.feature_group_count),
        "batch_group_count": hlo.i64_attr(w.batch_group_count),
        "precision_config": hlo.precision_config((names[0], names[1])),
    }
    return context.value("stablehlo.convolution", kind, (x, y), attributes)


def _lower_complex(context: Any, x: Any, y: Any, w: _Window, precision: Canonical) -> Any:
    """Convolve real and imaginary parts: backends convolve real numbers only."""
    lhs, rhs = context.avals_in
    out = context.avals_out[0]
    part = np.zeros((), out.dtype).real.dtype
    x, y = (_converted(context, v, a, out.dtype) for v, a in ((x, lhs), (y, rhs)))

    def parts(value: Any, aval: ShapedArray) -> list[Any]:
        kind = hlo.tensor_type(aval.shape, part)
        return [context.value(f"stablehlo.{name}", kind, (value,)) for name in ("real", "imag")]

    (a, b), (c, d) = parts(x, lhs), parts(y, rhs)
    kind = hlo.tensor_type(out.shape, part)
    ac, bd, ad, bc = (
        _append(context, left, right, w, precision, kind)
        for left, right in ((a, c), (b, d), (a, d), (b, c))
    )
    real = context.value("stablehlo.subtract", kind, (ac, bd))
    imag = context.value("stablehlo.add", kind, (ad, bc))
    return context.value("stablehlo.complex", context.out_type, (real, imag))


# ---------------------------------------------------------------- derivatives

conv_general_dilated_p.define(jvp=multilinear_jvp(conv_general_dilated_p))


@conv_general_dilated_p.def_transpose
def _conv_transpose_rule(
    ct: Any,
    lhs: Any,
    rhs: Any,
    *,
    precision: Canonical,
    preferred_element_type: DType,
    **window: Any,
) -> list[Any]:
    # A result without elements depends on nothing; XLA has no windows of size 0.
    if type(ct) is Zero or 0 in shape_of(ct):
        return zero_cotangents((lhs, rhs))
    w = _Window(**window)
    wanted, known = (lhs, rhs) if is_linear(lhs) else (rhs, lhs)
    # Sums in a wider dtype make a wider cotangent: compute in it, and narrow what comes out.
    known = convert_element_type(known, abstractify(ct).dtype)
    rule = _cotangent_of_operand if is_linear(lhs) else _cotangent_of_kernel
    pulled = convert_element_type(rule(ct, wanted.shape, known, w, precision), wanted.dtype)
    return [pulled, None] if is_linear(lhs) else [None, pulled]


def _bind(x: Any, y: Any, w: _Window, precision: Canonical) -> Any:
    return conv_general_dilated_p.bind(
        x, y, **w._asdict(), precision=precision, preferred_element_type=None
    )


def _cotangent_of_operand(
    ct: Any, lhs_shape: tuple[int, ...], rhs: Any, w: _Window, precision: Canonical
) -> Any:
    """Convolve the cotangent, spread by the strides, with the kernel flipped and its roles swapped.

    Groups of features stay groups.  Groups of the batch become groups of features, and what they
    give is moved back from the features to the batch.
    """
    lhs_spec, rhs_spec, out_spec = w.dimension_numbers
    spans = w.spatial(lhs_shape, shape_of(rhs))
    padding = tuple(
        (span.right - span.low - 1, span.left - span.result + span.low) for span in spans
    )
    groups = w.feature_group_count * w.batch_group_count
    kernel = rev(rhs, rhs_spec[2:])
    if groups > 1:
        kernel = _regrouped(kernel, rhs_spec[0], rhs_spec[1], groups)
    swapped = (rhs_spec[1], rhs_spec[0], *rhs_spec[2:])
    back = _Window(
        window_strides=w.lhs_dilation,
        padding=padding,
        lhs_dilation=w.window_strides,
        rhs_dilation=w.rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, swapped, lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
    )
    pulled = _bind(ct, kernel, back, precision)
    if w.batch_group_count > 1:
        pulled = _regrouped(pulled, lhs_spec[1], lhs_spec[0], w.batch_group_count)
    return pulled


def _regrouped(x: Any, source: int, destination: int, groups: int) -> Any:
    """Move groups from the front of one axis to the front of another."""
    shape = shape_of(x)
    split = (*shape[:source], groups, shape[source] // groups, *shape[source + 1 :])
    parts = move_axis(reshape(x, split), source, 0)
    # With the groups first and the source axis shrunk, merge them into the destination.
    return _merged(parts, 0, destination)


def _merged(x: Any, dim: int, axis: int, groups: int = 1) -> Any:
    """Merge the axis ``dim`` into ``axis`` (counted without it), inside ``groups`` leading groups.

    An axis of size ``groups * n`` becomes one of size ``groups * size * n``.
    """
    size = shape_of(x)[dim]
    rest = move_axis(x, dim, 0)
    shape = shape_of(rest)[1:]
    split = (size, *shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    moved = move_axis(reshape(rest, split), 0, axis + 1)
    return reshape(moved, (*shape[:axis], size * shape[axis], *shape[axis + 1 :]))


def _separated(x: Any, axis: int, size: int, groups: int = 1) -> Any:
    """Undo ``_merged``: return an array with the axis that was merged in front."""
    shape = shape_of(x)
    inner = shape[axis] // (groups * size)
    split = (*shape[:axis], groups, size, inner, *shape[axis + 1 :])
    moved = move_axis(reshape(x, split), axis + 1, 0)
    return reshape(moved, (size, *shape[:axis], groups * inner, *shape[axis + 1 :]))


def _cotangent_of_kernel(
    ct: Any, rhs_shape: tuple[int, ...], lhs: Any, w: _Window, precision: Canonical
) -> Any:
    """Convolve the operand with the cotangent; batch and features of the operand swap roles.

    Groups of features thereby become groups of the batch, and the other way round.
    """
    lhs_spec, rhs_spec, out_spec = w.dimension_numbers
    spans = w.spatial(shape_of(lhs), rhs_shape)
    padding = tuple(
        (span.low, span.right + span.result - span.left - span.low - 1) for span in spans
    )
    numbers = ConvDimensionNumbers(
        (lhs_spec[1], lhs_spec[0], *lhs_spec[2:]),
        (out_spec[1], out_spec[0], *out_spec[2:]),
        (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]),
    )
    back = _Window(
        window_strides=w.rhs_dilation,
        padding=padding,
        lhs_dilation=w.lhs_dilation,
        rhs_dilation=w.window_strides,
        dimension_numbers=numbers,
        feature_group_count=w.batch_group_count,
        batch_group_count=w.feature_group_count,
    )
    return _bind(lhs, ct, back, precision)


# ---------------------------------------------------------------- batching


@conv_general_dilated_p.def_batch
def _conv_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int]:
    """Merge the batch axis of the operand into its batch, that of the kernel into its features.

    Where both have one, examples become groups.
    """
    (lhs, rhs), (left, right) = args, dims
    numbers: ConvDimensionNumbers = params["dimension_numbers"]
    lhs_spec, rhs_spec, out_spec = numbers
    # One example's type says what does not fit, before anything is merged.
    one = conv_general_dilated_p.abstract((_example(lhs, left), _example(rhs, right)), params)
    if not axis.size:
        # No group count describes a batch without examples.
        return filled((0, *one.shape), typed_scalar(one.dtype, 0)), 0
    batches: int = params["batch_group_count"]
    groups: int = params["feature_group_count"] * batches
    if left is not None and right is not None:
        place = lhs_spec[0] if batches > 1 else lhs_spec[1]
        name = "batch_group_count" if batches > 1 else "feature_group_count"
        params[name] *= axis.size
        y = conv_general_dilated_p.bind(
            _merged(lhs, left, place), _merged(rhs, right, rhs_spec[0]), **params
        )
        return _separated(y, out_spec[1], axis.size), 0
    if left is not None:
        y = conv_general_dilated_p.bind(_merged(lhs, left, lhs_spec[0], batches), rhs, **params)
        return _separated(y, out_spec[0], axis.size), 0
    assert right is not None, "one operand at least is batched"
    y = conv_general_dilated_p.bind(lhs, _merged(rhs, right, rhs_spec[0], groups), **params)
    return _separated(y, out_spec[1], axis.size, groups), 0


def _example(x: Any, dim: int | None) -> ShapedArray:
    """Return the type of one example of an operand."""
    aval = abstractify(x)
    return aval if dim is None else aval.update(shape=(*aval.shape[:dim], *aval.shape[dim + 1 :]))
