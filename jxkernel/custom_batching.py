"""Batch rules that users give: every name of ``jax.custom_batching``.  Only re-exports."""

from jxkernel.api.custom.batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
