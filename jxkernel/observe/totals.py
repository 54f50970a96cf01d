"""Totals of the ledger: what was built and what it cost, by cell, by line or by function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from jxkernel.observe.explain import LedgerRow, format_duration

__all__ = ["GROUPS", "Group", "LedgerTotal", "format_totals", "ledger_totals"]

Group = Literal["cell", "site", "function"]

GROUPS: dict[Group, str] = {
    "cell": "outside cells",
    "site": "not from a call",
    "function": "no function",
}
"""What a ledger can be added up by, and what those without one are called."""


@dataclass(frozen=True, slots=True)
class LedgerTotal:
    """The rows of one cell, line or function added up.

    Attributes:
      label: the cell's label, the line as ``file:line``, or the function's name.
      builds: how many rows.
      traces: how many of them traced.
      compiles: how many of them compiled, or loaded from disk.
      from_disk: how many were loaded from disk.
      avoidable: how many had a reason besides being the first call.
      cost_ns: the time of tracing, lowering and compiling.
    """

    label: str
    builds: int = 0
    traces: int = 0
    compiles: int = 0
    from_disk: int = 0
    avoidable: int = 0
    cost_ns: int = 0


def ledger_totals(rows: Iterable[LedgerRow], by: Group = "cell") -> tuple[LedgerTotal, ...]:
    """Add up the rows of a ledger, the costliest group first.

    Args:
      rows: what ``ledger`` gave.
      by: ``cell``, ``site`` (the user's line that called) or ``function``.

    Raises:
      ValueError: ``by`` is none of these.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import Recorder, ledger, ledger_totals
    >>> f = jx.jit(lambda x: x + 1)
    >>> with Recorder() as recorder:
    ...     results = [f(1), f(2.0), f(3)]
    >>> [total] = ledger_totals(ledger(recorder, fun="<lambda>"), by="function")
    >>> total.traces, total.avoidable
    (2, 1)
    """
    if by not in GROUPS:
        raise ValueError(f"ledger_totals: by={by!r} is none of {', '.join(GROUPS)}")
    totals: dict[str, LedgerTotal] = {}
    for row in rows:
        label = (row.fun if by == "function" else getattr(row, by)) or GROUPS[by]
        totals[label] = _with_row(totals.get(label) or LedgerTotal(label), row)
    return tuple(sorted(totals.values(), key=lambda total: -total.cost_ns))


def _with_row(total: LedgerTotal, row: LedgerRow) -> LedgerTotal:
    return replace(
        total,
        builds=total.builds + 1,
        traces=total.traces + (row.eqns is not None),
        compiles=total.compiles + (row.compile_ns > 0),
        from_disk=total.from_disk + row.from_disk,
        avoidable=total.avoidable + row.is_avoidable(),
        cost_ns=total.cost_ns + row.cost_ns,
    )


def format_totals(totals: Sequence[LedgerTotal], by: Group = "cell") -> str:
    """Write totals as a text table."""
    head = (by, "builds", "again", "traces", "compiles", "from disk", "cost")
    table = [head, *(_cells(total) for total in totals)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table
    )


def _cells(total: LedgerTotal) -> tuple[str, ...]:
    counts = (total.builds, total.avoidable, total.traces, total.compiles, total.from_disk)
    return (total.label, *map(str, counts), format_duration(total.cost_ns))
