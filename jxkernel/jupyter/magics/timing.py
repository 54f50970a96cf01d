"""`%timeit`, `%time` and `%prun` that wait for results, around IPython's own.

Purpose: the stock magics, right for asynchronous work; every flag of theirs still works.

Place in the pipeline: registered by `jupyter.extension`, which gives them IPython's originals.

Must not know: how a clock waits.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
    output_can_be_silenced,
)

from jxkernel.events import Compiled, Lowered, Traced
from jxkernel.jupyter.involves import involves_arrays
from jxkernel.jupyter.timing import KeepResults, Measurement, WaitForResults, measuring
from jxkernel.jupyter.waiting import arrays_in, wait
from jxkernel.observe import Recorder
from jxkernel.observe.explain import format_duration

__all__ = ["ORIGINALS", "TimingMagics"]

ORIGINALS = ("timeit", "time", "prun")
"""The magics that are wrapped."""

_WAIT = "__jx_wait__"
_TIMEIT_FLAGS = "n:r:tcp:qov:"
_BUILDS = (Traced, Lowered, Compiled)


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
        """Time a statement, as IPython's `%timeit` does, waiting for results.

        Where the statement makes jxkernel arrays a line is added: the time of the call itself
        (dispatch), of one loop among many (pipelined, the figure above), and until a single
        call's result exists (latency). Tracing and compiling come before all of them and are
        told apart. `--no-sync` times the calls only, without waiting. All flags of the original
        apply; see `get_ipython().find_line_magic('timeit')` before loading jxkernel, or IPython's
        documentation.
        """
        line, sync = _without_flag(line)
        if not sync:
            return self._originals["timeit"](line, cell, local_ns)
        keep = KeepResults() if self._involves(line, cell) else None
        with self._transformer(keep), measuring() as measurement:
            result = self._originals["timeit"](line, cell, local_ns)
        if measurement.active:
            flags, _ = self._timeit_words(line)
            if "q" not in flags:
                sys.stdout.write(f"{measurement.line()}\n")
            saved = self._shell.user_ns[flags.v] if "v" in flags else None
            for kept in filter(None, (result, saved)):
                _annotate(kept, measurement)
        return result

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    @output_can_be_silenced
    def time(self, line: str = "", cell: str | None = None, local_ns: Any = None) -> Any:
        """Time one run, as IPython's `%time` does, until its results exist.

        Time that went into tracing and compiling is told apart. `--no-sync` does not wait.
        """
        line, sync = _without_flag(line)
        if not sync:
            return self._originals["time"](line, cell, local_ns)
        with (
            self._waiting() as waited,
            self._transformer(WaitForResults(_WAIT)),
            Recorder(kinds=_BUILDS) as recorder,
        ):
            result = self._originals["time"](line, cell, local_ns)
        self._tell_builds(recorder, waited)
        return result

    @no_var_expand
    @line_cell_magic
    def prun(self, line: str = "", cell: str | None = None) -> Any:
        """Profile a statement, as IPython's `%prun` does, waiting for its results.

        `--no-sync` does not wait.
        """
        line, sync = _without_flag(line)
        if not sync:
            return self._originals["prun"](line, cell)
        code = cell if cell is not None else self._statement(line)
        waiting = self._with_waits(code)
        if waiting is None:
            return self._originals["prun"](line, cell)
        flags = line if cell is not None else line[: len(line) - len(code)]
        with self._waiting() as waited, Recorder(kinds=_BUILDS) as recorder:
            result = self._originals["prun"](flags, waiting)
        self._tell_builds(recorder, waited)
        return result

    def _involves(self, line: str, cell: str | None) -> bool:
        """Whether what is timed may make arrays; flags and magics in it do no harm."""
        _, statement = self._timeit_words(line)
        try:
            tree = ast.parse(self._shell.transform_cell(f"{statement}\n{cell or ''}"))
        except SyntaxError:
            return False
        return involves_arrays(tree, self._shell.user_ns)

    def _timeit_words(self, line: str) -> tuple[Any, Any]:
        """The flags of a `%timeit` line, and its statement."""
        return self.parse_options(
            line, _TIMEIT_FLAGS, posix=False, strict=False, preserve_non_opts=True
        )

    def _statement(self, line: str) -> str:
        """What `%prun` profiles: the line without its flags."""
        _, words = self.parse_options(line, "D:l:rs:T:q", list_all=True, posix=False)
        statement = str(words)
        return statement if line.endswith(statement) else ""

    def _with_waits(self, code: str) -> str | None:
        """The code with waits, or None where it is not plain Python."""
        try:
            tree = ast.parse(self._shell.transform_cell(code))
        except SyntaxError:
            return None
        return ast.unparse(WaitForResults(_WAIT).visit(tree)) if tree.body else None

    @contextmanager
    def _transformer(self, transformer: ast.NodeTransformer | None) -> Iterator[None]:
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
    def _waiting(self) -> Iterator[list[int]]:
        """Puts the function that waits where the timed code finds it; gives the waits' count."""
        waited: list[int] = []

        def pass_on(value: Any) -> Any:
            arrays = arrays_in(value)
            if arrays:
                waited.append(len(arrays))
                wait(arrays)
            return value

        namespace = self._shell.user_ns
        namespace[_WAIT] = pass_on
        try:
            yield waited
        finally:
            namespace.pop(_WAIT, None)

    def _tell_builds(self, recorder: Recorder, waited: list[int]) -> None:
        totals = recorder.totals()
        if totals.build_ns:
            built_ns = totals.lower_ns + totals.compile_ns
            sys.stdout.write(
                f"of which: traced {format_duration(totals.trace_ns)}, "
                f"compiled {format_duration(built_ns)}, once\n"
            )


def _without_flag(line: str) -> tuple[str, bool]:
    """The line without a leading `--no-sync`, and whether to wait."""
    words = line.split(None, 1)
    if words and words[0] == "--no-sync":
        return (words[1] if len(words) > 1 else ""), False
    return line, True


def _annotate(result: Any, measurement: Measurement) -> None:
    """Adds the figures, in seconds, to a result that `-o` gives or `-v` keeps."""
    result.dispatch = measurement.dispatch_ns / 1e9
    result.pipelined = measurement.pipelined_ns / 1e9
    result.latency = measurement.latency_ns / 1e9
    result.build_time = measurement.build_ns / 1e9
