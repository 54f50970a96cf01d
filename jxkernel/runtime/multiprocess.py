"""Joining processes that run one program together, through XLA's coordination service.

Process 0 holds the service; each process connects a client to it.  Clients of platforms made
afterwards know the devices of all processes; on the CPU, collectives go over TCP (gloo).
"""

from __future__ import annotations

import atexit
import threading
from typing import Any

from jxkernel import config
from jxkernel._jaxlib import (
    get_distributed_runtime_client,
    get_distributed_runtime_service,
    make_cpu_client,
    make_gloo_tcp_collectives,
)
from jxkernel.records import record

__all__ = ["Group", "join", "joined", "leave", "make_joined_cpu"]


@record()
class Group:
    """The processes that this one runs programs with.

    Attributes:
      address: the coordinator's, ``host:port``.
      rank: the number of this process.
      size: the number of processes.
      client: the connection to the service.
      service: the service itself, in process 0.
    """

    address: str
    rank: int
    size: int
    client: Any
    service: Any = None


class _State:
    """The group of this process; None where it works alone."""

    group: Group | None = None


_state = _State()
_lock = threading.Lock()


def joined() -> Group | None:
    """Return the group of this process, or None."""
    return _state.group


def join(
    address: str,
    size: int,
    rank: int,
    *,
    bind: str | None = None,
    initialization_timeout: int,
    heartbeat_timeout: int,
    shutdown_timeout: int,
) -> Group:
    """Join a group of processes and wait until all have.

    Raises:
      RuntimeError: this process is in a group already.
      JaxRuntimeError: the others do not come in time.
    """
    with _lock:
        if _state.group is not None:
            raise RuntimeError(
                "distributed.initialize should only be called once: this process is number "
                f"{_state.group.rank} of {_state.group.size} at {_state.group.address}"
            )
        service = None
        if rank == 0:
            service = get_distributed_runtime_service(
                bind or f"[::]:{address.rpartition(':')[2]}",
                size,
                heartbeat_timeout=heartbeat_timeout,
                shutdown_timeout=shutdown_timeout,
                recoverable=False,
            )
        client = get_distributed_runtime_client(
            address,
            rank,
            init_timeout=initialization_timeout,
            heartbeat_timeout=heartbeat_timeout,
            shutdown_timeout=shutdown_timeout,
            use_compression=True,
        )
        client.connect()
        atexit.register(leave)
        _state.group = Group(address, rank, size, client, service)
        return _state.group


def leave() -> None:
    """Leave the group; process 0 ends the service.  Without a group nothing happens."""
    with _lock:
        group, _state.group = _state.group, None
        if group is None:
            return
        group.client.shutdown()
        if group.service is not None:
            group.service.shutdown()


def make_joined_cpu(group: Group, devices: int | None) -> Any:
    """Return a CPU client that knows the devices of every process of a group."""
    host = group.address.rpartition(":")[0]
    hostname = "localhost" if host in ("localhost", "127.0.0.1", "[::1]") else None
    collectives = make_gloo_tcp_collectives(distributed_client=group.client, hostname=hostname)
    return make_cpu_client(
        asynchronous=config.cpu_enable_async_dispatch.value,
        distributed_client=group.client,
        node_id=group.rank,
        num_nodes=group.size,
        collectives=collectives,
        num_devices=devices,
    )
