"""The report: a session in one page."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Subcommand
from jxkernel.jupyter.report.answer import report

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "report": Subcommand(report, "[FILE]  the environment and the session, as HTML or JSON"),
    },
)
