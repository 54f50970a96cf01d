"""Values in one line, for messages and displays: type, first elements, what is not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import abstractify

__all__ = ["value_summary"]

_EDGE = 3
_SHOWN = 6


def value_summary(value: Any) -> str:
    """Return a value's type, its first elements, and how many are NaN or infinite.

    Args:
      value: an array or a number; reading it waits for it.

    >>> import numpy as np
    >>> value_summary(np.array([1.0, 2.5], np.float32))
    'f32[2] [1, 2.5]'
    """
    aval = abstractify(value)
    if aval.dtype == dtypes.float0:
        return aval.short()
    array: Any = np.asarray(value, aval.dtype)
    flat = array.reshape(-1)
    shown = flat if flat.size <= _SHOWN else flat[:_EDGE]
    text = ", ".join([_number(x) for x in shown])
    if flat.size > _SHOWN:
        text += f", ... ({flat.size} elements)"
    return f"{aval.short()} {f'[{text}]' if array.ndim else text}{_counts(array)}"


def _number(value: Any) -> str:
    if dtypes.issubdtype(value.dtype, np.complexfloating):
        return f"{complex(value):.6g}"
    if dtypes.issubdtype(value.dtype, np.floating):
        return f"{float(value):.6g}"
    return str(value)


def _counts(array: Any) -> str:
    if array.size <= _SHOWN or not dtypes.issubdtype(array.dtype, np.inexact):
        return ""
    counts = {"nan": int(np.isnan(array).sum()), "infinite": int(np.isinf(array).sum())}
    listed = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    return f", of which {listed}" if listed else ""
