"""Whose lines messages name, by the field's older name.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.source import exclude as register_exclusion

__all__ = ["register_exclusion"]
