"""Reporting executions: both from Python, on a miss, and from the C++ path, on a hit.

A hit never enters Python, so it is seen through jaxlib's post-call hook, which costs a Python
call each time; the hook is in place only while someone listens to ``Executed``.  Dispatch is
asynchronous: the event says that work was handed over, not that it is done.
"""

from typing import Any

from jxkernel import events
from jxkernel._jaxlib import ArrayImpl
from jxkernel.config import post_hook
from jxkernel.tree import registry

__all__ = ["report_execution", "watch_executions"]


def report_execution(name: str, device: Any) -> None:
    """Report that a program was handed to a device."""
    events.emit(events.Executed, fun=name, platform=device.platform, devices=(device.id,))


def _after_call(function: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Report a call that C++ answered."""
    for leaf in registry.flatten(out)[0]:
        if type(leaf) is ArrayImpl:
            report_execution(function.__name__, next(iter(leaf.sharding._internal_device_list)))
            return


def _set_hook(wanted: bool) -> None:
    post_hook.set_global(_after_call if wanted else None)


def watch_executions() -> None:
    """Keep the hook in place while, and only while, someone listens; called once at start-up."""
    events.on_interest_change(events.Executed, _set_hook)
