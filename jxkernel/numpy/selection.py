"""Selection: elements from one array or another, by a condition or a choice.

What is not chosen takes no part: neither its NaN values nor its derivatives reach the result.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.indexing import within
from jxkernel.numpy.logic import isnan, isneginf, isposinf, truth
from jxkernel.numpy.mathematics import imag, real
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    check_arguments,
    check_known,
    dtype_of,
    joint_shape,
    promote_dtypes,
    refuse_out,
)
from jxkernel.numpy.taking import nonzero
from jxkernel.primitives.arguments import sequence
from jxkernel.primitives.elementwise.complex import complex as with_parts
from jxkernel.primitives.elementwise.select import select as selected
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.runtime import ArrayLike

__all__ = ["choose", "nan_to_num", "select", "where"]


@fused(name="where")
def _where(condition: Any, x: Any, y: Any) -> Any:
    condition = truth(condition)
    x, y = promote_dtypes("where", x, y)
    parts = (condition, x, y)
    shapes = [np.shape(part) for part in parts if np.ndim(part)]
    if len(set(shapes)) > 1:
        shape = joint_shape("where", shapes)
        condition, x, y = (
            broadcast_to_shape(part, shape) if np.ndim(part) else part for part in parts
        )
    return selected(condition, x, y)


def where(
    condition: ArrayLike,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Return elements of ``x`` where a condition holds, else of ``y``.

    Args:
      condition: an array; anything but zero holds.
      x: an array or number.
      y: an array or number; all three broadcast.
      size: without ``x`` and ``y``: how many positions to return; see ``nonzero``.
      fill_value: without ``x`` and ``y``: the positions past the last one.

    Returns:
      an array; without ``x`` and ``y`` the positions where the condition holds.

    Raises:
      TypeError: an argument is no array (a list is not converted silently).
      ValueError: only one of ``x`` and ``y`` is given, shapes do not broadcast, or without ``x``
        and ``y`` the condition is a number.

    The derivative with respect to a value not chosen is exactly zero, also where it is NaN.

    >>> jnp.where(jnp.array([True, False]), jnp.array([1, 2]), 0)
    Array([1, 0], dtype=int32)
    >>> jnp.where(jnp.array([0, 3, 4]))
    (Array([1, 2], dtype=int32),)
    """
    if x is None and y is None:
        check_arguments("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where takes both x and y, or neither")
    if size is not None or fill_value is not None:
        raise ValueError("where takes size and fill_value only without x and y")
    check_arguments("where", condition, x, y)
    return _where(condition, x, y)


@fused(name="select")
def _first_case(conditions: Sequence[Any], choices: Sequence[Any], default: Any) -> Any:
    *choices, result = promote_dtypes("select", *choices, default)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = _where.__wrapped__(condition, choice, result)
    return result


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """Return, for each element, that of the first array whose condition holds.

    Args:
      condlist: arrays; anything but zero holds.
      choicelist: an array for each; all broadcast.
      default: what to return where none holds.

    Raises:
      ValueError: the lists differ in length or are empty.
      TypeError: a condition or choice is no array.

    >>> x = jnp.array([1, 5, 9])
    >>> jnp.select([x < 2, x < 6], [x, 10 * x], default=-1)
    Array([ 1, 50, -1], dtype=int32)
    """
    conditions = sequence("select", "condlist", condlist, "arrays")
    choices = sequence("select", "choicelist", choicelist, "arrays")
    if len(conditions) != len(choices) or not choices:
        raise ValueError(f"select got {len(conditions)} conditions for {len(choices)} choices")
    check_arguments("select", *conditions, *choices, default)
    return _first_case(conditions, choices, default)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Return, for each element of ``a``, the element of the choice with that number.

    Args:
      a: integers.
      choices: arrays, or one array of them along its first axis; all broadcast.
      out: must be None.
      mode: numbers out of range: ``"wrap"``, ``"clip"``, or ``"raise"``, which needs values known
        now.

    Raises:
      ValueError: (``"raise"``) a number is out of range; ``a`` is not of integers; or there is no
        such mode.
      ConcretizationTypeError: (``"raise"``) ``a`` is traced.

    >>> jnp.choose(jnp.array([1, 0, 1]), [jnp.array([1, 2, 3]), jnp.array([10, 20, 30])])
    Array([10,  2, 30], dtype=int32)
    """
    refuse_out("choose", out)
    parts = sequence("choose", "choices", choices, "arrays")
    check_arguments("choose", a, *parts)
    a = asarray(a)
    if a.dtype not in dtypes.INTEGRAL:
        raise ValueError(f"choose takes integers, which number the choices, got {a.dtype.name}")
    if mode == "raise":
        check_known("choose(mode='raise')", a, "choose 'wrap' or 'clip'")
        numbers = np.asarray(a)
        if ((numbers < 0) | (numbers >= len(parts))).any():
            raise ValueError(f"choose got numbers out of range for {len(parts)} choices")
    elif mode not in ("wrap", "clip"):
        raise ValueError(f"choose got mode {mode!r}: it is 'raise', 'wrap' or 'clip'")
    return _chosen(a, parts, mode)


@fused(static=("mode",), name="choose")
def _chosen(a: Any, choices: Sequence[Any], mode: str) -> Any:
    a = within(a, len(choices), mode)
    parts = [cast(part, dtype_of(part)) for part in promote_dtypes("choose", *choices)]
    shape = broadcast_shapes(np.shape(a), *map(np.shape, parts))
    which = broadcast_to_shape(cast(a, np.dtype(np.int32)), shape)
    return select_n(which, *[broadcast_to_shape(part, shape) for part in parts])


@fused(static=("copy",))
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Return an array with NaN and infinities replaced.

    Args:
      x: an array.
      copy: accepted; arrays do not change.
      nan: what replaces NaN.
      posinf: what replaces +inf; the greatest number where not given.
      neginf: what replaces -inf; the least number where not given.

    >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan, -jnp.inf]), nan=9.0, neginf=-1.0)
    Array([ 1.,  9., -1.], dtype=float32)
    """
    aval = argument_aval("nan_to_num", x)
    if aval.dtype not in dtypes.INEXACT:
        return cast(x, aval.dtype, aval.weak_type)
    if aval.dtype in dtypes.COMPLEX:
        real_part, imag_part = (
            nan_to_num.__wrapped__(part, copy, nan, posinf, neginf) for part in (real(x), imag(x))
        )
        return with_parts(real_part, imag_part)
    info = dtypes.finfo(aval.dtype)
    high = aval.dtype.type(info.max) if posinf is None else posinf
    low = aval.dtype.type(info.min) if neginf is None else neginf
    nan, high, low = (cast(value, aval.dtype) for value in (nan, high, low))
    x = cast(x, aval.dtype)
    result = selected(isnan(x), broadcast_to_shape(nan, np.shape(x)), x)
    result = selected(isposinf(x), broadcast_to_shape(high, np.shape(x)), result)
    return selected(isneginf(x), broadcast_to_shape(low, np.shape(x)), result)
