"""PJRT clients, made on first use, and the devices they own."""

import threading
from functools import cache
from typing import Any

from jxkernel import config
from jxkernel._jaxlib import SingleDeviceSharding, make_cpu_client
from jxkernel.runtime.multiprocess import joined, make_joined_cpu

__all__ = [
    "Backend",
    "backend",
    "backends",
    "clear_backends",
    "default_device",
    "devices",
    "drop_stale_cpu",
    "local_devices",
    "sharding_on",
]

Backend = Any
"""A PJRT client of jaxlib."""

_lock = threading.Lock()
_clients: dict[str, Any] = {}
_asked: dict[str, int] = {}


def _make_cpu() -> Any:
    count = _asked["cpu"] = config.num_cpu_devices.value
    group = joined()
    if group is not None:
        return make_joined_cpu(group, count if count > 0 else None)
    return make_cpu_client(
        num_devices=count if count > 0 else None,
        asynchronous=config.cpu_enable_async_dispatch.value,
    )


_FACTORIES = {"cpu": _make_cpu}


def backend(platform: str | None = None) -> Any:
    """Return the client of a platform, making it on first use; None means the default one.

    Raises:
      RuntimeError: the platform is unknown here.
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
        factory = _FACTORIES.get(name)
        if factory is None:
            known = ", ".join(sorted(_FACTORIES))
            raise RuntimeError(f"Unknown backend {name!r}: this process can use {known}.")
        client = _clients[name] = factory()
        return client


def default_platform() -> str:
    """Return the platform used where none is asked for."""
    wanted = config.platforms.value or config.platform_name.value
    return wanted.split(",")[0] if wanted else "cpu"


def backends() -> dict[str, Any]:
    """Return the clients that are running, by platform."""
    return dict(_clients)


def clear_backends() -> None:
    """Drop every client; arrays on them stay alive, new work makes new clients."""
    with _lock:
        _clients.clear()
        _asked.clear()
        sharding_on.cache_clear()


def drop_stale_cpu() -> bool:
    """Drop the CPU's client if another number of devices is wanted than it was made with.

    Returns:
      whether it was dropped.  Arrays on its devices stay alive and usable.
    """
    with _lock:
        if _asked.get("cpu") in (None, config.num_cpu_devices.value):
            return False
        sharding_on.cache_clear()
        del _asked["cpu"]
        return _clients.pop("cpu", None) is not None


def devices(platform: str | None = None) -> list[Any]:
    """Return the devices of a platform, all processes' included.

    >>> import jxkernel as jx
    >>> [device.platform for device in jx.devices("cpu")][:1]
    ['cpu']
    """
    return list(backend(platform).devices())


def local_devices(platform: str | None = None) -> list[Any]:
    """Return the devices of a platform that belong to this process.

    >>> import jxkernel as jx
    >>> jx.local_devices() == jx.devices()
    True
    """
    return list(backend(platform).local_devices())


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
