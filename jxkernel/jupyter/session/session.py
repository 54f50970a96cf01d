"""One notebook session: its cells, its recorder, and which cell is running."""

from __future__ import annotations

import ast
import difflib
import linecache
import secrets
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from jxkernel import events
from jxkernel._alias import unalias
from jxkernel._reprs import look_anew
from jxkernel.events import Reason
from jxkernel.jupyter.cells.body import CellSource
from jxkernel.jupyter.cells.cell import Cell, CellOptions, Version
from jxkernel.jupyter.cells.top_level_await import divide
from jxkernel.jupyter.code.analysis import analyse
from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.session.interrupts import StageWatch
from jxkernel.jupyter.session.lessons import CellTeaching
from jxkernel.jupyter.session.origins import Origins
from jxkernel.jupyter.session.reloading import ReloadWatch
from jxkernel.jupyter.session.settings import JX
from jxkernel.jupyter.session.stale import StaleWatch
from jxkernel.jupyter.session.watching import TraceWatch
from jxkernel.observe import LedgerRow, Outline, Profile, Provenance, Recorder, ledger
from jxkernel.observe.marks import FunctionMap

__all__ = ["MarkedFunction", "RunningCell", "Session", "session_of"]

_REMEMBERED_MAPS = 50
_REMEMBERED_CELLS = 1_000
_REMEMBERED_VERSIONS = 50
_REMEMBERED_LABELS = 10_000
_REMEMBERED_FUNCTIONS = 300

_sessions: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()


def session_of(shell: Any) -> Session | None:
    """Return the session of a shell, or None where the extension is not loaded."""
    return _sessions.get(shell)


@dataclass(frozen=True, slots=True)
class RunningCell:
    """The cell that the shell runs now.

    Attributes:
      label: how the notebook names it, ``In[3]``.
      identity: the front end's cell id, or None in a terminal.
      text: the whole text as typed.
      number: the execution count.
    """

    label: str
    identity: str | None
    text: str
    number: int | None


@dataclass(frozen=True, slots=True)
class MarkedFunction:
    """The map of a function that no output holds: front ends ask for it to mark its source.

    Attributes:
      number: counted from 1 in the order of tracing.
      count: the execution count of the cell in which it was traced; 0 where there is none.
      function: the map.
    """

    number: int
    count: int
    function: FunctionMap


