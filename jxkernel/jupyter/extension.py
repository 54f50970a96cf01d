"""Loading and unloading: every hook into IPython, put in once and taken out to the very object.

IPython has no calls to take most hooks out again, so each step of loading leaves behind the step
that undoes it; unloading runs those, latest first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from IPython.core.magics import execution
from IPython.display import display

from jxkernel.config import (
    compile_runner,
    progress_display,
    traceback_filtering,
    wait_runner,
)
from jxkernel.core.depth import allow_depth, restore_depth
from jxkernel.jupyter.cells.top_level_await import AwaitedMagics
from jxkernel.jupyter.cluster.answer import stop_cluster
from jxkernel.jupyter.cluster.magic import ClusterMagics
from jxkernel.jupyter.errors.out_of_memory import shortage_of, tell_of_memory
from jxkernel.jupyter.errors.tracebacks import Filter
from jxkernel.jupyter.features import FRAGMENTS, REQUESTS, SUBCOMMANDS, VIEWS
from jxkernel.jupyter.front.channel import Channel
from jxkernel.jupyter.guide.completion import make_matcher
from jxkernel.jupyter.guide.magic import JxMagics
from jxkernel.jupyter.jit.magic import CELL_MAGICS, JitMagics
from jxkernel.jupyter.memory.view import shortage_view
from jxkernel.jupyter.session.forking import fork_watch
from jxkernel.jupyter.session.interrupts import interrupting_again, run_interruptibly
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.session.settling import (
    ReadWait,
    failures_of_callbacks,
    interruptible,
    wait_for_variables,
)
from jxkernel.jupyter.timing.magic import ORIGINALS, TimingMagics
from jxkernel.jupyter.timing.timer import SyncTimer
from jxkernel.jupyter.views.progress import NotebookBar
from jxkernel.jupyter.views.view import View
from jxkernel.runtime import ArrayImpl, exception_behind

__all__ = ["channel_of", "load_ipython_extension", "unload_ipython_extension"]

_ABSENT = object()


class _Loaded:
    """The extension as one shell has it: its session, and the steps that undo the loading."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.session = Session(shell)
        self.channel = Channel(self.session)
        self._undo: list[Callable[[], object]] = []

    def load(self) -> None:
        """Put every hook in; a failure takes out those already in."""
        allow_depth()  # which an unloading may have given back
        try:
            self._settings()
            self._magics()
            self._awaits()
            self._timer()
            self._events()
            self._tracebacks()
            self._completers()
            self._formatters()
            self._compiler()
            self._waits()
            self._interrupts()
            self._progress()
            self._forks()
            self.session.start()
            self._channel()
        except BaseException:
            self.unload()
            raise

    def unload(self) -> None:
        """Take every hook out."""
        self.session.stop()
        while self._undo:
            self._undo.pop()()

    def _settings(self) -> None:
        configurables = self.shell.configurables
        configurables.append(self.session.settings)
        self._undo.append(partial(_remove, configurables, self.session.settings))

    def _magics(self) -> None:
        shell = self.shell
        manager, configurables = shell.magics_manager, shell.configurables
        # Looked up before they are overridden: newer IPythons import them only now.
        originals = {name: shell.find_line_magic(name) for name in ORIGINALS}
        self._undo.append(partial(stop_cluster, self.session))
        added: tuple[Any, ...] = (
            JitMagics(shell, self.session),
            JxMagics(shell, self.session, SUBCOMMANDS),
            TimingMagics(shell, originals),
            ClusterMagics(shell, self.session),
        )
        for magics in added:
            self._put(manager.registry, type(magics).__name__, magics)
            for kind, table in magics.magics.items():
                for name, function in table.items():
                    self._put(manager.magics[kind], name, function)
            if magics not in configurables:
                configurables.append(magics)
            self._undo.append(partial(_remove, configurables, magics))

    def _awaits(self) -> None:
        transformers = self.shell.input_transformers_post
        transformer = AwaitedMagics(self.session, JitMagics.__name__, CELL_MAGICS)
        transformers.append(transformer)
        self._undo.append(partial(_remove, transformers, transformer))

    def _timer(self) -> None:
        self._set(execution, "Timer", SyncTimer)

    def _events(self) -> None:
        callbacks = self.shell.events
        for name, hook in (
            ("pre_run_cell", self.session.before_cell),
            ("post_run_cell", self._after_cell),
            ("pre_run_cell", self.channel.before_cell),
            ("post_run_cell", self.channel.after_cell),
        ):
            callbacks.register(name, hook)
            self._undo.append(partial(callbacks.unregister, name, hook))

    def _after_cell(self, result: Any) -> None:
        if self.session.settings.settle:
            wait_for_variables(self.shell.user_ns)
        for error in failures_of_callbacks():
            # The cell that dispatched the work has failed, though its last line had run.
            self.shell.showtraceback((type(error), error, error.__traceback__), tb_offset=0)
            result.error_in_exec = result.error_in_exec or error
        if result.error_in_exec is not None and self.channel.is_heard:
            self._offer_memory(result.error_in_exec)
        self.session.after_cell(result)

    def _offer_memory(self, error: BaseException) -> None:
        """Show what a click may free, where memory ran out; the error says the same as text."""
        cell = self.session.running.text
        found = shortage_of(exception_behind(error), self.shell.user_ns, cell)
        if found is not None and found.offered:
            display(shortage_view(found, self.session.token))

    def _tracebacks(self) -> None:
        for name in ("InteractiveTB", "SyntaxTB"):
            printer = getattr(self.shell, name)
            original = printer.structured_traceback
            thinned = Filter(original, self.shell, self._keep_all_frames, self._explain)
            self._set(printer, "structured_traceback", thinned)
        # What the core leaves out when an error is raised no printer can show.
        settings, before = self.session.settings, traceback_filtering.value
        settings.observe(self._filter, "tracebacks")
        self._undo.append(partial(settings.unobserve, self._filter, "tracebacks"))
        self._undo.append(partial(traceback_filtering.set_global, before))

    def _explain(self, error: BaseException) -> None:
        self.session.teaching.explain(error)
        tell_of_memory(error, self.shell.user_ns, self.session.running.text)

    def _filter(self, change: Any) -> None:
        traceback_filtering.set_global("off" if change["new"] == "all" else "auto")

    def _keep_all_frames(self) -> bool:
        printer = self.shell.InteractiveTB
        return self.session.settings.tracebacks == "all" or printer.mode == "Verbose"

    def _completers(self) -> None:
        registry = self.shell.magics_manager.registry
        flags = {
            f"%%{name}": sorted(
                option
                for action in getattr(registry["JitMagics"], name).parser._actions
                for option in action.option_strings
            )
            for name in CELL_MAGICS
        }
        words = {name: one.choices for name, one in SUBCOMMANDS.items()}
        matcher = make_matcher(flags, words, self.shell.user_ns)
        matchers = self.shell.Completer.custom_matchers
        matchers.append(matcher)
        self._undo.append(partial(_remove, matchers, matcher))

    def _formatters(self) -> None:
        printers = self.shell.display_formatter.mimebundle_formatter.type_printers
        for shown, view in VIEWS.items():
            self._put(printers, shown, partial(_bundle, view))
        printers = self.shell.display_formatter.formatters["text/html"].type_printers
        for shown, html in FRAGMENTS.items():
            self._put(printers, shown, partial(html, self.session))

    def _compiler(self) -> None:
        before = compile_runner.value
        compile_runner.set_global(run_interruptibly)
        self._undo.append(partial(compile_runner.set_global, before))

    def _channel(self) -> None:
        for name, request in REQUESTS.items():
            self.channel.answer(name, partial(request.answer, self.session))
        kernel = getattr(self.shell, "kernel", None)
        if kernel is not None:
            handlers = kernel.shell_handlers
            self._put(handlers, "comm_open", self.channel.refusing(handlers["comm_open"]))
        self.channel.open()
        self._undo.append(self.channel.close)

    def _forks(self) -> None:
        watch = fork_watch()
        self._set(watch, "active", True)

    def _progress(self) -> None:
        if not hasattr(self.shell, "kernel"):
            return  # a terminal writes a line over itself, and cannot change what it has shown
        before = progress_display.value
        progress_display.set_global(NotebookBar)
        self._undo.append(partial(progress_display.set_global, before))

    def _waits(self) -> None:
        before = wait_runner.value
        wait = ReadWait()
        wait_runner.set_global(wait)
        self.shell.events.register("pre_run_cell", wait.forget)
        self._undo.append(partial(self.shell.events.unregister, "pre_run_cell", wait.forget))
        self._undo.append(partial(wait_runner.set_global, before))
        for name in ("block_until_ready", "__buffer__"):
            if name in vars(ArrayImpl):  # __buffer__ is there from Python 3.12 on
                self._set(ArrayImpl, name, interruptible(getattr(ArrayImpl, name), wait))

    def _interrupts(self) -> None:
        self._set(sys, "unraisablehook", interrupting_again(sys.unraisablehook))

    def _put(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry, to be set back to the very object that it was."""
        # Newer IPythons' registry imports what it lacks; this must import nothing.
        before = dict.get(mapping, key, _ABSENT)
        mapping[key] = value

        def undo() -> None:
            if before is _ABSENT:
                mapping.pop(key, None)
            else:
                mapping[key] = before

        self._undo.append(undo)

    def _set(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute, to be set back, or taken off where it was inherited."""
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)

        def undo() -> None:
            if vars(owner).get(name) is not value:
                return  # another has taken its place since, and may call it
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        self._undo.append(undo)


