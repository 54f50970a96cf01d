"""The leak checker: tracers that outlive their trace, and what holds them.

With ``check_tracer_leaks`` on, the end of each trace is followed by a search for its tracers among
all objects that Python knows.  One that only a traceback holds is no leak: it goes with the error.
"""

import gc
import inspect
import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from types import CellType, FrameType, FunctionType, GeneratorType, ModuleType, TracebackType
from typing import Any, cast

from jxkernel.config import check_tracer_leaks
from jxkernel.core.trace import Trace, Tracer
from jxkernel.errors import LeakError
from jxkernel.source import is_internal

__all__ = ["check_leaks", "holder_of"]

_DEPTH = 8
_VISITED = 2000
# What IPython keeps of results and inputs: Out, _, __, _1, _i, _oh ...
_OF_IPYTHON = re.compile(r"_+\d*|_i+\d*|_oh|_dh|_ih|Out|In")


def check_leaks(trace: Trace, name: str = "") -> None:
    """Raise if a tracer of a trace that has ended is still alive, where the option is on.

    Args:
      trace: the trace.
      name: the function that was traced.

    Raises:
      LeakError: one is; the message names what holds it.
    """
    if not check_tracer_leaks.value:
        return
    if not _alive(trace):
        return
    gc.collect()
    leaks: list[tuple[str, str]] = []
    origin: list[str] = []
    alive = _alive(trace)
    while alive:
        tracer = alive.pop()  # so that the list does not count as a holder
        holder = holder_of(tracer)
        if holder is not None:
            leaks.append((tracer.describe_type(), holder))
            origin.extend(trace.describe(tracer))
    if leaks:
        raise LeakError(name or trace.function_name or "a function", leaks, origin=origin)


def _alive(trace: Trace) -> list[Tracer]:
    found = [one for one in gc.get_referrers(trace) if isinstance(one, Tracer)]
    return [one for one in found if one.owner is trace]


def holder_of(tracer: Any) -> str | None:
    """Return what holds an object, in words; None where only tracebacks and this package do.

    Args:
      tracer: the object.

    Returns:
      the variable and the way from it, such as ``log[0], a global variable of
      __main__``.
    """
    queue: deque[tuple[Any, str, int]] = deque([(tracer, "", 0)])
    seen = {id(tracer), id(queue)}
    anonymous: str | None = None
    by_traceback = False
    while queue and len(seen) < _VISITED:
        one, way, depth = queue.popleft()
        referrers = gc.get_referrers(one)
        seen.add(id(referrers))
        for referrer in referrers:
            if id(referrer) in seen or _is_own(referrer):
                by_traceback = by_traceback or _is_over(referrer)
                continue
            seen.add(id(referrer))
            name = _named(referrer, one)
            if name is not None:
                return name.format(way=way)
            step = None if _module_of(referrer) else _step(referrer, one)
            if step is None or depth >= _DEPTH:
                continue
            if anonymous is None and not isinstance(referrer, (dict, tuple, CellType)):
                anonymous = f"an object of type {type(referrer).__name__}{step}{way}"
            queue.append((cast("object", referrer), f"{step}{way}", depth + 1))
    return None if by_traceback else anonymous


def _is_own(referrer: Any) -> bool:
    """Whether a referrer is this package's or the interpreter's machinery."""
    if isinstance(referrer, (TracebackType, ModuleType, deque, Iterator)):
        return not isinstance(referrer, GeneratorType)
    if isinstance(referrer, FrameType):
        return is_internal(referrer.f_code) or _is_over(referrer)
    return isinstance(referrer, (Trace, Tracer)) and not isinstance(referrer, Mapping)


def _is_over(frame: Any) -> bool:
    """Whether an object is the frame of a call that is over: a traceback holds it."""
    if not isinstance(frame, FrameType):
        return False
    current = inspect.currentframe()
    while current is not None:
        if current is frame:
            return False
        current = current.f_back
    return True


def _module_of(namespace: Any) -> ModuleType | None:
    """Return the module whose names a dictionary holds."""
    if not isinstance(namespace, dict):
        return None
    module = sys.modules.get(cast("dict[str, str]", namespace).get("__name__", ""))
    return module if module is not None and vars(module) is namespace else None


def _named(referrer: Any, held: Any) -> str | None:
    """Return how a namespace calls an object, with a place for the way from there, or None."""
    if isinstance(referrer, FrameType):
        for name, value in referrer.f_locals.items():
            if value is held:
                place = f"{referrer.f_code.co_filename}:{referrer.f_lineno}"
                return f"{name}{{way}}, a local variable of {referrer.f_code.co_name} ({place})"
        return None
    module = _module_of(referrer)
    if module is not None:
        for name, value in vars(module).items():
            if value is held and not (module.__name__ == "__main__" and _of_ipython(name)):
                return f"{name}{{way}}, a global variable of {module.__name__}"
        return None
    if isinstance(referrer, CellType):
        return _named_cell(referrer)
    if isinstance(referrer, FunctionType) and referrer.__defaults__ is held:
        code = referrer.__code__
        place = f"{code.co_filename}:{code.co_firstlineno}"
        return None if is_internal(code) else f"the defaults{{way}} of {code.co_name} ({place})"
    return None


def _of_ipython(name: str) -> bool:
    return _OF_IPYTHON.fullmatch(name) is not None


def _named_cell(cell: CellType) -> str | None:
    """Return how a closure calls its variable, with a place for the way from there."""
    for closure in gc.get_referrers(cell):
        if not isinstance(closure, tuple):
            continue
        for function in gc.get_referrers(cast("tuple[Any, ...]", closure)):
            if isinstance(function, FunctionType) and function.__closure__ is closure:
                index = [one is cell for one in cast("tuple[Any, ...]", closure)].index(True)
                code = function.__code__
                if is_internal(code):
                    return None
                name = code.co_freevars[index]
                place = f"{code.co_filename}:{code.co_firstlineno}"
                return f"{name}{{way}}, which {function.__name__} ({place}) closes over"
    return None


def _step(referrer: Any, held: Any) -> str | None:
    """Return the way from a container or object to what it holds, or None."""
    if isinstance(referrer, dict):
        items = cast("dict[Any, Any]", referrer).items()
        return next((f"[{key!r}]" for key, value in items if value is held), None)
    if isinstance(referrer, (list, tuple)):
        values = cast("list[Any]", referrer)
        return next((f"[{i}]" for i, value in enumerate(values) if value is held), None)
    if isinstance(referrer, (set, frozenset)):
        return " (an element of it)"
    if isinstance(referrer, CellType):
        return ""
    for name in _attributes(referrer):
        if getattr(referrer, name, None) is held:
            return f".{name}"
    if getattr(referrer, "__dict__", None) is held:
        return ""
    return None


def _attributes(one: Any) -> list[str]:
    """Return the names of an object's own attributes, in its dictionary or its slots."""
    names = list(getattr(one, "__dict__", {}))
    for kind in type(one).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names.extend((slots,) if isinstance(slots, str) else slots)
    return names
