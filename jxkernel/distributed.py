"""Running one program on several processes: joining them, and leaving.

Every process runs the same code and calls ``initialize`` before it uses a device.  Afterwards
``devices()`` lists the devices of all processes, a mesh may span them, and arrays over it are
made with ``make_array_from_process_local_data`` or ``device_put`` of the same data everywhere.
"""

from collections.abc import Sequence
from typing import Any

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

    Args:
      coordinator_address: ``host:port`` of process 0, the same in every process.
      num_processes: how many processes there are.
      process_id: the number of this one, from 0.
      local_device_ids: accepted; a process uses all of its devices.
      cluster_detection_method: accepted; nothing is guessed from the environment.
      initialization_timeout: how many seconds to wait for the others.
      heartbeat_timeout_seconds: after how many seconds of silence a process counts as gone.
      shutdown_timeout_seconds: how many seconds to wait for the others at the end.
      coordinator_bind_address: where process 0 listens; on all interfaces by default.
      **unused: further arguments of other systems; refused unless None.

    Raises:
      ValueError: the address, the number of processes or of this one is missing or wrong.
      RuntimeError: devices are in use already, or this process has joined before.
    """
    given = [name for name, value in unused.items() if value is not None]
    if given:
        raise ValueError(f"distributed.initialize does not know {', '.join(given)}")
    if coordinator_address is None or num_processes is None or process_id is None:
        raise ValueError(
            "distributed.initialize needs coordinator_address ('host:port'), num_processes and "
            "process_id: nothing is guessed from the environment"
        )
    if not coordinator_address.rpartition(":")[2].isdigit():
        raise ValueError(f"coordinator_address must be 'host:port', got {coordinator_address!r}")
    if not 0 <= process_id < num_processes:
        raise ValueError(f"process_id must be from 0 to {num_processes - 1}, got {process_id}")
    if backends():
        raise RuntimeError(
            "distributed.initialize must be called before any device is used: this process runs "
            f"{', '.join(backends())} already"
        )
    join(
        coordinator_address,
        num_processes,
        process_id,
        bind=coordinator_bind_address,
        initialization_timeout=initialization_timeout,
        heartbeat_timeout=heartbeat_timeout_seconds,
        shutdown_timeout=shutdown_timeout_seconds,
    )


def is_initialized() -> bool:
    """Return whether this process has joined others.

    Example:
      >>> import jxkernel as jx
      >>> jx.distributed.is_initialized()
      False
    """
    return joined() is not None


def shutdown() -> None:
    """Leave the other processes; without having joined nothing happens."""
    leave()
