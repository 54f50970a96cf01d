"""Events that programs and libraries send each other: counts, durations and numbers by name.

What jxkernel itself does is told by ``jxkernel.events``, whose events have types; none of them
comes here.
"""

from collections.abc import Callable
from typing import Any

__all__ = [
    "clear_event_listeners",
    "record_event",
    "record_event_duration_secs",
    "record_event_time_span",
    "record_scalar",
    "register_event_duration_secs_listener",
    "register_event_listener",
    "register_event_time_span_listener",
    "register_scalar_listener",
    "unregister_event_duration_listener",
    "unregister_event_listener",
    "unregister_event_time_span_listener",
    "unregister_scalar_listener",
]

Listener = Callable[..., None]

_listeners: dict[str, list[Listener]] = {kind: [] for kind in ("event", "secs", "span", "scalar")}


def _send(kind: str, event: str, *values: Any, **metadata: str | int) -> None:
    for listener in tuple(_listeners[kind]):
        listener(event, *values, **metadata)


def _drop(kind: str, callback: Listener) -> None:
    if callback not in _listeners[kind]:
        raise ValueError(f"{callback!r} is not registered, so it cannot be taken away")
    _listeners[kind].remove(callback)


def record_event(event: str, **kwargs: str | int) -> None:
    """Tell the listeners that an event happened.

    Args:
      event: its name, such as ``/mine/saved``.
      **kwargs: what else is to be told.

    >>> from jxkernel import monitoring
    >>> monitoring.register_event_listener(lambda event, **more: print(event, more))
    >>> monitoring.record_event("/mine/saved", step=3)
    /mine/saved {'step': 3}
    >>> monitoring.clear_event_listeners()
    """
    _send("event", event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Tell the listeners of durations that an event took some seconds."""
    _send("secs", event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Tell the listeners of time spans when an event began and ended."""
    _send("span", event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Tell the listeners of numbers what a number is now."""
    _send("scalar", event, value, **kwargs)


def register_event_listener(callback: Listener) -> None:
    """Have events told to ``callback(event, **metadata)``."""
    _listeners["event"].append(callback)


def register_event_duration_secs_listener(callback: Listener) -> None:
    """Have durations told to ``callback(event, seconds, **metadata)``."""
    _listeners["secs"].append(callback)


def register_event_time_span_listener(callback: Listener) -> None:
    """Have time spans told to ``callback(event, start_time, end_time, **metadata)``."""
    _listeners["span"].append(callback)


def register_scalar_listener(callback: Listener) -> None:
    """Have numbers told to ``callback(event, value, **metadata)``."""
    _listeners["scalar"].append(callback)


def unregister_event_listener(callback: Listener) -> None:
    """Tell a listener no more events.

    Raises:
      ValueError: it is not registered; the same holds of the three others.
    """
    _drop("event", callback)


def unregister_event_duration_listener(callback: Listener) -> None:
    """Tell a listener no more durations."""
    _drop("secs", callback)


def unregister_event_time_span_listener(callback: Listener) -> None:
    """Tell a listener no more time spans."""
    _drop("span", callback)


def unregister_scalar_listener(callback: Listener) -> None:
    """Tell a listener no more numbers."""
    _drop("scalar", callback)


def clear_event_listeners() -> None:
    """Forget all listeners."""
    for listeners in _listeners.values():
        listeners.clear()
