"""Room for a cell to run again: what variables, outputs and the latest error hold is deleted."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

from jxkernel import observe
from jxkernel.jupyter.errors.last_error import TRACEBACKS, forget_frames

__all__ = ["free_held"]


def free_held(namespace: MutableMapping[str, Any], names: Sequence[str]) -> int:
    """Delete what names hold, and return the bytes that were freed.

    Args:
      namespace: the variables.
      names: variables, outputs as ``Out[3]``, and ``tracebacks`` for what the calls held that the
        latest error ended, where no variable has that name.

    Raises:
      ValueError: there is no such name, or it holds no array. Nothing is deleted.
    """
    others = [name for name in names if name != TRACEBACKS or name in namespace]
    before = observe.live(namespace, holders=False).bytes
    observe.free(*others, namespace=namespace)
    if len(others) < len(names):
        forget_frames()
    return before - observe.live(namespace, holders=False).bytes
