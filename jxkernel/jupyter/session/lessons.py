"""Teaching mode in a notebook: also the lessons that only a notebook sees."""

from __future__ import annotations

import ast
import re
import sys
from contextlib import suppress
from types import TracebackType
from typing import Any

import executing
import numpy as np

from jxkernel import random
from jxkernel.jupyter.code.lints import NOT_CONSUMING, dropped_updates, lint
from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.observe.teaching import Lesson, Teaching
from jxkernel.runtime import ArrayImpl
from jxkernel.source import is_user_code

__all__ = ["CellTeaching"]

_MOST = 3
"""How many mistakes of a cell are told."""

_RUN_AS_IT_IS: tuple[list[str], ...] = ([], ["%%time"], ["%%capture"])
"""What a cell whose text is looked at begins with."""

_CONSUMING = [name for name in random.__all__ if name not in NOT_CONSUMING]
_WORTH = re.compile(rf"\.at\s*\[|\.(?:{'|'.join(_CONSUMING)})\s*\(")
"""What a cell has that is worth parsing for a mistake."""

_READ_ONLY = ("read-only", "cannot set WRITEABLE")


class CellTeaching:
    """Teaching mode of one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.mode = Teaching(self._tell)

    def before_cell(self, label: str, text: str) -> None:
        """Tell what the text of a cell shows, before it runs."""
        if not self.mode.on:
            return
        self.mode.forget()
        try:
            tree = ast.parse(self._shell.transform_cell(text))
        except SyntaxError:  # the shell will say so
            return
        lines = text.splitlines()
        for line, code, array in dropped_updates(tree):
            shown = lines[line - 1].strip() if line <= len(lines) else code
            what = (
                f"arrays do not change: this gives a changed copy of {array}, and nothing keeps it"
            )
            site = f"Cell {label}, line {line}"
            self.mode.tell(Lesson("update", what, (f"{array} = {code}",), site, shown))

    def after_cell(self, text: str) -> list[str]:
        """Return what the text of a cell shows that was silently wrong; lessons would tell it.

        Args:
          text: the cell. What ``%%jit`` runs shows the same with its output.
        """
        if self.mode.on or not _WORTH.search(text):
            return []
        magic, _, body = text.partition("\n") if text.startswith("%%") else ("", "", text)
        if magic.split()[:1] not in _RUN_AS_IT_IS:
            return []
        # In the place of a magic stands a line: those below it keep their numbers.
        tree = self._parsed("pass\n" * bool(magic) + body)
        if tree is None:  # the shell has said why
            return []
        found = lint(tree, self._shell.user_ns)
        more = [f"{len(found) - _MOST} more lines like these"] * (len(found) > _MOST)
        return [*found[:_MOST], *more]

    def _parsed(self, body: str) -> ast.Module | None:
        """A cell's tree; one that is Python as it stands is not translated, which takes longer."""
        try:
            return ast.parse(body)
        except SyntaxError:
            with suppress(SyntaxError):
                return ast.parse(self._shell.transform_cell(body))
        return None

    def explain(self, error: BaseException) -> None:
        """Add to an error of NumPy's about a view of a device array what to write instead."""
        if not self.mode.on or not isinstance(error, ValueError):
            return
        if not any(words in str(error) for words in _READ_ONLY):
            return
        name = _changed_view(error.__traceback__)
        if name is None:
            return
        note = (
            f"{name} is a view of an array of jxkernel, which never changes.\n"
            f"  instead: {name} = np.array(...), a copy that may be changed\n"
            "  or on the device: x = x.at[i].set(value)"
        )
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)

    def _tell(self, lesson: Lesson) -> None:
        text = name_cells(str(lesson), self._shell.compile)
        sys.stderr.write(f"lesson: {text}\n")


def _changed_view(traceback: TracebackType | None) -> str | None:
    """The variable of the failed statement that holds a view of a device array."""
    frame = None
    while traceback is not None:
        if is_user_code(traceback.tb_frame.f_code):
            frame = traceback.tb_frame
        traceback = traceback.tb_next
    if frame is None:
        return None
    statements = executing.Source.executing(frame).statements or ()
    names = {
        node.id
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
    }
    known = {**frame.f_globals, **frame.f_locals}
    return next((name for name in sorted(names) if _is_view(known.get(name))), None)


def _is_view(value: Any) -> bool:
    """Whether a value is a NumPy array whose memory is that of a device array."""
    if not isinstance(value, np.ndarray):
        return False
    while isinstance(value, np.ndarray) and value.base is not None:
        value = value.base
    owner = getattr(value, "obj", None)
    # An array whose reading can be interrupted lends its memory through a wrapper of Python's
    # own, which does not say whose it is; nothing else in a notebook is likely to.
    return isinstance(owner, ArrayImpl) or type(owner).__name__ == "_buffer_wrapper"
