"""Trees as vectors: every name of ``jax.flatten_util``.  Only re-exports."""

from jxkernel.api.raveling import ravel_pytree

__all__ = ["ravel_pytree"]
