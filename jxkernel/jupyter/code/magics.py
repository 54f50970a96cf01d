"""Magics as they were typed: IPython keeps the Python that it made of a cell."""

from __future__ import annotations

import ast
import re

__all__ = ["as_typed"]

_STRING = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_LINE_MAGIC = re.compile(rf"get_ipython\(\)\.run_line_magic\({_STRING}, {_STRING}\)")
_SHELL = re.compile(rf"get_ipython\(\)\.(?:system|getoutput)\({_STRING}\)")


def as_typed(line: str) -> str:
    """Return a line of a cell with its line magics and shell commands as the user wrote them.

    >>> as_typed("y = get_ipython().run_line_magic('jx', 'stages f(x)')")
    'y = %jx stages f(x)'
    """
    line = _SHELL.sub(lambda found: f"!{ast.literal_eval(found[1])}", line)
    return _LINE_MAGIC.sub(_typed, line)


def _typed(call: re.Match[str]) -> str:
    name, words = map(ast.literal_eval, call.groups())
    return f"%{name} {words}".rstrip()
