"""A limit on traces, for tests: code that is traced more often than allowed fails, with reasons."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self, TypeVar

from jxkernel.api.jit import jit_state
from jxkernel.core.trace import evaluating
from jxkernel.errors import TraceLimitError
from jxkernel.events import CacheMiss, Traced, current_span, open_spans
from jxkernel.observe.explain import LedgerRow, function_label, ledger
from jxkernel.observe.recorder import Recorder

__all__ = ["assert_max_traces", "limit_error"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_LISTED = 20


class assert_max_traces:  # reads as an assertion, in a ``with`` and as a decorator
    """Fail where jitted functions are traced more often than expected: for tests.

    As a context manager it counts the traces made inside the block, and fails at its end. As a
    decorator of a test it does so for each call. As a decorator below ``jit`` it counts how often
    the function is traced in its life, and fails at the first trace too many.

    Args:
      limit: how many traces are allowed; 0 for code that must find everything in its caches.
      *functions: count only these, given as functions (jitted or not) or by name.

    Raises:
      TraceLimitError: there were more. It lists each trace with its reason and its line. It is
        an ``AssertionError``.
      ValueError: ``limit`` is negative.

    >>> import jxkernel as jx
    >>> f = jx.jit(lambda x: x + 1)
    >>> with jx.assert_max_traces(1):
    ...     results = [f(1.0), f(2.0)]
    >>> with jx.assert_max_traces(0):
    ...     f(3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    jxkernel.errors.TraceLimitError: the block was traced once; at most 0 allowed.
    ...
    """

    def __init__(self, limit: int, *functions: Any) -> None:
        if limit < 0:
            raise ValueError(f"assert_max_traces: the limit must not be negative, got {limit}")
        self.limit = limit
        self._names = tuple(map(_name, functions))
        self._recorders: list[Recorder] = []

    def __enter__(self) -> Self:
        self._recorders.append(Recorder(kinds=(CacheMiss, Traced)).start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        recorder = self._recorders.pop()
        recorder.stop()
        if error is not None:
            return
        rows = [row for row in ledger(recorder) if row.eqns is not None]
        counted = [row for row in rows if not self._names or row.fun in self._names]
        if len(counted) > self.limit:
            raise limit_error(", ".join(self._names) or "the block", self.limit, counted)

    def __call__(self, function: _Function) -> _Function:
        """Decorate a function: a test, or one that is to be jitted."""
        own = _OwnTraces(function_label(function), self.limit)

        @functools.wraps(function)
        def limited(*args: Any, **kwargs: Any) -> Any:
            if not evaluating():
                return own.call(function, args, kwargs)
            with self:
                return function(*args, **kwargs)

        own.recorder.start(owner=limited)
        return limited  # type: ignore[return-value]  # ``wraps`` keeps what it looks like


class _OwnTraces:
    """The traces of one function over its life.

    It keeps a recorder of the few kinds of events that are rare: a call that hits its cache
    emits none of them.
    """

    def __init__(self, name: str, limit: int) -> None:
        self.recorder = Recorder(kinds=(CacheMiss, Traced))
        self._name = name
        self._limit = limit
        self._traces = 0
        self._latest: int | None = None

    def call(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call the function in a trace; one that fails does not count, nor a second call in it.

        Raises:
          TraceLimitError: the trace is one too many.
        """
        span = current_span()
        if span is not None and span == self._latest:
            return function(*args, **kwargs)
        if self._traces >= self._limit:
            tracing = {one.fields.get("fun") for one in open_spans() if one.kind is Traced}
            rows = [row for row in ledger(self.recorder) if row.fun in tracing]
            raise limit_error(self._name, self._limit, rows, self._traces + 1)
        self._latest = span
        result = function(*args, **kwargs)
        self._traces += 1
        return result


def limit_error(
    what: str, limit: int, rows: Iterable[LedgerRow], traces: int | None = None
) -> TraceLimitError:
    """Return the error that lists traces with their reasons and the cheapest fixes.

    Args:
      what: what was limited, in words.
      limit: how many traces were allowed.
      rows: the ledger's rows of the traces.
      traces: how many there were; the number of rows unless given.
    """
    rows = tuple(rows)
    reasons = [
        f"{number}. {f'{row.site}: ' if row.site else ''}{row.sentence()}"
        for number, row in enumerate(rows, start=1)
    ]
    if len(reasons) > _LISTED:
        reasons[_LISTED:] = [f"… {len(reasons) - _LISTED} more"]
    fixes = tuple(dict.fromkeys(row.fix for row in rows if row.fix))[:3]
    count = len(rows) if traces is None else traces
    return TraceLimitError(what, limit, count, reasons, instead=fixes)


def _name(function: Any) -> str:
    state = jit_state(function)
    return function_label(function) if state is None else state.name
