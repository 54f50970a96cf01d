"""`%jx` and `%jaxpr`: what jxkernel knows, by subcommand.

Purpose: parse a subcommand and its words, call the plain function, give its view.

Place in the pipeline: registered by `jupyter.extension`.

Must not know: what the answers are made of; each is a plain function of `jupyter.answers`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from jxkernel.jupyter import answers
from jxkernel.jupyter.views.view import View
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.errors.tracebacks import tidy, with_cell_names

__all__ = ["SUBCOMMANDS", "JxMagics"]

Answer = Callable[[Session, str], View]

SUBCOMMANDS: dict[str, tuple[Answer, str]] = {
    "alias": (answers.alias, "[NAME [off]]  make `import NAME` (jax) mean jxkernel; end it"),
    "backend": (answers.backend, "[NAME[:N]]  platforms and devices; choose the default device"),
    "devices": (answers.devices, "the devices, with their memory"),
    "explain": (
        answers.explain_function,
        "F  a function's history: each build and its reason",
    ),
    "ledger": (
        answers.ledger_rows,
        "[F|all|by cell|by site]  each trace and compilation, with reason, cost and fix",
    ),
    "events": (answers.events, "[N]  the latest events"),
    "why": (answers.why, "NAME  what a name of a traced cell is, and the way back to an argument"),
    "map": (answers.source_map, "the traced/static map of the cell traced last"),
    "diff": (answers.difference, "[F(X), G(Y)|F]  two programs compared; the latest two of F"),
    "hlo": (answers.hlo, "F(ARGS)  the StableHLO module, and what XLA made of it"),
    "stages": (answers.all_stages, "F(ARGS)  source, jaxpr, StableHLO and HLO, linked by line"),
    "cost": (answers.cost, "F(ARGS)  operations, bytes and intensity, in all and by line"),
    "memory": (answers.memory, "[F(ARGS)]  what a call would take before it runs; or live arrays"),
    "nan": (answers.nan, "[CELL|F(ARGS)]  what first made a NaN or an infinity"),
    "live": (answers.live, "live arrays: variables, outputs, other holders, totals by device"),
    "leaks": (answers.leaks, "tracers that outlived their trace: what holds them"),
    "free": (answers.free, "NAMES|Out[N]  delete the arrays that variables and outputs hold"),
    "cache": (
        answers.cache,
        "[clear [memory|disk]]  what is remembered, here and on disk; forget it",
    ),
    "x64": (answers.x64, "[on|off]  64-bit dtypes"),
    "virtual": (answers.virtual, "N  as many CPU devices in this process"),
    "trace": (answers.trace, "start [FOLDER]|stop|memory [FILE]  profile of time, or of memory"),
    "quiz": (answers.exercises, "[NAME [GUESS]]  predict what tracing does, and see"),
    "report": (answers.report, "[FILE]  the environment and the session, as HTML or JSON"),
    "teach": (answers.teach, "[on|off]  tell silent mistakes as lessons"),
    "tour": (answers.tour, "what to try first"),
}
"""The subcommands: what answers, and a line of help."""


@magics_class
class JxMagics(Magics):
    """Magics that look at what jxkernel does."""

    def __init__(self, shell: Any, session: Session) -> None:
        super().__init__(shell)
        self._session = session

    @no_var_expand
    @line_magic
    def jx(self, line: str) -> Any:
        """Look at what jxkernel does, or set it: `%jx SUBCOMMAND`.

        `%jx` alone lists the subcommands. Each prints text in a terminal and a view in a
        notebook; each is a plain function too, such as `jxkernel.observe.explain`.
        """
        name, _, rest = line.strip().partition(" ")
        if not name:
            return answers.help_view({name: line for name, (_, line) in SUBCOMMANDS.items()})
        if name not in SUBCOMMANDS:
            near = difflib.get_close_matches(name, SUBCOMMANDS, 1)
            meant = f"did you mean {near[0]}?" if near else f"there are {', '.join(SUBCOMMANDS)}"
            raise UsageError(f"%jx: there is no subcommand {name!r}; {meant}")
        try:
            view = SUBCOMMANDS[name][0](self._session, rest.strip())
            return with_cell_names(view, self._session.shell.compile)
        except Exception as error:
            raise tidy(error) from error.__cause__

    @no_var_expand
    @line_magic
    def jaxpr(self, line: str) -> Any:
        """Show the jaxpr of an expression: `%jaxpr f(x, y)` or `%jaxpr jnp.sin(x) + y`.

        Of a call, the arguments are the inputs; of another expression, the names that it reads
        and that hold arrays or numbers.
        """
        try:
            return answers.jaxpr(self._session, line.strip())
        except Exception as error:
            raise tidy(error) from error.__cause__
