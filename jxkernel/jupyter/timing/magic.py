"""``%timeit``, ``%time`` and ``%prun`` that wait for results, around IPython's own."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
    output_can_be_silenced,
)

from jxkernel.jupyter.errors.tracebacks import telling, telling_profiled
from jxkernel.jupyter.timing.array_use import uses_arrays
from jxkernel.jupyter.timing.profiles import folding_internals
from jxkernel.jupyter.timing.rewriting import (
    BelowSetup,
    KeepResults,
    Rewriter,
    WaitAtEnd,
    Waiter,
    with_waits,
)
from jxkernel.jupyter.timing.timer import BUILDS, Measurement, measuring
from jxkernel.observe import Recorder
from jxkernel.observe.explain import format_duration
from jxkernel.runtime import settle

__all__ = ["ORIGINALS", "TimingMagics"]

ORIGINALS = ("timeit", "time", "prun")
"""The magics that are wrapped."""

_WAITER = "__jx_waiter__"
_TIMEIT_FLAGS = "n:r:tcp:qov:"
_ABSENT = object()


@magics_class
class TimingMagics(Magics):
    """Timing magics that wait for asynchronous results.

    Args:
      shell: the shell.
      originals: IPython's own magics by name, as bound methods.
    """

    def __init__(self, shell: Any, originals: dict[str, Callable[..., Any]]) -> None:
        super().__init__(shell)
        self._shell = shell
        self._originals = originals

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    def timeit(self, line: str = "", cell: str | None = None, local_ns: Any = None) -> Any:
        """Time a statement, as IPython's ``%timeit`` does, waiting for results.

        ::

            %timeit [-n<N> -r<R> [-t|-c] -q -p<P> [-o|-v <V>]] [--no-sync] statement

            %%timeit [-n<N> -r<R> [-t|-c] -q -p<P> [-o|-v <V>]] [--no-sync] setup_code
            code

        Where the statement makes jxkernel arrays it runs once before the figures, to be traced
        and compiled, and a line is added: the time of the call itself (dispatch), of one loop
        among many (pipelined, the figure above), and until a single call's result exists
        (latency). What tracing and compiling took stands after them; where the loops themselves
        compile again, the line says so.

        -n<N>: loops per run; by default as many as take 0.2 s. -r<R>: runs, 7 by default.
        -t: ``time.time`` is the clock; -c: processor time is, which no wait uses. -p<P>: digits.
        -q: print nothing. -o: return a ``TimeitResult``, -v<V>: put it into a variable; it has the
        further attributes ``dispatch``, ``pipelined``, ``latency`` and ``build_time``, in seconds.
        --no-sync: time the calls alone, without waiting, as if jxkernel were not loaded.
        """
        words = _split(line, "nrpv")
        if not words.sync:
            return self._originals["timeit"](words.line, cell, local_ns)
        code = f"{words.statement}\n{cell or ''}"
        keep = KeepResults() if self._may_make_arrays(code, local_ns) else None
        lines = None if cell is None else BelowSetup()
        text = self._transformed(words.statement)
        if cell is not None:
            text = f"{text.rstrip()}\n{self._transformed(cell)}"
        with (
            telling(text),
            self._transformer(lines),
            self._transformer(keep),
            measuring(keep) as measurement,
        ):
            result = self._originals["timeit"](words.line, cell, local_ns)
        if measurement.active:
            self._tell(words, measurement, result)
        return result

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    @output_can_be_silenced
    def time(self, line: str = "", cell: str | None = None, local_ns: Any = None) -> Any:
        """Time one run, as IPython's ``%time`` does, until its results exist.

        ::

            %time [--no-raise-error] [--no-sync] statement

        Time that went into tracing and compiling is told apart. No result is awaited between
        statements, so work that overlaps is measured as such. ``--no-sync`` does not wait.
        """
        words = _split(line, "")
        if not words.sync:
            return self._originals["time"](words.line, cell, local_ns)
        code = cell or words.statement
        if not self._may_make_arrays(code, local_ns):
            with telling(self._transformed(code)):
                return self._originals["time"](words.line, cell, local_ns)
        with (
            telling(self._transformed(code)),
            self._waiting(),
            self._transformer(WaitAtEnd(_WAITER)),
            Recorder(capacity=1, kinds=BUILDS) as recorder,
        ):
            result = self._originals["time"](words.line, cell, local_ns)
        _tell_builds(recorder)
        return result

    @no_var_expand
    @line_cell_magic
    def prun(self, line: str = "", cell: str | None = None) -> Any:
        """Profile a statement, as IPython's ``%prun`` does, waiting for its results.

        ::

            %prun [-l <limit>] [-r] [-s <key>] [-T <file>] [-D <file>] [-q] [--no-sync] statement

        What the statement waits for at its end has a row of its own in the profile, and what
        jxkernel does for it is one row. ``--no-sync`` does not wait, and folds nothing.
        """
        words = _split(line, "DlsT")
        code = words.statement if cell is None else f"{words.statement}\n{cell}"
        waiting = self._with_waits(code) if words.sync else None
        if waiting is None:
            with telling_profiled(self._transformed(code)):
                return self._originals["prun"](words.line, cell)
        with (
            telling_profiled(self._transformed(code)),
            self._waiting(),
            Recorder(capacity=1, kinds=BUILDS) as recorder,
            folding_internals(),
        ):
            result = self._originals["prun"](words.flags, waiting)
        _tell_builds(recorder)
        return result

    def _may_make_arrays(self, code: str, local_ns: Mapping[str, Any] | None = None) -> bool:
        """Whether what is timed may make arrays."""
        try:
            tree = ast.parse(self._transformed(code))
        except SyntaxError:
            return False
        return uses_arrays(tree, {**self._shell.user_ns, **(local_ns or {})})

    def _transformed(self, code: str) -> str:
        """Code as Python; as it is where it is none."""
        try:
            return str(self._shell.transform_cell(code))
        except SyntaxError:
            return code

    def _with_waits(self, code: str) -> str | None:
        """The code with waits, or None where it needs none or is not plain Python."""
        if not self._may_make_arrays(code):
            return None
        return with_waits(self._transformed(code), _WAITER)

    def _tell(self, words: _Words, measurement: Measurement, result: Any) -> None:
        """Print the figures, and add them to the results that ``-o`` and ``-v`` give."""
        flags, _ = self.parse_options(
            words.line, _TIMEIT_FLAGS, posix=False, strict=False, preserve_non_opts=True
        )
        if "q" not in flags:
            digits = int(flags.get("p", 3))
            for line in filter(None, (measurement.line(digits), measurement.ranks_line(digits))):
                _say(line)
        saved = self._shell.user_ns[flags.v] if "v" in flags else None
        for kept in filter(None, (result, saved)):
            _annotate(kept, measurement)

    @contextmanager
    def _transformer(self, transformer: Rewriter | None) -> Iterator[None]:
        transformers = self._shell.ast_transformers
        if transformer is None:
            yield
            return
        transformers.append(transformer)
        try:
            yield
        finally:
            # IPython takes a transformer out of the list itself when it raises.
            if transformer in transformers:
                transformers.remove(transformer)

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """Put a waiter where the timed code finds it, once nothing else is under way."""
        settle()
        namespace = self._shell.user_ns
        # Code that is timed may be timing code.
        before = namespace.get(_WAITER, _ABSENT)
        namespace[_WAITER] = Waiter()
        try:
            yield
        finally:
            if before is _ABSENT:
                namespace.pop(_WAITER, None)
            else:
                namespace[_WAITER] = before


@dataclass(frozen=True, slots=True)
class _Words:
    """A magic's line, taken apart.

    Attributes:
      flags: the flags of the original.
      statement: what follows them.
      sync: whether to wait for results.
    """

    flags: str
    statement: str
    sync: bool

    @property
    def line(self) -> str:
        """The line as the original takes it."""
        return f"{self.flags}{self.statement}"


_FLAG = re.compile(r"\s*(-\S+)")
_LONG_FLAG = re.compile(r"\s*(--[a-z-]*)(?=\s|$)")
_VALUE = re.compile(r"""\s*("[^"]*"|'[^']*'|\S+)""")


