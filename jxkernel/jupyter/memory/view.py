"""The memory view: live arrays with their holders, and what each device holds."""

from __future__ import annotations

from collections.abc import Sequence

from jxkernel.jupyter.errors.out_of_memory import Shortage
from jxkernel.jupyter.views.html import page, pre
from jxkernel.jupyter.views.tables import ROWS, stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import LiveArray, LiveMemory, MemoryEstimate
from jxkernel.observe.explain import format_size

__all__ = ["estimate_view", "memory_view", "shortage_view"]

_SHOWN_HOLDERS = 4


def memory_view(found: LiveMemory, most: int = ROWS) -> View:
    """Return the view of what is held on the devices.

    Args:
      found: the arrays and devices.
      most: how many arrays are listed; the others are counted.
    """
    count = len(found.arrays)
    title = f"{count} live array{'' if count == 1 else 's'}, {format_size(found.bytes)}"
    if any("*[" in one.type for one in found.arrays[:most]):
        title += (
            " (* is a weak type: made from Python numbers, it takes the dtype of what it meets)"
        )
    rows = [
        (
            _listed([*one.names, *(f"Out[{number}]" for number in one.outputs)]),
            one.type,
            "deleted" if one.deleted else format_size(one.bytes),
            _listed(one.devices),
            _others(one),
        )
        for one in found.arrays[:most]
    ]
    if count > most:
        rest = sum(one.bytes for one in found.arrays[most:])
        rows.append((f"{count - most:,} smaller ones", "", format_size(rest), "", ""))
    head = ("Held by", "Type", "Size", "Device", "And by")
    devices = [
        (
            one.device,
            one.arrays,
            format_size(one.array_bytes),
            "" if one.in_use is None else format_size(one.in_use),
            "" if one.limit is None else format_size(one.limit),
            "" if one.free is None else format_size(one.free),
        )
        for one in found.devices
    ]
    about = ("Device", "Arrays", "Their size", "In use", "Limit", "Free")
    return stacked_view(
        "memory",
        {
            "arrays": table_view(title, head, rows, numeric=(2,)),
            "devices": table_view("Devices", about, devices, numeric=(1, 2, 3, 4, 5)),
        },
    )


def estimate_view(call: str, found: MemoryEstimate) -> View:
    """Return the view of what a call would take."""
    rows = [
        ("arguments", format_size(found.arguments)),
        ("results", format_size(found.results)),
        ("results in donated arguments", format_size(found.aliased)),
        ("temporary", format_size(found.temporary)),
        ("code", format_size(found.code)),
        ("peak", format_size(found.peak)),
        ("free now", "unknown" if found.free is None else format_size(found.free)),
    ]
    return stacked_view(
        "memory-estimate",
        {
            "parts": table_view(f"Memory of {call}, not run", ("", "Size"), rows, numeric=(1,)),
            "verdict": text_view("", found.verdict()),
        },
    )


def shortage_view(found: Shortage, token: str) -> View:
    """Return the view of what may be freed before a cell runs again.

    Args:
      found: what was asked for, and what holds memory.
      token: names the session that it shows.
    """
    text = f"To free memory: %jx free {', '.join(one.name for one in found.offered)}"
    offered = [{"name": one.name, "bytes": one.bytes} for one in found.offered]
    return View("shortage", text, page(pre(text)), {"token": token, "offered": offered})


def _others(array: LiveArray) -> str:
    if array.held_by:
        return _listed(array.holders)
    return "no variable: work under way, or compiled code"


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _SHOWN_HOLDERS
    return ", ".join(texts[:_SHOWN_HOLDERS]) + (f" and {more} more" if more > 0 else "")
