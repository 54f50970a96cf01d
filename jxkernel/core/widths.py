"""64-bit values where 64 bits are off: what ``with enable_x64(True)`` made, outside of the block.

Such values keep their dtype, and so does a program that holds them.  A rule that makes constants
for them would make them narrower outside of the block, and they would not fit: so a rule is
applied with 64 bits on where a value has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from jxkernel.config import enable_x64
from jxkernel.core.avals import ShapedArray
from jxkernel.dtypes.canonical import is_wide

__all__ = ["any_wide", "at_width", "may_be_mixed"]

_AS_IT_IS: AbstractContextManager[Any] = nullcontext()


def may_be_mixed() -> bool:
    """Whether there may be 64-bit values although 64 bits are off."""
    return enable_x64.seen and not enable_x64.value


def any_wide(avals: Iterable[ShapedArray]) -> bool:
    """Whether a value of one of these types has 64 bits."""
    return any(is_wide(aval.dtype) for aval in avals)


def at_width(avals: Iterable[ShapedArray]) -> AbstractContextManager[Any]:
    """Return the block in which a rule for values of these types is applied."""
    return enable_x64(True) if may_be_mixed() and any_wide(avals) else _AS_IT_IS
