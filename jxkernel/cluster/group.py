"""Joining a group whose service runs elsewhere, and leaving it with what is left of it."""

from __future__ import annotations

import gc
import os
import socket
import time
from typing import Any

from jxkernel import runtime
from jxkernel._jaxlib import version_text
from jxkernel._version import __version__
from jxkernel.cluster.credentials import Credentials
from jxkernel.cluster.service import DAY_SECONDS
from jxkernel.config import launch_hook
from jxkernel.errors import ClusterError

__all__ = ["COLLECTIVE_SECONDS", "join", "leave"]

COLLECTIVE_SECONDS = 120
"""After how long a collective gives up a rank that has not come, unless ``XLA_FLAGS`` say."""

_FLAG = "--xla_cpu_collective_timeout_seconds"
_VERSIONS_KEY = "jxkernel/versions/{}"
_LOOK_SECONDS = 0.1


def join(
    rank: int,
    n: int,
    address: str,
    *,
    timeout: float = 60.0,
    credentials: Credentials | None = None,
) -> None:
    """Join this process to a group, whose service runs at an address.

    Any launcher may call it: in each of ``n`` processes once, with another rank.  Devices that
    were in use before are given up; arrays on them can still be read.

    Args:
      rank: the number of this process, from 0.
      n: the number of processes.
      address: the service's, ``host:port``: see ``Service``.
      timeout: how many seconds to wait for the service.
      credentials: where the service has some, those of this process.

    Raises:
      ValueError: the number of processes or of this one is wrong, or the address is none.
      FileNotFoundError: a file of the credentials is not there.
      ClusterError: nothing answers at the address, this process has joined before, or the ranks
        run different versions.
    """
    if n < 1 or not 0 <= rank < n:
        raise ValueError(f"rank must be from 0 to n - 1 and n at least 1, got rank {rank} of {n}")
    group = runtime.joined()
    if group is not None:
        raise ClusterError(
            f"This process is rank {group.rank} of {group.size} at {group.address} already.",
            instead="Leave with jxkernel.cluster.leave() first.",
        )
    tls = {} if credentials is None else credentials.arguments()
    _await_service(address, timeout)
    _give_up_late()
    runtime.clear_backends()
    group = runtime.join(
        address,
        n,
        rank,
        is_served=True,
        initialization_timeout=DAY_SECONDS,
        heartbeat_timeout=DAY_SECONDS,
        shutdown_timeout=1,
        tls=tls,
    )
    try:
        _compare_versions(group, timeout)
    except ClusterError:
        leave()
        raise


def leave() -> None:
    """Leave the group; further work runs on this process's own devices alone.

    Arrays over devices of other processes can only be read where they are whole here.
    """
    if runtime.forget() is not None:
        launch_hook.set_global(None)
        runtime.clear_backends()
        gc.collect()


def _await_service(address: str, timeout: float) -> None:
    """Wait until something listens: a client that meets nobody ends its process."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"address must be 'host:port', got {address!r}")
    deadline = time.monotonic() + timeout
    while True:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=1).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"No coordination service answers at {address}: {error}.",
                    instead="Start one with jxkernel.cluster.Service(n) and give its address.",
                ) from None
        time.sleep(_LOOK_SECONDS)


def _give_up_late() -> None:
    """Have collectives end with an error when a rank does not come; read with the first client."""
    flags = os.environ.get("XLA_FLAGS", "")
    if _FLAG not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_FLAG}={COLLECTIVE_SECONDS}".strip()


def _compare_versions(group: Any, timeout: float) -> None:
    own = f"jxkernel {__version__}, jaxlib {version_text}"
    group.client.key_value_set(_VERSIONS_KEY.format(group.rank), own)
    wait_ms = int(timeout * 1000)
    get, ranks = group.client.blocking_key_value_get, range(group.size)
    versions = [get(_VERSIONS_KEY.format(rank), wait_ms) for rank in ranks]
    if len(set(versions)) > 1:
        listed = "; ".join(f"rank {rank}: {said}" for rank, said in enumerate(versions))
        raise ClusterError(
            f"The ranks run different versions: {listed}.",
            instead="Install the same versions everywhere.",
        )
