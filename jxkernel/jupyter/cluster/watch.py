"""One job on all ranks, watched from the notebook until each has ended or counts as lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from jxkernel.jupyter.cluster import rank as engine
from jxkernel.jupyter.cluster.engines import Engines
from jxkernel.jupyter.cluster.rows import Given, Rows

__all__ = ["Limits", "Watch", "seems_to_wait"]

_PATIENCE_SECONDS = 0.25
_STEP_SECONDS = 0.02
_DESYNC_SECONDS = 1.0
_DIFFER_SECONDS = 2.0
_ANSWER_SECONDS = 2.0
_NOTICED_SECONDS = 1.5
_WAIT_SECONDS = 0.5


class Limits:
    """How long the notebook waits, in seconds.

    Attributes:
      silence: for an engine that does not answer, before it counts as lost.
      after_loss: for the other ranks, once one is lost.
      after_error: for the other ranks, once one has failed.
      interrupt: for an interrupted rank to come out of what it does.
    """

    silence: float = 7.0
    after_loss: float = 0.5
    after_error: float = 3.0
    interrupt: float = 1.2


class Watch:
    """A job that runs on ranks.

    Args:
      engines: the engines.
      number: the job's number.
      kind: what the job is, see ``rank.JOBS``.
      arguments: what it is done with, by rank.
      limits: how long to wait.
      is_afresh: whether the job before failed on some rank.

    Attributes:
      ended: what each rank gave that came to an end.
      lost: why a rank is lost, by rank.
      stuck: the ranks that wait in C++ and were left behind.
      desync: in lines, how ranks that run are at odds with others; empty where they are not.
      places: where each rank was when it was last seen running, see ``places.Watcher``.
      rows: what the ranks have printed and displayed.
    """

    def __init__(
        self,
        engines: Engines,
        number: int,
        kind: str,
        arguments: Mapping[int, tuple[Any, ...]],
        limits: Limits,
        *,
        is_afresh: bool = False,
    ) -> None:
        self.ended: dict[int, dict[str, Any]] = {}
        self.lost: dict[int, str] = {}
        self.stuck: set[int] = set()
        self.desync: tuple[str, ...] = ()
        self.places: dict[int, dict[str, Any]] = {}
        self.rows = Rows(arguments)
        self._engines = engines
        self._number, self._kind, self._arguments = number, kind, arguments
        self._is_afresh = is_afresh
        self._limits = limits
        self._asked: dict[int, tuple[Any, float]] = {}
        self._ending: float | None = None
        self._differing: float | None = None

    def run(self, meanwhile: Callable[[Watch], object] = lambda watch: None) -> None:
        """Begin the job and wait for the ranks, calling ``meanwhile`` in between.

        An interrupt ends the job first.
        """
        try:
            for rank, given in self._arguments.items():
                how = self._number, self._kind, given, self._is_afresh, _PATIENCE_SECONDS
                self._ask(rank, engine.start, *how)
            while self._asked:
                self._step()
                meanwhile(self)
        except KeyboardInterrupt:
            self._end()
            raise

    @property
    def running(self) -> list[int]:
        """The ranks that have not ended."""
        return sorted(self._asked)

    def _step(self) -> None:
        next(iter(self._asked.values()))[0].wait(_STEP_SECONDS)
        for rank in self.running:
            self._look(rank)
        if self._asked and self._is_over():
            self._end()

    def _is_over(self) -> bool:
        """Whether the job cannot succeed any more, and the others have had time to end."""
        self.desync = _desync(self)
        if self.desync or self._have_differed():
            return True
        failed = any(state["error"] for state in self.ended.values())
        if not (self.lost or failed):
            return False
        now = time.monotonic()
        self._ending = self._ending or now
        patience = self._limits.after_loss if self.lost else self._limits.after_error
        return now - self._ending > patience

    @property
    def has_one_order(self) -> bool:
        """Whether all ranks have ended, and made the same calls."""
        orders = {state["order"] for state in self.ended.values()}
        return len(orders) < 2 and not (self.lost or self.stuck or self._asked)

    def _have_differed(self) -> bool:
        """Whether ranks called known programs in different orders, and none says so itself."""
        if not self.rows.differ:
            return False
        now = time.monotonic()
        self._differing = self._differing or now
        if now - self._differing <= _DIFFER_SECONDS:
            return False
        self._differing = now
        return self._calls_differ()

    def _calls_differ(self) -> bool:
        """Whether the ranks say that they made other calls, as far as all have come."""
        ranks = [rank for rank in (*self.running, *self.ended) if rank not in self.lost]
        replies = [self._apply(rank, engine.calls) for rank in ranks]
        try:
            told = [[call for call, _ in reply.get(_ANSWER_SECONDS)] for reply in replies if reply]
        except Exception:  # ipyparallel's own kinds: one does not answer, which is told elsewhere
            return False
        return any(len(set(calls)) > 1 for calls in zip(*told, strict=False))

    def waiting(self) -> dict[int, dict[str, Any]]:
        """Return where ranks are that seem to wait for others, by rank."""
        return {
            rank: state
            for rank, state in self.places.items()
            if rank in self._asked and seems_to_wait(state)
        }

    def silent(self) -> dict[int, float]:
        """Return for how many seconds ranks have not answered that take long to."""
        now = time.monotonic()
        waited = {rank: now - since for rank, (_, since) in dict(self._asked).items()}
        return {rank: seconds for rank, seconds in waited.items() if seconds > _NOTICED_SECONDS}

    def _end(self) -> None:
        """Interrupt the ranks that run; those that stay in C++ are left there.

        An interrupt of the notebook may have come before it was noted that a rank was asked, or
        that it has ended: what is not known to have ended counts as left.
        """
        for rank in self._left():
            self._apply(rank, engine.interrupt)
        deadline = time.monotonic() + self._limits.interrupt
        while self._asked and time.monotonic() < deadline:
            next(iter(self._asked.values()))[0].wait(_STEP_SECONDS)
            for rank in self.running:
                self._look(rank)
        self.stuck.update(self._left())
        self._asked.clear()

    def _left(self) -> list[int]:
        """The ranks that are not known to have ended."""
        return [one for one in self._arguments if one not in self.ended and one not in self.lost]

    def _look(self, rank: int) -> None:
        reply, since = self._asked[rank]
        if reply.ready():
            self._take(rank, reply)
        elif time.monotonic() - since > self._limits.silence:
            self._lose(rank, f"has not answered for {self._limits.silence:g} s")

    def _take(self, rank: int, reply: Any) -> None:
        try:
            state = reply.get()
        except Exception as error:  # ipyparallel's own kinds, and what unpickling raised
            if self._engines.is_gone(error):
                self._lose(rank, "has ended")
                return
            name = getattr(error, "ename", type(error).__name__)
            said = {"name": name, "message": str(error), "traceback": [str(error)]}
            given = Given(is_done=True, has_failed=True)
            state = {"done": True, "given": given, "value": None, "error": said}
            state |= {"count": 0, "order": 0, "held": {"devices": [], "bytes": 0}, "maps": []}
        self.rows.take(rank, state["given"])
        if state["done"]:
            del self._asked[rank]
            self.ended[rank] = state
        else:
            self.places[rank] = state
            self._ask(rank, engine.look, self._number, _PATIENCE_SECONDS)

    def _ask(self, rank: int, function: Callable[..., Any], *args: Any) -> None:
        reply = self._apply(rank, function, *args)
        if reply is not None:
            self._asked[rank] = reply, time.monotonic()

    def _apply(self, rank: int, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return self._engines.apply(rank, function, *args)
        except Exception as error:  # the client knows already that the engine is gone
            if not self._engines.is_gone(error):
                raise
            self._lose(rank, "has ended")
            return None

    def _lose(self, rank: int, why: str) -> None:
        self._asked.pop(rank, None)
        self.lost[rank] = why
        self.rows.drop(rank)


def seems_to_wait(state: Mapping[str, Any]) -> bool:
    """Whether a rank has been in one program for long, or waits for others before it."""
    return bool(state["waits_for"]) or (state["in_program"] and state["seconds"] > _WAIT_SECONDS)


def _desync(watch: Watch) -> tuple[str, ...]:
    """Return in lines how ranks are at odds that cannot find out themselves, or nothing.

    A rank knows when another runs a new program or none; who is in a program that is known waits
    in C++.
    """
    waiting = watch.waiting()
    waiting = {one: state for one, state in waiting.items() if state["seconds"] > _DESYNC_SECONDS}
    for rank, state in waiting.items():
        for other, end in watch.ended.items():
            if end["error"] is None and end["count"] < state["count"]:
                what = f"Rank {rank} runs a program that rank {other} has ended without."
                return what, _where(rank, state)
        for other, away in waiting.items():
            if away["count"] == state["count"] and away["program"] != state["program"]:
                what = (
                    f"Ranks {rank} and {other} run different programs, which wait for each other."
                )
                return what, _where(rank, state), _where(other, away)
    return ()


def _where(rank: int, state: dict[str, Any]) -> str:
    return f"  rank {rank}: {state['place']}: {state['code']}"
