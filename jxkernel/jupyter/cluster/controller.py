"""A cluster as the notebook has it: its engines, the group that they form, and their service."""

from __future__ import annotations

import itertools
import os
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from jxkernel._jaxlib import version_text
from jxkernel._version import __version__
from jxkernel.cluster import Credentials, Service
from jxkernel.cluster.guard import order_difference
from jxkernel.cluster.service import free_port
from jxkernel.errors import ClusterError, DesyncError
from jxkernel.jupyter.cluster import rank as engine
from jxkernel.jupyter.cluster.engines import Engines
from jxkernel.jupyter.cluster.folding import error_of, interruption
from jxkernel.jupyter.cluster.showing import Showing
from jxkernel.jupyter.cluster.watch import Limits, Watch

__all__ = ["Cluster"]

_PREPARE_SECONDS = 60.0


class Cluster:
    """Engines that form a group.

    Args:
      size: how many ranks it has.
      profile: the profile of ipyparallel that says how engines are started.
      host: where the service listens; profiles of other machines need an address that these reach.
      tls: the folder with ``cert.pem``, ``key.pem`` and ``ca.pem``, on all machines; without it
        the service is not secured.

    Attributes:
      size: the number of ranks.
      limits: how long to wait for ranks.
      lost: why a rank is lost, by rank.
      held: the devices of each rank and what they held when it was last known, by rank.
      watch: what looks at the job that runs; None where none does.
      stuck: ranks that wait in C++ for others, and must join anew.
      maps: the maps of what the latest job traced.

    Raises:
      UsageError: ipyparallel is not installed, or there is no such profile.
      FileNotFoundError: a file of the certificates is not there.
      OSError: the host is not this machine's.
      ClusterError: engines do not start, run other versions, or do not form a group; none is left.
    """

    def __init__(
        self, size: int, profile: str = "", host: str = "127.0.0.1", tls: str = ""
    ) -> None:
        self.size = size
        self.limits = Limits()
        self.lost: dict[int, str] = {}
        self.stuck: set[int] = set()
        self.held: dict[int, dict[str, Any]] = {}
        self.maps: list[engine.ToldMap] = []
        self.watch: Watch | None = None
        self._host = host
        self._credentials = Credentials.of_folder(tls) if tls else None
        # What is wrong is told before engines start.
        free_port(host)
        if self._credentials is not None:
            self._credentials.arguments()
        self._numbers = itertools.count(1)
        self._has_failed = False
        self._is_strict = False
        self._services: list[Service] = []
        self._cells: list[tuple[str, int]] = []
        self._agreed: dict[str, str] = {}
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

    def mend(self) -> list[str]:
        """Form the group anew, with replacements for ranks that are lost.

        Ranks that are left keep their variables. A replacement gets imports and definitions, and
        the variables that all ranks had alike.

        Returns:
          what could not be kept or given, in words.

        Raises:
          ClusterError: no group can be formed.
        """
        while True:
            known = set(self.lost)
            try:
                return self._mend()
            except ClusterError:
                # Another may be lost meanwhile, or be found out to have been frozen.
                if set(self.lost) <= known:
                    raise

    def _mend(self) -> list[str]:
        gone = sorted(self.lost)
        left = [rank for rank in range(self.size) if rank not in self.lost]
        self._end_lost(gone)
        self.stuck.clear()
        kept = self._job("keep", dict.fromkeys(left, (tuple(gone),)))
        if gone:
            self.engines.replace(gone)
            for rank in gone:
                self.about[rank] = self._prepare(rank)
        self.lost.clear()
        self.form()
        told = _lost_variables(kept)
        if gone and left:
            told += self._supply(left, gone, {rank: said for rank, (_, said) in kept.items()})
        self._job("put_back", dict.fromkeys(left, ()))
        if gone and left:
            told += self._absent(left[0], gone)
        return told

    def _end_lost(self, ranks: Sequence[int]) -> None:
        """End engines that are only frozen: they would go on in a group that is no more."""
        for rank in ranks:
            if self.about[rank]["host"] == socket.gethostname():
                with suppress(ProcessLookupError):
                    os.kill(self.about[rank]["pid"], signal.SIGKILL)

    def _supply(
        self, left: Sequence[int], gone: Sequence[int], said: Mapping[int, Mapping[str, str]]
    ) -> list[str]:
        """Give replacements what all ranks had alike, and others what they lag behind in.

        Ranks that are left may have come to different places in the cell that failed: what they
        had alike before it is that of the first of them.
        """
        source, *others = left
        alike = [name for name in self._agreed if name in said[source]]
        given = self._job("give", {source: (alike,)})[source]
        failed = self._job("define", dict.fromkeys(gone, (self._cells,)))
        self._job("accept", dict.fromkeys(gone, (given,)))
        told = [f"rank {rank} could not define {what}" for rank in gone for what in failed[rank]]
        behind = {
            rank: [name for name in given if said[rank].get(name) != said[source][name]]
            for rank in others
        }
        taken = {rank: {name: given[name] for name in names} for rank, names in behind.items()}
        self._job("accept_later", {rank: (values,) for rank, values in taken.items()})
        for name in sorted({name for names in behind.values() for name in names}):
            told.append(f"{name} differed between ranks: all have that of rank {source} now")
        return told

    def _absent(self, source: int, gone: Sequence[int]) -> list[str]:
        held = self._job("digests", dict.fromkeys((source, *gone), (None,)))
        lacks = {rank: sorted(held[source].keys() - held[rank].keys()) for rank in gone}
        return [
            f"rank {rank} has no {', '.join(names)}: "
            f"run {'its cell' if len(names) == 1 else 'their cells'} again"
            for rank, names in lacks.items()
            if names
        ]

    def run_cell(
        self,
        source: str,
        count: int,
        showing: Showing,
    ) -> None:
        """Run a cell on every rank.

        Args:
          source: the cell.
          count: its number in the notebook.
          showing: shows what the ranks give, while it runs.

        Raises:
          ClusterError: a rank is lost or fails.
        """
        every = dict.fromkeys(range(self.size), (source, count))
        showing.begin()
        ended = self.states("cell", every, showing, showing.end)
        self._cells.append((source, count))
        first, *others = (state["value"] for state in ended.values())
        self._agreed = {
            name: said
            for name, said in first.items()
            if all(other.get(name) == said for other in others)
        }

    def form(self) -> None:
        """Form a group of the engines, on a service of its own."""
        service = Service(self.size, self._host, credentials=self._credentials)
        self._services.append(service)
        ranks = range(self.size)
        how = service.address, self._is_strict, self._credentials
        given = {rank: (rank, self.size, *how) for rank in ranks}
        self._job("join", given)

    def set_strict(self, strict: bool) -> None:
        """Have ranks compare each call before it runs, or the first of each program."""
        self.run("guard", dict.fromkeys(range(self.size), (strict,)))
        self._is_strict = strict

    def run(
        self,
        kind: str,
        arguments: Mapping[int, tuple[Any, ...]],
        meanwhile: Callable[[Watch], object] = lambda watch: None,
    ) -> dict[int, Any]:
        """Do a job on ranks and return what each gave.

        Args:
          kind: what the job is, see ``rank.JOBS``.
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
        at_end: Callable[[Watch], object] = lambda watch: None,
    ) -> dict[int, Any]:
        """Do a job on ranks and return how each has ended; ``at_end`` is called before an error."""
        if self.stuck and not self.lost:
            self.mend()
        if not self.is_whole:
            raise self._broken()
        return self._watched(kind, arguments, meanwhile, at_end)

    def _job(self, kind: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Do a job while the group is not whole."""
        states = self._watched(kind, arguments, lambda watch: None, lambda watch: None)
        return {rank: state["value"] for rank, state in states.items()}

    def _watched(
        self,
        kind: str,
        arguments: Mapping[int, tuple[Any, ...]],
        meanwhile: Callable[[Watch], object],
        at_end: Callable[[Watch], object],
    ) -> dict[int, Any]:
        number, is_afresh, self._has_failed = next(self._numbers), self._has_failed, True
        watch = Watch(self.engines, number, kind, arguments, self.limits, is_afresh=is_afresh)
        self.watch = watch
        try:
            watch.run(meanwhile)
        finally:
            self.lost.update(watch.lost)
            self.stuck.update(watch.stuck)
            self.watch = None
            self.held.update({rank: state["held"] for rank, state in watch.ended.items()})
            self.maps = [one for state in watch.ended.values() for one in state["maps"]]
            if watch.has_one_order:
                watch.rows.trust()
            at_end(watch)
        error = error_of(watch, self.size) or self._disorder(watch)
        error = error or interruption(watch, self.size)
        if error is not None:
            raise error
        self._has_failed = False
        return watch.ended

    def _disorder(self, watch: Watch) -> DesyncError | None:
        """Return the error of ranks that made their calls in different orders, if they did."""
        orders = {state["order"] for state in watch.ended.values()}
        if watch.has_one_order or (len(orders) < 2 and not watch.rows.differ):
            return None
        ranks = sorted({*watch.ended, *watch.stuck})
        replies = {rank: self.engines.apply(rank, engine.calls) for rank in ranks}
        rows = {rank: reply.get(_PREPARE_SECONDS) for rank, reply in replies.items()}
        return order_difference(rows)

    def _broken(self) -> ClusterError:
        which = "; ".join(f"rank {rank} {why}" for rank, why in sorted(self.lost.items()))
        return ClusterError(
            f"The cluster is not whole: {which}.",
            instead="%jx cluster forms the group anew, with a replacement",
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


def _lost_variables(kept: Mapping[int, tuple[Mapping[str, str], Any]]) -> list[str]:
    reasons = {name: why for lost, _ in kept.values() for name, why in lost.items()}
    return [f"{name} is lost: {why}" for name, why in sorted(reasons.items())]
