"""Functions whose operations a scheduler keeps together.

A façade: it re-exports.
"""

from jxkernel.api.computing import scheduling_group

__all__ = ["scheduling_group"]
