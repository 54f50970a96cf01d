"""``linear_call``: a linear function whose transpose the user gives."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.api.arguments import function_name
from jxkernel.api.traced import TracedFunction, check_callable, leaf_avals, trace_function
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.higher_order.linear_call import linear_call_p
from jxkernel.higher_order.programs import place_arguments
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["call_linear", "linear_call"]


def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Call a function that is linear in its second argument, and say what its transpose is.

    Args:
      fun: from ``residual_args`` and ``linear_args`` to a tree of real or complex arrays.
      fun_transpose: from ``residual_args`` and a tree like the result of ``fun`` to a tree like
        ``linear_args``.  That it is the transpose is not checked.
      residual_args: a tree of arrays that the function may use in any way.
      linear_args: a tree of real or complex arrays that it is linear in.

    Returns:
      ``fun(residual_args, linear_args)``.

    Raises:
      TypeError: a function is not callable, its transpose gives another structure or types, or
        ``linear_args`` hold no real or complex numbers; later, on differentiation by
        ``residual_args``.

    The derivative by ``linear_args`` is the call itself; on the way back ``fun_transpose`` runs.

    >>> import jxkernel as jx
    >>> from jxkernel.custom_derivatives import linear_call
    >>> def scaled(x):
    ...     return linear_call(lambda r, x: r * x, lambda r, ct: 100.0 * ct, 2.0, x)
    >>> float(scaled(3.0)), float(jx.grad(scaled)(3.0))
    (6.0, 100.0)
    """
    try:
        check_callable("linear_call", "fun", fun)
        check_callable("linear_call", "fun_transpose", fun_transpose)
        return call_linear(fun, fun_transpose, residual_args, linear_args)
    except Exception as error:
        hide_internal_frames(error)
        raise


def call_linear(
    fun: Callable[[Any, Any], Any],
    back: Callable[[Any, Any], Any],
    residual: Any,
    linear: Any,
    *,
    may_move: bool = False,
) -> Any:
    """Call a linear function as ``linear_call`` does.

    Args:
      fun: the function.
      back: its transpose.
      residual: what it may use in any way.
      linear: what it is linear in.
      may_move: whether it is differentiated by ``residual`` too.
    """
    flat_residual, residual_tree = physical.flatten(residual)
    flat_linear, linear_tree = physical.flatten(linear)
    residual_avals = leaf_avals("linear_call", "residual_args", flat_residual, residual_tree)
    linear_avals = leaf_avals("linear_call", "linear_args", flat_linear, linear_tree)
    kind = "linear_call"
    there = trace_function(
        kind, fun, fun, physical.structure((residual, linear)), [*residual_avals, *linear_avals]
    )
    out = there.out_tree.unflatten([0] * there.out_tree.num_leaves)
    cts = [aval.strip_weak_type() for aval in there.out_avals]
    again = trace_function(
        kind, back, back, physical.structure((residual, out)), [*residual_avals, *cts]
    )
    _check_inexact(fun, [*linear_avals, *there.out_avals])
    _check_transpose(back, again, linear_tree, linear_avals)
    consts = [*there.closed.consts, *again.closed.consts]
    first, second = len(there.closed.consts), len(consts)
    count = second + len(flat_residual)
    types = [*map(abstractify, consts), *residual_avals]
    outs = linear_call_p.bind(
        *consts,
        *flat_residual,
        *flat_linear,
        call_jaxpr=_among(there, range(first), second, [*types, *linear_avals]),
        transpose_jaxpr=_among(again, range(first, second), second, [*types, *cts]),
        num_residuals=count,
        name=function_name(fun),
        **({"may_move": True} if may_move else {}),
    )
    return there.out_tree.unflatten(outs)


def _among(traced: TracedFunction, own: range, start: int, types: list[ShapedArray]) -> Any:
    """Return a program as one of the constants of both, of which it reads its own."""
    return place_arguments(traced.closed.hoisted(), (*own, *range(start, len(types))), types)


def _check_inexact(fun: Callable[..., Any], avals: list[ShapedArray]) -> None:
    for aval in avals:
        if not dtypes.issubdtype(aval.dtype, np.inexact):
            raise TypeError(
                "linear_call takes functions of real or complex numbers to such, and "
                f"{function_name(fun)} has {aval.short()}: pass it among residual_args"
            )


def _check_transpose(
    back: Callable[..., Any], traced: TracedFunction, structure: Any, avals: list[ShapedArray]
) -> None:
    found = [(aval.shape, aval.dtype) for aval in traced.out_avals]
    if traced.out_tree != structure or found != [(aval.shape, aval.dtype) for aval in avals]:
        raise TypeError(
            f"linear_call needs {function_name(back)} to return a tree like linear_args, "
            f"{structure_text(structure)} of {' '.join(aval.short() for aval in avals)}, got "
            f"{structure_text(traced.out_tree)} of "
            f"{' '.join(aval.short() for aval in traced.out_avals)}"
        )
