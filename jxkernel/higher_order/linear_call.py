"""``linear_call_p``: a call of a linear function whose transpose the user gives.

Operands are ``num_residuals`` values that the function is not linear in, then those that it is.
Its derivative by the latter is the same call; its transpose is the call with the two programs
exchanged.  Where the residuals ``may_move``, it is differentiated by them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from jxkernel.core.axes import Axis
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.zeros import Zero, is_linear
from jxkernel.higher_order.programs import call_primitive
from jxkernel.primitives.shape.broadcast import add_tangents, batch_to_front, instantiate
from jxkernel.transforms.batching import batch_program
from jxkernel.transforms.jvp import jvp_flat

__all__ = ["linear_call_p"]

linear_call_p = call_primitive("linear_call")


@linear_call_p.def_jvp
def _linear_call_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    call_jaxpr: ClosedJaxpr,
    num_residuals: int,
    name: str,
    may_move: bool = False,
    **params: Any,
) -> tuple[list[Any], list[Any]]:
    """(r, x) -> f(r) x moves by f(r) t, and by the derivative of f at r, applied to x."""
    moving = any(type(t) is not Zero for t in tangents[:num_residuals])
    if moving and not may_move:
        raise TypeError(
            f"linear_call of {name} is differentiated by a residual argument, or by a value that "
            "the function closes over; it only knows to be linear in its linear arguments. Use "
            "custom_vjp for a function that is not, or stop the gradient with lax.stop_gradient"
        )
    params.update(call_jaxpr=call_jaxpr, num_residuals=num_residuals, name=name)
    params.update({"may_move": True} if may_move else {})
    outs = linear_call_p.bind(*primals, **params)
    given = [instantiate(t) for t in tangents[num_residuals:]]
    moved = linear_call_p.bind(*primals[:num_residuals], *given, **params)
    if moving:
        still = [Zero.tangent_of(x) for x in primals[num_residuals:]]
        function = partial(eval_jaxpr, call_jaxpr.jaxpr, call_jaxpr.consts)
        _, turned = jvp_flat(function, primals, [*tangents[:num_residuals], *still])
        moved = list(map(add_tangents, moved, turned))
    return outs, moved


@linear_call_p.def_transpose
def _linear_call_transpose(
    cts: Sequence[Any],
    *args: Any,
    call_jaxpr: ClosedJaxpr,
    transpose_jaxpr: ClosedJaxpr,
    num_residuals: int,
    **params: Any,
) -> list[Any]:
    pulled = linear_call_p.bind(
        *args[:num_residuals],
        *[instantiate(ct) for ct in cts],
        call_jaxpr=transpose_jaxpr,
        transpose_jaxpr=call_jaxpr,
        num_residuals=num_residuals,
        **params,
    )
    linear = args[num_residuals:]
    return [
        *[None] * num_residuals,
        *[ct if is_linear(arg) else None for ct, arg in zip(pulled, linear, strict=True)],
    ]


@linear_call_p.def_batch
def _linear_call_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    call_jaxpr: ClosedJaxpr,
    transpose_jaxpr: ClosedJaxpr,
    num_residuals: int,
    **params: Any,
) -> tuple[list[Any], list[int | None]]:
    """Batch both programs, with all linear arguments and results batched: each the other's."""
    has = tuple([dim is not None for dim in dims[:num_residuals]])
    moved = [
        arg if dim is None and place < num_residuals else batch_to_front(arg, dim, axis.size)
        for place, (arg, dim) in enumerate(zip(args, dims, strict=True))
    ]

    def batched(program: ClosedJaxpr) -> ClosedJaxpr:
        linear = len(program.in_avals) - num_residuals
        return batch_program(program, axis, has + (True,) * linear, True)[0]

    outs = linear_call_p.bind(
        *moved,
        call_jaxpr=batched(call_jaxpr),
        transpose_jaxpr=batched(transpose_jaxpr),
        num_residuals=num_residuals,
        **params,
    )
    return outs, [0] * len(outs)
