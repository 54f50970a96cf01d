"""What is kept for the way back: every name of ``jax.ad_checkpoint``.  Only re-exports."""

from jxkernel.api.derivatives.checkpoint import checkpoint, checkpoint_name, checkpoint_policies
from jxkernel.api.derivatives.checkpoint import checkpoint_name as checkpoint_name_fwd
from jxkernel.api.derivatives.residuals import print_saved_residuals, saved_residuals
from jxkernel.higher_order.checkpoint import Offloadable, Recompute, Saveable, name_p

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_name_fwd",
    "checkpoint_policies",
    "name_p",
    "print_saved_residuals",
    "saved_residuals",
]
