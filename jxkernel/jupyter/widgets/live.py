"""Live views: widgets that redraw themselves when something is traced, and stop when closed.

Purpose: what all widgets share: listening, throttling, closing, and the static view that stays in
the saved notebook.

Place in the pipeline: the base of `jupyter.widgets`.

Must not know: what is shown.

Events come from any thread, in the middle of a trace. So a listener only sets a timer; the timer's
thread draws. A burst of events is one redrawing.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import ipywidgets
from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from jxkernel import events
from jxkernel.jupyter.display import View
from jxkernel.jupyter.extension import session_of
from jxkernel.jupyter.session import Session
from jxkernel.jupyter.tracebacks import with_cell_names
from jxkernel.observe import Recorder

__all__ = ["LiveView", "Throttle", "current_recorder", "current_session"]

INTERVAL = 0.25
"""Seconds between two redrawings at the least."""

_KINDS = (events.Traced, events.Lowered, events.Compiled, events.CacheMiss, events.CellFinished)


def current_session() -> Session | None:
    """Returns the session of the running shell; None where the extension is not loaded."""
    shell = get_ipython()
    return session_of(shell) if shell is not None else None


def current_recorder() -> Recorder:
    """Returns the recorder of the running shell's session, or one that starts now."""
    session = current_session()
    return session.recorder if session is not None else Recorder().start()


class Throttle:
    """Calls an action in a thread of its own, once for all requests within an interval.

    Args:
      action: what to do.
      interval: seconds from the first request to the call.
    """

    def __init__(self, action: Callable[[], object], interval: float) -> None:
        self._action = action
        self._interval = interval
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._closed = False

    def request(self) -> None:
        """Asks for a call; does nothing when one is due already."""
        with self._lock:
            if self._timer is None and not self._closed:
                self._timer = threading.Timer(self._interval, self._run)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Calls no more."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()

    def _run(self) -> None:
        with self._lock:
            self._timer = None
            if self._closed:
                return
        self._action()


class LiveView(ipywidgets.VBox):
    """A widget that shows a view of what jxkernel does, and keeps it up to date.

    In a notebook without a kernel, and in exported pages, its static view stands in its place.

    Args:
      controls: what the user may set, above the view.
      interval: seconds between two redrawings at the least.
    """

    _is_closed = True
    """Until it is made: one whose making failed has nothing to close."""

    def __init__(self, controls: list[Any], interval: float = INTERVAL) -> None:
        self._drawing = threading.RLock()
        self._shown = ipywidgets.HTML()
        self._is_closed = False
        self._displays: list[DisplayHandle] = []
        wrapped = ipywidgets.Layout(flex_flow="row wrap")
        self._controls = ipywidgets.HBox(controls, layout=wrapped)
        super().__init__([self._controls, self._shown])
        self._throttle = Throttle(self.refresh, interval)
        self._handle = events.listen(lambda _: self._throttle.request(), _KINDS)
        self.refresh()

    @abstractmethod
    def view(self) -> View:
        """Returns what is to be shown now."""

    def refresh(self) -> None:
        """Draws anew, now."""
        with self._drawing:
            if not self._is_closed:
                self.update(self._named(self.view()))

    def _named(self, view: View) -> View:
        session = current_session()
        return with_cell_names(view, session.shell.compile) if session else view

    def update(self, view: View) -> None:
        """Shows a view."""
        self._shown.value = view.html

    def close(self) -> None:
        """Stops listening, and leaves the static view in the widget's place."""
        if self._is_closed:
            return
        with self._drawing:
            self._is_closed = True
            self._handle.close()
            self._throttle.close()
            for part in (*self._controls.children, self._controls, self._shown):
                part.close()
            super().close()
            # ipywidgets leaves None in its place.
            self._repr_mimebundle_ = self._static
            for shown in self._displays:
                shown.update(self._static(), raw=True)

    def _ipython_display_(self) -> None:
        """Shows the widget so that closing it leaves its static view where it was."""
        shown = display(self._repr_mimebundle_(), raw=True, display_id=True)
        if shown is not None and not self._is_closed:
            self._displays.append(shown)

    def _repr_mimebundle_(self, **keywords: Any) -> dict[str, Any]:
        """The widget, and beside it the static view for pages where no widget can live."""
        return {**(super()._repr_mimebundle_(**keywords) or {}), **self._static()}

    def _static(self, **keywords: Any) -> dict[str, Any]:
        bundle = self._named(self.view())._repr_mimebundle_()
        return {kind: bundle[kind] for kind in ("text/plain", "text/html") if kind in bundle}

    def __repr__(self) -> str:
        return self.view().text
