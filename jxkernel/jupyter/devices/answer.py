"""``%jx devices``, ``backend`` and ``virtual``: what computes, and how much memory it has."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError

from jxkernel import runtime
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import table_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import BackendSwitch
from jxkernel.observe.backends import MOST_CPU_DEVICES
from jxkernel.observe.explain import format_size

__all__ = ["backend", "devices", "virtual"]


def devices(session: Session, words: str = "") -> View:
    """Return the devices of the running platforms, with their memory where it is known.

    Installed plugins that are not running follow, with the reason.
    """
    runtime.default_device()
    rows = []
    for platform, client in runtime.backends().items():
        for device in client.local_devices():
            default = "default" if device == runtime.default_device() else ""
            rows.append((f"{platform}:{device.id}", device.device_kind, *_memory(device), default))
    rows += [
        (platform, wheel, "", "", state)
        for platform, wheel, state in runtime.plugin_states()
        if state != "running"
    ]
    head = ("Device", "Kind", "In use", "Limit", "")
    return table_view("Devices", head, rows, numeric=(2, 3))


def backend(session: Session, words: str) -> View:
    """Choose the default device, ``cpu`` or ``cpu:1``, and return the devices.

    Raises:
      UsageError: there is no such platform or device.
    """
    if words:
        try:
            BackendSwitch(session.shell.user_ns).apply({"device": words})
        except (ValueError, RuntimeError) as error:
            raise UsageError(f"%jx backend: {error}") from None
    return devices(session)


def virtual(session: Session, words: str) -> View:
    """Give this process that many CPU devices, and return the devices.

    What is compiled is forgotten.  Arrays on the devices before stay alive and usable there; with
    ``move`` those that variables hold go to the first of the new devices.

    Raises:
      UsageError: the word is not a number from 1 to 64, or the second one not ``move``.
    """
    number, *rest = words.split() or [""]
    is_right = number.isdecimal() and 1 <= int(number) <= MOST_CPU_DEVICES
    if not is_right or rest not in ([], ["move"]):
        raise UsageError(
            f"%jx virtual: give a number of CPU devices from 1 to {MOST_CPU_DEVICES}, and `move` "
            "to move the arrays that variables hold"
        )
    try:
        change = {"cpu_devices": int(number), "move": bool(rest)}
        BackendSwitch(session.shell.user_ns).apply(change)
    except RuntimeError as error:
        raise UsageError(f"%jx virtual: {error}") from None
    return devices(session)


def _memory(device: Any) -> tuple[str, str]:
    try:
        stats = device.memory_stats() or {}
    except Exception:  # a platform without memory statistics raises its own error
        stats = {}
    in_use, limit = stats.get("bytes_in_use"), stats.get("bytes_limit")
    return (
        format_size(in_use) if in_use is not None else "",
        format_size(limit) if limit else "",
    )
