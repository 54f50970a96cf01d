"""Running a cell's source on an engine, outside of its message loop."""

from __future__ import annotations

import ast
import asyncio
import inspect
import traceback
from types import TracebackType
from typing import Any

from IPython.core.error import UsageError

from jxkernel.core.filtering import hide_internal_frames
from jxkernel.errors import JXError
from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.source import is_library_file, is_user_code

__all__ = ["describe_error", "place_of", "run_cell"]


def run_cell(shell: Any, source: str, count: int) -> None:
    """Run a cell in the shell's variables, and display the value of a last expression.

    Args:
      shell: the engine's shell.
      source: the cell, magics included.
      count: the number that the notebook gives it.
    """
    code = shell.transform_cell(source)
    name = shell.compile.cache(code, count, raw_code=source)
    tree = shell.transform_ast(shell.compile.ast_parse(code, name))
    last = tree.body.pop() if tree.body and _is_shown(tree.body[-1], source) else None
    try:
        _run(shell, tree, name)
        value = None if last is None else _run(shell, ast.Expression(last.value), name)
        if value is not None:
            data, metadata = shell.display_formatter.format(value)
            shell.display_pub.publish(data, metadata)
    finally:
        shell.events.trigger("post_execute")  # in which figures of a cell are shown


def _is_shown(statement: ast.stmt, source: str) -> bool:
    return isinstance(statement, ast.Expr) and not source.rstrip().endswith(";")


def _run(shell: Any, tree: Any, name: str) -> Any:
    mode = "eval" if isinstance(tree, ast.Expression) else "exec"
    with shell.compile.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
        code = shell.compile(tree, name, mode)
    value = eval(code, shell.user_global_ns, shell.user_ns)
    return asyncio.run(value) if code.co_flags & inspect.CO_COROUTINE else value


def describe_error(shell: Any, error: BaseException) -> dict[str, Any]:
    """Return an error as a notebook can show it: its class, message and traceback."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    lines = _traceback_lines(shell, error)
    return {"name": type(error).__name__, "message": message, "traceback": lines}


def _traceback_lines(shell: Any, error: BaseException) -> list[str]:
    """Return the lines above an error's message: a user's own, and of a magic's none."""
    kind, is_of_user = type(error), _has_users(error.__traceback__)
    if isinstance(error, JXError) and is_of_user:
        hide_internal_frames(error)
    trace = _users(error.__traceback__)
    if isinstance(error, SyntaxError):
        entries = traceback.extract_tb(trace) if is_of_user else []
        return list(shell.SyntaxTB.structured_traceback(kind, error, entries))
    if isinstance(error, UsageError):
        return []
    if isinstance(error, JXError | OSError) and not is_of_user:
        return [f"{kind.__name__}: {error}"]
    return list(shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=0))


def _users(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the user's first frame on."""
    while trace is not None and trace.tb_frame.f_globals.get("__package__") == __package__:
        trace = trace.tb_next
    return trace


def _has_users(trace: TracebackType | None) -> bool:
    """Whether a traceback has a frame of the user's."""
    codes = (frame.f_code for frame, _ in traceback.walk_tb(trace))
    return any(is_user_code(code) and not is_library_file(code.co_filename) for code in codes)


def place_of(shell: Any, file: str, line: int) -> str:
    """Return a line of a file in words: ``Cell In[3], line 4`` or ``model.py:40``."""
    return name_cells(f"{file}:{line}", shell.compile)
