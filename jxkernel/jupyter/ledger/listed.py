"""Which rows of the ledger are listed, and how they are numbered: the same wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jxkernel.observe import LedgerRow

__all__ = ["is_eager", "listed"]


def is_eager(row: LedgerRow) -> bool:
    """Whether a row is of an operation that ran by itself."""
    return row.cache is None and row.eqns is None


def listed(rows: Iterable[LedgerRow]) -> tuple[LedgerRow, ...]:
    """Return the rows of functions, with numbers and running totals of their own."""
    total = 0
    counted: list[LedgerRow] = []
    for row in rows:
        if not is_eager(row):
            total += row.cost_ns
            counted.append(replace(row, number=len(counted) + 1, total_ns=total))
    return tuple(counted)
