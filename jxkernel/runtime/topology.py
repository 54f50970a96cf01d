"""Counts of devices and processes, live arrays, and the environment as text."""

from __future__ import annotations

import platform as machine
import sys
from typing import Any

import numpy as np

from jxkernel import _jaxlib, _version
from jxkernel.runtime.clients import (
    backend,
    default_platform,
    former_clients,
    plugin_states,
)

__all__ = [
    "default_backend",
    "device_count",
    "devices",
    "host_count",
    "host_id",
    "host_ids",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "print_environment_info",
    "process_count",
    "process_index",
    "process_indices",
]


def _client(given: Any) -> Any:
    if given is None or isinstance(given, str):
        return backend(given)
    if not isinstance(given, _jaxlib.Client):
        raise TypeError(f"a backend is named by a platform such as 'cpu', got {given!r:.100}")
    return given


def default_backend() -> str:
    """Return the name of the platform that is used where none is asked for, such as ``cpu``.

    >>> import jxkernel as jx
    >>> jx.default_backend() == jx.devices()[0].platform
    True
    """
    name = default_platform()
    return name if name == "cpu" else str(backend(name).platform)


def devices(backend: str | Any | None = None) -> list[Any]:
    """Return the devices of a platform, all processes' included.

    Args:
      backend: the platform's name; the default one where not given.

    Raises:
      RuntimeError: there is no such platform.

    >>> import jxkernel as jx
    >>> [device.platform for device in jx.devices("cpu")][:1]
    ['cpu']
    """
    return list(_client(backend).devices())


def local_devices(
    process_index: int | None = None,
    backend: str | Any | None = None,
    host_id: int | None = None,
) -> list[Any]:
    """Return the devices of a platform that belong to a process.

    Args:
      process_index: the process's number; this one's where not given.
      backend: the platform's name; the default one where not given.
      host_id: an earlier name of ``process_index``.

    Raises:
      RuntimeError: there is no such platform.
      ValueError: there is no such process.

    >>> import jxkernel as jx
    >>> jx.local_devices() == jx.devices()
    True
    """
    client = _client(backend)
    wanted = host_id if process_index is None else process_index
    if wanted is None:
        return list(client.local_devices())
    found = [device for device in client.devices() if device.process_index == wanted]
    if not found:
        raise ValueError(
            f"local_devices got process_index={wanted}: there are {process_indices(backend)}"
        )
    return found


def device_count(backend: str | Any | None = None) -> int:
    """Return how many devices a platform has, all processes' included.

    Args:
      backend: the platform's name; the default one where not given.

    >>> import jxkernel as jx
    >>> jx.device_count() == len(jx.devices())
    True
    """
    return int(_client(backend).device_count())


def local_device_count(backend: str | Any | None = None) -> int:
    """Return how many devices of a platform belong to this process.

    Args:
      backend: the platform's name; the default one where not given.

    >>> import jxkernel as jx
    >>> jx.local_device_count() == len(jx.local_devices())
    True
    """
    return int(_client(backend).local_device_count())


def process_index(backend: str | Any | None = None) -> int:
    """Return this process's number among those that run one program together; 0 if it is alone.

    Args:
      backend: the platform's name; the default one where not given.

    >>> import jxkernel as jx
    >>> jx.process_index()
    0
    """
    return int(_client(backend).process_index())


def process_indices(backend: str | Any | None = None) -> list[int]:
    """Return the numbers of all processes of a program.

    Args:
      backend: the platform's name; the default one where not given.

    >>> import jxkernel as jx
    >>> jx.process_indices()
    [0]
    """
    return sorted({device.process_index for device in _client(backend).devices()})


def process_count(backend: str | Any | None = None) -> int:
    """Return how many processes run one program together.

    Args:
      backend: the platform's name; the default one where not given.

    >>> import jxkernel as jx
    >>> jx.process_count()
    1
    """
    return len(process_indices(backend))


def host_id(backend: str | Any | None = None) -> int:
    """Return this process's number; ``process_index`` is today's name.

    >>> import jxkernel as jx
    >>> jx.host_id()
    0
    """
    return process_index(backend)


def host_ids(backend: str | Any | None = None) -> list[int]:
    """Return the numbers of all processes; ``process_indices`` is today's name.

    >>> import jxkernel as jx
    >>> jx.host_ids()
    [0]
    """
    return process_indices(backend)


def host_count(backend: str | Any | None = None) -> int:
    """Return how many processes there are; ``process_count`` is today's name.

    >>> import jxkernel as jx
    >>> jx.host_count()
    1
    """
    return process_count(backend)


def live_arrays(platform: str | None = None) -> list[Any]:
    """Return the arrays whose memory on a platform's devices is held now.

    They include arrays made before the platform got another number of devices.

    Args:
      platform: the platform's name; the default one where not given.

    >>> import jxkernel as jx
    >>> x = jx.numpy.ones(3)
    >>> any(array is x for array in jx.live_arrays())
    True
    """
    client = backend(platform)
    clients = [client, *former_clients(client.platform)]
    # Memory that is being taken over from another library is no array yet.
    return [array for one in clients for array in one.live_arrays() if array.aval is not None]


def print_environment_info(return_string: bool = False) -> str | None:
    """Print versions, devices and the machine, as a report of a problem should open.

    Args:
      return_string: whether to return the text instead.

    >>> import jxkernel as jx
    >>> jx.print_environment_info(return_string=True).splitlines()[0].split()[0]
    'jxkernel:'
    """
    devices = backend().devices()
    system = machine.uname()
    text = "\n".join(
        [
            f"jxkernel: {_version.__version__}",
            f"jaxlib: {'.'.join(map(str, _jaxlib.version))}",
            f"numpy: {np.__version__}",
            f"python: {sys.version}",
            f"devices: {len(devices)} x {devices[0].device_kind}, "
            f"{local_device_count()} of them local",
            f"processes: {process_count()}",
            *[f"plugin: {' '.join(state[:2])}: {state[2]}" for state in plugin_states()],
            f"platform: {system.system} {system.release} {system.machine}",
        ]
    )
    if return_string:
        return text
    sys.stdout.write(text + "\n")
    return None
