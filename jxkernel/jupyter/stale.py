"""Compiled functions that still hold what a notebook variable was when they were traced.

Purpose: warn, before a cell calls such a function, that a variable it read while it was traced
has been rebound or changed since.

Place in the pipeline: `jupyter.session` asks before and after each cell.

Must not know: how the warning is shown.

Body cells under `%%jit` need no warning: what they read is part of their key. A function made by
`jit` goes by its arguments alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from jxkernel.api.jit import jit_state
from jxkernel.jupyter.codes import globals_read
from jxkernel.jupyter.statics import describe_static, freeze

__all__ = ["StaleWatch"]

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(slots=True)
class _Traced:
    """What a function's global names were when it was traced.

    Attributes:
      function: the jitted function.
      traces: how many traces it had then.
      held: the key and the text of each global that it reads.
    """

    function: Any
    traces: int
    held: dict[str, tuple[Any, str]]


class StaleWatch:
    """Remembers what the jitted functions among the notebook's variables were traced with."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._traced: dict[str, _Traced] = {}
        self._told: set[tuple[str, str, Any]] = set()

    def after_cell(self) -> None:
        """Notes the globals of functions that were traced in the cell that has ended."""
        for name, value in list(self._namespace.items()):
            state = jit_state(value)
            if state is None or not isinstance(state.fun, FunctionType):
                continue
            known = self._traced.get(name)
            fresh = known is None or known.function is not value
            traces = len(state.traces)
            if traces and (fresh or known.traces != traces):  # type: ignore[union-attr]  # fresh
                held = dict(_held(state.fun, self._namespace))
                if not fresh and traces > known.traces:  # type: ignore[union-attr]  # not fresh
                    # Earlier traces hold what was true then: the oldest is the one to compare.
                    held |= known.held  # type: ignore[union-attr]
                self._traced[name] = _Traced(value, traces, held)

    def before_cell(self, text: str) -> list[str]:
        """Returns a warning for each stale function that the cell mentions, once for each value."""
        warnings = []
        for name in sorted(self._traced.keys() & set(_WORD.findall(text))):
            traced = self._traced[name]
            if self._namespace.get(name) is not traced.function:
                del self._traced[name]
                continue
            for variable, (key, before) in traced.held.items():
                now = self._namespace.get(variable)
                new_key = freeze(now, self._namespace)
                if new_key != key and (name, variable, new_key) not in self._told:
                    self._told.add((name, variable, new_key))
                    warnings.append(_warning(name, variable, before, describe_static(now)))
        return warnings


def _held(function: FunctionType, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if function.__globals__ is not namespace:
        return
    for name in globals_read(function.__code__):
        value = namespace.get(name)
        if name in namespace and not isinstance(value, ModuleType | type):
            yield name, (freeze(value, namespace), describe_static(value))


def _warning(name: str, variable: str, before: str, now: str) -> str:
    change = f"was {before} and is {now} now" if before != now else "has changed since"
    return (
        f"{name} was traced with {variable}, which {change}; compiled calls of {name} keep what "
        f"they were traced with. Pass {variable} as an argument, or run {name}.clear_cache()."
    )
