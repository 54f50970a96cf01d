"""What a front end asks of memory: the live arrays, and to release some."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from jxkernel import observe, runtime
from jxkernel.jupyter.errors.last_error import forget_frames
from jxkernel.jupyter.feature import MOST_ROWS
from jxkernel.jupyter.memory.room import free_held
from jxkernel.jupyter.session.places import with_cell_names
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import tidied
from jxkernel.observe import DeviceMemory, LiveArray

__all__ = [
    "FreeAnswer",
    "LiveAnswer",
    "LiveRow",
    "RoomAnswer",
    "free",
    "freeing",
    "live",
    "make_room",
]


class LiveRow(TypedDict):
    """The variables and outputs that can be released to release it."""

    roots: list[str]


class LiveAnswer(TypedDict):
    """Live arrays, largest first, and the devices; none of either before a platform runs."""

    rows: list[LiveRow]
    left_out: int
    left_out_bytes: int
    count: int
    bytes: int
    devices: list[DeviceMemory]
    text: str


class FreeAnswer(TypedDict):
    """What releasing would delete, or has deleted."""

    names: list[str]


class RoomAnswer(TypedDict):
    """What was freed, in bytes."""

    bytes: int


def live(session: Session, holders: bool = False) -> dict[str, Any]:
    """Return the live arrays and what the devices hold.

    Args:
      session: the session that is asked.
      holders: whether to look for holders besides variables and outputs, which takes a while.
    """
    if not runtime.backends():
        return tidied(_no_arrays())
    found = observe.live(session.shell.user_ns, holders=holders)
    shown, rest = found.arrays[:MOST_ROWS], found.arrays[MOST_ROWS:]
    data = {
        "rows": [{**asdict(one), "roots": _roots(one)} for one in shown],
        "left_out": len(rest),
        "left_out_bytes": sum(one.bytes for one in rest),
        "count": len(found.arrays),
        "bytes": found.bytes,
        "devices": [asdict(one) for one in found.devices],
        "text": str(found),
    }
    return tidied(with_cell_names(session, data))


def freeing(session: Session, names: Sequence[str]) -> dict[str, Any]:
    """Return what ``free`` would delete.

    Raises:
      ValueError: there is no such name, or it holds no array.
    """
    found = observe.freeing(*names, namespace=session.shell.user_ns)
    return tidied({"names": list(names), **asdict(found)})


def free(session: Session, names: Sequence[str]) -> dict[str, Any]:
    """Delete the arrays that variables and outputs hold, and the names.

    Raises:
      ValueError: there is no such name, or it holds no array.
      RuntimeError: a cell runs, and may use them.
    """
    _refuse_in_cells(session)
    done = freeing(session, names)
    observe.free(*names, namespace=session.shell.user_ns)
    return done


def make_room(session: Session, token: str, names: Sequence[str]) -> dict[str, Any]:
    """Delete what was offered when a cell ran out of memory, so that it can run again.

    What the calls of the latest error held is deleted too: the cell makes it anew.

    Args:
      session: the session that is asked.
      token: of the session that made the offer.
      names: what ``%jx free`` takes.

    Raises:
      LookupError: another session made the offer.
      ValueError: there is no such name any more, or it holds no array.
      RuntimeError: a cell runs, and may use them.
    """
    if token != session.token:
        raise LookupError("the kernel was restarted since: run the cell again")
    _refuse_in_cells(session)
    forget_frames()
    return tidied({"bytes": free_held(session.shell.user_ns, names)})


def _refuse_in_cells(session: Session) -> None:
    if session.is_running:
        raise RuntimeError("a cell is running and may use them: release them after it")


def _roots(one: LiveArray) -> list[str]:
    """The variables and outputs, without the ways from them."""
    names = [found.group() for name in one.names if (found := re.match(r"\w+", name))]
    return [*dict.fromkeys(names), *(f"Out[{number}]" for number in one.outputs)]


def _no_arrays() -> dict[str, Any]:
    return {
        "rows": [],
        "left_out": 0,
        "left_out_bytes": 0,
        "count": 0,
        "bytes": 0,
        "devices": [],
        "text": "no platform runs yet",
    }
