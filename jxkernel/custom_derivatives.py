"""Derivatives that users give: every name of ``jax.custom_derivatives``.  Only re-exports."""

from jxkernel.api.custom.closures import closure_convert, custom_gradient
from jxkernel.api.custom.derivatives import custom_jvp, custom_vjp
from jxkernel.api.custom.linear_calls import linear_call
from jxkernel.api.custom.perturbations import (
    CustomVJPPrimal,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from jxkernel.core.zeros import Zero as SymbolicZero
from jxkernel.higher_order.custom_jvp import custom_jvp_call_p
from jxkernel.higher_order.custom_vjp import custom_vjp_call_p
from jxkernel.higher_order.remat_opt import remat_opt_p

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "remat_opt_p",
    "zero_from_primal",
]
