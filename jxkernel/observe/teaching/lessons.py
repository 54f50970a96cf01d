"""Teaching mode: silent mistakes with arrays become lessons that say what to write.

It costs speed: no call has a fast path while it is on, and programs with indices that are
computed run twice. Nothing of it stays when it is off.
"""

from __future__ import annotations

import linecache
import threading
import warnings
from collections import ChainMap
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Literal, Self

from jxkernel import events
from jxkernel.api.checkify import silent_index
from jxkernel.api.jit import traced_functions
from jxkernel.compile.signature import function_number
from jxkernel.config import check_static_indices, debug_key_reuse, key_reuse_hook, run_hook
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.errors import KeyReuseError
from jxkernel.observe.syntax import SourceFiles
from jxkernel.source import Frame, current_user_frame, is_user_code

__all__ = ["Lesson", "Teaching", "TeachingWarning"]

Subject = Literal["index", "key", "dtype", "effect", "update", "view"]

_TITLES: dict[Subject, str] = {
    "index": "index out of bounds",
    "key": "random key used again",
    "dtype": "64 bits became 32",
    "effect": "a side effect while tracing",
    "update": "update dropped",
    "view": "a view of a device array cannot be changed",
}


class TeachingWarning(UserWarning):
    """A lesson of teaching mode, outside a notebook."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A silent mistake, told.

    Attributes:
      subject: what it is about: index, key, dtype, effect, update, view.
      what: what happens, as a sentence.
      instead: what to write instead, one suggestion per entry.
      site: the user's line, ``file:line``; empty when unknown.
      code: the text of that line.
    """

    subject: Subject
    what: str
    instead: tuple[str, ...] = ()
    site: str = ""
    code: str = ""

    def __str__(self) -> str:
        lines = [f"{_TITLES[self.subject]}{f' ({self.site})' if self.site else ''}"]
        lines += [f"    {self.code}"] * bool(self.code)
        lines.append(f"  {self.what}")
        lines += [f"  instead: {one}" for one in self.instead]
        return "\n".join(lines)

    @classmethod
    def at(cls, subject: Subject, site: str, what: str, instead: Sequence[str] = ()) -> Lesson:
        """Return a lesson about a line, with the text of the line."""
        file, _, line = site.rpartition(":")
        code = linecache.getline(file, int(line)).strip() if line.isdigit() else ""
        return cls(subject, what, tuple(instead), site, code)


