"""Waiting at the end of a cell: for callbacks, whose failures are told, and for variables."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jxkernel import runtime
from jxkernel._jaxlib import JaxRuntimeError
from jxkernel.jupyter.session.interrupts import run_interruptibly

__all__ = ["ReadWait", "failures_of_callbacks", "interruptible", "wait_for_variables"]

_SWALLOWED_NS = 20_000_000


def interruptible(
    original: Callable[..., Any], wait: Callable[[list[Any]], object]
) -> Callable[..., Any]:
    """Return a method of arrays that waits in C++, made to wait here first.

    Args:
      original: ``block_until_ready``, or ``__buffer__``, through which NumPy reads an array.
      wait: waits for arrays.
    """

    def method(self: Any, *args: Any) -> Any:
        if not self.is_deleted() and not self.is_ready():
            wait([self])
        return original(self, *args)

    method.__name__, method.__doc__ = original.__name__, original.__doc__
    return method


class ReadWait:
    """Waits for arrays that are read, where NumPy may swallow the interrupt.

    NumPy takes any exception of an array's buffer for "no buffer" and asks for ``__array__`` next;
    so an interrupt that ended the first wait ends the second, which follows at once, too. "At once"
    is told by this thread's own time: on a loaded machine others may run in between.
    """

    def __init__(self) -> None:
        self._interrupted_ns = -_SWALLOWED_NS

    def forget(self, info: Any = None) -> None:
        """Called by IPython before a cell runs: an interrupt ends no wait of a later cell."""
        self._interrupted_ns = -_SWALLOWED_NS

    def __call__(self, arrays: Iterable[Any]) -> None:
        """Wait until the arrays exist.

        Raises:
          KeyboardInterrupt: the user interrupted this wait, or one that has just ended.
        """
        if time.thread_time_ns() - self._interrupted_ns < _SWALLOWED_NS:
            self._interrupted_ns = -_SWALLOWED_NS
            raise KeyboardInterrupt
        try:
            runtime.wait(arrays)
        except KeyboardInterrupt:
            self._interrupted_ns = time.thread_time_ns()
            raise


def failures_of_callbacks() -> list[BaseException]:
    """Wait for the programs with callbacks under way, and return what nobody has met yet.

    An interrupt ends the wait; what is still under way is told after a later cell.
    """
    if not runtime.effects_under_way():
        return []
    try:
        run_interruptibly(runtime.wait_for_effects)
    except KeyboardInterrupt as error:
        return [error, *runtime.unseen_failures()]
    return runtime.unseen_failures()


def wait_for_variables(namespace: Mapping[str, Any]) -> None:
    """Wait for the arrays that variables hold; a failed computation shows where it is used."""
    for value in list(namespace.values()):
        for array in runtime.arrays_in(value):
            try:
                runtime.wait([array])
            except JaxRuntimeError:
                continue
