"""Waiting for asynchronous results so that an interrupt still gets through.

Purpose: block until arrays exist, in a way that Ctrl-C ends at once.

Place in the pipeline: below `jupyter.cells` and `jupyter.timing`.

Must not know: cells, magics, or what the arrays are for.

`block_until_ready` waits in C++, where no signal handler runs. Short waits ask instead of
blocking; longer ones block in a thread of their own, so that the main thread can be interrupted.
The arrays stay alive and the computation goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from jxkernel import runtime, tree
from jxkernel._jaxlib import JaxRuntimeError
from jxkernel.jupyter.interrupts import run_interruptibly
from jxkernel.runtime import ArrayImpl

__all__ = [
    "arrays_in",
    "failures_of_callbacks",
    "settle",
    "under_way",
    "wait",
    "wait_for_variables",
]

_ASKING_NS = 1_000_000
_STEP_SECONDS = 0.001


def arrays_in(*values: Any) -> list[Any]:
    """Returns the device arrays in trees; values that cannot be looked into are passed over."""
    found = []
    for value in values:
        if type(value) is ArrayImpl:
            found.append(value)
            continue
        try:
            leaves = tree.leaves(value)
        except Exception:  # foreign flatten functions, dict keys that cannot be sorted
            continue
        found += [leaf for leaf in leaves if type(leaf) is ArrayImpl]
    return found


def wait(arrays: Iterable[Any]) -> int:
    """Waits until all arrays exist.

    Returns:
      the `time.perf_counter_ns()` reading when they did.

    Raises:
      JaxRuntimeError: the computation of one failed.
      KeyboardInterrupt: the user interrupted the wait; the computation goes on.
    """
    pending = [array for array in arrays if not array.is_deleted()]
    started = time.perf_counter_ns()
    while time.perf_counter_ns() - started < _ASKING_NS:
        if all(array.is_ready() for array in pending):
            ready = time.perf_counter_ns()
            runtime.block_until_ready(pending)
            return ready

    def block() -> int:
        runtime.block_until_ready(pending)
        return time.perf_counter_ns()

    return run_interruptibly(block)


def under_way() -> list[Any]:
    """Returns the arrays that somebody holds and that do not exist yet, wherever they are held."""
    return [
        array
        for platform in runtime.backends()
        for array in runtime.live_arrays(platform)
        if not array.is_deleted() and not array.is_ready()
    ]


def settle() -> None:
    """Waits until nothing is under way; failed computations keep their errors for their users."""
    for array in under_way():
        while not array.is_deleted() and not array.is_ready():
            time.sleep(_STEP_SECONDS)


def failures_of_callbacks() -> list[BaseException]:
    """Waits for the programs with callbacks under way, and returns what nobody has met yet.

    An interrupt ends the wait; what is still under way is told after a later cell.
    """
    if not runtime.effects_under_way():
        return []
    try:
        run_interruptibly(runtime.wait_for_effects)
    except KeyboardInterrupt as error:
        return [error, *runtime.unseen_failures()]
    return runtime.unseen_failures()


def wait_for_variables(namespace: Mapping[str, Any]) -> None:
    """Waits for the arrays that variables hold; a failed computation shows where it is used."""
    for value in list(namespace.values()):
        for array in arrays_in(value):
            try:
                wait([array])
            except JaxRuntimeError:
                continue
