"""Selection: for each element, one of several cases.

The cases that are not chosen take no part: their NaN or infinite values do not reach the result,
and their tangents and cotangents are exactly zero there.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray
from jxkernel.core.zeros import Zero, is_linear, zero_scalar
from jxkernel.errors import ShapeMismatchError
from jxkernel.primitives.elementwise.families import (
    broadcast_values,
    elementwise_batch,
    joint_shape,
    type_numbers,
)
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.shape.broadcast import filled_like, sum_to_shape
from jxkernel.primitives.shape.structural import joint_weak_type, same_dtype
from jxkernel.primitives.shape.transpose import MovingPrimitive
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import bind_alike
from jxkernel.runtime import ArrayLike

__all__ = ["select", "select_n", "select_n_p"]

select_n_p = MovingPrimitive("select_n", element_work=1).define(
    sharding=rules.Linear(rules.elementwise, start=1)
)


def select_n(which: ArrayLike, *cases: Any) -> Any:
    """Return, for each element, the element of ``cases[which]``.

    Args:
      which: booleans (for at most two cases) or integers; a scalar, or of the shape of the cases.
        False counts as 0.  An integer out of range counts as the nearest in range.
      *cases: arrays of one dtype and shape; a scalar may stand beside any shape.

    Raises:
      TypeError: ``which`` is neither, too narrow to name each case, or the cases' dtypes differ.
      ShapeMismatchError: the shapes differ.

    Linear in the cases; cases that were not chosen get zero cotangents.  StableHLO ``select``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.select_n(jnp.array([2, 0], "int32"), *jnp.array([[1, 2], [3, 4], [5, 6]])).tolist()
    [5, 2]
    """
    return bind_alike(select_n_p, type_numbers("select_n", cases), before=(which,))


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """Return ``on_true`` where ``pred`` holds, else ``on_false``: ``select_n`` of two cases.

    Raises:
      TypeError: ``pred`` is not of booleans, or the cases are of two dtypes.
      ShapeMismatchError: the shapes differ, and none of the two is that of a number.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([8, 9])).tolist()
    [1, 9]
    """
    return select_n(pred, on_false, on_true)


@select_n_p.def_abstract_eval
def _select_n_abstract_eval(which: ShapedArray, *cases: ShapedArray) -> ShapedArray:
    count = len(cases)
    if not count:
        raise TypeError("select_n needs at least one case")
    if which.dtype not in dtypes.BOOLEAN and which.dtype not in dtypes.INTEGRAL:
        raise TypeError(f"select_n chooses by bool or integers, got dtype {which.dtype.name}")
    most = 2 if which.dtype in dtypes.BOOLEAN else int(dtypes.iinfo(which.dtype).max) + 1
    if count > most:
        kind = "booleans" if which.dtype in dtypes.BOOLEAN else which.dtype.name
        raise TypeError(f"select_n got {kind} to choose among {count} cases: use int32")
    dtype = same_dtype("select_n", cases)
    shapes = [which.shape, *(case.shape for case in cases)]
    shape = joint_shape("select_n", shapes)
    if any(own not in ((), shape) for own in shapes):
        raise ShapeMismatchError(
            "select_n", shapes, "operands must have equal shapes, or be scalars"
        )
    return ShapedArray(shape, dtype, joint_weak_type(cases))


def _select_n_reference(which: Any, *cases: Any) -> Any:
    chosen, *choices = untyped_numpy.broadcast_arrays(which, *cases)
    index = untyped_numpy.clip(chosen.astype(np.int64), 0, len(choices) - 1)
    return untyped_numpy.choose(index, choices) if len(choices) > 1 else choices[0]


select_n_p.reference = _select_n_reference


@select_n_p.def_lower
def _select_n_lower(context: Any, *values: Any) -> Any:
    which, *cases = broadcast_values(context, values)
    if context.avals_in[0].dtype == np.bool_:
        return _choose(context, which, cases[-1], cases[0]) if len(cases) > 1 else cases[0]
    return _lower_among(context, which, cases, 0)


def _choose(context: Any, pred: Any, on_true: Any, on_false: Any) -> Any:
    return context.value("stablehlo.select", context.out_type, (pred, on_true, on_false))


def _lower_among(context: Any, which: Any, cases: Sequence[Any], offset: int) -> Any:
    """Select among cases ``offset, offset + 1, ...`` by halving."""
    if len(cases) == 1:
        return cases[0]
    half = len(cases) // 2
    shape, dtype = context.avals_out[0].shape, context.avals_in[0].dtype
    bound = context.splat(offset + half, shape, dtype)
    order = "UNSIGNED" if dtype in dtypes.UNSIGNED else "SIGNED"
    low = context.compare(which, bound, "LT", shape, order)
    return _choose(
        context,
        low,
        _lower_among(context, which, cases[:half], offset),
        _lower_among(context, which, cases[half:], offset + half),
    )


@select_n_p.def_jvp
def _select_n_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    y = select_n_p.bind(*primals)
    if all(type(t) is Zero for t in tangents[1:]):
        return y, Zero.tangent_of(y)
    parts = [zero_scalar(t.aval) if type(t) is Zero else t for t in tangents[1:]]
    return y, filled_like(bind_alike(select_n_p, parts, before=primals[:1]), y)


@select_n_p.def_transpose
def _select_n_transpose(ct: Any, which: Any, *cases: Any) -> list[Any]:
    linear = [case for case in cases if is_linear(case)]
    if type(ct) is Zero:
        return [None, *(Zero(case.aval) if is_linear(case) else None for case in cases)]
    zero = zero_scalar(linear[0].aval)
    cts: list[Any] = [None]
    for index, case in enumerate(cases):
        if not is_linear(case):
            cts.append(None)
            continue
        only = [ct if other == index else zero for other in range(len(cases))]
        chosen = bind_alike(select_n_p, only, before=(which,))
        cts.append(sum_to_shape(chosen, case.aval.shape))
    return cts


select_n_p.define(batch=elementwise_batch(select_n_p))
