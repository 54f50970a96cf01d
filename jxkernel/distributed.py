"""Running one program on several processes: joining them, and leaving.

Every process runs the same code and calls ``initialize`` before it uses a device.  Afterwards
``devices()`` lists the devices of all processes, a mesh may span them, and arrays over it are
made with ``make_array_from_process_local_data`` or ``device_put`` of the same data everywhere.
"""

import os
from collections.abc import Sequence
from typing import Any

from jxkernel.cluster import Found, detect
from jxkernel.runtime import backends, join, joined, leave

__all__ = ["initialize", "is_initialized", "shutdown"]


def initialize(
    coordinator_address: str | None = None,
    num_processes: int | None = None,
    process_id: int | None = None,
    local_device_ids: int | Sequence[int] | None = None,
    cluster_detection_method: str | None = None,
    initialization_timeout: int = 300,
    heartbeat_timeout_seconds: int = 100,
    shutdown_timeout_seconds: int = 300,
    coordinator_bind_address: str | None = None,
    **unused: Any,
) -> None:
    """Join this process with others that run the same program.

    Under Slurm, Open MPI and Kubernetes (indexed jobs) what is not given is taken from the
    variables that they set, as far as these say it.  When one process is gone XLA ends the others
    after the heartbeat's timeout; where they are to live on, see ``jxkernel.cluster``.

    Args:
      coordinator_address: ``host:port`` of process 0, the same in every process; the variable
        ``JAX_COORDINATOR_ADDRESS`` where not given.
      num_processes: how many processes there are.
      process_id: the number of this one, from 0.
      local_device_ids: the numbers of the GPUs that this process may use; all by default, and
        one for each process of a machine under Slurm and Open MPI.
      cluster_detection_method: the launcher to ask: ``slurm``, ``ompi`` or ``k8s``;
        ``deactivate`` asks none.
      initialization_timeout: how many seconds to wait for the others.
      heartbeat_timeout_seconds: after how many seconds of silence a process counts as gone.
      shutdown_timeout_seconds: how many seconds to wait for the others at the end.
      coordinator_bind_address: where process 0 listens; at ``coordinator_address`` by default.
      **unused: further arguments of other systems; refused unless None.

    Raises:
      ValueError: the address, the number of processes or of this one is missing or wrong.
      RuntimeError: devices are in use already, or this process has joined before.
      OSError: process 0 cannot listen at its address: the port is taken, or it is another
        machine's.
    """
    given = [name for name, value in unused.items() if value is not None]
    if given:
        raise ValueError(f"distributed.initialize does not know {', '.join(given)}")
    found = detect(os.environ, cluster_detection_method) or Found("")
    address = coordinator_address or os.environ.get("JAX_COORDINATOR_ADDRESS") or found.address
    size = found.size if num_processes is None else num_processes
    rank = found.rank if process_id is None else process_id
    if address is None or size is None or rank is None:
        raise ValueError(_missing(found, address, size, rank))
    if not address.rpartition(":")[2].isdigit():
        raise ValueError(f"coordinator_address must be 'host:port', got {address!r}")
    if not 0 <= rank < size:
        raise ValueError(f"process_id must be from 0 to {size - 1}, got {rank}")
    if backends():
        raise RuntimeError(
            "distributed.initialize must be called before any device is used: this process runs "
            f"{', '.join(backends())} already"
        )
    join(
        address,
        size,
        rank,
        bind=coordinator_bind_address or os.environ.get("JAX_COORDINATOR_BIND_ADDRESS"),
        visible=_visible(local_device_ids, found.local_rank),
        initialization_timeout=initialization_timeout,
        heartbeat_timeout=heartbeat_timeout_seconds,
        shutdown_timeout=shutdown_timeout_seconds,
    )


def _missing(found: Found, address: str | None, size: int | None, rank: int | None) -> str:
    named = {"coordinator_address": address, "num_processes": size, "process_id": rank}
    names = [name for name, value in named.items() if value is None]
    said = f"{found.launcher} does not say it" if found.launcher else "no launcher is recognised"
    return (
        f"distributed.initialize needs coordinator_address ('host:port'), num_processes and "
        f"process_id: {' and '.join(names)} {'is' if len(names) == 1 else 'are'} not given, and "
        f"{said}"
    )


def _visible(given: int | Sequence[int] | None, local_rank: int | None) -> tuple[int, ...] | None:
    if given is None:
        return None if local_rank is None else (local_rank,)
    return (given,) if isinstance(given, int) else tuple(given)


def is_initialized() -> bool:
    """Return whether this process has joined others.

    >>> import jxkernel as jx
    >>> jx.distributed.is_initialized()
    False
    """
    return joined() is not None


def shutdown() -> None:
    """Leave the other processes; without having joined nothing happens."""
    leave()
