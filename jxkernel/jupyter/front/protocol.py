"""What the kernel and the lab extension say to each other, message by message.

Either side may be newer than the other: each message bears the version that it is written in. A
front end that meets a newer one says so and leaves it alone; a kernel syncs with any, and refuses
requests of other versions. Adding a field is no new version.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "TARGET",
    "VERSION",
    "Batch",
    "Device",
    "History",
    "Loaded",
    "Reply",
    "Request",
    "Status",
    "Sync",
    "Unloaded",
    "Work",
    "Working",
]

TARGET = "jxkernel"
"""The comm's target, on both sides; its id begins with it."""

VERSION = 1
"""The version of the messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """From a front end that joins, or comes back: asks for the status and the history."""

    type: Literal["sync"] = "sync"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """From a front end: asks for what ``Channel.answer`` was given under a name.

    Attributes:
      id: unique among all front ends; the reply bears it.
      name: what is asked for.
      arguments: by name.
    """

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    type: Literal["request"] = "request"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to a request: a value, or an error in words.

    Attributes:
      id: the request's.
      value: what was asked for; None where there is an error.
      error: why there is no answer; empty where there is one.
    """

    id: str
    value: Any = None
    error: str = ""
    type: Literal["reply"] = "reply"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of a platform that is running.

    Attributes:
      name: ``cpu:0``.
      kind: what it is in its maker's words.
    """

    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The extension was loaded: front ends that hear it join."""

    type: Literal["loaded"] = "loaded"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Unloaded:
    """The extension was unloaded: nothing more will come on this comm."""

    type: Literal["unloaded"] = "unloaded"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How the session is; sent to who joins, and when it has changed.

    Attributes:
      package: the version of jxkernel.
      platform: the default one, ``cpu``; empty until a platform is running.
      device: the default one, ``cpu:0``; empty likewise.
      devices: those of all running platforms.
      x64: whether 64-bit dtypes are on.
      recording: whether events are recorded.
      precision: of matrix products that name none; ``default`` where none is set.
      teaching: whether silent mistakes are told as lessons.
      marked: how many functions were traced whose cells do not show it: front ends ask for their
        marks.
    """

    package: str
    platform: str
    device: str
    devices: tuple[Device, ...]
    x64: bool
    recording: bool
    precision: str = "default"
    teaching: bool = False
    marked: int = 0
    type: Literal["status"] = "status"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A stage that has been under way for a while.

    Attributes:
      stage: ``tracing``, ``lowering`` or ``compiling``.
      fun: the function.
      eqns: how many equations there are so far; 0 when unknown.
      elapsed_ns: for how long.
    """

    stage: str
    fun: str
    eqns: int
    elapsed_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """What is under way; sent while it lasts, and once without work when it is over."""

    work: Work | None
    type: Literal["working"] = "working"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Events as they were recorded.

    Attributes:
      events: each with its ``kind``, its fields, ``cell``, ``when`` and ``self_ns``.
      dropped: how many were not sent since the history, for there were too many at once.
    """

    events: tuple[dict[str, Any], ...]
    dropped: int
    type: Literal["batch"] = "batch"
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The latest events, in the place of all that was sent before.

    Attributes:
      events: as in a batch.
      left_out: how many earlier ones there are.
      dropped: as in a batch.
    """

    events: tuple[dict[str, Any], ...]
    left_out: int
    dropped: int
    type: Literal["history"] = "history"
    version: int = VERSION