class Session:
    """What the extension knows of one shell.

    Attributes:
      shell: the IPython shell.
      settings: what ``%config JX`` sets.
      recorder: records while ``settings.record`` is on.
      token: tells it from the sessions of other kernels, whose outputs a notebook may hold.
      cells: the cells that ran under ``%%jit``, by front-end id or text.
      profile: the profile that ``%jx trace start`` began, or None.
      program: gives the outline of the cell traced last.
      teaching: teaching mode, on while ``settings.teach`` is.
      displayed: the live widgets that cells have displayed.
      maps: what was traced and what was static in the latest traces, oldest first.
      marked: the latest map of each function whose cell shows none, the oldest first.
      marks: how many of them there have been.
      measured: nanoseconds on devices in the latest profile, by source line, ``file:line``.
      identities: the front end's id of each cell that ran, by label.
      aliases: the names that ``%jx alias`` has made mean jxkernel.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.settings = JX(parent=shell)
        self.recorder = Recorder()
        self.token = secrets.token_hex(4)
        self.cells: dict[Any, Cell] = {}
        self.profile: Profile | None = None
        self.maps: deque[tuple[str, Provenance]] = deque(maxlen=_REMEMBERED_MAPS)
        self.marked: dict[Any, MarkedFunction] = {}
        self.measured: dict[str, int] = {}
        self.identities: dict[str, str] = {}
        self.aliases: set[str] = set()
        self.program: Callable[[], Outline | None] = lambda: None
        self._stale = StaleWatch(shell.user_ns)
        self._stages = StageWatch()
        self._reloads = ReloadWatch(shell.user_ns)
        self._origins = Origins(shell.user_ns)
        self._traces = TraceWatch(lambda: self.settings.names, self.remember)
        self.marks = 0
        self._running: list[tuple[RunningCell, events.SpanHandle]] = []
        self.teaching = CellTeaching(shell)
        self.displayed: WeakSet[Any] = WeakSet()
        self.settings.observe(self._record_or_not, "record")
        self.settings.observe(self._teach_or_not, "teach")

    def start(self) -> None:
        """Begin to watch, and to record if the settings say so."""
        _sessions[self.shell] = self
        self._stale.start()
        self._traces.start()
        if self.settings.teach:
            self.teaching.mode.start()
        if self.settings.record:
            self.recorder.start()

    def stop(self) -> None:
        """End recording and everything that runs."""
        _sessions.pop(self.shell, None)
        self._stale.stop()
        self._traces.stop()
        self.teaching.mode.stop()
        self._stages.close()
        while self.aliases:
            unalias(self.aliases.pop())
        while self._running:
            self._running.pop()[1].finish()
        if self.profile is not None and self.profile.is_running:
            self.profile.stop()
        self.recorder.stop()
        self.settings.unobserve(self._record_or_not, "record")
        self.settings.unobserve(self._teach_or_not, "teach")

    def _record_or_not(self, change: Any) -> None:
        if change["new"]:
            self.recorder.start()
        else:
            self.recorder.stop()

    def _teach_or_not(self, change: Any) -> None:
        if change["new"]:
            self.teaching.mode.start()
        else:
            self.teaching.mode.stop()

    @property
    def is_running(self) -> bool:
        """Whether a cell runs now."""
        return bool(self._running)

    @property
    def running(self) -> RunningCell:
        """The cell that runs now."""
        if self._running:
            return self._running[-1][0]
        return RunningCell("outside cells", None, "", None)

    def before_cell(self, info: Any) -> None:
        """Called by IPython before a cell runs."""
        look_anew()
        number = self._number() if info.store_history else None
        label = f"In[{number}]" if number is not None else "unnumbered cell"
        identity = getattr(info, "cell_id", None)
        running = RunningCell(label, identity, info.raw_cell or "", number)
        if identity is not None and number is not None:
            self.identities[label] = identity
            _forget_oldest(self.identities, _REMEMBERED_LABELS)
        span = events.span(events.CellFinished, cell=label, execution_count=number).start()
        self._running.append((running, span))
        events.emit(events.CellStarted, cell=label, execution_count=number)
        self._stages.start()
        self._reloads.before_cell()
        self._warn(self._stale.before_cell(running.text))
        self.teaching.before_cell(label, running.text)

    @contextmanager
    def within(self, source: str, number: int) -> Iterator[None]:
        """Take a cell for the one that runs which IPython does not run itself.

        Args:
          source: the cell.
          number: what the notebook counts it as.
        """
        look_anew()
        label = f"In[{number}]"
        span = events.span(events.CellFinished, cell=label, execution_count=number).start()
        running = RunningCell(label, None, source, number), span
        self._running.append(running)
        events.emit(events.CellStarted, cell=label, execution_count=number)
        self._warn(self._stale.before_cell(source))
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._traces.forget()
            # Another may have begun: the thread of a cell can come to its end long after it.
            self._running[:] = [one for one in self._running if one is not running]
            span.finish(error)
            self._origins.after_cell(label)
        self._warn(self._stale.after_cell(source))
        self._warn(self.teaching.after_cell(label, source))
        self._warn_of_storms(label)

    def _come_last(self) -> None:
        """Let what other extensions do before a cell, such as reloading, come before us."""
        hooks = self.shell.events.callbacks["pre_run_cell"]
        if self.before_cell in hooks and hooks[-1] != self.before_cell:
            hooks.remove(self.before_cell)
            hooks.append(self.before_cell)

    def _number(self) -> int:
        """The execution count of a cell that is about to run.

        IPython counts up before or after this point, depending on its version; what is typed is
        always stored after it.
        """
        history = self.shell.history_manager
        return len(history.input_hist_raw) if history is not None else self.shell.execution_count

    def after_cell(self, result: Any) -> None:
        """Called by IPython after a cell ran."""
        look_anew()
        self._traces.forget()
        self._stages.stop()
        self._come_last()
        if self._running:
            running, span = self._running.pop()
            self._warn(self._stale.after_cell(running.text))
            self._warn(self.teaching.after_cell(running.label, running.text))
            span.finish(result.error_in_exec or result.error_before_exec)
            self._origins.after_cell(running.label)
            self._warn_of_storms(running.label)

    def _warn_of_storms(self, label: str) -> None:
        if self.recorder.totals(cell=label).misses:
            self._warn(row.storm for row in self.ledger() if row.storm and row.cell == label)

    def _warn(self, warnings: Iterable[str]) -> None:
        for warning in warnings:
            sys.stderr.write(f"warning: {warning}\n")

    def version_of(self, magic: str, line: str, body: str, options: CellOptions) -> Version:
        """The version of the running cell that has this text and these options.

        Raises:
          SyntaxError: the cell is not Python; its file and line are the cell's.
        """
        running = self.running
        cell = self._cell(running, body)
        key = (magic, line, body, options)
        version = cell.versions.get(key) or self._copied(key)
        if version is None:
            source = self.parse(magic, line, body)
            changed = _changes(cell.latest, source, options)
            version = Version(
                cell,
                len(cell.versions) + 1,
                source,
                options,
                self.shell.user_ns,
                self.shell.compile,
                changed,
            )
        else:
            self._show_again(version.source, running)
        cell.versions[key] = version
        _forget_oldest(cell.versions, _REMEMBERED_VERSIONS)
        cell.latest = version
        return version

    def _copied(self, key: Any) -> Version | None:
        """The version of another cell with the same text: a copied cell shares its program."""
        for cell in self.cells.values():
            if key in cell.versions:
                return cell.versions[key]
        return None

    def _cell(self, running: RunningCell, body: str) -> Cell:
        """The cell that runs: the front end's, or in a terminal that of the same text."""
        key = running.identity or ("text", body)
        cell = self.cells.get(key)
        if cell is None:
            taken = {one.name for one in self.cells.values()}
            name = f"cell_{running.number or len(taken) + 1}"
            while name in taken:
                name += "_"
            cell = self.cells[key] = Cell(name)
            _forget_oldest(self.cells, _REMEMBERED_CELLS)
        return cell

    def parse(self, magic: str, line: str, body: str) -> CellSource:
        """Parse a cell under its own file name, with the line numbers that it has on screen.

        Raises:
          SyntaxError: the cell is not Python.
        """
        shell = self.shell
        running = self.running
        whole = running.text if body.strip() in running.text else f"%%{magic} {line}\n{body}"
        before = _lines_before_magic(whole)
        skipped = len(body) - len(body.lstrip("\n"))
        padding = "\n" * before + f"# %%{magic} {line}".rstrip() + "\n" + "\n" * skipped
        text = padding + shell.transform_cell(body)
        number = running.number or shell.execution_count
        file = shell.compile.cache(text, number, raw_code=whole)
        tree = _parsed(shell.compile, text, file)
        # What may stand at the top of a function but not of a cell is an error here.
        compile(tree, file, "exec", shell.compile.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        first, rest = divide(shell.transform_ast(tree))
        tree = ast.Module(rest, [])
        shown = self._shows_last(tree)
        names_of_first = analyse(ast.Module(first, [])).assigned
        return CellSource(text, file, tree, analyse(tree), shown, tuple(first), names_of_first)

    def _shows_last(self, tree: ast.Module) -> bool:
        interactivity = self.shell.ast_node_interactivity
        if interactivity == "none" or not tree.body:
            return False
        last = tree.body[-1]
        if interactivity == "last_expr_or_assign" and isinstance(last, ast.Assign | ast.AugAssign):
            target = last.target if isinstance(last, ast.AugAssign) else last.targets[0]
            if isinstance(target, ast.Name):
                shown = ast.Expr(ast.Name(target.id, ast.Load()))
                tree.body.append(ast.fix_missing_locations(ast.copy_location(shown, last)))
        return isinstance(tree.body[-1], ast.Expr)

    def _show_again(self, source: CellSource, running: RunningCell) -> None:
        """Let tracebacks name a cell by its latest execution, and show its own lines.

        Where file names go by a cell's text, IPython has just put its translation of the whole
        cell, with the magic as a call, under the same name.
        """
        lines = [f"{line}\n" for line in source.text.splitlines()]
        linecache.cache[source.file] = (len(source.text), None, lines, source.file)
        numbers = getattr(self.shell.compile, "_filename_map", {})
        if source.file in numbers and running.number is not None:
            numbers[source.file] = running.number

    def remember(self, provenance: Provenance | None, *, is_shown: bool = False) -> None:
        """Keep a map for ``%jx why``, and for the marks in editors.

        Args:
          provenance: the map; None for none.
          is_shown: whether the cell's output holds it, from which front ends have their marks.
        """
        if provenance is None or not provenance.functions:
            return
        running = self.running
        self.maps.append((running.label, provenance))
        if not is_shown:
            self.teaching.traced(provenance.functions)
        for function in () if is_shown else provenance.functions:
            self.marks += 1
            key = (function.file, function.first_line, function.name)
            self.marked.pop(key, None)
            self.marked[key] = MarkedFunction(self.marks, running.number or 0, function)
        _forget_oldest(self.marked, _REMEMBERED_FUNCTIONS)

    def identity_of(self, file: str) -> str:
        """The front end's id of the cell that a file is of; empty where it is none's."""
        number = getattr(self.shell.compile, "_filename_map", {}).get(file)
        return self.identities.get(f"In[{number}]", "")

    def ledger(
        self, *, fun: str | None = None, cell: str | None = None, latest: int | None = None
    ) -> tuple[LedgerRow, ...]:
        """The ledger, with what is known of edited cells in place of new function objects."""
        edits = {
            version.source.file: version.changed
            for one in list(self.cells.values())
            for version in list(one.versions.values())
        }
        rows = self._origins.retold(ledger(self.recorder, fun=fun, cell=cell, latest=latest))
        named = partial(name_cells, compiler=self.shell.compile)
        return tuple(
            replace(
                row,
                site=named(row.site),
                storm=named(row.storm),
                reasons=tuple(_named(one, named) for one in _told(row.reasons, edits)),
            )
            for row in rows
        )


def _parsed(compiler: Any, text: str, file: str) -> ast.Module:
    """Parse a cell; of an unfinished one, say what was not finished."""
    try:
        return compiler.ast_parse(text, file)
    except SyntaxError:
        # IPython's compiler says "incomplete input" where Python knows which bracket is open.
        ast.parse(text, file)
        raise


def _forget_oldest(remembered: dict[Any, Any], limit: int) -> None:
    """Keep a long session from keeping every program that it ever compiled."""
    while len(remembered) > limit:
        del remembered[next(iter(remembered))]


def _told(reasons: Sequence[Reason], edits: dict[str, str]) -> tuple[Reason, ...]:
    """Reasons with a new function object told as the edit of the cell that it is."""
    return tuple(
        Reason("new_function_object", changed)
        if reason.kind == "new_function_object"
        and (changed := edits.get(reason.after.rpartition(":")[0], ""))
        else reason
        for reason in reasons
    )


def _named(reason: Reason, named: Callable[[str], str]) -> Reason:
    """A reason with cells in the place of their files."""
    before, after = named(reason.before), named(reason.after)
    return Reason(reason.kind, named(reason.what), before, after, reason.fix)


def _lines_before_magic(text: str) -> int:
    """The number of lines above the one with the cell magic."""
    for number, line in enumerate(text.split("\n")):
        if line.startswith("%%"):
            return number
    return 0


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines two texts have in common at their beginnings."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(old), len(new)))


def _changes(before: Version | None, source: CellSource, options: CellOptions) -> str:
    """Say in words what an edit changed; empty for a first version."""
    if before is None:
        return ""
    old, new = before.source.text.splitlines()[1:], source.text.splitlines()[1:]
    # Most of a long cell is as it was: only what lies between is compared line by line.
    same = _common(old, new)
    same_at_end = _common(old[same:][::-1], new[same:][::-1])
    old, new = (lines[same : len(lines) - same_at_end] for lines in (old, new))
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    lines = [
        str(same + number + 2)
        for kind, _, _, start, stop in blocks
        if kind in ("replace", "insert")
        for number in range(start, stop)
    ]
    if lines:
        shown = ", ".join(lines[:6]) + (", …" if len(lines) > 6 else "")
        return f"edited: line{'s' if len(lines) > 1 else ''} {shown}"
    if any(kind == "delete" for kind, *_ in blocks):
        return "edited: lines removed"
    return "options changed" if before.options != options else "edited"
