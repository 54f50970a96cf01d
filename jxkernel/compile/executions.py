"""Reporting executions: both from Python, on a miss, and from the C++ path, on a hit.

A hit never enters Python, so it is seen through jaxlib's post-call hook, which costs a Python
call each time; the hook is in place only while someone listens to ``Executed``.  Dispatch is
asynchronous: the event says that work was handed over, not that it is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from jxkernel import events
from jxkernel._jaxlib import ArrayImpl
from jxkernel.config import post_hook
from jxkernel.tree.nodes import physical_registry

__all__ = ["LatestOutputs", "latest_outputs", "report_execution", "watch_executions"]


class LatestOutputs:
    """The outputs of the latest executions, kept to wait until the work under way is done.

    An output that nobody keeps could not be awaited: its array is gone before it exists.
    Outputs are kept between ``keep`` and ``clear`` alone.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: deque[Any] = deque(maxlen=0)

    def keep(self, count: int) -> None:
        """Begin to keep that many outputs, of executions that someone listens to."""
        self._kept = deque(maxlen=count)

    def add(self, outs: Sequence[Any]) -> None:
        """Keep the outputs of an execution."""
        self._kept.extend(outs)

    def clear(self) -> list[Any]:
        """Return the outputs that are kept, and keep none from now on."""
        kept, self._kept = list(self._kept), deque(maxlen=0)
        return kept


latest_outputs = LatestOutputs()


def report_execution(name: str, device: Any, outs: Sequence[Any]) -> None:
    """Report that a program was handed to a device, and what it will give."""
    latest_outputs.add(outs)
    events.emit(events.Executed, fun=name, platform=device.platform, devices=(device.id,))


def _after_call(function: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Report a call that C++ answered."""
    leaves = [leaf for leaf in physical_registry.flatten(out)[0] if type(leaf) is ArrayImpl]
    if leaves:
        device = next(iter(leaves[0].sharding._internal_device_list))
        report_execution(function.__name__, device, leaves)


def _set_hook(wanted: bool) -> None:
    post_hook.set_global(_after_call if wanted else None)


def watch_executions() -> None:
    """Keep the hook in place while, and only while, someone listens; called once at start-up."""
    events.on_interest_change(events.Executed, _set_hook)
