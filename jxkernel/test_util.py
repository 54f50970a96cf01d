"""Checks of derivatives for tests: every name of ``jax.test_util``.  Only re-exports."""

from jxkernel.api.derivatives.checks import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
