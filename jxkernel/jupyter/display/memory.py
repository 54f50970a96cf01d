"""The memory view: live arrays with their holders, and what each device holds.

Purpose: show what `observe.live` found.

Place in the pipeline: a view of `jupyter.display`; `%jx live` and `%jx report` use it.

Must not know: how holders are found.
"""

from __future__ import annotations

from collections.abc import Sequence

from jxkernel.jupyter.display.tables import stacked_view, table_view
from jxkernel.jupyter.display.view import View
from jxkernel.observe import LiveArray, LiveMemory
from jxkernel.observe.explain import format_size

__all__ = ["memory_view"]

_SHOWN_HOLDERS = 4


def memory_view(found: LiveMemory) -> View:
    """Returns the view of what is held on the devices."""
    count = len(found.arrays)
    title = f"{count} live array{'' if count == 1 else 's'}, {format_size(found.bytes)}"
    rows = [
        (
            _listed([*one.names, *(f"Out[{number}]" for number in one.outputs)]),
            one.type,
            "deleted" if one.deleted else format_size(one.bytes),
            _listed(one.devices),
            _others(one),
        )
        for one in found.arrays
    ]
    head = ("held by", "type", "size", "device", "and by")
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
    about = ("device", "arrays", "their size", "in use", "limit", "free")
    return stacked_view(
        "memory",
        {
            "arrays": table_view(title, head, rows, numeric=(2,)),
            "devices": table_view("devices", about, devices, numeric=(1, 2, 3, 4, 5)),
        },
    )


def _others(array: LiveArray) -> str:
    if array.held_by:
        return _listed(array.holders)
    return "no variable: work under way, or compiled code"


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _SHOWN_HOLDERS
    return ", ".join(texts[:_SHOWN_HOLDERS]) + (f" and {more} more" if more > 0 else "")
