"""What a front end asks of the backend: what computes, and to change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypedDict

from jxkernel import observe, runtime
from jxkernel.jupyter.feature import MOST_ROWS
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import tidied
from jxkernel.observe import BackendState, BackendSwitch, LiveArray
from jxkernel.observe.backends import MOST_CPU_DEVICES, PRECISIONS
from jxkernel.observe.explain import format_size

__all__ = ["BackendAnswer", "PreviewAnswer", "apply", "backend", "preview"]


_ON_DEVICE = 5
_NOT_STARTED = BackendState("", False, 0, False, "default", ())


class BackendAnswer(TypedDict):
    """What computes now, what can be chosen, and the largest arrays of each device."""

    is_started: bool
    precisions: list[str]
    most_cpu_devices: int
    largest: dict[str, list[LiveArray]]
    text: str


class PreviewAnswer(TypedDict):
    """What a change of the backend would do, or has done."""

    changes: bool
    asks: bool
    text: str


def backend(session: Session, start: bool = False) -> dict[str, Any]:
    """Return what computes, and what can be chosen.

    Args:
      session: the session that is asked.
      start: whether to start the default platform where none runs yet.
    """
    is_started = start or bool(runtime.backends())
    state = _switch(session).state() if is_started else _NOT_STARTED
    data = {
        **state.to_data(),
        "is_started": is_started,
        "precisions": list(PRECISIONS),
        "most_cpu_devices": MOST_CPU_DEVICES,
        "largest": _largest(session) if is_started else {},
        "text": _state_text(state) if is_started else "no platform runs yet",
    }
    return tidied(data)


def preview(session: Session, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a change of the backend would do.

    Raises:
      ValueError: it makes no sense.
    """
    return tidied(_bounded(_switch(session).preview(change).to_data()))


def apply(session: Session, change: Mapping[str, Any]) -> dict[str, Any]:
    """Do a change of the backend, and return what was done.

    Raises:
      ValueError: it makes no sense.
      RuntimeError: it needs a restart, or a platform does not start.
    """
    done = _switch(session).apply(change)
    runtime.default_device()  # with another number of devices the CPU's client is made anew
    return tidied(_bounded(done.to_data()))


def _switch(session: Session) -> BackendSwitch:
    return BackendSwitch(session.shell.user_ns)


def _largest(session: Session) -> dict[str, list[dict[str, Any]]]:
    """The largest arrays on each device."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in observe.live(session.shell.user_ns, holders=False).arrays:
        for device in one.devices:
            listed = found.setdefault(device, [])
            if len(listed) < _ON_DEVICE:
                listed.append(asdict(one))
    return found


def _bounded(preview: dict[str, Any]) -> dict[str, Any]:
    """A preview with its longest lists cut; its text has the totals."""
    lists = ("moves", "stays", "retraced")
    return {**preview, **{name: list(preview[name])[:MOST_ROWS] for name in lists}}


def _state_text(state: BackendState) -> str:
    lines = [state.summary]
    for platform in state.platforms:
        lines.append(f"{platform.name}: {platform.status}")
        lines += [
            f"  {one.name}  {one.arrays} arrays, {format_size(one.array_bytes)}"
            + ("  (default)" if one.is_default else "")
            for one in platform.devices
        ]
    return "\n".join(lines)
