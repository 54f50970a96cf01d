"""Progress bars, also from inside compiled loops.

A compiled loop reports through a debug callback, in a hundred turns of all, so that short turns
are not slowed down; the bar is drawn at most ten times a second. Results are untouched: the
callback gives nothing back. Under ``vmap`` the turns are those of the whole batch, and its values
are means over the loops that still run; under ``grad`` the forward pass reports and the backward
pass does not.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import in_words
from jxkernel.api.control_flow.branching import cond
from jxkernel.api.control_flow.looping import fori_loop
from jxkernel.api.control_flow.scanning import scan
from jxkernel.config import progress_display
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.numpy import arange, maximum
from jxkernel.primitives.callback import debug_callback_p
from jxkernel.primitives.elementwise.identity import stop_gradient
from jxkernel.runtime.host_calls import HostFunction
from jxkernel.tree import physical

__all__ = ["Bar", "Curve", "Progress", "progress"]

_REDRAW_SECONDS = 0.1
_WIDTH = 24
_EIGHTHS = " ▏▎▍▌▋▊▉"
_POINTS = 128

ValuesOf = Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Curve:
    """A value of a loop, from its first report to the last one.

    Attributes:
      name: what it is called.
      points: turns and values, spread evenly over the reports; the last one is the latest.
    """

    name: str
    points: tuple[tuple[int, float], ...]

    @property
    def latest(self) -> float:
        """The value of the last report."""
        return self.points[-1][1]

    def __str__(self) -> str:
        return f"{self.name} {self.latest:.4g}"


class _Recorded:
    """The reports of one value: every second one is dropped whenever there are too many."""

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = []
        self._stride, self._seen = 1, 0
        self._latest = (0, 0.0)

    def add(self, turn: int, value: float) -> None:
        """Record a value."""
        self._latest = (turn, value)
        if self._seen % self._stride == 0:
            self._points.append(self._latest)
        self._seen += 1
        if len(self._points) == _POINTS:
            del self._points[1::2]
            self._stride *= 2

    def points(self) -> tuple[tuple[int, float], ...]:
        """Return what is kept, and the latest."""
        kept = tuple(self._points)
        return kept if kept[-1] == self._latest else (*kept, self._latest)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a loop is.

    Attributes:
      label: what it is called.
      done: the turns begun.
      total: all turns; None where that is not known.
      seconds: since its first turn.
      values: those of ``progress(values=...)``.
    """

    label: str
    done: int
    total: int | None
    seconds: float
    values: tuple[Curve, ...] = ()

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
            f"{_clock(self.seconds)}{left}{''.join(f' · {value}' for value in self.values)}"
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
        self._values: dict[str, _Recorded] = {}

    def reach(self, done: Any, total: Any = None, values: Mapping[str, float] = {}) -> None:
        """Note that turn ``done``, counted from 1, is reached, and draw if it is time to."""
        with self._lock:
            if total is None or done <= total:
                self._reach(int(done), None if total is None else int(total), values)

    def _reach(self, done: int, total: int | None, values: Mapping[str, float]) -> None:
        now = time.perf_counter()
        if done < self._done or not self._done:
            self._started, self._drawn, self._total = now, 0.0, total
            self._show = (progress_display.value or _TextLine)()
            self._values = {}
        elif total is not None and self._total is not None:
            # Loops of a batch, whose lengths may differ, go in step: the longest is shown.
            self._total = max(total, self._total)
            if total < self._total:
                return
        self._done = done
        for name, value in values.items():
            self._values.setdefault(name, _Recorded()).add(done, value)
        is_last = done == self._total
        if is_last or now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            curves = tuple(Curve(name, seen.points()) for name, seen in self._values.items())
            self._draw(Progress(self._label, done, self._total, now - self._started, curves))
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


def progress(
    loop: Any, *, label: str = "", updates: int = 100, values: ValuesOf | None = None
) -> Any:
    """Show a progress bar for a loop: in Python, or inside a compiled program.

    Args:
      loop: ``lax.scan`` or ``lax.fori_loop``, to get a function of the same arguments that shows a
        bar while it runs; or an iterable, or a number ``n`` for ``range(n)``, to loop over in
        Python.
      label: what to write before the bar.
      updates: how often a compiled loop reports, in all: each report costs some 50 µs.
      values: a function of what a compiled loop carries that gives a dict of names and real
        scalars, such as ``lambda carry: {"loss": carry.loss}``. Each report shows them, as they are
        at the end of its turn; a notebook draws their course. It is computed in turns that
        report only.

    Returns:
      the loop with a bar, or an iterator over the items.

    Raises:
      TypeError: ``loop`` is none of these, or one of the values is no real scalar, or ``values`` is
        given for a loop in Python.

    A bar counts turns that have begun, with ``values`` turns that have ended. Under ``vmap``, a
    value is the mean over the loops of the batch that still run. Results, derivatives and batching
    are those of the loop itself; the backward pass of a derivative shows nothing.

    >>> import jxkernel as jx
    >>> from jxkernel import lax, numpy as jnp
    >>> total, _ = jx.progress(lax.scan)(lambda c, x: (c + x, None), 0.0, jnp.arange(5.0))
    >>> total.item()
    10.0
    """
    if loop is scan:
        return functools.partial(_scan, _Reporter(label, updates, values))
    if loop is fori_loop:
        return functools.partial(_fori_loop, _Reporter(label, updates, values))
    if values is not None:
        raise TypeError(
            "progress(values=...) shows what lax.scan and lax.fori_loop carry: a loop in Python "
            "prints its own values"
        )
    if isinstance(loop, int) and not isinstance(loop, bool):
        return _over(range(loop), label)
    if isinstance(loop, Iterable):
        return _over(loop, label)
    name = getattr(loop, "__name__", None) or in_words(loop, 60)
    raise TypeError(
        f"progress shows lax.scan, lax.fori_loop, iterables and numbers of turns, not {name:.60}; "
        "the end of a while_loop is not known: count its turns in a fori_loop or scan"
    )