class Teaching:
    """Teaching mode of the process, on from ``start`` to ``stop`` or inside its ``with`` block.

    Args:
      tell: receives each lesson; by default it becomes a ``TeachingWarning``.

    Out-of-bounds positions that are known when a line runs or is traced raise an ``IndexError``
    where they would be read; all others become lessons, once for each line and fact.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import Teaching
    >>> lessons = []
    >>> x = jx.numpy.arange(8.0)
    >>> with Teaching(lessons.append):
    ...     y = x[jx.numpy.array([3, 12])]
    >>> lessons[0].what.partition(":")[0]
    'index 12 is out of bounds for axis 0 with size 8'
    """

    def __init__(self, tell: Callable[[Lesson], object] | None = None) -> None:
        self._tell = tell or _warn
        self._told: set[tuple[str, str, str]] = set()
        self._checking = threading.local()
        self._undo: list[Callable[[], object]] = []

    @property
    def on(self) -> bool:
        """Whether it is on."""
        return bool(self._undo)

    def start(self) -> Self:
        """Begin; does nothing when it is on."""
        if not self._undo:
            for option, value in (
                (check_static_indices, True),
                (debug_key_reuse, True),
                (key_reuse_hook, self._key_reused),
                (run_hook, self._before_run),
            ):
                self._set(option, value)
            for listener, kind in (
                (self._narrowed, events.Narrowed),
                (self._traced, events.Traced),
            ):
                self._undo.append(events.listen(listener, (kind,)).close)
        return self

    def stop(self) -> None:
        """End it, and set everything back to what it was before."""
        while self._undo:
            self._undo.pop()()
        self._told.clear()

    def forget(self) -> None:
        """Forget what was told, so that it is told again: a new cell begins."""
        self._told.clear()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def tell(self, lesson: Lesson) -> None:
        """Tell a lesson, unless it was told already."""
        key = (lesson.subject, lesson.site, lesson.what)
        if key not in self._told:
            self._told.add(key)
            self._tell(lesson)

    def _set(self, option: Any, value: Any) -> None:
        before = option.value
        option.set_global(value)
        self._undo.append(lambda: option.set_global(before))

    def _before_run(self, closed: ClosedJaxpr, args: Sequence[Any], name: str) -> None:
        """Look whether an index of a program that is about to run is out of bounds."""
        if getattr(self._checking, "now", False):
            return
        self._checking.now = True
        try:
            found = silent_index(closed, args, name)
        except Exception:  # a program that cannot be checked must run all the same
            return
        finally:
            self._checking.now = False
        if found is not None:
            message, frame = found
            site = _place(frame if _is_users(closed) else current_user_frame())
            what = message.partition(": ")[2].rstrip(".")
            what += ": a read gives the nearest element, and a write does nothing"
            lesson = Lesson.at("index", site, what, _INDEX_ADVICE)
            # A mode that the user wrote and the one that is meant without are one in the program.
            if "mode=" not in lesson.code:
                self.tell(lesson)

    def _key_reused(self, error: KeyReuseError) -> None:
        what = f"this key gave its random numbers already ({error.first_use}); they come again"
        self.tell(Lesson.at("key", _place(current_user_frame()), what, error.instead))

    def _traced(self, event: events.Event) -> None:
        """Look for side effects in the text of a function that was traced."""
        number = getattr(event, "function_id", 0)
        found = (fun for fun, _ in traced_functions(empty=True) if function_number(fun) == number)
        function = next(found, None)
        if not isinstance(function, FunctionType) or not is_user_code(function.__code__):
            return
        code = function.__code__
        syntax = SourceFiles().function(code)
        known = ChainMap(_closure(function), function.__globals__)
        for effect in syntax.effects(known) if syntax else ():
            site = f"{code.co_filename}:{effect.span.line}"
            self.tell(Lesson.at("effect", site, effect.problem, (effect.instead,)))

    def _narrowed(self, event: events.Event) -> None:
        assert isinstance(event, events.Narrowed)
        is_float = not event.dtype.startswith(("int", "uint"))
        if not is_float and not event.lossy:
            return
        lost = "digits after the 7th are lost" if is_float else "numbers too large wrapped around"
        changed = lost if event.lossy else "these numbers fit"
        what = f"NumPy data {event.dtype}{list(event.shape)} became {event.becomes}; {changed}"
        instead = (
            f"say so: x.astype('{event.becomes}')",
            "to keep 64 bits: jx.config.update('jax_enable_x64', True), or %jx x64 on",
        )
        self.tell(Lesson.at("dtype", event.site, what, instead))


_INDEX_ADVICE = (
    "compare the index with x.shape before the call",
    "or say what is meant: x.at[i].get(mode='clip'), or mode='fill' with a fill_value",
)


def _warn(lesson: Lesson) -> None:
    warnings.warn(str(lesson), TeachingWarning, stacklevel=4)


def _closure(function: FunctionType) -> dict[str, Any]:
    """What the free variables of a function hold."""
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not bound yet
            found[name] = cell.cell_contents
    return found


def _place(frame: Frame | None) -> str:
    return f"{frame.file}:{frame.line}" if frame else ""


def _is_users(closed: ClosedJaxpr) -> bool:
    """Whether a program was traced from a user's function; an operation's serves many lines."""
    return any(
        entry.closed is closed for _, traces in traced_functions() for entry in traces.values()
    )
