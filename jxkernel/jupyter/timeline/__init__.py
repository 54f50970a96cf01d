"""The timeline: what ran when, recorded over cells."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Subcommand
from jxkernel.jupyter.timeline.answer import trace
from jxkernel.jupyter.timeline.payload import TimelinePayload

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "trace": Subcommand(
            trace,
            "start [FOLDER]|stop|memory [FILE]  profile of time, or of memory",
            ("start", "stop", "memory"),
        ),
    },
    payloads={"timeline": TimelinePayload},
)
