"""Teaching mode in a notebook: also the lessons that only a notebook sees."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

import executing
import numpy as np

from jxkernel._reprs import counted
from jxkernel.jupyter.code.lints import dropped_updates, is_worth_a_look, lint
from jxkernel.jupyter.code.magics import as_typed
from jxkernel.jupyter.errors.rewrites import Names, in_users_names
from jxkernel.jupyter.errors.tracebacks import TIMED, name_cells
from jxkernel.observe.marks import FunctionMap, Mark
from jxkernel.observe.teaching.lessons import Lesson, Teaching
from jxkernel.runtime import ArrayImpl
from jxkernel.source import is_user_code

__all__ = ["CellTeaching"]

_MOST = 3
"""How many mistakes of a kind are told of a cell."""

_CODE = 60
"""How many characters of the code of an effect are told."""

_RUN_AS_IT_IS: tuple[list[str], ...] = ([], ["%%time"], ["%%capture"])
"""What a cell whose text is looked at begins with."""

_READ_ONLY = ("read-only", "cannot set WRITEABLE")


class CellTeaching:
    """Teaching mode of one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.mode = Teaching(self._tell)
        self._effects: dict[tuple[str, int, int], Mark] = {}

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

    def traced(self, functions: Iterable[FunctionMap]) -> None:
        """Note the side effects of functions that were traced, to tell them after the cell."""
        for function in functions:
            for mark in function.effects:
                self._effects[function.file, mark.line, mark.column] = mark

    def after_cell(self, label: str, text: str) -> list[str]:
        """Return what was silently wrong in a cell: in its text, and in what was traced.

        Args:
          label: how the notebook names the cell.
          text: the cell. What ``%%jit`` runs shows the same with its output.
        """
        effects, self._effects = self._effects, {}
        if self.mode.on:  # lessons tell the same
            return []
        found = [self.told(file, mark, label, text) for (file, *_), mark in effects.items()]
        return [*_few(self._lints(text)), *_few(found)]

    def told(self, file: str, mark: Mark, label: str, text: str = "") -> str:
        """Return a sentence on a side effect, with modules named as the user has imported them.

        Args:
          file: the file of the effect.
          mark: the effect.
          label: how the notebook names the cell that ran.
          text: that cell.
        """
        code = as_typed(mark.code)
        code = code if len(code) <= _CODE else f"{code[:_CODE]}…"
        what = f"{self._place(file, mark.line, label, text)}: {code}: {mark.detail}"
        (told,) = in_users_names([what], Names(self._shell.user_ns))
        return told

    def _place(self, file: str, line: int, label: str, text: str) -> str:
        """Where a line is: in the cell that ran, in another one, or in a file."""
        if file in TIMED:
            return f"line {line + text.startswith('%%')}"
        place = name_cells(f"{file}:{line}", self._shell.compile)
        cell, is_cell, of_cell = place.removeprefix("Cell ").partition(", ")
        if not is_cell:
            return f"{os.path.basename(file)}, line {line}"
        return of_cell if cell == label else f"{cell}, {of_cell}"

    def _lints(self, text: str) -> list[str]:
        if not is_worth_a_look(text):
            return []
        magic, _, body = text.partition("\n") if text.startswith("%%") else ("", "", text)
        if magic.split()[:1] not in _RUN_AS_IT_IS:
            return []
        # In the place of a magic stands a line: those below it keep their numbers.
        tree = self._parsed("pass\n" * bool(magic) + body)
        if tree is None:  # the shell has said why
            return []
        names = self._shell.user_ns
        return list(in_users_names(lint(tree, names, is_traced=False), Names(names)))

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


def _few(found: Sequence[str]) -> list[str]:
    """The first of what was found, and how much more there is."""
    more = len(found) - _MOST
    told = [f"{counted(more, 'more line')} like these"] * (more > 0)
    return [*found[:_MOST], *told]


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
