"""Profiles of the user's work: what jxkernel does for it is one row of ``%prun``."""

from __future__ import annotations

import pstats
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from jxkernel import source
from jxkernel.jupyter.timing.rewriting import Waiter

__all__ = ["folding_internals"]

_Function = tuple[str, int, str]
"""The file, the line and the name of a function; ``~`` and 0 for those that are not Python's."""

_INTERNALS: _Function = ("~", 0, "<jxkernel: tracing, compiling, dispatching>")
_WAITING: _Function = ("~", 0, "<jxkernel: waiting for devices>")
"""The wait at the end of what is profiled: a row of its own, for it is the devices' time."""

_EXEC = "<built-in method builtins.exec>"


@contextmanager
def folding_internals() -> Iterator[None]:
    """Fold jxkernel's own functions in the profiles that are made inside the block."""
    with patch.object(pstats, "Stats", _FoldedStats):
        yield


class _FoldedStats(pstats.Stats):
    """Statistics with the functions of jxkernel and of jaxlib as one."""

    stats: dict[_Function, tuple[int, int, float, float, dict[_Function, Any]]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stats = _with_wait_named(_folded(self.stats))


def _folded(stats: dict[_Function, Any]) -> dict[_Function, Any]:
    """Return statistics with one row in place of those of internal functions.

    Of a function of Python's or of a library's that others call too, that part is internal which
    internal functions called.
    """
    internal = _internal(stats)
    folded: dict[_Function, Any] = {}
    callers_of_all: dict[_Function, Any] = {}
    own = 0.0
    for function, (primitive, calls, time, cumulative, callers) in stats.items():
        inside = [part for caller, part in callers.items() if caller in internal]
        outside = {caller: part for caller, part in callers.items() if caller not in internal}
        if function in internal:
            own += time
            for caller, part in outside.items():
                callers_of_all[caller] = _sum(callers_of_all.get(caller), part)
        elif not inside or not outside or _is_users(function):
            folded[function] = (primitive, calls, time, cumulative, outside)
        else:
            figures = _figures(outside)
            own += time - figures[2]
            folded[function] = (*figures, outside)
    if callers_of_all:
        primitive, calls, _, whole = _figures(callers_of_all)
        folded[_INTERNALS] = (primitive, calls, own, max(whole, own), callers_of_all)
    return folded


def _with_wait_named(stats: dict[_Function, Any]) -> dict[_Function, Any]:
    """Return statistics in which the wait at the end is called what it is."""

    def named(function: _Function) -> _Function:
        return _WAITING if _is_wait(function) else function

    return {
        named(function): (*figures, {named(caller): part for caller, part in callers.items()})
        for function, (*figures, callers) in stats.items()
    }


def _internal(stats: dict[_Function, Any]) -> set[_Function]:
    """The functions of jxkernel and jaxlib, and those of libraries that only they lead to."""
    others = {one for one in stats if not _is_internal(one)}
    reached = {one for one in others if _is_begun(one)}
    waiting = others - reached
    while new := {one for one in waiting if not reached.isdisjoint(stats[one][4])}:
        reached |= new
        waiting -= new
    return set(stats) - reached


def _is_internal(function: _Function) -> bool:
    file, _, name = function
    return (source.is_package_file(file) and not _is_wait(function)) or "jaxlib" in file + name


def _is_begun(function: _Function) -> bool:
    """Whether it is the user's, or leads to the user's."""
    return _is_users(function) or _is_wait(function) or function[2] == _EXEC


def _is_wait(function: _Function) -> bool:
    """Whether it is the wait at the end of what is profiled: its time is the devices'."""
    file, _, name = function
    return name == Waiter.finish.__name__ and file == Waiter.finish.__code__.co_filename


def _is_users(function: _Function) -> bool:
    file = function[0]
    is_generated = file.startswith("<") and not file.startswith("<ipython-input")
    others = source.is_library_file(file) or source.is_package_file(file)
    return file != "~" and not is_generated and not others


def _sum(before: Any, part: Any) -> Any:
    return part if before is None else _total([before, part])


def _figures(callers: dict[_Function, Any]) -> tuple[Any, ...]:
    """The figures of a function by those of its callers, which tell all calls first."""
    calls, primitive, own, whole = _total(callers.values())
    return primitive, calls, own, whole


def _total(parts: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(sum, zip(*parts, strict=True)))
