"""Memory: live arrays, their holders, and what a call would take."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Request, Subcommand
from jxkernel.jupyter.memory import requests
from jxkernel.jupyter.memory.answer import free, leaks, live, memory
from jxkernel.jupyter.memory.payload import MemoryPayload, ShortagePayload
from jxkernel.observe import Freeing, LiveArray

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "memory": Subcommand(
            memory, "[F(ARGS)]  what a call would take before it runs; or live arrays"
        ),
        "live": Subcommand(
            live, "live arrays: variables, outputs, other holders, totals by device"
        ),
        "leaks": Subcommand(leaks, "tracers that outlived their trace: what holds them"),
        "free": Subcommand(
            free,
            "NAMES|Out[N]|tracebacks  delete the arrays that variables, outputs or the latest "
            "error hold",
        ),
    },
    requests={
        "live": Request(requests.live, requests.LiveAnswer),
        "freeing": Request(requests.freeing, requests.FreeAnswer),
        "free": Request(requests.free, requests.FreeAnswer),
        "make_room": Request(requests.make_room, requests.RoomAnswer),
    },
    payloads={"memory": MemoryPayload, "shortage": ShortagePayload},
    extended={requests.LiveRow: LiveArray, requests.FreeAnswer: Freeing},
)
