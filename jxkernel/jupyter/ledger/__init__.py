"""The ledger: each trace and compilation, with its reason, cost and fix."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Request, Subcommand
from jxkernel.jupyter.ledger import requests
from jxkernel.jupyter.ledger.answer import events, explain_function, ledger_rows
from jxkernel.jupyter.ledger.payload import LedgerPayload, LedgerRowPayload
from jxkernel.observe import LedgerRow, TracedFunction

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "explain": Subcommand(
            explain_function, "F  a function's history: each build and its reason"
        ),
        "ledger": Subcommand(
            ledger_rows,
            "[F|all|by cell|by site]  each trace and compilation, with reason, cost and fix",
        ),
        "events": Subcommand(events, "[N]  the latest events"),
    },
    requests={
        "ledger": Request(requests.ledger, requests.LedgerAnswer),
        "builds": Request(requests.builds, LedgerPayload),
        "functions": Request(requests.functions, requests.FunctionsAnswer),
        "explain": Request(requests.explain, requests.ExplainAnswer),
    },
    payloads={"ledger": LedgerPayload},
    extended={LedgerRowPayload: LedgerRow, requests.FunctionRow: TracedFunction},
)
