"""Cells that await: what stands above the last ``await`` runs first, as it stands.

A magic is an ordinary function, which cannot await in the loop that it is called from. So the call
that IPython makes of a cell magic is written anew, as the await of a coroutine.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any, Protocol

from jxkernel.jupyter.code.analysis import analyse

__all__ = ["AwaitedMagics", "divide", "run_awaiting"]

_CALL = "get_ipython().run_cell_magic("


class _Session(Protocol):
    shell: Any

    @property
    def is_running(self) -> bool: ...


class AwaitedMagics:
    """An input transformer: awaits the magics of a class where their cells await.

    Args:
      session: the session; what runs inside a running cell, as ``%%time`` does, cannot await.
      registered: the name of the class among the shell's magics; it has a coroutine function
        ``run_cell_magic(name, line, cell)``.
      names: its magics.
    """

    def __init__(self, session: _Session, registered: str, names: Collection[str]) -> None:
        self._session = session
        self._awaited = (
            f"await get_ipython().magics_manager.registry[{registered!r}].run_cell_magic("
        )
        self._names = frozenset(names)

    def __call__(self, lines: list[str]) -> list[str]:
        """Return the lines of a translated cell, changed if they call such a magic."""
        text = "".join(lines)
        if not text.startswith(_CALL) or self._session.is_running:
            return lines
        if not self._session.shell.autoawait:
            return lines
        if not ("await" in text or "async" in text) or not self._awaits(text):
            return lines
        return (self._awaited + text[len(_CALL) :]).splitlines(keepends=True)

    def _awaits(self, text: str) -> bool:
        try:
            name, _, body = (one.value for one in ast.parse(text).body[0].value.args)  # type: ignore[attr-defined]  # a call of constants
            return name in self._names and bool(
                divide(ast.parse(self._session.shell.transform_cell(body)))[0]
            )
        except SyntaxError:
            return False  # the magic says what is wrong with the cell


def divide(tree: ast.Module) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the statements down to the last that awaits, and those below it."""
    count = 0
    for number, statement in enumerate(tree.body, start=1):
        if analyse(ast.Module([statement], [])).awaits:
            count = number
    return tree.body[:count], tree.body[count:]


async def run_awaiting(
    statements: list[ast.stmt], file: str, flags: int, names: dict[str, Any]
) -> None:
    """Run statements that await among some names.

    Args:
      statements: at least one awaits.
      file: the file that they are of.
      flags: the compiler's, with those of ``__future__`` imports.
      names: the notebook's variables.
    """
    module = ast.Module(statements, [])
    code = compile(module, file, "exec", flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    await eval(code, names)