def _split(line: str, valued: str) -> _Words:
    """Take a line apart, ``--no-sync`` out of its flags.

    Args:
      line: what follows the magic's name.
      valued: the one-letter flags that take a value; empty where there are only long flags.
    """
    flags: list[str] = []
    sync = True
    at = 0
    while found := (_FLAG if valued else _LONG_FLAG).match(line, at):
        word, at = found.group(1), found.end()
        if word == "--no-sync":
            sync = False
            continue
        flags.append(word)
        if word == "--":
            break
        letter = next((one for one in word[1:] if one in valued), "")
        # A value may follow its letter at once, or as the next word.
        if not word.startswith("--") and letter and word.endswith(letter):
            value = _VALUE.match(line, at)
            if value:
                flags.append(value.group(1))
                at = value.end()
    return _Words("".join(f"{one} " for one in flags), line[at:].lstrip(), sync)


def _tell_builds(recorder: Recorder) -> None:
    totals = recorder.totals()
    steps = {"traced": totals.trace_ns, "compiled": totals.lower_ns + totals.compile_ns}
    told = [f"{step} {format_duration(spent)}" for step, spent in steps.items() if spent]
    if told:
        _say(f"of which: {', '.join(told)}, once")


def _say(text: str) -> None:
    """Print a line; signs that the terminal cannot show are written in ASCII."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        text = text.replace("·", "|").replace("µ", "u")
    sys.stdout.write(f"{text}\n")


def _annotate(result: Any, measurement: Measurement) -> None:
    """Add the figures, in seconds, to a result that ``-o`` gives or ``-v`` keeps."""
    result.dispatch = measurement.dispatch_ns / 1e9
    result.pipelined = measurement.pipelined_ns / 1e9
    result.latency = measurement.latency_ns / 1e9
    result.build_time = measurement.build_ns / 1e9
