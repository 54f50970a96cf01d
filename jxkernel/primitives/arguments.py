"""Arguments: what functions are given, checked before it becomes operands and parameters of rules.

A message names the function, the argument, what was given and what would work.  This module stands
below all primitives.
"""

from collections.abc import Iterable
from operator import index
from typing import Any

import numpy as np

from jxkernel._reprs import with_type
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, type_of
from jxkernel.core.dimensions import is_symbolic, sizes
from jxkernel.errors import ByteOrderError, ShapeError, TracerIntegerConversionError

__all__ = [
    "canonical_axes",
    "canonical_axis",
    "integers",
    "is_array",
    "listed",
    "operand_aval",
    "sequence",
    "whole_number",
    "whole_numbers",
]


def is_array(value: Any) -> bool:
    """Whether a value is an array or tracer already, so that it may be returned as it is."""
    return hasattr(value, "aval")


def operand_aval(name: str, value: Any) -> ShapedArray:
    """Return the type of an operand of the function ``name``.

    Raises:
      TypeError: it is no array and no number.
    """
    try:
        return abstractify(value)
    except ByteOrderError:
        raise
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


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
            can_be_static=error.can_be_static,
            instead=(
                f"{argument} must be known while tracing"
                + ": make the argument static, jit(f, static_argnames=...)" * error.can_be_static,
            ),
        ) from None
    except TypeError:
        raise TypeError(
            f"{name} got {argument}={with_type(value)}: it takes whole numbers"
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


def canonical_axis(name: str, axis: Any, ndim: int, argument: str = "axis") -> int:
    """Return an axis counted from the front.

    Raises:
      numpy.exceptions.AxisError: there is no such axis; a ``ValueError`` and an ``IndexError``.
    """
    position = whole_number(name, argument, axis)
    if not -ndim <= position < ndim:
        raise np.exceptions.AxisError(
            f"{name} got {argument} {position} for an array of rank {ndim}: axes are from {-ndim} "
            f"to {ndim - 1}"
            if ndim
            else f"{name} got {argument} {position} for an array of rank 0, which has no axes"
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
