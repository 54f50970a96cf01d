"""``%jx`` and ``%jaxpr``: what jxkernel knows, by subcommand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from jxkernel.jupyter.errors.tracebacks import tidy, with_cell_names
from jxkernel.jupyter.feature import Subcommand
from jxkernel.jupyter.guide.answer import help_view
from jxkernel.jupyter.programs import answer as programs
from jxkernel.jupyter.session.session import Session
from jxkernel.observe.near_names import meant

__all__ = ["JxMagics"]


@magics_class
class JxMagics(Magics):
    """Magics that look at what jxkernel does."""

    def __init__(self, shell: Any, session: Session, subcommands: Mapping[str, Subcommand]) -> None:
        super().__init__(shell)
        self._session = session
        self._subcommands = subcommands

    @no_var_expand
    @line_magic
    def jx(self, line: str) -> Any:
        """Look at what jxkernel does, or set it: ``%jx SUBCOMMAND``.

        ``%jx`` alone lists the subcommands. Each prints text in a terminal and a view in a
        notebook; each is a plain function too, such as ``jxkernel.observe.explain``.
        """
        name, _, rest = line.strip().partition(" ")
        if not name:
            return help_view({name: one.help for name, one in self._subcommands.items()})
        if name not in self._subcommands:
            told = meant(name.lower(), self._subcommands, len(self._subcommands))
            raise UsageError(f"%jx: there is no subcommand {name!r}{told}")
        if rest.strip() and not self._subcommands[name].takes_words:
            raise UsageError(f"%jx {name} takes no words, got {rest.strip()!r}")
        try:
            view = self._subcommands[name].answer(self._session, rest.strip())
            return with_cell_names(view, self._session.shell.compile)
        except Exception as error:
            raise tidy(error) from error.__cause__

    @no_var_expand
    @line_magic
    def jaxpr(self, line: str) -> Any:
        """Show the jaxpr of an expression: ``%jaxpr f(x, y)`` or ``%jaxpr jnp.sin(x) + y``.

        Of a call, the arguments are the inputs; of another expression, the names that it reads
        and that hold arrays or numbers.
        """
        try:
            return programs.jaxpr(self._session, line.strip())
        except Exception as error:
            raise tidy(error) from error.__cause__
