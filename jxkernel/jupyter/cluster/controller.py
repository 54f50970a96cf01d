"""A cluster as the notebook has it: its engines, the group that they form, and their service."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from jxkernel._jaxlib import version_text
from jxkernel._version import __version__
from jxkernel.cluster import Service
from jxkernel.errors import ClusterError
from jxkernel.jupyter.cluster import rank as engine
from jxkernel.jupyter.cluster.engines import Engines
from jxkernel.jupyter.cluster.folding import error_of, ranks_named
from jxkernel.jupyter.cluster.watch import Limits, Watch

__all__ = ["Cluster"]

_PREPARE_SECONDS = 60.0


class Cluster:
    """Engines that form a group.

    Args:
      size: how many ranks it has.
      profile: the profile of ipyparallel that says how engines are started.
      host: where the service listens; profiles of other machines need an address that these reach.

    Attributes:
      size: the number of ranks.
      limits: how long to wait for ranks.
      lost: why a rank is lost, by rank.
      stuck: ranks that wait in C++ for others, and must join anew.

    Raises:
      UsageError: ipyparallel is not installed.
      ClusterError: engines do not start, run other versions, or do not form a group; none is left.
    """

    def __init__(self, size: int, profile: str = "", host: str = "127.0.0.1") -> None:
        self.size = size
        self.limits = Limits()
        self.lost: dict[int, str] = {}
        self.stuck: set[int] = set()
        self._host = host
        self._numbers = itertools.count(1)
        self._has_failed = False
        self._services: list[Service] = []
        self.engines = Engines(size, profile)
        try:
            self.about = [self._prepare(rank) for rank in range(size)]
            self.form()
        except BaseException:
            self.stop()
            raise

    def _prepare(self, rank: int) -> dict[str, Any]:
        about = self.engines.apply(rank, engine.prepare).get(_PREPARE_SECONDS)
        own = f"jxkernel {__version__}, jaxlib {version_text}"
        if about["versions"] != own:
            raise ClusterError(
                f"Rank {rank} on {about['host']} runs {about['versions']}; this notebook runs "
                f"{own}.",
                instead="install the same versions everywhere",
            )
        return about

    @property
    def is_whole(self) -> bool:
        """Whether all ranks can work together."""
        return not (self.lost or self.stuck)

    @property
    def address(self) -> str:
        """Where the group's service listens."""
        return self._services[-1].address

    def form(self) -> None:
        """Form a group of the engines, on a service of its own."""
        service = Service(self.size, self._host)
        self._services.append(service)
        ranks = range(self.size)
        self.run("join", {rank: (rank, self.size, service.address) for rank in ranks})

    def run(
        self,
        kind: str,
        arguments: Mapping[int, tuple[Any, ...]],
        meanwhile: Callable[[Watch], object] = lambda watch: None,
    ) -> dict[int, Any]:
        """Do a job on ranks and return what each gave.

        Args:
          kind: what the job is, see `rank.JOBS`.
          arguments: what it is done with, by rank.
          meanwhile: called again and again while it runs.

        Raises:
          ClusterError: a rank is lost or fails; the message says which, and how.
        """
        states = self.states(kind, arguments, meanwhile)
        return {rank: state["value"] for rank, state in states.items()}

    def states(
        self,
        kind: str,
        arguments: Mapping[int, tuple[Any, ...]],
        meanwhile: Callable[[Watch], object] = lambda watch: None,
        show: Callable[[dict[int, Any]], object] = lambda ended: None,
    ) -> dict[int, Any]:
        """Do a job on ranks and return how each has ended; `show` sees it before an error."""
        if not self.is_whole:
            raise self._broken()
        number, is_afresh, self._has_failed = next(self._numbers), self._has_failed, True
        watch = Watch(self.engines, number, kind, arguments, self.limits, is_afresh=is_afresh)
        try:
            watch.run(meanwhile)
        finally:
            self.lost.update(watch.lost)
            self.stuck.update(watch.stuck)
        show(watch.ended)
        error = error_of(watch, self.size)
        if error is not None:
            raise error
        self._has_failed = False
        return watch.ended

    def _broken(self) -> ClusterError:
        which = [f"rank {rank} {why}" for rank, why in sorted(self.lost.items())]
        if self.stuck:
            which.append(f"{ranks_named(self.stuck)} waited for others and was left behind")
        return ClusterError(
            f"The cluster is not whole: {'; '.join(which)}.",
            instead="%jx cluster forms the group anew",
        )

    def ask(self, rank: int, function: Callable[[], Any], *, timeout: float) -> Any:
        """Return what a function gives in a rank's engine; None where it does not answer in time.

        The engine answers while a job runs on it.
        """
        if rank in self.lost:
            return None
        try:
            return self.engines.apply(rank, function).get(timeout)
        except Exception as error:  # ipyparallel's own kinds
            if self.engines.is_gone(error):
                self.lost[rank] = "has ended"
            return None

    def stop(self) -> None:
        """End the engines, then the services that they were joined to."""
        self.engines.stop()
        for service in self._services:
            service.stop()
        self._services.clear()
