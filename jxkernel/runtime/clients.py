"""PJRT clients, made on first use, and the devices they own.

The CPU is part of jaxlib; every other platform is a plugin (``plugins``, ``accelerators``).  Where
no platform is asked for, the default is an accelerator of which the machine shows a sign and whose
plugin starts, else the CPU: a plugin that is broken costs a warning, never the CPU.
"""

from __future__ import annotations

import threading
import warnings
from functools import cache
from typing import Any

from jxkernel import config
from jxkernel._jaxlib import SingleDeviceSharding, make_cpu_client
from jxkernel._lazy import late_function
from jxkernel.runtime.multiprocess import joined, make_joined_cpu
from jxkernel.runtime.plugins import (
    PluginError,
    find_plugin,
    hinted_platforms,
    how_to_install,
    installed_plugins,
)

__all__ = [
    "Backend",
    "backend",
    "backends",
    "clear_backends",
    "default_device",
    "default_platform",
    "drop_stale_cpu",
    "former_clients",
    "is_current",
    "platform_of",
    "plugin_states",
    "sharding_on",
]

start_plugin = late_function("jxkernel.runtime.accelerators", "start_plugin")

Backend = Any
"""A PJRT client of jaxlib."""

_lock = threading.Lock()
_clients: dict[str, Any] = {}
_former: list[Any] = []
"""Clients of another number of devices than is wanted now, while arrays of theirs are alive."""
_asked: dict[str, int] = {}
_failed: dict[str, PluginError] = {}


def _make_cpu() -> Any:
    count = _asked["cpu"] = config.num_cpu_devices.value
    group = joined()
    if group is not None:
        return make_joined_cpu(group, count if count > 0 else None)
    return make_cpu_client(
        num_devices=count if count > 0 else None,
        asynchronous=config.cpu_enable_async_dispatch.value,
    )


def backend(platform: str | None = None) -> Any:
    """Return the client of a platform, making it on first use; None means the default one.

    Args:
      platform: ``cpu``, ``cuda``, ``rocm``, ``gpu`` (either), ``tpu``, or the name that another
        plugin has among its entry points.

    Raises:
      RuntimeError: no plugin of the platform is installed, or it did not start; the message says
        why, and what to install.
    """
    name = platform or default_platform()
    client = _clients.get(name)
    if client is None:
        client = _start(name)
    return client


def _start(name: str) -> Any:
    with _lock:
        if name in _clients:
            return _clients[name]
        if name == "cpu":
            client = _clients[name] = _make_cpu()
            return client
        plugin = find_plugin(name)
        if plugin is None:
            raise RuntimeError(_unknown(name))
        if plugin.platform in _failed:
            raise RuntimeError(f"Backend {name!r}: {_failed[plugin.platform]}")
        if plugin.platform in _clients:
            return _clients[plugin.platform]
        try:
            client = _clients[plugin.platform] = start_plugin(plugin)
        except PluginError as error:
            _failed[plugin.platform] = error
            raise RuntimeError(f"Backend {name!r}: {error}") from error
        return client


def _unknown(name: str) -> str:
    known = ", ".join(["cpu", *dict.fromkeys([one.platform for one in installed_plugins()])])
    install = how_to_install(name)
    advice = f" Its plugin is not installed: {install}" if install else ""
    return f"Unknown backend {name!r}: this process can use {known}.{advice}"


def default_platform() -> str:
    """Return the platform used where none is asked for."""
    wanted = config.platforms.value or config.platform_name.value
    return wanted.split(",")[0] if wanted else _found_platform()


@cache
def _found_platform() -> str:
    """Return the first accelerator that the machine has and that starts; else the CPU."""
    for name in hinted_platforms():
        if find_plugin(name) is None:
            continue
        try:
            backend(name)
        except RuntimeError as error:
            warnings.warn(f"Working on the CPU. {error}", RuntimeWarning, stacklevel=2)
            continue
        return name
    return "cpu"


def platform_of(device: Any) -> str:
    """Return what programs for a device are lowered for: ``cpu``, ``cuda``, ``rocm`` or ``tpu``.

    A device of either kind of GPU calls its platform ``gpu``.
    """
    return device.client._raw_platform if device.platform == "gpu" else device.platform


def plugin_states() -> list[tuple[str, str, str]]:
    """Return, for each installed plugin, its platform, its wheel, and how it is.

    The last is ``running``, ``not started``, or the reason why it did not start.
    """
    return [
        (
            plugin.platform,
            plugin.named(),
            "running"
            if plugin.platform in _clients
            else str(_failed.get(plugin.platform, "not started")),
        )
        for plugin in installed_plugins()
    ]


def backends() -> dict[str, Any]:
    """Return the clients that are running, by platform."""
    return dict(_clients)


def is_current(device: Any) -> bool:
    """Return whether a device is of a running client: none made before ``clear_backends``.

    Arrays on other devices can be read, and used with one another.
    """
    return any(device.client is client for client in list(_clients.values()))


def former_clients(platform: str) -> list[Any]:
    """Return the clients of a platform that were dropped, and whose arrays are still alive."""
    with _lock:
        _former[:] = [one for one in _former if one.live_arrays()]
        return [one for one in _former if one.platform == platform]


def clear_backends() -> None:
    """Drop every client; arrays on them stay alive, new work makes new clients."""
    with _lock:
        _clients.clear()
        _asked.clear()
        _failed.clear()
        installed_plugins.cache_clear()
        _found_platform.cache_clear()
        sharding_on.cache_clear()


def drop_stale_cpu() -> bool:
    """Drop the CPU's client if another number of devices is wanted than it was made with.

    Where one of its devices was the default, the new one of that number is, or the first.

    Returns:
      whether it was dropped.  Arrays on its devices stay alive and usable.
    """
    with _lock:
        if _asked.get("cpu") in (None, config.num_cpu_devices.value):
            return False
        sharding_on.cache_clear()
        del _asked["cpu"]
        dropped = _clients.pop("cpu", None)
    if dropped is not None:
        if dropped.live_arrays():
            _former.append(dropped)
        _renew_default(dropped)
    return dropped is not None


def _renew_default(dropped: Any) -> None:
    wanted = config.default_device.get_global()
    if wanted is None or isinstance(wanted, str) or wanted.client is not dropped:
        return
    place = list(dropped.local_devices()).index(wanted)
    renewed = backend("cpu").local_devices()
    found = renewed[place] if place < len(renewed) else renewed[0]
    config.config.update("jax_default_device", found)


def default_device() -> Any:
    """Return the device that uncommitted work runs on.

    Raises:
      RuntimeError: the configured default names an unknown platform.
    """
    wanted = config.default_device.value
    if wanted is None:
        return backend().local_devices()[0]
    if isinstance(wanted, str):
        return backend(wanted).local_devices()[0]
    return wanted


@cache
def sharding_on(device: Any) -> Any:
    """Return the sharding of arrays that lie whole on one device (one object per device)."""
    return SingleDeviceSharding(device)
