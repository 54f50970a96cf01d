"""``%jx cost``: what a call costs, in all and by operation and line."""

from __future__ import annotations

import linecache

from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.session.expressions import traced
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import OperationCost, cost_of
from jxkernel.observe.costs import format_flops
from jxkernel.observe.explain import format_size

__all__ = ["cost"]


def cost(session: Session, words: str) -> View:
    """Return what a call costs: operations, bytes, intensity; by operation and line."""
    found = cost_of(traced(session, words, "%jx cost"))
    whole = found.traced.flops or 1
    compiler = session.shell.compile
    rows = [
        (
            one.primitive if one.count == 1 else f"{one.primitive} × {one.count:,}",
            format_flops(one.cost.flops),
            f"{one.cost.flops / whole:.0%}",
            format_size(one.cost.bytes),
            ": ".join(filter(None, (name_cells(one.spot, compiler), _code(one)))),
        )
        for one in found.operations
    ]
    head = ("Operation", "Operations", "", "Bytes", "Source")
    parts = {
        "totals": table_view(f"Cost of {words}", ("", ""), found.rows(), numeric=(1,)),
        "operations": table_view("By operation, as traced", head, rows, numeric=(1, 2, 3)),
    }
    if found.notes():
        parts["notes"] = text_view("", "; ".join(found.notes()))
    return stacked_view("cost", parts)


def _code(one: OperationCost) -> str:
    file, _, line = one.spot.rpartition(":")
    text = linecache.getline(file, int(line)).strip() if line.isdigit() else ""
    return text if len(text) <= 80 else f"{text[:80]}…"
