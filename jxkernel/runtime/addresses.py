"""Whether a service can listen at an address, asked before XLA tries."""

from __future__ import annotations

import errno
import socket
from typing import Any

__all__ = ["check_address"]


def check_address(bind: str) -> None:
    """Raise where nothing can listen at an address: XLA ends the process there.

    Args:
      bind: ``host:port``.

    Raises:
      OSError: the port is taken, or the host is not this machine's.
    """
    host, _, port = bind.rpartition(":")
    how: Any = {"type": socket.SOCK_STREAM, "flags": socket.AI_PASSIVE}
    try:
        found = socket.getaddrinfo(host.strip("[]") or None, port, **how)
        refused = [error for family, *_, place in found if (error := _refused(family, place))]
    except OSError as error:  # a name that nobody knows
        found, refused = [], [error]
    # A name may stand for places of which this machine has not all.
    taken = [error for error in refused if error.errno == errno.EADDRINUSE]
    if taken or len(refused) >= len(found):
        error = (taken or refused)[0]
        raise OSError(
            error.errno,
            f"{bind} cannot be listened on: {error.strerror}. Give another port, or an address of "
            "this machine",
        )


def _refused(family: int, place: Any) -> OSError | None:
    """Return why nothing can listen at a place, or None where it can."""
    try:
        with socket.socket(family) as probe:
            # As XLA does: connections that have ended keep no port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        return error
    return None
