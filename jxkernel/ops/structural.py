"""What the rules of irregular primitives share: linear derivatives, checked parameters, batches.

Irregular primitives move, choose or contract elements; most are linear in their array operands,
so their JVP is the primitive itself.  This module stands beside ``families`` and must not know
of any particular primitive above ``broadcast``.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

from jxkernel.core.avals import ShapedArray, rank_of, type_of
from jxkernel.core.dimensions import is_symbolic, sizes
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import UndefinedPrimal, Zero, is_linear, scalar_like
from jxkernel.dtypes import ExtendedDType
from jxkernel.errors import KeyTypeError, ShapeError, TracerIntegerConversionError
from jxkernel.ops.broadcast import add_tangents, batch_to_front, instantiate

__all__ = [
    "canonical_axes",
    "canonical_axis",
    "front",
    "integers",
    "is_array",
    "joint_weak_type",
    "like_operand",
    "linear_in",
    "linear_jvp",
    "listed",
    "same_dtype",
    "whole_number",
    "whole_numbers",
    "without_derivative",
    "zero_cotangents",
]

_PYTHON_SCALARS = (bool, int, float, complex)


def linear_jvp(primitive: Primitive) -> Callable[..., Any]:
    """Return the JVP rule of a primitive that is linear in all its operands together."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        return y, primitive.bind(*[instantiate(t) for t in tangents], **params)

    return jvp


def linear_in(primitive: Primitive, count: int) -> Callable[..., Any]:
    """Return the JVP rule of a primitive linear in its first ``count`` operands together.

    The other operands (indices) are whole numbers and have no tangent.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        moved = [instantiate(t) for t in tangents[:count]]
        return y, primitive.bind(*moved, *primals[count:], **params)

    return jvp


def multilinear_jvp(primitive: Primitive) -> Callable[..., Any]:
    """Return the JVP rule of a primitive linear in each operand by itself: the product rule."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        total: Any = Zero.tangent_of(y)
        for position, tangent in enumerate(tangents):
            if type(tangent) is not Zero:
                operands = [*primals[:position], tangent, *primals[position + 1 :]]
                total = add_tangents(total, primitive.bind(*operands, **params))
        return y, total

    return jvp


def without_derivative(primitive: Primitive) -> Callable[..., Any]:
    """Return the JVP rule of a primitive whose result does not vary smoothly: a zero tangent."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        if primitive.multiple_results:
            return out, [Zero.tangent_of(y) for y in out]
        return out, Zero.tangent_of(out)

    return jvp


def zero_cotangents(args: Iterable[Any]) -> list[Any]:
    """Return the cotangents of a transpose rule whose own cotangent is zero."""
    return [Zero(arg.aval) if is_linear(arg) else None for arg in args]


def aval_of_operand(operand: Any) -> ShapedArray:
    """Return the type of an argument of a transpose rule that is linear."""
    assert type(operand) is UndefinedPrimal, "a rule asks this of linear arguments only"
    return operand.aval


def is_array(value: Any) -> bool:
    """Whether a value is an array or tracer already, so that it may be returned as it is."""
    return hasattr(value, "aval")


def integers(name: str, argument: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Return an argument of static sizes or positions as a tuple of ints.

    Args:
      name: the function.
      argument: the argument's name.
      values: what was given.

    Raises:
      TracerIntegerConversionError: one is traced.
      TypeError: one is not a whole number, or there is no sequence of them.
    """
    try:
        return sizes(values)
    except TypeError:
        return whole_numbers(name, argument, sequence(name, argument, values, "whole numbers"))


def sequence(name: str, argument: str, values: Any, of: str) -> list[Any]:
    """Return an argument that must be a sequence as a list.

    Args:
      name: the function.
      argument: the argument's name.
      values: what was given.
      of: what it is a sequence of, for the message.

    Raises:
      TypeError: it is none.
    """
    kind = type_of(values)
    if issubclass(kind, (str, dict)) or not hasattr(values, "__iter__") or _is_scalar(values):
        raise TypeError(
            f"{name} got {argument}={values!r:.100} of type {kind.__name__}: it takes a sequence "
            f"of {of}"
        )
    return list(values)


