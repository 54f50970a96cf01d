"""What the view of a profile sends."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["LanePayload", "NamedTimePayload", "ShareLinePayload", "SlicePayload", "TimelinePayload"]


class SlicePayload(TypedDict):
    """A stretch of a lane; ``hue`` is the colour of its stage or its line, in degrees."""

    name: str
    hue: int
    start_ns: float
    duration_ns: float
    program: str
    origin: str
    spots: list[str]


class LanePayload(TypedDict):
    """A lane of a timeline; ``count`` counts its slices, sent or not."""

    name: str
    kind: str
    count: int
    slices: list[SlicePayload]


class NamedTimePayload(TypedDict):
    """Time on the device, by cell."""

    name: str
    device_ns: int


class ShareLinePayload(TypedDict):
    """Time on the device, by line; ``source`` is its text."""

    line: str
    source: str
    total_ns: int
    share: float


class TimelinePayload(TypedDict):
    """A profile."""

    duration_ns: int
    device_ns: int
    cells: list[NamedTimePayload]
    lanes: list[LanePayload]
    lines: list[ShareLinePayload]
    files: list[str]
