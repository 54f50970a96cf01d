"""Errors as the user should see them: their own lines, the expression, the way back, the rewrite.

The core fills in where an error of its own happened and what to underline. Here a multi-line
expression gets its underline too, found by ``executing``, and file names become cell names.
``%xmode Verbose`` and ``%config JX.tracebacks = 'all'`` show every frame.
"""

from __future__ import annotations

import ast
import cProfile
import dis
import html
import linecache
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType, TracebackType
from typing import Any

import executing
import IPython
import numpy as np

from jxkernel import numpy as jnp
from jxkernel import source
from jxkernel.errors import (
    AxisError,
    CarryTypeError,
    ConcretizationTypeError,
    DeletedArrayError,
    ImmutableArrayError,
    JXError,
    NonConcreteBooleanIndexError,
    ShapeError,
    ShapeMismatchError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from jxkernel.jupyter.code.magics import as_typed
from jxkernel.jupyter.errors import calls
from jxkernel.jupyter.errors.advice import (
    advice,
    at_update,
    in_place_of,
    plain_words,
    printed_instead,
    with_argument_name,
    with_static_name,
)
from jxkernel.jupyter.errors.donations import refused_deleted, takers_in_words
from jxkernel.jupyter.errors.rewrites import (
    Names,
    chosen,
    in_users_names,
    is_combined,
    looped,
    of_mask,
    operands,
    replaced,
    returned_pair,
    started,
    traced_part,
)
from jxkernel.jupyter.errors.shapes import fitting
from jxkernel.jupyter.errors.static_arguments import refused_static
from jxkernel.jupyter.views.html import escape
from jxkernel.jupyter.views.view import View
from jxkernel.runtime import exception_behind

__all__ = [
    "Filter",
    "is_placed",
    "locate",
    "name_cells",
    "telling",
    "telling_profiled",
    "tidy",
    "with_cell_names",
]

_EXPRESSION = "<expression "
TIMED = ("<magic-timeit>", "<timed exec>", "<timed eval>")
"""What IPython names the code that its timing magics are given; ``%prun`` names none."""
_EXPRESSION_PLACE = re.compile(rf"{_EXPRESSION}\w+>:\d+(?::\d+)?(?:, in <module>| \(<module>\))?")
_TIMED_PLACE = re.compile(rf"(?:{'|'.join(TIMED)}):\d+(?::\d+)?(?:, in [\w<>]+| \([\w<>]+\))?")
_PYTHON = os.path.dirname(os.__file__) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_INSTALLED = os.path.join(_PYTHON, "site-packages") + os.sep
_IPYTHON = os.path.dirname(os.path.abspath(IPython.__file__)) + os.sep
_CHAIN = 20
_FILE_BEGINS = re.compile(r"<[a-z-]+-(?=\d)|.*[/\\]")
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_LINE_NUMBER = re.compile(rf"(?:{_ESCAPE.pattern}|[-> \d])*")
_FUNCTION = re.compile(r"of the function 'cell_\d+_*'")
_OF_FUNCTION = re.compile(r"the traced argument (\w+) of the function '(?!cell_\d)(.*?)'")
_ARGUMENT = re.compile(r"traced argument (\w+)")
_ABOUT_TYPES = re.compile(r"\b(?:shapes?|sizes?|ranks?|ax[ei]s|dtypes?)\b")
_ABOUT_VALUES = (TypeError, ValueError, LookupError, AttributeError, NotImplementedError, NameError)
_KEY = "takes a key, made by"
_CONDITIONAL = (ast.If, ast.While, ast.IfExp, ast.Assert)
_TWICE = "donated in the same call"
_OF_VALUES = (ConcretizationTypeError, TracerArrayConversionError, TracerIntegerConversionError)
_CALLED_OUTSIDE = (
    "a library asks for the value: call it outside of the traced function, or with jx.pure_callback"
)
_UNNAMED = "static_argnames=..."
"""What advice has that would name an argument, where the value is made of none."""

_CHANGED_COPY = "make a changed copy with .at[ ].set, and give it the name of the array"
_BESIDES = ("static", "must be known while tracing", "stop_gradient")
"""Words of the advice that holds besides a rewrite of the user's own expression."""

_UNBOUND = re.compile(r"cannot access (?:local|free) variable '(\w+)' where")


def tidy(error: BaseException) -> BaseException:
    """Return what a traced cell raised as if the cell had run by itself.

    Its names are locals of a function only while it is traced: an unbound one is a ``NameError``.
    An error of Python's about a traced value is told in the user's words, with what to write.
    """
    source.hide_internal_frames(error)
    error = _with_argument(error)
    locate(error)
    if isinstance(error, UnboundLocalError | NameError):
        found = _UNBOUND.match(str(error))
        if found:
            name = found.group(1)
            plain = NameError(f"name '{name}' is not defined", name=name)
            error = plain.with_traceback(error.__traceback__)
    for one in (error, *_behind(error)):
        if isinstance(one, JXError):
            _name_inputs(one)
    if isinstance(error, Exception) and not isinstance(error, JXError):
        _advise(error)
    return error


def _with_argument(error: BaseException) -> BaseException:
    """An error, or in place of C++'s refusal of a static argument the one that names it."""
    frame, offset = _innermost_user_frame(error.__traceback__)
    if type(error) is not ValueError or frame is None:
        return error
    node = _node_at(frame, offset)
    named = refused_static(error, node, frame) or refused_deleted(error, node, Names.of(frame))
    return error if named is None else named.with_traceback(error.__traceback__)


def is_placed(error: BaseException) -> bool:
    """Whether an error was raised by a line of a cell, and not before or after it ran."""
    return _innermost_user_frame(error.__traceback__)[0] is not None


def _is_of_library(error: BaseException | None) -> bool:
    """Whether an error passed through no line of the user's: a library tried, and caught it."""
    return error is not None and _innermost_user_frame(error.__traceback__)[0] is None


def _is_of_users_line(error: BaseException) -> bool:
    """Whether an error is of what the user's own line does, not of what a library does for it."""
    entries = _entries(error.__traceback__)
    ours = _serving(entries)
    files = [one.tb_frame.f_code.co_filename for one in entries if one not in ours]
    outside = [file for file in files if not source.is_package_file(file)]
    return bool(outside) and not source.is_library_file(outside[-1])


def _is_raised_by_user(error: BaseException) -> bool:
    """Whether a ``raise`` of the user's own is the source of an error."""
    frame, offset = _innermost_user_frame(error.__traceback__)
    return frame is not None and dis.opname[frame.f_code.co_code[offset]] == "RAISE_VARARGS"


def _name_inputs(error: JXError) -> None:
    """Say inputs of the cell by name, and flags for them."""
    error.origin = tuple(_FUNCTION.sub("of the cell", line) for line in error.origin)
    named = [found.group(1) for line in error.origin if (found := _ARGUMENT.search(line))]
    if named:
        error.instead = with_static_name(error.instead, named[0])


def _advise(error: Exception, *, always: bool = True) -> None:
    """Add the expression and a rewrite to an error that is not jxkernel's own.

    Args:
      error: the error.
      always: whether to add the expression where no rewrite is known, too.
    """
    if not (isinstance(error, _ABOUT_VALUES) or _TWICE in str(error)) or _is_raised_by_user(error):
        return
    place = _place(error)
    if place is None or any("^" in note for note in getattr(error, "__notes__", ())):
        return
    frame, offset = _innermost_user_frame(error.__traceback__)
    assert frame is not None, "there is a place"
    node, names = _node_at(frame, offset), Names.of(frame)
    is_users = _is_of_users_line(error)
    told = advice(error, node if is_users else None, place[1], names)
    instead = in_users_names(told, names) if is_users or _KEY in str(error) else ()
    if isinstance(error, NameError) and error.name and always and not instead:
        instead = (f"run the cell that assigns {error.name} first",)
    if not (instead or always):
        return
    if error.args and isinstance(error.args[0], str):
        part, kind = traced_part(node, names) if is_users else ("", "")
        told = (f"{part} ({f'a traced {kind}' if kind else 'traced'})",) if part else ()
        error.args = (plain_words(error.args[0], *told), *error.args[1:])
    where, code, (start, end) = place
    bare = code.lstrip()
    start, end = start - len(code) + len(bare), end - len(code) + len(bare)
    told = operands(node, names) if _ABOUT_TYPES.search(str(error)) else ""
    lines = [told] if told else []
    lines += ["", f"{where}:", f"    {bare}", f"    {' ' * start}{'^' * (end - start)}"]
    if instead:
        lines += ["", "What to write instead:", *(f"    {line}" for line in instead)]
    error.add_note("\n".join(lines))


def locate(error: BaseException) -> None:
    """Fill in the code and underline of an error of jxkernel's, and the rewrite of that code."""
    if not isinstance(error, JXError):
        return
    _find_place(error)
    frame, offset = _innermost_user_frame(error.__traceback__)
    node, names = (None, Names({})) if frame is None else (_node_at(frame, offset), Names.of(frame))
    for kinds, tell in _TOLD:
        if isinstance(error, kinds):
            tell(error, node, names)
    _advise_in_users_words(error, node, names)
    error.instead = in_users_names(error.instead, names)


def _find_place(error: JXError) -> None:
    """Fill in where the user's code failed, as far as the error does not say it."""
    # Python 3.11 knows the place of a condition as that of all that depends on it.
    is_coarse = sys.version_info < (3, 12) and isinstance(error, TracerBoolConversionError)
    place = _place(error) if error.underline is None or is_coarse else None
    if source.is_library_file(error.where):
        # A library that the user called: the call is theirs to change.
        place = _place(error)
        if place is not None and not source.is_library_file(place[0]):
            error.where = error.code = ""
    if place is not None:
        where, code, underline = place
        error.where = error.where or where
        error.code = error.code or code
        if error.code == code:
            error.underline = underline
    error.code, error.underline = _typed(error.code, error.underline)


def _tell_operands(error: ShapeMismatchError, node: Any, names: Names) -> None:
    if not error.details:
        told = operands(node, names)
        error.details = (told,) if told else ()


def _tell_what_fits(error: ShapeError, node: Any, names: Names) -> None:
    if not error.instead and _is_of_users_line(error):
        told = fitting(error, node, names)
        error.instead = (told,) if told else ()


def _tell_calls_of_mapped(error: AxisError, node: Any, names: Names) -> None:
    if error.instead:
        return
    told = calls.to_vmap(node, "", names)
    if "is a scalar and has no axis" in error.problem:
        told = told or calls.without_vmap(node, "", names)
    if "was called with" in error.problem:
        told = told or calls.by_position(node, "", names)
    error.instead = (told,) if told else ()


def _tell_how_to_carry(error: CarryTypeError, node: Any, names: Names) -> None:
    told = _carry_and_parts(error, node, names)
    error.instead = (told,) if told else started(error.instead, error.path, node)


def _tell_traced_part(error: Any, node: Any, names: Names) -> None:
    """Say which part of the user's expression is the traced value."""
    if not _is_of_users_line(error):
        return
    part, kind = traced_part(node, names)
    told = f"{part}, {error.tracer},"
    if part and error.tracer.endswith(kind) and told not in error.what:
        what = error.what.replace(error.tracer, told, 1)
        error.what = what.replace(",,", ",", 1).replace(",;", ";", 1)


def _tell_takers(error: DeletedArrayError, node: Any, names: Names) -> None:
    if not error.details:
        error.details = takers_in_words(error.array, node, names)


_TOLD: tuple[tuple[Any, Callable[[Any, Any, Names], None]], ...] = (
    (ShapeMismatchError, _tell_operands),
    (ShapeError, _tell_what_fits),
    (AxisError, _tell_calls_of_mapped),
    (CarryTypeError, _tell_how_to_carry),
    (_OF_VALUES, _tell_traced_part),
    (DeletedArrayError, _tell_takers),
)
"""What errors of some kinds are told besides, from the user's expression and names."""


def _carry_and_parts(error: CarryTypeError, node: Any, names: Names) -> str:
    """What a scan's body that returned the parts of a tuple, as if they were all, returns."""
    found = re.fullmatch(r"a tuple of length (\d+)", error.before)
    if error.loop != "scan" or found is None or error.after.startswith("a tuple"):
        return ""
    return returned_pair(node, names, int(found[1]))


def _advise_in_users_words(error: JXError, node: Any, names: Names) -> None:
    """Put the rewrite of the user's own line first."""
    if isinstance(error, ImmutableArrayError):
        error.instead = (at_update(error.code) or _CHANGED_COPY,)
        return
    if isinstance(error, NonConcreteBooleanIndexError):
        error.instead = of_mask(node, names) or error.instead
        return
    if isinstance(error, TracerIntegerConversionError):
        told = _meant_instead(error, node, names)
        if told:
            error.instead = (told,)
            return
    if isinstance(error, _OF_VALUES):
        start, end = error.underline or (0, 0)
        line, underlined = error.code.strip(), error.code[start:end]
        if _is_of_users_line(error):
            instead = _rewritten(error, node, names) or in_place_of(
                line if line.startswith("while ") else underlined
            )
        else:
            instead = replaced(node, names) or in_place_of(underlined) or _CALLED_OUTSIDE
        if instead:
            # What is a part of the user's own expression is that without its conversion.
            wanted = (*_BESIDES, "leave the conversion out") if instead in underlined else _BESIDES
            kept = (line for line in error.instead if any(one in line for one in wanted))
            error.instead = (*instead.splitlines(), *kept)
        elif isinstance(error, TracerBoolConversionError):
            left_out = ("a loop with",) if is_combined(node) else ("a loop with", "combine")
            error.instead = tuple(line for line in error.instead if not line.startswith(left_out))
    named = [found.groups() for line in error.origin if (found := _OF_FUNCTION.search(line))]
    if len(named) == 1:
        error.instead = with_argument_name(error.instead, *named[0])
    elif not any(map(_ARGUMENT.search, error.origin)):
        error.instead = tuple(line for line in error.instead if _UNNAMED not in line)


def _meant_instead(error: TracerIntegerConversionError, node: Any, names: Names) -> str:
    """The call that was meant where an array was given for a number, an axis or a shape."""
    told = calls.in_brackets(node, error.code, names)
    if "axis=" in error.needed_by:
        told = told or calls.of_two(node, error.code, names)
    if "shape=" in error.needed_by:
        told = told or calls.shape_of(node, error.code, names)
    return told


def _rewritten(error: JXError, node: Any, names: Names) -> str:
    of_truth = chosen(node, names) if isinstance(error, TracerBoolConversionError) else ""
    is_text = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
    of_text = printed_instead(node, "", names) if is_text else ""
    return of_text or looped(node, names) or of_truth or replaced(node, names)


def _place(error: BaseException) -> tuple[str, str, tuple[int, int]] | None:
    """The user's line where an error was raised, and the columns of the expression in it."""
    frame, offset = _innermost_user_frame(error.__traceback__)
    if frame is None:
        return None
    node = _node_at(frame, offset)
    line = node.lineno if node is not None else frame.f_lineno
    code = linecache.getline(frame.f_code.co_filename, line).rstrip()
    if not code:
        return None
    start, end = len(code) - len(code.lstrip()), len(code)
    if node is not None:
        last = node.end_col_offset if node.end_lineno == node.lineno else len(code.encode())
        start, end = _column(code, node.col_offset), _column(code, last or 0)
    code, columns = _typed(code, (start, end))
    return f"{frame.f_code.co_filename}:{line}", code, columns or (0, 0)


def _typed(code: str, underline: tuple[int, int] | None) -> tuple[str, tuple[int, int] | None]:
    """A line with its magics as the user wrote them, and the columns of an expression in it."""
    if underline is not None:
        start, end = (len(as_typed(code[:column])) for column in underline)
        underline = (start, end)
    return as_typed(code), underline


def name_cells(text: str, compiler: Any) -> str:
    """Return a text with file names of cells replaced by the names of the cells."""
    text = _EXPRESSION_PLACE.sub("the expression", text)
    text = _TIMED_PLACE.sub("the timed code", text)
    for file, cell in _cells_in(text, compiler):
        text = re.sub(
            re.escape(file) + r":(\d+)(?::\d+)?(, in <module>| \(<module>\))?",
            rf"{cell}, line \1",
            text,
        )
        text = text.replace(file, cell)
    return text


def with_cell_names(view: View, compiler: Any) -> View:
    """Return a view that names cells instead of their files."""
    shown = view.html
    for file, cell in _cells_in(shown, compiler, written=escape):
        shown = shown.replace(escape(file), escape(cell))
    return replace(view, text=name_cells(view.text, compiler), html=shown)


def _cells_in(
    text: str, compiler: Any, written: Callable[[str], str] = str
) -> Iterator[tuple[str, str]]:
    """The file names of cells in a text, each with the name of the cell.

    A session has a file for each cell that ever ran, so it is the text that is searched, for what
    begins as the latest does.

    Args:
      text: the text.
      compiler: the shell's compiler, which names the files.
      written: how a file's name stands in the text.
    """
    files = getattr(compiler, "_filename_map", {})
    name_of = getattr(compiler, "format_code_name", None)
    latest = next(reversed(files), None)
    if latest is None or name_of is None:
        return
    begins = _FILE_BEGINS.match(latest)
    pattern = re.escape(written(begins.group() if begins else latest)) + r"[\w.-]*(?:>|&gt;)?"
    found = {html.unescape(one).rstrip(".") for one in re.findall(pattern, text)}
    for file in sorted(found & files.keys(), key=len, reverse=True):
        label = name_of(file)
        if label:
            yield file, " ".join(label)


class Filter:
    """Stands before a traceback printer's ``structured_traceback`` and thins what it is given.

    Args:
      original: the printer's own method.
      shell: the shell, whose compiler knows the cells' names.
      keep_all: says whether every frame is wanted now.
      explain: is given each error before it is shown, and may add notes to it.
    """

    def __init__(
        self,
        original: Callable[..., Any],
        shell: Any,
        keep_all: Callable[[], bool],
        explain: Callable[[BaseException], object],
    ) -> None:
        self._original = original
        self._shell = shell
        self._keep_all = keep_all
        self._explain = explain

    def __call__(
        self, etype: Any, evalue: Any = None, etb: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Do what the printer's ``structured_traceback`` does, on a thinned traceback.

        Where a host callback made a result fail, what it raised is shown, below the user's line
        that waited for the result.
        """
        if isinstance(evalue, BaseException):
            raised = exception_behind(evalue)
            if raised is not evalue:
                etb = _joined(etb, raised.__traceback__)
                evalue = raised
            evalue = _with_argument(evalue)
            etype = type(evalue)
            for one in (evalue, *_behind(evalue)):
                locate(one)
            if isinstance(evalue, Exception) and not isinstance(evalue, JXError):
                _advise(evalue, always=_names_internals(evalue) or _is_raised_by_us(evalue))
            for one in _behind(evalue):
                _say_plainly(one)
            for one in (evalue, *_behind(evalue)):
                self._name_cells(one)
            self._explain(evalue)
            _drop_inner_calls(evalue)
            _tell_of_alias(evalue)
            _tell_of_expression(evalue)
        if self._keep_all():
            return self._original(etype, evalue, etb, *args, **kwargs)
        with _thin_causes(evalue):
            if isinstance(etb, TracebackType):
                etb = without_machinery(
                    etb, libraries=isinstance(evalue, JXError | KeyboardInterrupt)
                )
            elif isinstance(evalue, SyntaxError) and self._is_cell(evalue.filename):
                etb = []  # the frames that led to the cell, of which the user wrote none
            elif isinstance(evalue, SyntaxError) and isinstance(etb, list):
                etb = [one for one in etb if not _is_machinery(one.filename)]
            shown = self._original(etype, evalue, etb, *args, **kwargs)
        return list(map(_with_magics, shown)) if isinstance(shown, list) else shown

    def _is_cell(self, file: str | None) -> bool:
        return file in getattr(self._shell.compile, "_filename_map", {})

    def _name_cells(self, error: BaseException) -> None:
        compiler = self._shell.compile
        notes = getattr(error, "__notes__", None)
        if notes:
            error.__notes__ = [name_cells(note, compiler) for note in notes]
        if isinstance(error, JXError):
            error.where = name_cells(error.where, compiler)
            error.origin = tuple(name_cells(line, compiler) for line in error.origin)
            error.details = tuple(name_cells(line, compiler) for line in error.details)


def _with_magics(text: str) -> str:
    """A part of a traceback with line magics as the user wrote them, in one colour."""
    if "run_line_magic" not in text:
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        begin = _LINE_NUMBER.match(line)
        assert begin is not None, "it may be empty"
        code = _ESCAPE.sub("", line[begin.end() :])
        typed = as_typed(code)
        if typed != code:
            lines[number] = f"{begin.group()}{typed}" + "\x1b[0m" * ("\x1b" in line)
    return "\n".join(lines)


def _tell_of_expression(error: BaseException) -> None:
    """Underline what failed in the code that a magic was given, whose frame is left out."""
    place = _place(error)
    notes = getattr(error, "__notes__", ())
    if place is None or isinstance(error, JXError) or any("^" in note for note in notes):
        return
    where, code, (start, end) = place
    if where.startswith((_EXPRESSION, *TIMED)):
        where = name_cells(where, None)
        bare = code.lstrip()
        mark = f"{' ' * (start - len(code) + len(bare))}{'^' * (end - start)}"
        error.add_note(f"\n{where}:\n    {bare}\n    {mark}")


@contextmanager
def telling(code: str) -> Generator[None]:
    """Let the code that a timing magic is given be found by errors in the block.

    IPython names all such code alike, so its text must not stay where tracebacks look.
    """
    cache = linecache.cache
    before = {file: cache[file] for file in TIMED if file in cache}
    lines = code.splitlines(keepends=True)
    cache.update({file: (len(code), None, lines, file) for file in TIMED})
    try:
        yield
    except Exception as error:
        locate(error)
        if not isinstance(error, JXError):
            _advise(error, always=_names_internals(error))
        _tell_of_expression(error)
        raise
    finally:
        for file in TIMED:
            cache.pop(file, None)
        cache.update(before)


@contextmanager
def telling_profiled(code: str) -> Generator[None]:
    """Tell the line of the code that ``%prun`` is given, which has no name of its own."""
    try:
        yield
    except Exception as error:
        line = next((one.tb_lineno for one in _entries(error.__traceback__) if _is_run(one)), 0)
        told = code.splitlines()[line - 1 : line] if line else []
        if told:
            error.add_note(f"\nthe profiled code:\n    {told[0].strip()}")
        raise


def _is_run(entry: TracebackType) -> bool:
    """Whether a frame is the code that the profiler runs."""
    frame = entry.tb_frame
    caller = frame.f_back
    return (
        frame.f_code.co_filename == "<string>"
        and caller is not None
        and caller.f_code.co_filename == cProfile.__file__
    )


def _say_plainly(error: BaseException) -> None:
    """Have an error behind another call a traced value what it is to the user."""
    if isinstance(error, _ABOUT_VALUES) and not isinstance(error, JXError) and error.args:
        first, *rest = error.args
        error.args = (plain_words(first) if isinstance(first, str) else first, *rest)


def _drop_inner_calls(error: BaseException) -> None:
    """Leave out which part of a function was called, where the user does not know it by name."""
    notes = getattr(error, "__notes__", None)
    if notes:
        called = (re.match(r"The call: (\w+)\(", note) for note in notes)
        error.__notes__ = [
            note
            for note, found in zip(notes, called, strict=True)
            if found is None or hasattr(jnp, found[1])
        ]


def _tell_of_alias(error: BaseException) -> None:
    """Say what stands for ``jax`` where it is imported and is not there."""
    note = "jax is not installed. To use jxkernel in its place: %jx alias jax, then import jax"
    is_missing = isinstance(error, ModuleNotFoundError) and error.name == "jax"
    if is_missing and note not in getattr(error, "__notes__", ()):
        error.add_note(note)


def _is_raised_by_us(error: BaseException) -> bool:
    """Whether a line of this package raised an error."""
    entries = _entries(error.__traceback__)
    return bool(entries) and source.is_package_file(entries[-1].tb_frame.f_code.co_filename)


def _names_internals(error: Exception) -> bool:
    """Whether an error of Python's calls an array by the name of its class."""
    text = error.args[0] if error.args else ""
    return isinstance(text, str) and plain_words(text) != text


def _entries(traceback: Any) -> list[TracebackType]:
    entries: list[TracebackType] = []
    while isinstance(traceback, TracebackType):
        entries.append(traceback)
        traceback = traceback.tb_next
    return entries


def _joined(outer: Any, inner: TracebackType | None) -> TracebackType | None:
    """Return a traceback that leads on into another."""
    for one in reversed(_entries(outer)):
        inner = TracebackType(inner, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return inner


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    """The errors behind an error, nearest first."""
    following = error and (error.__cause__ or error.__context__)
    for _ in range(_CHAIN):
        if following is None:
            return
        yield following
        following = following.__cause__ or following.__context__


@contextmanager
def _thin_causes(error: BaseException | None) -> Generator[None]:
    """Leave this package's frames out of the errors behind an error, inside the block.

    What stands behind an error of ours and met no line of the user's is left out as a whole.
    """
    behind = [(one, one.__traceback__) for one in _behind(error)]
    for one, _ in behind:
        source.hide_internal_frames(one)
    cause, is_suppressed = (error.__cause__, error.__suppress_context__) if error else (None, False)
    if error and isinstance(error, JXError) and _is_of_library(cause or error.__context__):
        error.__cause__, error.__suppress_context__ = None, True
    try:
        yield
    finally:
        for one, traceback in behind:
            one.__traceback__ = traceback
        if error:
            error.__cause__, error.__suppress_context__ = cause, is_suppressed


def without_machinery(traceback: TracebackType, *, libraries: bool = False) -> TracebackType:
    """Return a traceback without the frames of this package and those between cell and magic.

    Where this package ran the code, as in a ``%%jit`` cell, the frames of Python's own modules are
    left out too.  The first entry is IPython's own, which its printer drops; it stays.

    Args:
      traceback: the traceback.
      libraries: whether to leave out the frames of installed libraries too: what they met is told
        by the user's line that called them.
    """
    entries = _entries(traceback)
    files = [one.tb_frame.f_code.co_filename for one in entries]
    serving = _serving(entries)
    callers = [one.tb_frame.f_back for one in entries[1:]]
    traced = any(caller is not None and _is_of_package(caller) for caller in callers)
    kept = [
        one
        for one, file in zip(entries[1:], files[1:], strict=True)
        if not (_is_machinery(file) or _is_run(one))
        and not (libraries and source.is_library_file(file))
        and not (traced and _is_of_python(file))
        and one not in serving
    ]
    known = bool(kept)
    if kept and _called_a_magic(entries, kept[0]):
        kept = kept[1:]
    chain: TracebackType | None = None
    for one in reversed([entries[0], *kept] if known else entries):
        chain = TracebackType(chain, one.tb_frame, one.tb_lasti, one.tb_lineno)
    assert chain is not None
    return chain


def _serving(entries: list[TracebackType]) -> list[TracebackType]:
    """The frames of Python's own modules and of NumPy that this package called.

    The package's own frames may have been left out of the entries.
    """
    found: list[TracebackType] = []
    is_ours = False
    for one in entries:
        file, caller = one.tb_frame.f_code.co_filename, one.tb_frame.f_back
        is_theirs = file.startswith(_NUMPY) or _is_of_python(file)
        is_ours = is_theirs and (is_ours or (caller is not None and _is_of_package(caller)))
        if is_ours:
            found.append(one)
    return found


def _is_of_python(file: str) -> bool:
    return file.startswith((_PYTHON, "<frozen ")) and not file.startswith(_INSTALLED)


def _is_of_package(frame: FrameType) -> bool:
    return source.is_package_file(frame.f_code.co_filename)


def _called_a_magic(entries: list[TracebackType], cell: TracebackType) -> bool:
    """Whether a frame is the cell's call of its own cell magic, which is no line of the user's."""
    after = entries[entries.index(cell) + 1 :]
    return bool(after) and after[0].tb_frame.f_code.co_name == "run_cell_magic"


def _is_machinery(file: str) -> bool:
    # An expression is the argument of a magic, whose line is shown.
    return source.is_package_file(file) or file.startswith(
        (_IPYTHON, _EXPRESSION, *TIMED, cProfile.__file__)
    )


def _innermost_user_frame(traceback: TracebackType | None) -> tuple[FrameType | None, int]:
    """The innermost frame of the user's own code, or else of a library's."""
    found: tuple[FrameType | None, int] = (None, 0)
    own: tuple[FrameType | None, int] = (None, 0)
    while traceback is not None:
        called = traceback.tb_next
        is_call = called is not None and called.tb_frame.f_code.co_name == "run_cell_magic"
        code = traceback.tb_frame.f_code
        # Python writes methods of dataclasses, in a file of this name.
        is_written = code.co_filename == "<string>" and code.co_name != "<module>"
        if source.is_user_code(code) and not (is_call or is_written):
            found = (traceback.tb_frame, traceback.tb_lasti)
            if not source.is_library_file(traceback.tb_frame.f_code.co_filename):
                own = found
        traceback = traceback.tb_next
    return own if own[0] is not None else found


def _node_at(frame: FrameType, offset: int) -> Any:
    """The expression whose evaluation failed; None where it cannot be told."""
    try:
        found = executing.Source.executing(frame)
    except Exception:  # it reads foreign source and bytecode; an error message must not fail
        return None
    if isinstance(found.node, ast.expr):
        return found.node
    positions = list(frame.f_code.co_positions())
    line, end_line, column, end_column = positions[offset // 2]
    if line is None or column is None:
        return None
    place = (line, end_line, column, end_column)
    for one in ast.walk(found.source.tree or ast.Module([], [])):
        if isinstance(one, _CONDITIONAL) and _place_of(one) == place:
            return one.test
        if isinstance(one, ast.expr) and _place_of(one) == place:
            return one
    return ast.Constant(
        None, lineno=line, end_lineno=end_line, col_offset=column, end_col_offset=end_column
    )


def _place_of(node: ast.expr | ast.stmt) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _column(line: str, offset: int) -> int:
    return len(line.encode()[:offset].decode(errors="replace"))
