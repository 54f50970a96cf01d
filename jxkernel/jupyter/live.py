"""Live views: widgets that redraw themselves when something is traced, and stop when closed.

Events come from any thread, in the middle of a trace. So a listener only sets a timer; the timer's
thread draws. A burst of events is one redrawing. When a cell ends, what is due is drawn at once: no
thread of ours works beside the next cell, and the saved notebook is up to date.

A front end's messages may be handled in the main thread or in one beside the running cell. So all
that touches the widget's state holds one lock; nothing waits for another thread while it is held.
What a handler raises is shown in the widget: raised, it would end in the kernel's log.

A cell that is run again clears what it displayed before. A widget that was displayed there alone is
on no page any more: it rests until it is displayed again.

A front end that finds no kernel shows of a widget that it cannot be found. So beside the widget
stands its static view as an output of its own, which hides itself while the widget is on the page.
"""

from __future__ import annotations

import re
import threading
import time
import traceback
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import ipywidgets
from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from jxkernel import events
from jxkernel.jupyter.errors.tracebacks import with_cell_names
from jxkernel.jupyter.session.session import Session, session_of
from jxkernel.jupyter.views.html import Html, details, element, page, pre
from jxkernel.jupyter.views.view import View

__all__ = ["LiveView", "Throttle", "current_session", "question"]

INTERVAL = 0.25
"""Seconds between two redrawings at the least."""

KINDS = (
    events.Traced,
    events.Lowered,
    events.Compiled,
    events.CacheMiss,
    events.CellFinished,
)
"""What widgets listen to unless they say otherwise."""

_SAVED_EVERY = 2.0
_OWN_NUMBERS = re.compile(r"jxk[0-9a-f]{6}n\d+")


def current_session() -> Session | None:
    """Return the session of the running shell; None where the extension is not loaded."""
    shell = get_ipython()
    return session_of(shell) if shell is not None else None


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
        """Ask for a call; does nothing when one is due already."""
        with self._lock:
            if self._timer is None and not self._closed:
                self._timer = threading.Timer(self._interval, self._run)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        """Call no more."""
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


@dataclass(frozen=True, slots=True)
class _Display:
    """Where a widget was displayed: both its outputs, the cell, and which run of it."""

    live: DisplayHandle
    beside: DisplayHandle
    cell: str
    number: int


def _place() -> tuple[str, int]:
    """The front end's id of the cell that runs, and the number of this run; empty where unknown."""
    session = current_session()
    running = session.running if session else None
    if running is None or running.identity is None or running.number is None:
        return "", 0
    return running.identity, running.number


