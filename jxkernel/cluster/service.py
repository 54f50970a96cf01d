"""The coordination service of a group, in a process that is none of its ranks."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from jxkernel.cluster.credentials import Credentials
from jxkernel.runtime import serve

__all__ = ["DAY_SECONDS", "Service", "free_port"]

DAY_SECONDS = 86_400
"""For timeouts of XLA's that end processes: who watches the group knows sooner, and ends none."""


def free_port(host: str) -> int:
    """Return a port that nothing listens on.

    Raises:
      OSError: the host is not this machine's.
    """
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError as error:
            reason = f"{host} is no address of this machine: {error.strerror}"
            raise OSError(error.errno, reason) from None
        return probe.getsockname()[1]


class Service:
    """A running service; ``address`` is what ranks join.

    Args:
      size: the number of ranks.
      host: where it listens: this machine alone unless another of its addresses is given.
      port: the port; a free one where not given.
      credentials: for mutual TLS; without them it neither encrypts nor asks who joins.

    Raises:
      ValueError: the number of ranks is below 1.
      OSError: the port is taken, the host is not this machine's, or a file is not there.
      ClusterError: this jaxlib knows no TLS.
    """

    def __init__(
        self,
        size: int,
        host: str = "127.0.0.1",
        port: int | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        if size < 1:
            raise ValueError(f"a group has at least one rank, got {size}")
        tls = {} if credentials is None else credentials.arguments()
        self.size = size
        self.address = f"{host}:{free_port(host) if port is None else port}"
        with _quiet_stderr():
            self._service: Any = serve(
                self.address,
                size,
                heartbeat_timeout=DAY_SECONDS,
                shutdown_timeout=1,
                recoverable=True,
                tls=tls,
            )

    def stop(self) -> None:
        """End the service; a rank that is still joined to it is ended by XLA."""
        service, self._service = self._service, None
        if service is not None:
            service.shutdown()


@contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Keep away what XLA writes of a service whose ranks may come and go: it is what is wanted."""
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
