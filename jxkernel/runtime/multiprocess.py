"""Joining processes that run one program together, through XLA's coordination service.

Process 0 holds the service, or one that runs no program does; each process connects a client to
it.  Clients of platforms made afterwards know the devices of all processes; on the CPU, collectives
go over TCP (gloo).
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jxkernel import config
from jxkernel._jaxlib import (
    get_distributed_runtime_client,
    get_distributed_runtime_service,
    make_cpu_client,
    make_gloo_tcp_collectives,
)
from jxkernel._lazy import late_function
from jxkernel.records import record

__all__ = ["Group", "forget", "join", "joined", "leave", "make_joined_cpu", "serve"]

check_address = late_function("jxkernel.runtime.addresses", "check_address")


@record()
class Group:
    """The processes that this one runs programs with.

    Attributes:
      address: the coordinator's, ``host:port``.
      rank: the number of this process.
      size: the number of processes.
      client: the connection to the service.
      service: the service itself, in process 0, unless it runs elsewhere.
      visible: the numbers of the devices that an accelerator of this process may use; None: all.
    """

    address: str
    rank: int
    size: int
    client: Any
    service: Any = None
    visible: tuple[int, ...] | None = None


class _State:
    """The group of this process; None where it works alone."""

    group: Group | None = None


_state = _State()
_lock = threading.Lock()


def joined() -> Group | None:
    """Return the group of this process, or None."""
    return _state.group


_NO_TLS: Mapping[str, str] = MappingProxyType({})


def serve(
    bind: str,
    size: int,
    *,
    heartbeat_timeout: int,
    shutdown_timeout: int,
    recoverable: bool,
    tls: Mapping[str, str] = _NO_TLS,
) -> Any:
    """Return a coordination service that listens at an address until its ``shutdown`` is called.

    Args:
      bind: where it listens, ``host:port``.
      size: how many processes it waits for.
      heartbeat_timeout: after how many seconds of silence a process counts as gone.
      shutdown_timeout: how many seconds a process that leaves waits for the others.
      recoverable: whether the others live on when one is gone; else they are ended.
      tls: jaxlib's arguments for mutual TLS.

    Raises:
      OSError: the port is taken, or the host is not this machine's.
    """
    check_address(bind)
    return get_distributed_runtime_service(
        bind,
        size,
        heartbeat_timeout=heartbeat_timeout,
        shutdown_timeout=shutdown_timeout,
        recoverable=recoverable,
        **tls,
    )


def join(
    address: str,
    size: int,
    rank: int,
    *,
    bind: str | None = None,
    is_served: bool = False,
    visible: tuple[int, ...] | None = None,
    initialization_timeout: int,
    heartbeat_timeout: int,
    shutdown_timeout: int,
    tls: Mapping[str, str] = _NO_TLS,
) -> Group:
    """Join a group of processes and wait until all have.

    Args:
      address: the coordinator's, ``host:port``.
      size: the number of processes.
      rank: the number of this one.
      bind: where process 0 listens; at the address where not given.
      is_served: whether the service runs already, in a process that is none of these.
      visible: the numbers of the devices that an accelerator of this process may use.
      initialization_timeout: how many seconds to wait for the others.
      heartbeat_timeout: after how many seconds of silence a process counts as gone.
      shutdown_timeout: how many seconds to wait for the others at the end.
      tls: jaxlib's arguments for mutual TLS.

    Raises:
      RuntimeError: this process is in a group already.
      OSError: it is to hold the service, and nothing can listen there.
      JaxRuntimeError: the others do not come in time.
    """
    timeouts: dict[str, Any] = {
        "heartbeat_timeout": heartbeat_timeout,
        "shutdown_timeout": shutdown_timeout,
    }
    with _lock:
        if _state.group is not None:
            raise RuntimeError(
                "distributed.initialize should only be called once: this process is number "
                f"{_state.group.rank} of {_state.group.size} at {_state.group.address}"
            )
        service = None
        if rank == 0 and not is_served:
            service = serve(bind or address, size, recoverable=False, **timeouts)
        client = get_distributed_runtime_client(
            address,
            rank,
            init_timeout=initialization_timeout,
            use_compression=True,
            **timeouts,
            **tls,
        )
        client.connect()
        atexit.register(forget if is_served else leave)
        _state.group = Group(address, rank, size, client, service, visible)
        return _state.group


def leave() -> None:
    """Leave the group; process 0 ends the service.  Without a group nothing happens."""
    group = forget()
    if group is None:
        return
    group.client.shutdown()
    if group.service is not None:
        group.service.shutdown()


def forget() -> Group | None:
    """Return the group and forget it, without telling the others: some may have ended."""
    with _lock:
        group, _state.group = _state.group, None
        return group


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
