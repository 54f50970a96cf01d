"""Which cell defined which function: what the ledger says of functions that were defined again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

from jxkernel.api.jit import jit_state
from jxkernel.compile.signature import function_number
from jxkernel.events import Reason
from jxkernel.observe import LedgerRow
from jxkernel.runtime import ArrayImpl

__all__ = ["Origins"]

_REMEMBERED = 10_000
_NO_FUNCTIONS = frozenset({ArrayImpl, ModuleType, bool, dict, float, int, list, str, tuple, type})
_FIX = (
    "running a cell makes its functions anew: run it after a change only, or begin it with %%jit, "
    "which keeps what is unchanged"
)


class Origins:
    """Remembers in which cell the functions among the notebook's variables were made."""

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._cells: dict[int, str] = {}

    def after_cell(self, label: str) -> None:
        """Note the functions that the cell which has ended has made."""
        for value in list(self._namespace.values()):
            if type(value) in _NO_FUNCTIONS:  # most variables: IPython keeps each cell's text
                continue
            state = jit_state(value)
            function = value if state is None else state.fun
            if isinstance(function, FunctionType) and function.__globals__ is self._namespace:
                self._cells.setdefault(function_number(function), label)
        while len(self._cells) > _REMEMBERED:
            del self._cells[next(iter(self._cells))]

    def retold(self, rows: Iterable[LedgerRow]) -> Iterator[LedgerRow]:
        """Rows with the cells named that defined a function, and defined it again."""
        latest: dict[str, int] = {}
        for row in rows:
            before = self._cells.get(latest.get(row.fun, 0), "")
            after = self._cells.get(row.function_id, "")
            if before and after and before != after:
                row = replace(row, reasons=tuple(_told(row.fun, row.reasons, before, after)))
            latest[row.fun] = row.function_id
            yield row


def _told(fun: str, reasons: Iterable[Reason], before: str, after: str) -> Iterator[Reason]:
    for reason in reasons:
        again = reason.kind == "new_function_object"
        what = f"{fun} was defined again"
        yield Reason(reason.kind, what, before, after, _FIX) if again else reason
