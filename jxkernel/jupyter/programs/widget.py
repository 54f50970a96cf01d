"""The jaxpr explorer, live: fold, search, and step through a trace as it grew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ipywidgets

from jxkernel.api.jit import TraceEntry, jit, jit_state
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.jupyter.live import INTERVAL, LiveView, current_session
from jxkernel.jupyter.programs.view import outline_view
from jxkernel.jupyter.views.tables import text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import Outline, outline, transforms_of
from jxkernel.observe.programs import Equation, Program

__all__ = ["JaxprExplorer"]


class JaxprExplorer(LiveView):
    """A program to fold, search and step through, equation by equation as it was traced.

    Args:
      program: a jitted function, of which it follows the latest trace; or with arguments any
        function, which is traced now; or a jaxpr, a stage or an outline. Without it, the cell
        traced last under ``%%jit`` is followed.
      *args: arguments to trace the function for.
      interval: seconds between two redrawings at the least.
      **kwargs: likewise by name.

    >>> import jxkernel as jx
    >>> explorer = jx.widgets.JaxprExplorer(lambda x: jx.numpy.sin(x) * 2.0, 1.0)
    >>> explorer.search.value = "sin"
    >>> explorer.found
    '1 of 2 equations'
    >>> explorer.close()
    """

    def __init__(
        self, program: Any = None, *args: Any, interval: float = INTERVAL, **kwargs: Any
    ) -> None:
        self._latest = _source_of(program, args, kwargs)
        self._outline: Outline | None = None
        self._made: tuple[tuple[Any, ...], View] | None = None
        self.found = ""
        self.search = ipywidgets.Text(description="Search", placeholder="primitive, name, type")
        self.folded = ipywidgets.Checkbox(description="Fold inner programs", indent=False)
        narrow = ipywidgets.Layout(width="12em")
        self.step = ipywidgets.BoundedIntText(description="Equations", min=0, max=0, layout=narrow)
        self.back = ipywidgets.Button(description="◀ Back", layout={"width": "auto"})
        self.forward = ipywidgets.Button(description="Forward ▶", layout={"width": "auto"})
        self.play = ipywidgets.ToggleButton(description="Play", layout={"width": "auto"})
        # The player has buttons without names: it stays out of sight, and does the counting.
        hidden = ipywidgets.Layout(display="none")
        self._player = ipywidgets.Play(interval=400, min=0, max=0, layout=hidden)
        self._links = [
            ipywidgets.jslink((self._player, "value"), (self.step, "value")),
            ipywidgets.jslink((self._player, "playing"), (self.play, "value")),
        ]
        self._count = ipywidgets.Label()
        steps = [self.back, self.step, self.forward, self.play, self._player]
        super().__init__([self.search, self.folded, *steps, self._count], interval)
        for control in (self.search, self.folded, self.step):
            self.handle(control, lambda _: self._draw())
        self.on_click(self.back, lambda: self._go(-1))
        self.on_click(self.forward, lambda: self._go(1))

    def view(self) -> View:
        """Return the explorer of what is shown now: searched, folded, up to a step."""
        if self._outline is None:
            return text_view("", "nothing was traced yet")
        shown, self.found = self._chosen(self._outline)
        return outline_view(shown, is_open=True, current=self._current(self._outline))

    def live_view(self) -> View:
        """Return the same, made anew only where something else is to be shown."""
        key = (self._outline, self.search.value, self.folded.value, self.step.value)
        if self._made is None or any(a is not b for a, b in zip(self._made[0], key, strict=True)):
            self._made = key, self.view()
        return self._made[1]

    def _draw(self) -> None:
        """Look for the latest trace, and draws anew."""
        with self._drawing:
            latest = self._latest()
            if latest is not None and latest is not self._outline and latest != self._outline:
                self._outline = latest
                self._offer_steps(len(list(latest.walk())))
            super()._draw()

    def _go(self, steps: int) -> None:
        self.step.value = min(max(self.step.value + steps, 0), self.step.max)

    def update(self, view: View) -> None:
        """Show the equations, and how many fit the search."""
        self._count.value = self.found
        super().update(view)

    def close(self) -> None:
        """Stop listening, and take the widget off the page."""
        if not self._is_closed:
            for link in self._links:
                link.close()
        super().close()

    def _offer_steps(self, count: int) -> None:
        with self.step.hold_trait_notifications():
            self.step.max = self._player.max = count
            self.step.value = count

    def _current(self, program: Outline) -> int:
        """The equation that the step has come to; 0 when all are shown."""
        return self.step.value if self.step.value < self.step.max else 0

    def _chosen(self, program: Outline) -> tuple[Outline, str]:
        """The equations to show, and in words how many of how many."""
        words = self.search.value.strip().lower()
        last = self.step.value

        def fits(one: Equation) -> bool:
            return one.number <= last and (words in one.text.lower() or words in one.file.lower())

        shown = _filtered(program.program, fits, fold=self.folded.value and not words)
        chosen = replace(program, program=shown)
        total = len(list(program.walk()))
        count = sum(fits(one) for _, one in program.walk())
        return chosen, f"{count} of {total} equation{'' if total == 1 else 's'}"


def _source_of(
    program: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], Outline | None]:
    """What gives the outline to show now."""
    if program is None:
        return _of_latest_cell
    if isinstance(program, Outline):
        return lambda: program
    if isinstance(program, ClosedJaxpr) or hasattr(program, "jaxpr"):
        fixed = outline(program)
        return lambda: fixed
    state = jit_state(program)
    if args or kwargs:
        stage = (program if state is not None else jit(program)).trace(*args, **kwargs)
        traced = outline(stage, title=stage.fun_name, function=program)
        return lambda: traced
    if state is None:
        raise TypeError(
            f"JaxprExplorer got {program!r:.100}: give a jitted function, a function with "
            "arguments to trace it for, or a jaxpr"
        )
    return _Latest(state.name, transforms_of(program), lambda: list(state.traces.values()))


class _Latest:
    """The outline of the latest of some traces; made once for each."""

    def __init__(
        self, title: str, stack: tuple[str, ...], entries: Callable[[], list[TraceEntry]]
    ) -> None:
        self._title = title
        self._stack = stack
        self._entries = entries
        self._made: tuple[TraceEntry, Outline] | None = None

    def __call__(self) -> Outline | None:
        entries = self._entries()
        if not entries:
            return None
        if self._made is None or self._made[0] is not entries[-1]:
            made = outline(entries[-1].closed, title=self._title, stack=self._stack)
            self._made = (entries[-1], made)
        return self._made[1]


def _of_latest_cell() -> Outline | None:
    session = current_session()
    return session.program() if session else None


def _filtered(program: Program, fits: Callable[[Equation], bool], *, fold: bool) -> Program:
    """The program with the equations that fit, and those around them."""
    kept = []
    for one in program.equations:
        inner = () if fold else tuple(_filtered(each, fits, fold=fold) for each in one.programs)
        if fits(one) or any(each.equations for each in inner):
            kept.append(one._replace(programs=tuple(each for each in inner if each.equations)))
    left_out = program.left_out if len(kept) == len(program.equations) else 0
    return replace(program, equations=tuple(kept), left_out=left_out)