def _over(items: Iterable[Any], label: str) -> Iterator[Any]:
    bar = Bar(label)
    total = len(items) if hasattr(items, "__len__") else None  # type: ignore[arg-type]  # checked
    for number, item in enumerate(items, start=1):
        bar.reach(number, total)
        yield item


class _WholeBatch(HostFunction):
    """A function of flat arrays of one shape that ``vmap`` calls once, the batch at the end."""

    __slots__ = ()

    def over_examples(
        self, has: Sequence[bool], size: int, avals: Sequence[ShapedArray]
    ) -> HostFunction:
        """Return this function of whole batches, those that are the same for all repeated."""

        def run(arrays: Sequence[Any]) -> Any:
            # An outer batch is at the end already, of all of them: what is in front is this one.
            whole = [
                np.moveaxis(np.asarray(x), 0, -1)
                if flag
                else np.broadcast_to(np.asarray(x)[..., None], (*np.shape(x), size))
                for x, flag in zip(arrays, has, strict=True)
            ]
            return self.function(whole)

        return _WholeBatch(run, self.name)


class _Reporter:
    """Puts reports to a bar into a traced loop."""

    def __init__(self, label: str, updates: int, values: ValuesOf | None) -> None:
        self._bar = Bar(label)
        self._updates = max(updates, 1)
        self._values = values

    @property
    def shows_values(self) -> bool:
        """Whether a turn is reported with the values at its end."""
        return self._values is not None

    def report(self, turn: Any, total: Any, carry: Any = None) -> None:
        """Report a turn, counted from 0, if it is one of those that are reported."""
        step = maximum(total // self._updates, 1)
        wanted = (turn % step == 0) | (turn == total - 1)

        def tell(turn: Any, total: Any) -> None:
            # What values are computed from is read here only: other turns do not compute them.
            values = {} if self._values is None else _numbers(self._values(stop_gradient(carry)))

            def reach(arrays: Sequence[Any]) -> tuple[()]:
                turn, total, *rest = map(np.asarray, arrays)
                # Loops of a batch that have ended compute on, and what they compute is not kept.
                running = turn < total
                if running.any():
                    means = [float(value[running].astype(np.float64).mean()) for value in rest]
                    shown = dict(zip(values, means, strict=True))
                    self._bar.reach(turn[running].max() + 1, total.max(), shown)
                return ()

            debug_callback_p.bind(
                turn,
                total,
                *values.values(),
                callback=_WholeBatch(reach, "progress"),
                ordered=False,
            )

        cond(wanted, tell, lambda turn, total: None, turn, total)


def _numbers(values: Any) -> dict[str, Any]:
    """Return what a user's function gives to show.

    Raises:
      TypeError: it is no dict of names and real scalars.
    """
    if not isinstance(values, Mapping):
        raise TypeError(
            f"progress(values=...) got {in_words(values, 60)}: its function gives a dict of "
            "names and scalars, such as {'loss': carry.loss}"
        )
    for name, value in values.items():
        try:
            aval = abstractify(value)
        except TypeError:
            aval = None
        if aval is None or aval.shape or not _is_real(aval.dtype):
            found = in_words(value, 60) if aval is None else str(aval)
            raise TypeError(
                f"progress(values=...) got {found} for {name!r}: each value is a real scalar, "
                "such as the mean or the norm of an array"
            )
    return {str(name): stop_gradient(value) for name, value in values.items()}


def _is_real(dtype: Any) -> bool:
    kinds = (np.bool_, np.integer, np.floating)
    return any(dtypes.issubdtype(dtype, kind) for kind in kinds)


def _scan(
    reporter: _Reporter,
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    leaves = physical.leaves(xs)
    turns = leaves[0].shape[0] if leaves and length is None else length
    if turns is None:  # scan says what is missing
        return scan(f, init, xs, length, reverse, unroll)

    @functools.wraps(f)
    def reporting(carry: Any, numbered: tuple[Any, Any]) -> tuple[Any, Any]:
        turn, x = numbered
        if not reporter.shows_values:
            reporter.report(turn, turns)
            return f(carry, x)
        out = f(carry, x)
        if isinstance(out, tuple) and len(out) == 2:  # else scan says what is wrong
            reporter.report(turn, turns, out[0])
        return out

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
        if not reporter.shows_values:
            reporter.report(number - lower, upper - lower)
            return body_fun(number, value)
        after = body_fun(number, value)
        reporter.report(number - lower, upper - lower, after)
        return after

    return fori_loop(lower, upper, reporting, init_val, unroll=unroll)
