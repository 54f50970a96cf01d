"""Where equations come from, and whose lines messages name, by the field's older name.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.api.handmade_programs import (
    current,
    current_name_stack,
    new_name_stack,
    new_source_info,
    reset_name_stack,
    set_name_stack,
    summarize,
    user_context,
)
from jxkernel.api.naming import named_scope as extend_name_stack
from jxkernel.source import NameStack, SourceInfo
from jxkernel.source import exclude as register_exclusion

__all__ = [
    "NameStack",
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "register_exclusion",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "user_context",
]
