"""PJRT clients, made on first use, and the devices they own.

The CPU is part of jaxlib; every other platform is a plugin (``plugins``, ``accelerators``).  Where
no platform is asked for, the default is an accelerator of which the machine shows a sign and whose
plugin starts, else the CPU: a plugin that is broken costs a warning, never the CPU.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from jxkernel import config
from jxkernel._jaxlib import SingleDeviceSharding, c_api_topology, make_cpu_client
from jxkernel._lazy import late_function
from jxkernel.records import record
from jxkernel.runtime.caches import clear_registered_caches
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
    "compiled_as",
    "default_device",
    "default_platform",
    "device_topology",
    "drop_stale_cpu",
    "former_clients",
    "is_current",
    "platform_of",
    "plugin_states",
    "register_backend_factory",
    "sharding_on",
]

load_interface = late_function("jxkernel.runtime.accelerators", "load_interface")
start_plugin = late_function("jxkernel.runtime.accelerators", "start_plugin")

Backend = Any
"""A PJRT client of jaxlib."""

_lock = threading.Lock()
_clients: dict[str, Any] = {}
_former: list[Any] = []
"""Clients of another number of devices than is wanted now, while arrays of theirs are alive."""
_asked: dict[str, int] = {}
_failed: dict[str, PluginError] = {}


@record()
class Factory:
    """What makes the client of a platform that somebody registered.

    Attributes:
      make: makes the client.
      priority: the default platform is the one with the greatest, where none is asked for and one
        has more than the CPU's 0.
      fail_quietly: whether such a platform is passed over where ``make`` fails.
      make_topology: gives jaxlib's description of devices by a name, or None.
    """

    make: Callable[[], Any]
    priority: int
    fail_quietly: bool
    make_topology: Callable[..., Any] | None


_factories: dict[str, Factory] = {}


def register_backend_factory(
    name: str,
    factory: Callable[[], Any],
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Callable[..., Any] | None = None,
    c_api: Any = None,
) -> None:
    """Give a platform of a name a function that makes its client, at the first use.

    Args:
      name: what the platform is asked for by: ``devices(name)``.
      factory: gives a PJRT client of jaxlib.
      priority: where no platform is asked for, the one with the greatest is the default; the CPU
        has 0, and comes first among equals.
      fail_quietly: whether a platform that would be the default is passed over where ``factory``
        raises.
      experimental: accepted; nothing is said of it.
      make_topology: gives jaxlib's ``DeviceTopology`` for a name of one and options, for
        ``experimental.topologies.get_topology_desc``.
      c_api: accepted; the client knows its interface.

    Raises:
      RuntimeError: a client of that name runs already.

    >>> from jaxlib import xla_client
    >>> from jxkernel.extend import backend
    >>> backend.register_backend_factory("two", lambda: xla_client.make_cpu_client(num_devices=2))

    Then ``jxkernel.devices("two")`` has two devices.
    """
    with _lock:
        if name in _clients:
            raise RuntimeError(
                f"register_backend_factory: a client of {name!r} runs already; register it before "
                "its first use, or call jxkernel.extend.backend.clear_backends()"
            )
        _factories[name] = Factory(factory, priority, fail_quietly, make_topology)
        _found_platform.cache_clear()


def device_topology(platform: str, name: str, options: Mapping[str, Any]) -> Any:
    """Return jaxlib's description of devices that need not be here.

    Args:
      platform: the platform.
      name: which devices, as the platform names them.
      options: what else it takes.

    Raises:
      NotImplementedError: the platform describes none.
      RuntimeError: no plugin of it is installed, or it does not load.
    """
    factory = _factories.get(platform)
    if factory is not None and factory.make_topology is not None:
        return factory.make_topology(name, **options)
    if factory is not None or platform == "cpu":
        raise NotImplementedError(
            f"topology not implemented for {platform}: register_backend_factory takes "
            "make_topology=; get_attached_topology() has the devices that are here"
        )
    plugin = find_plugin(platform)
    if plugin is None:
        raise RuntimeError(_unknown(platform))
    load_interface(plugin)
    return c_api_topology(platform, name, options)


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
        if name in _factories:
            client = _clients[name] = _factories[name].make()
            return client
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
    plugins = [one.platform for one in installed_plugins()]
    known = ", ".join(dict.fromkeys(["cpu", *_factories, *plugins]))
    install = how_to_install(name)
    advice = f" Its plugin is not installed: {install}" if install else ""
    return f"Unknown backend {name!r}: this process can use {known}.{advice}"


def default_platform() -> str:
    """Return the platform used where none is asked for."""
    wanted = config.platforms.value or config.platform_name.value
    return wanted.split(",")[0] if wanted else _found_platform()


@cache
def _found_platform() -> str:
    """Return what was registered to be before the CPU, else an accelerator; else the CPU.

    Each only where it starts.
    """
    first = sorted(_factories, key=lambda name: -_factories[name].priority)
    for name in [one for one in first if _factories[one].priority > 0]:
        if _starts(name):
            return name
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


def _starts(name: str) -> bool:
    """Whether the client of a registered platform can be made.

    Raises:
      Exception: what the platform's factory raises, unless it was registered to fail quietly.
    """
    try:
        backend(name)
    except Exception:
        if not _factories[name].fail_quietly:
            raise
        return False
    return True


def compiled_as(name: str) -> str:
    """Return the platform whose compiler serves a running client: its own, if it was registered."""
    return _clients[name].platform if name in _factories else name


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
    clear_registered_caches()
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
