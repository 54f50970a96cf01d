"""Progress bars, also from inside compiled loops.

A compiled loop reports through a debug callback, in a hundred turns of all, so that short turns
are not slowed down; the bar is drawn at most ten times a second. Results are untouched: the
callback gives nothing back. Under ``vmap`` the turns are those of the whole batch; under ``grad``
the forward pass reports and the backward pass does not.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jxkernel import tree
from jxkernel._reprs import in_words
from jxkernel.api.branching import cond
from jxkernel.api.callbacks import debug_callback
from jxkernel.api.looping import fori_loop
from jxkernel.api.scanning import scan
from jxkernel.config import progress_display
from jxkernel.numpy import arange, maximum

__all__ = ["Bar", "Progress", "progress"]

_REDRAW_SECONDS = 0.1
_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a loop is.

    Attributes:
      label: what it is called.
      done: the turns begun.
      total: all turns; None where that is not known.
      seconds: since its first turn.
    """

    label: str
    done: int
    total: int | None
    seconds: float

    @property
    def fraction(self) -> float:
        """The part that is done, from 0 to 1; 0 where the total is not known."""
        return min(self.done / self.total, 1.0) if self.total else 0.0

    def __str__(self) -> str:
        label = f"{self.label} " if self.label else ""
        if self.total is None:
            return f"{label}{self.done:,} · {_clock(self.seconds)}"
        count = f"{self.done:,}/{self.total:,}"
        left = ""
        if 0 < self.done < self.total:
            rest = self.seconds * (self.total - self.done) / self.done
            left = f" · {_clock(rest)} left"
        return (
            f"{label}{self.fraction:4.0%} ▕{_drawn(self.fraction)}▏ {count} · "
            f"{_clock(self.seconds)}{left}"
        )


def _drawn(fraction: float) -> str:
    eighths = int(fraction * _WIDTH * 8)
    whole, part = divmod(eighths, 8)
    return ("█" * whole + _EIGHTHS[part] * (whole < _WIDTH)).ljust(_WIDTH)


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d} min"


class Bar:
    """Follows one loop and shows it, again from the start each time that the loop runs.

    Args:
      label: what to call it.
    """

    def __init__(self, label: str = "") -> None:
        self._label = label
        self._lock = threading.Lock()
        self._done = 0
        self._total: int | None = None
        self._started = self._drawn = 0.0
        self._show: Callable[[Progress], object] = _TextLine()

    def reach(self, done: Any, total: Any = None) -> None:
        """Note that turn ``done``, counted from 1, has begun, and draw if it is time to."""
        with self._lock:
            if total is None or done <= total:
                self._reach(int(done), None if total is None else int(total))

    def _reach(self, done: int, total: int | None) -> None:
        now = time.perf_counter()
        if done < self._done or not self._done:
            self._started, self._drawn, self._total = now, 0.0, total
            self._show = (progress_display.value or _TextLine)()
        elif total is not None and self._total is not None:
            # Loops of a batch, whose lengths may differ, go in step: the longest is shown.
            self._total = max(total, self._total)
            if total < self._total:
                return
        self._done = done
        is_last = done == self._total
        if is_last or now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            self._draw(Progress(self._label, done, self._total, now - self._started))
        if is_last:
            self._done = 0

    def _draw(self, state: Progress) -> None:
        try:
            self._show(state)
        except Exception:  # a closed stream or front end; the loop that is shown must not fail
            self._show = _show_nothing


def _show_nothing(state: Progress) -> None:
    """Stands in for a display that has failed."""


class _TextLine:
    """A line on stderr, written over itself and ended with its loop."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, state: Progress) -> None:
        text = str(state)
        end = "\n" if state.done == state.total else ""
        sys.stderr.write(f"\r{text.ljust(self._width)}{end}")
        sys.stderr.flush()
        self._width = len(text)


def progress(loop: Any, *, label: str = "", updates: int = 100) -> Any:
    """Show a progress bar for a loop: in Python, or inside a compiled program.

    Args:
      loop: ``lax.scan`` or ``lax.fori_loop``, to get a function of the same arguments that shows a
        bar while it runs; or an iterable, or a number ``n`` for ``range(n)``, to loop over in
        Python.
      label: what to write before the bar.
      updates: how often a compiled loop reports, in all: each report costs some 50 µs.

    Returns:
      the loop with a bar, or an iterator over the items.

    Raises:
      TypeError: ``loop`` is none of these.

    A bar counts turns that have begun. Results, derivatives and batching are those of the loop
    itself; the backward pass of a derivative shows nothing.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> total, _ = jx.progress(lax.scan)(lambda c, x: (c + x, None), 0.0, jnp.arange(5.0))
    >>> total.item()
    10.0
    """
    if loop is scan:
        return functools.partial(_scan, _Reporter(label, updates))
    if loop is fori_loop:
        return functools.partial(_fori_loop, _Reporter(label, updates))
    if isinstance(loop, int) and not isinstance(loop, bool):
        return _over(range(loop), label)
    if isinstance(loop, Iterable):
        return _over(loop, label)
    name = getattr(loop, "__name__", None) or in_words(loop, 60)
    raise TypeError(
        f"progress shows lax.scan, lax.fori_loop, iterables and numbers of turns, not {name:.60}; "
        "of a while_loop no one knows the end: count its turns in a fori_loop or scan"
    )


def _over(items: Iterable[Any], label: str) -> Iterator[Any]:
    bar = Bar(label)
    total = len(items) if hasattr(items, "__len__") else None  # type: ignore[arg-type]  # checked
    for number, item in enumerate(items, start=1):
        bar.reach(number, total)
        yield item


class _Reporter:
    """Puts reports to a bar into a traced loop."""

    def __init__(self, label: str, updates: int) -> None:
        self._bar = Bar(label)
        self._updates = max(updates, 1)

    def report(self, turn: Any, total: Any) -> None:
        """Report a turn, counted from 0, if it is one of those that are reported."""
        step = maximum(total // self._updates, 1)
        wanted = (turn % step == 0) | (turn == total - 1)

        def tell(turn: Any, total: Any) -> None:
            debug_callback(lambda turn, total: self._bar.reach(turn + 1, total), turn, total)

        cond(wanted, tell, lambda turn, total: None, turn, total)


def _scan(
    reporter: _Reporter,
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    leaves = tree.leaves(xs)
    turns = leaves[0].shape[0] if leaves and length is None else length
    if turns is None:  # scan says what is missing
        return scan(f, init, xs, length, reverse, unroll)

    @functools.wraps(f)
    def reporting(carry: Any, numbered: tuple[Any, Any]) -> tuple[Any, Any]:
        turn, x = numbered
        reporter.report(turn, turns)
        return f(carry, x)

    turn_numbers = arange(turns)[::-1] if reverse else arange(turns)
    return scan(reporting, init, (turn_numbers, xs), length, reverse, unroll)


def _fori_loop(
    reporter: _Reporter,
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    @functools.wraps(body_fun)
    def reporting(number: Any, value: Any) -> Any:
        reporter.report(number - lower, upper - lower)
        return body_fun(number, value)

    return fori_loop(lower, upper, reporting, init_val, unroll=unroll)