_loaded: WeakKeyDictionary[Any, _Loaded] = WeakKeyDictionary()


def load_ipython_extension(ipython: Any) -> None:
    """Register magics, displays, timing, completion and recording with an IPython shell.

    Loading twice does nothing the second time.
    """
    if ipython not in _loaded:
        loaded = _Loaded(ipython)
        loaded.load()
        _loaded[ipython] = loaded


def unload_ipython_extension(ipython: Any) -> None:
    """Take out all that ``load_ipython_extension`` put in; each hook is what it was before.

    Python's recursion limit is given back, too. The import hook stays (decision 32): it is the
    package's, which is still loaded.
    """
    loaded = _loaded.pop(ipython, None)
    if loaded is not None:
        loaded.unload()
        if not _loaded:
            restore_depth()


def channel_of(ipython: Any) -> Channel | None:
    """Return the channel to the lab extension of a shell, or None where it is not loaded."""
    loaded = _loaded.get(ipython)
    return loaded.channel if loaded is not None else None


def _bundle(
    view: Callable[[Any], View], value: Any, include: Any = None, exclude: Any = None
) -> dict[str, Any]:
    return view(value)._repr_mimebundle_()


def _remove(items: list[Any], item: Any) -> None:
    """Take an item out by identity."""
    items[:] = [one for one in items if one is not item]
