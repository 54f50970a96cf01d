"""The functions that jit has traced: where each is defined, and what building it has cost."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jxkernel.api.jit import traced_functions
from jxkernel.compile.signature import function_number
from jxkernel.observe.explain import LedgerRow, function_label

__all__ = ["TracedFunction", "functions"]


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """A living function that jit has traced.

    Attributes:
      name: its name.
      function_id: its number, as ledger rows have it.
      file: where it is defined; empty where Python does not know.
      line: the first line of it there, or 0.
      kept: how many traces of it are kept: of a call of one of their kinds none is made.
      builds: how often it was traced or compiled while that was recorded.
      avoidable: how many of these had another reason than being the first call.
      cost_ns: what they cost.
      latest: why it was built last; empty where no build was recorded.
    """

    name: str
    function_id: int
    file: str
    line: int
    kept: int
    builds: int = 0
    avoidable: int = 0
    cost_ns: int = 0
    latest: str = ""


def functions(rows: Sequence[LedgerRow] = ()) -> tuple[TracedFunction, ...]:
    """Return the living functions that jit has traced, the costliest first.

    Args:
      rows: what ``ledger`` gave, from which builds and costs are taken.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import functions
    >>> @jx.jit
    ... def doubled(x):
    ...     return x * 2
    >>> results = [doubled(1), doubled(1.0)]
    >>> [one.kept for one in functions() if one.name == "doubled"]
    [2]
    """
    found: dict[int, TracedFunction] = {}
    for function, traces in list(traced_functions()):
        number = function_number(function)
        found[number] = TracedFunction(
            function_label(function), number, *_place(function), len(traces)
        )
    for row in rows:
        one = found.get(row.function_id)
        if one is not None:
            found[row.function_id] = _with_row(one, row)
    return tuple(sorted(found.values(), key=lambda one: -one.cost_ns))


def _with_row(one: TracedFunction, row: LedgerRow) -> TracedFunction:
    return replace(
        one,
        builds=one.builds + 1,
        avoidable=one.avoidable + row.is_avoidable(),
        cost_ns=one.cost_ns + row.cost_ns,
        latest=row.sentence(),
    )


def _place(function: Any) -> tuple[str, int]:
    """The file and line of a function, of what it wraps, or of what makes an object callable."""
    inner = inspect.unwrap(function)
    inner = getattr(inner, "func", inner)
    code = getattr(inner, "__code__", None)
    if code is None:
        code = getattr(vars(type(inner)).get("__call__"), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)