class LiveView(ipywidgets.VBox):
    """A widget that shows a view of what jxkernel does, and keeps it up to date.

    In a notebook without a kernel, and in exported pages, its static view stands in its place.

    Args:
      controls: what the user may set, above the view.
      interval: seconds between two redrawings at the least.
    """

    kinds: tuple[type[events.Event], ...] = KINDS
    """The events after which it is drawn anew."""

    follows_cells = True
    """Whether a cell may change what is shown, though none of the other events came."""

    _is_closed = True
    """Until it is made: one whose making failed has nothing to close."""

    children: Any  # a tuple, as a trait without types

    def __init__(self, controls: list[Any], interval: float = INTERVAL) -> None:
        self._drawing = threading.RLock()
        self._is_due = False
        self._problems: dict[str, Html] = {}
        self._drawn = self._saved = ""
        self._saved_at = 0.0
        self._displays: list[_Display] = []
        self._is_resting = False
        self._problem = ipywidgets.HTML()
        self._shown = ipywidgets.HTML()
        self._as_text = ipywidgets.Checkbox(
            description="As text", tooltip="show the view as text to copy", indent=False
        )
        for control in (*controls, self._as_text):
            _fit(control)
        self._text = ipywidgets.Textarea(
            description="Text copy", rows=12, layout=ipywidgets.Layout(width="auto", display="none")
        )
        wrapped = ipywidgets.Layout(flex_flow="row wrap", max_width="100%")
        self._controls = ipywidgets.HBox([*controls, self._as_text], layout=wrapped)
        self._is_closed = False
        super().__init__([self._controls, self._problem, self._shown, self._text])
        self.layout.max_width = "100%"
        self.add_class(self._live_class)
        self.handle(self._as_text, self._show_text)
        self._throttle = Throttle(self.refresh, interval)
        self._handle = events.listen(self._hear, self.kinds)
        try:
            self._draw()
        except BaseException:
            self._close_parts()
            raise

    @property
    def _live_class(self) -> str:
        return f"jxk-live-{self.model_id}"

    @abstractmethod
    def view(self) -> View:
        """Return what is to be shown now."""

    def live_view(self) -> View:
        """Return what the widget shows of it; what it draws in another way is left out."""
        return self.view()

    def refresh(self) -> None:
        """Draw anew, now; what goes wrong is shown in the widget."""
        self._guarded("drawing", self._draw)

    def update(self, view: View) -> None:
        """Show a view."""
        drawn = _OWN_NUMBERS.sub("", view.html or view.text)
        if drawn != self._drawn:  # else what is unfolded, or scrolled, stays as it is
            self._drawn = drawn
            self._shown.value = view.html or page(pre(view.text))
        if self._as_text.value:
            self._text.value = view.text

    def handle(self, control: Any, act: Callable[[Any], object], name: str = "value") -> None:
        """Call an action with the new value whenever the user, or code, set a control.

        What it raises is shown in the widget.
        """
        control.observe(lambda change: self._acted(lambda: act(change["new"])), name)

    def on_click(self, button: ipywidgets.Button, act: Callable[[], object]) -> None:
        """Call an action whenever a button is clicked; what it raises is shown in the widget."""
        button.on_click(lambda _: self._acted(act))

    def close(self) -> None:
        """Stop listening, and leave the static view in the widget's place."""
        if self._is_closed:
            return
        with self._drawing:
            static = self._last()
            self._close_parts()
            # ipywidgets leaves None in its place.
            self._repr_mimebundle_ = lambda **keywords: static
            for shown in self._displays:
                shown.live.update(static, raw=True)
                nothing = {"text/plain": "", "text/html": "<span hidden></span>"}
                shown.beside.update(nothing, raw=True)

    def _close_parts(self) -> None:
        self._is_closed = True
        self._handle.close()
        self._throttle.close()
        for part in _parts(self):
            part.close()
        super().close()

    def _hear(self, event: events.Event) -> None:
        if self._is_resting:
            return
        if not isinstance(event, events.CellFinished):
            self._is_due = True
            self._throttle.request()
        elif self._is_due or self.follows_cells:
            self._acted(self._draw, "drawing")
        else:
            self._guarded("saving", self._save)

    def _draw(self) -> None:
        with self._drawing:
            if not self._is_closed:
                self._is_due = False
                self.update(self._named(self.live_view()))
                if time.monotonic() - self._saved_at > _SAVED_EVERY:
                    self._save()

    def _acted(self, act: Callable[[], object], what: str = "acting") -> None:
        """Acts, and brings the static view up to date."""
        self._guarded(what, act)
        self._guarded("saving", self._save)

    def _guarded(self, what: str, act: Callable[[], object], *, is_locking: bool = True) -> None:
        """Acts, under the lock; what goes wrong is shown until the same goes well."""
        if self._is_closed:
            return
        problem: Html | None = None
        with self._drawing if is_locking else nullcontext():
            try:
                act()
            except (Exception, KeyboardInterrupt) as error:
                problem = _told(error)
        with self._drawing:
            before = self._problems.pop(what, None)
            if problem is not None:
                self._problems[what] = problem
            if (before or problem) and not self._is_closed:
                self._problem.value = page(*self._problems.values()) if self._problems else ""

    def _show_text(self, is_shown: bool) -> None:
        self._text.layout.display = None if is_shown else "none"
        self._draw()

    def _named(self, view: View) -> View:
        session = current_session()
        return with_cell_names(view, session.shell.compile) if session else view

    def _ipython_display_(self) -> None:
        """Show the widget, and beside it its static view, for pages where no widget can live."""
        with self._drawing:
            if self._is_closed:
                display(self._static(), raw=True)
                return
            bundle = dict(super()._repr_mimebundle_() or {})
            bundle["text/plain"] = f"{type(self).__name__}: a widget; its static view follows"
            live = display(bundle, raw=True, display_id=True)
            beside = display(self._beside(), raw=True, display_id=True)
            if live is not None and beside is not None:
                self._displays.append(_Display(live, beside, *_place()))
            self._wake()

    def _wake(self) -> None:
        """Draw again, and let those rest that the cell displayed when it ran before."""
        session = current_session()
        if session is None:
            return
        session.displayed.add(self)
        cell, number = _place()
        for other in list(session.displayed):
            if other is not self:
                other._rest(cell, number)
        if self._is_resting:
            self._is_resting = False
            self._draw()

    def _rest(self, cell: str, number: int) -> None:
        """Draw no more, where it was displayed only by an earlier run of a cell."""
        if cell and self._displays:
            gone = [one.cell == cell and one.number != number for one in self._displays]
            self._is_resting = self._is_resting or all(gone)

    def _repr_mimebundle_(self, **keywords: Any) -> dict[str, Any]:
        """The widget, with its static view for pages where no widget can live."""
        return {**(super()._repr_mimebundle_(**keywords) or {}), **self._static()}

    def _static(self) -> dict[str, Any]:
        bundle = self._named(self.view())._repr_mimebundle_()
        return {kind: bundle[kind] for kind in ("text/plain", "text/html") if kind in bundle}

    def _last(self) -> dict[str, Any]:
        """The static view to leave behind: what was drawn last, where it cannot be drawn anew."""
        try:
            return self._static()
        except Exception as error:
            drawn = page(_told(error), Html(self._shown.value))
            return {"text/plain": f"{type(error).__name__}: {error}", "text/html": drawn}

    def _beside(self) -> dict[str, Any]:
        """The static view, hidden while the widget is on the page."""
        bundle = self._static()
        if "text/html" in bundle:
            hiding = f"body:has(.{self._live_class}) %s{{display:none}}"
            bundle["text/html"] = page(Html(bundle["text/html"]), style=hiding)
        return bundle

    def _save(self) -> None:
        """Bring the static view in the notebook's file up to date."""
        if self._is_closed or self._saved == self._drawn:
            return
        self._saved, self._saved_at = self._drawn, time.monotonic()
        if self._displays:
            bundle = self._beside()
            for shown in self._displays:
                shown.beside.update(bundle, raw=True)

    def __repr__(self) -> str:
        return self.view().text


def question(heading: object, text: str) -> str:
    """Return a text that asks or tells, under a heading; its lines break where they must."""
    body = element("div", text, class_="m", style="white-space:pre-wrap")
    return page(element("div", heading, role="status"), *([body] if text else []))


def _fit(control: Any) -> None:
    """Make a control as wide as its words; a label is never cut short."""
    if "description_width" in control.style.trait_names():
        control.style.description_width = "initial"
    if isinstance(control, ipywidgets.Checkbox) and control.layout.width is None:
        control.layout.width = "auto"
    control.layout.margin = "2px 10px 2px 0"


def _parts(widget: Any) -> list[Any]:
    """All widgets inside one, those inside others first."""
    return [part for child in getattr(widget, "children", ()) for part in (*_parts(child), child)]


def _told(error: BaseException) -> Html:
    text = str(error).strip()
    first = f"{type(error).__name__}: {text}" if text else type(error).__name__
    whole = "".join(traceback.format_exception(error))
    return element(
        "div",
        element("div", "did not work: ", first, class_="warn", role="alert"),
        details("Traceback", pre(whole)),
    )
