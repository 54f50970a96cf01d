"""Waiting at the end of a cell: for callbacks, whose failures are told, and for variables.

Purpose: what `jupyter.extension` does after each cell.

Place in the pipeline: below `jupyter.extension`; the waiting itself is `runtime.waiting`.

Must not know: magics, or what the arrays are for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jxkernel import runtime
from jxkernel._jaxlib import JaxRuntimeError
from jxkernel.jupyter.interrupts import run_interruptibly

__all__ = ["failures_of_callbacks", "wait_for_variables"]


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
        for array in runtime.arrays_in(value):
            try:
                runtime.wait([array])
            except JaxRuntimeError:
                continue
