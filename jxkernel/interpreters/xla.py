"""Evaluation by the field's older name.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.api.extending import apply_primitive

__all__ = ["apply_primitive"]
