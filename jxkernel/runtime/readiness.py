"""Waiting for arrays, and the exact time at which they existed.

It must not know what computes the arrays, or why somebody waits.

``block_until_ready`` waits in C++, where no signal handler runs.  Short waits ask instead of
blocking; longer ones go through ``config.compile_runner``, which in a notebook lets an interrupt
through.  The arrays stay alive and the computation goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from jxkernel.config import compile_runner
from jxkernel.runtime.arrays import ArrayImpl, block_until_ready
from jxkernel.runtime.clients import backends
from jxkernel.runtime.topology import live_arrays
from jxkernel.tree import physical

__all__ = ["arrays_in", "settle", "under_way", "wait"]

_ASKING_NS = 1_000_000
_STEP_SECONDS = 0.001


def arrays_in(*values: Any) -> list[Any]:
    """Return the device arrays in trees; values that cannot be looked into are passed over."""
    found = []
    for value in values:
        if type(value) is ArrayImpl:
            found.append(value)
            continue
        try:
            leaves = physical.leaves(value)
        except Exception:  # foreign flatten functions, dict keys that cannot be sorted
            continue
        found += [leaf for leaf in leaves if type(leaf) is ArrayImpl]
    return found


def wait(arrays: Iterable[Any]) -> int:
    """Wait until all arrays exist.

    Returns:
      the ``time.perf_counter_ns()`` reading when they did.

    Raises:
      JaxRuntimeError: the computation of one failed.
      KeyboardInterrupt: the user interrupted the wait; the computation goes on.
    """
    pending = [array for array in arrays if not array.is_deleted()]
    started = time.perf_counter_ns()
    while time.perf_counter_ns() - started < _ASKING_NS:
        if all(array.is_ready() for array in pending):
            ready = time.perf_counter_ns()
            block_until_ready(pending)
            return ready

    def block() -> int:
        block_until_ready(pending)
        return time.perf_counter_ns()

    run = compile_runner.value
    return block() if run is None else run(block)


def under_way() -> list[Any]:
    """Return the arrays that somebody holds and that do not exist yet, wherever they are held."""
    return [
        array
        for platform in backends()
        for array in live_arrays(platform)
        if not array.is_deleted() and not array.is_ready()
    ]


def settle() -> None:
    """Wait until nothing is under way; failed computations keep their errors for their users."""
    for array in under_way():
        while not array.is_deleted() and not array.is_ready():
            time.sleep(_STEP_SECONDS)
