"""What `%jx` answers: plain functions from a session and words to a view, by subject.

Purpose: look things up in the core and in `observe`, and choose the view.

Place in the pipeline: between `magics.jx` and the core.

Must not know: how a line is split into subcommands, or how views are drawn.
"""

from __future__ import annotations

from jxkernel.jupyter.answers.caches import cache
from jxkernel.jupyter.answers.costs import cost
from jxkernel.jupyter.answers.devices import backend, devices, virtual
from jxkernel.jupyter.answers.differences import difference
from jxkernel.jupyter.answers.guide import help_view, tour
from jxkernel.jupyter.answers.ledger import events, explain_function, ledger_rows
from jxkernel.jupyter.answers.memory import free, leaks, live, memory
from jxkernel.jupyter.answers.nonfinite import nan
from jxkernel.jupyter.answers.programs import all_stages, hlo, jaxpr, source_map, why
from jxkernel.jupyter.answers.quiz import exercises
from jxkernel.jupyter.answers.reports import report
from jxkernel.jupyter.answers.settings import alias, x64
from jxkernel.jupyter.answers.teaching import teach
from jxkernel.jupyter.answers.tracing import trace

__all__ = [
    "alias",
    "all_stages",
    "backend",
    "cache",
    "cost",
    "devices",
    "difference",
    "events",
    "exercises",
    "explain_function",
    "free",
    "help_view",
    "hlo",
    "jaxpr",
    "leaks",
    "ledger_rows",
    "live",
    "memory",
    "nan",
    "report",
    "source_map",
    "teach",
    "tour",
    "trace",
    "virtual",
    "why",
    "x64",
]
