"""Layouts and formats: in what order elements lie in memory, and where.

A façade: it re-exports.
"""

from jxkernel.api.marking import with_layout_constraint
from jxkernel.sharding.layout import Format, Layout

__all__ = ["Format", "Layout", "with_layout_constraint"]
