"""The memory panel: live arrays by holder, given back on request, and what a call would take."""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableMapping
from dataclasses import replace
from typing import Any

import ipywidgets

from jxkernel import events
from jxkernel.jupyter.live import INTERVAL, LiveView, current_session, question
from jxkernel.jupyter.memory.view import estimate_view, memory_view
from jxkernel.jupyter.session.expressions import traced
from jxkernel.jupyter.views.html import Html, element, join
from jxkernel.jupyter.views.tables import stacked_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import (
    Freeing,
    Holding,
    LiveMemory,
    MemoryEstimate,
    estimate,
    estimate_of,
    free,
    freeing,
    holding_name,
    holdings,
    live,
)
from jxkernel.observe.explain import format_size

__all__ = ["MemoryPanel"]

_OFFERED = 200
_ROWS = 200
_TOLD = 6


class MemoryPanel(LiveView):
    """Live arrays by variable, output and other holder; releases them; estimates calls.

    It is drawn anew after each cell. ``release`` shows what would be deleted, and who else holds
    it; only ``delete``, which then appears, deletes. Other holders than variables and outputs are
    looked for where an array has neither. An estimate compiles the call and does not run it.

    Args:
      function: a function whose call to estimate; without it, a call such as ``f(x)`` is typed.
      *args: its arguments, or ``ShapeDtypeStruct``s in their place.
      interval: seconds between two redrawings at the least.
      **kwargs: its arguments by name.

    Raises:
      TypeError: arguments are given, and no function.

    >>> import jxkernel as jx
    >>> panel = jx.widgets.MemoryPanel(lambda x: x + 1.0, jx.numpy.ones(1000))
    >>> "Memory of <lambda>(…), not run" in repr(panel)
    True
    >>> panel.close()
    """

    kinds = (events.Compiled, events.SettingChanged, events.CellFinished)

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        *args: Any,
        interval: float = INTERVAL,
        **kwargs: Any,
    ) -> None:
        if function is None and (args or kwargs):
            raise TypeError("MemoryPanel got arguments without a function: write MemoryPanel(f, x)")
        self._session = current_session()
        self._namespace: MutableMapping[str, Any] = (
            self._session.shell.user_ns if self._session else vars(sys.modules["__main__"])
        )
        self._found = LiveMemory((), ())
        self._estimated: tuple[str, MemoryEstimate] | None = None
        if function is not None:
            name = getattr(function, "__name__", type(function).__name__)
            self._estimated = f"{name}(…)", estimate(function, *args, **kwargs)
        self._asked: tuple[tuple[str, ...], Freeing] | None = None
        self._told = ""
        self._fitting = ""
        self._done = ""
        self._make_controls()
        first = [self.search, self.count, self.refresh_button]
        if self._session and function is None:
            first += [self.call, self.estimate_button]
        super().__init__(first, interval)
        chosen = ipywidgets.HBox(
            [self.held, self.release_button],
            layout=ipywidgets.Layout(flex_flow="row wrap", align_items="flex-end"),
        )
        buttons = ipywidgets.HBox([self.delete_button, self.keep_button])
        self._question = ipywidgets.HTML()
        self._asking = ipywidgets.VBox([self._question, buttons])
        self.children = (self._controls, chosen, self._asking, *self.children[1:])
        self._ask()
        self._connect()

    def _make_controls(self) -> None:
        narrow = ipywidgets.Layout(width="auto")
        self.search = ipywidgets.Text(description="Search", placeholder="name, type or device")
        self.count = ipywidgets.Label()
        self.refresh_button = ipywidgets.Button(description="Refresh", layout=narrow)
        self.call = ipywidgets.Text(description="Estimate", placeholder="f(x): it is not run")
        self.estimate_button = ipywidgets.Button(description="Estimate the call", layout=narrow)
        self.held = ipywidgets.SelectMultiple(
            description="Holders", rows=5, layout=ipywidgets.Layout(width="26em", max_width="100%")
        )
        self.release_button = ipywidgets.Button(description="Release …", layout=narrow)
        self.delete_button = ipywidgets.Button(description="Delete", button_style="danger")
        self.keep_button = ipywidgets.Button(description="Keep")

    def _connect(self) -> None:
        self.handle(self.search, lambda _: self._draw())
        self.on_click(self.refresh_button, self._draw)
        self.on_click(self.estimate_button, self._estimate)
        self.on_click(self.release_button, lambda: self.ask(*self.held.value))
        self.on_click(self.delete_button, self.delete)
        self.on_click(self.keep_button, self.keep)

    def view(self) -> View:
        """Return the live arrays that fit the search, the devices, and the estimate."""
        self._found = live(self._namespace, unnamed_only=True)
        words = self.search.value.strip().lower()
        fitting = [
            one
            for one in self._found.arrays
            if words in " ".join([one.type, *one.held_by, *one.devices]).lower()
        ]
        self._fitting = f"{len(fitting):,} of {len(self._found.arrays):,} arrays"
        shown = memory_view(replace(self._found, arrays=tuple(fitting)), most=_ROWS)
        if self._estimated is None:
            return shown
        call, found = self._estimated
        free = [
            one.free
            for one in self._found.devices
            if one.device in found.devices and one.free is not None
        ]
        now = replace(found, free=min(free, default=None))
        return stacked_view("memory", {"estimate": estimate_view(call, now), "live": shown})

    def update(self, view: View) -> None:
        """Show the arrays, and offer what holds them."""
        options = [(_offer(one), one.name) for one in holdings(self._found)[:_OFFERED]]
        if list(self.held.options) != options:
            names = {name for _, name in options}
            chosen = tuple(name for name in self.held.value if name in names)
            self.held.options = options
            self.held.value = chosen
        self.count.value = self._fitting
        super().update(view)

    def ask(self, *names: str) -> None:
        """Show what deleting the arrays of variables and outputs would do.

        Raises:
          ValueError: nothing is chosen, or one holds no device array.
        """
        if not names:
            raise ValueError("choose what to release: variables or outputs, in the list of holders")
        with self._drawing:
            found = freeing(*names, namespace=self._namespace)
            self._asked, self._done = (names, found), ""
            self._told = self._in_words(names, found)
            self._ask()

    def _in_words(self, names: tuple[str, ...], found: Freeing) -> str:
        """What deleting does, with all who are left with a deleted array."""
        others = [
            holder
            for one in live(self._namespace).arrays
            if any(holding_name(holder) in names for holder in one.held_by)
            for holder in one.holders
        ]
        count = f"{found.arrays} array{'' if found.arrays == 1 else 's'}"
        told = f"{', '.join(names)}: {count}, {format_size(found.bytes)}"
        also = list(dict.fromkeys([*found.also, *others]))
        more = f" and {len(also) - _TOLD} more" * (len(also) > _TOLD)
        listed = f"\nthese then hold a deleted array: {', '.join(also[:_TOLD])}{more}"
        return told + listed * bool(also)

    def delete(self) -> None:
        """Delete what was asked about.

        Raises:
          ValueError: nothing was asked about, or it has changed since; nothing is deleted.
        """
        with self._drawing:
            asked, self._asked = self._asked, None
            if asked is None:
                raise ValueError("nothing was chosen to be released")
            names, found = asked
            try:
                if freeing(*names, namespace=self._namespace) != found:
                    raise ValueError(
                        f"{', '.join(names)} changed since you were asked: nothing was deleted"
                    )
                freed = free(*names, namespace=self._namespace)
                self._done = f"{', '.join(names)} deleted: {format_size(freed)}"
            finally:
                self._ask()
                self._draw()

    def keep(self) -> None:
        """Delete nothing of what was asked about."""
        with self._drawing:
            self._asked, self._done = None, ""
            self._ask()

    def _ask(self) -> None:
        """Show the question, or what was done; the buttons only where there is a question."""
        heading, told = Html("Done:"), self._done
        if self._asked is not None:
            heading = join(["Nothing is deleted yet; ", element("b", "delete"), " deletes:"])
            told = self._told
        self._question.value = question(heading, told) if told else ""
        for button in (self.delete_button, self.keep_button):
            button.layout.display = None if self._asked is not None else "none"

    def _estimate(self) -> None:
        words = self.call.value.strip()
        assert self._session is not None
        stage = traced(self._session, words, "estimate")
        self._estimated = words, estimate_of(stage.lower().compile())
        self._draw()


def _offer(one: Holding) -> str:
    arrays = "" if one.arrays == 1 else f", {one.arrays} arrays"
    return f"{one.name}  {format_size(one.bytes)}{arrays}"
