"""`%jx devices`, `backend` and `virtual`: what computes, and how much memory it has.

Purpose: list devices, choose one, and make virtual ones.

Place in the pipeline: between `magics.jx` and `runtime`.

Must not know: how a line is split into subcommands, or how views are drawn.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from IPython.core.error import UsageError

from jxkernel import runtime, tree
from jxkernel.config import config
from jxkernel.jupyter.display import View, table_view
from jxkernel.jupyter.session import Session
from jxkernel.observe.explain import format_size
from jxkernel.runtime import arrays_in

__all__ = ["backend", "devices", "virtual"]


_MOST_DEVICES = 64


def devices(session: Session, words: str = "") -> View:
    """Returns the devices of the running platforms, with their memory where it is known.

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
    head = ("device", "kind", "in use", "limit", "")
    return table_view("devices", head, rows, numeric=(2, 3))


def backend(session: Session, words: str) -> View:
    """Chooses the default device, `cpu` or `cpu:1`, and returns the devices.

    Raises:
      UsageError: there is no such platform or device.
    """
    if words:
        platform, _, number = words.partition(":")
        try:
            found = runtime.local_devices(backend=platform)
        except RuntimeError as error:
            raise UsageError(f"%jx backend: {error}") from None
        if number and (not number.isdigit() or int(number) >= len(found)):
            raise UsageError(
                f"%jx backend: there is no device {number!r} on {platform}, "
                f"which has 0 to {len(found) - 1}"
            )
        config.update("jax_default_device", found[int(number or 0)])
    return devices(session)


def virtual(session: Session, words: str) -> View:
    """Gives this process that many CPU devices, and returns the devices.

    What is compiled is forgotten.  Arrays on the devices before stay alive and usable there; with
    ``move`` those that variables hold go to the first of the new devices.

    Raises:
      UsageError: the word is not a number from 1 to 64, or the second one not ``move``.
    """
    number, *rest = words.split() or [""]
    if not number.isdigit() or not 1 <= int(number) <= _MOST_DEVICES or rest not in ([], ["move"]):
        raise UsageError(
            f"%jx virtual: give a number of CPU devices from 1 to {_MOST_DEVICES}, and `move` to "
            "move the arrays that variables hold"
        )
    config.update("jax_num_cpu_devices", int(number))
    if rest:
        _move_variables(session.shell.user_ns)
    return devices(session)


def _move_variables(namespace: dict[str, Any]) -> None:
    """Put the arrays that variables hold, alone or in trees, where new arrays are made."""
    client = runtime.default_device().client
    for name, value in list(namespace.items()):
        held = arrays_in(value)
        if not name.startswith("_") and any(_elsewhere(array, client) for array in held):
            namespace[name] = tree.map(partial(_moved, client=client), value)


def _elsewhere(array: Any, client: Any) -> bool:
    on_cpu = array.platform() == "cpu" and not array.is_deleted()
    return on_cpu and next(iter(array.sharding.device_set)).client is not client


def _moved(leaf: Any, client: Any) -> Any:
    if not isinstance(leaf, runtime.ArrayImpl) or not _elsewhere(leaf, client):
        return leaf
    return runtime.device_put_single(leaf, runtime.default_device())


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
