"""Functions that the compiler computes on another part of a machine.

A façade: it re-exports.
"""

from jxkernel.api.computing import compute_on

__all__ = ["compute_on"]