def _is_scalar(value: Any) -> bool:
    return getattr(value, "ndim", None) == 0


def whole_number(name: str, argument: str, value: Any) -> int:
    """Return an argument that must be a whole number known now.

    Args:
      name: the function.
      argument: the argument's name.
      value: what was given.

    Raises:
      TracerIntegerConversionError: it is traced.
      TypeError: it is anything else.
    """
    try:
        return index(value)
    except TracerIntegerConversionError as error:
        raise TracerIntegerConversionError(
            error.tracer,
            f"{name}(..., {argument}=...)",
            origin=error.origin,
            where=error.where,
            code=error.code,
            underline=error.underline,
            instead=(
                f"{argument} shapes the program: make it an argument that is known while tracing, "
                "jit(f, static_argnames=...)",
            ),
        ) from None
    except TypeError:
        raise TypeError(
            f"{name} got {argument}={value!r:.100} of type {type(value).__name__}: it takes whole "
            "numbers"
        ) from None


def whole_numbers(name: str, argument: str, values: Any) -> tuple[int, ...]:
    """Return an argument that must be a sequence of whole numbers; one stands for itself.

    Symbolic sizes stay as they are.

    Raises:
      TracerIntegerConversionError: one of them is traced.
      TypeError: one of them is no whole number.
    """
    return tuple(
        [
            value if is_symbolic(value) else whole_number(name, argument, value)
            for value in listed(values)
        ]
    )


def listed(axes: Any) -> tuple[Any, ...]:
    """Return axes as a tuple; one number stands for itself."""
    if issubclass(type_of(axes), (tuple, list)):
        return tuple(axes)
    return (axes,) if rank_of(axes) == 0 else tuple(axes)


def canonical_axis(name: str, axis: Any, ndim: int) -> int:
    """Return an axis counted from the front.

    Raises:
      ValueError: there is no such axis.
    """
    position = whole_number(name, "axis", axis)
    if not -ndim <= position < ndim:
        raise ValueError(
            f"{name} got axis {position} for an array of rank {ndim}: axes are from {-ndim} to "
            f"{ndim - 1}"
            if ndim
            else f"{name} got axis {position} for an array of rank 0, which has no axes"
        )
    return position + ndim if position < 0 else position


def canonical_axes(name: str, axes: Iterable[Any], ndim: int) -> tuple[int, ...]:
    """Return axes counted from the front.

    Raises:
      ValueError: there is no such axis, or one is named twice.
    """
    if not hasattr(axes, "__iter__"):
        axes = sequence(name, "axes", axes, "whole numbers")
    found = tuple([canonical_axis(name, axis, ndim) for axis in axes])
    if len(set(found)) != len(found):
        raise ShapeError(f"{name} got axes {found}: each axis may be named once")
    return found


def like_operand(operand: Any, value: Any) -> Any:
    """Return a Python number in the dtype of ``operand``; anything else as it is."""
    return scalar_like(operand, value) if type(value) in _PYTHON_SCALARS else value


def same_dtype(name: str, avals: Sequence[ShapedArray]) -> Any:
    """Return the one dtype of the operands.

    Raises:
      TypeError: they differ.
    """
    first = avals[0].dtype
    if any(aval.dtype != first for aval in avals):
        if any(isinstance(aval.dtype, ExtendedDType) for aval in avals):
            raise KeyTypeError(name, ", ".join([aval.short() for aval in avals]))
        raise TypeError(
            f"{name} needs operands of one dtype, got "
            f"{' and '.join(aval.short() for aval in avals)}: convert with x.astype(...), or use "
            "the function of jxkernel.numpy, which promotes"
        )
    return first


def joint_weak_type(avals: Sequence[ShapedArray]) -> bool:
    """Whether a result is weak: all its operands are."""
    return all(aval.weak_type for aval in avals)


def front(args: Sequence[Any], dims: Sequence[int | None], size: int) -> list[Any]:
    """Return the operands with the batch axis first; an unbatched one is repeated along it."""
    return [batch_to_front(arg, dim, size) for arg, dim in zip(args, dims, strict=True)]


def example_ndim(arg: Any, dim: int | None) -> int:
    """Return the rank of one example of a batched operand."""
    return rank_of(arg) - (dim is not None)
