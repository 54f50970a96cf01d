"""Functions whose operations are computed in the order in which they are written.

A façade: it re-exports.
"""

from jxkernel.api.computing import program_order

__all__ = ["program_order"]
