"""An engine as a rank: what the notebook asks of it.

Each function of this module is called in the engine, by ipyparallel, with plain arguments, and
returns plain values at once or nearly so; what lasts is a job of the engine's worker.
"""

from __future__ import annotations

import builtins
import linecache
import os
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from IPython import get_ipython

from jxkernel import cluster, runtime
from jxkernel._jaxlib import version_text
from jxkernel._version import __version__
from jxkernel.cluster.saving import commit
from jxkernel.config import launch_hook
from jxkernel.errors import ClusterError
from jxkernel.jupyter.cluster import recovery, variables
from jxkernel.jupyter.cluster.moments import Moments
from jxkernel.jupyter.cluster.places import Watcher
from jxkernel.jupyter.cluster.rows import Given
from jxkernel.jupyter.cluster.running import describe_error, place_of, run_cell
from jxkernel.jupyter.cluster.streams import JobPublisher, JobStream
from jxkernel.jupyter.cluster.worker import Job, Worker
from jxkernel.jupyter.session.session import session_of
from jxkernel.observe.provenance import Provenance

__all__ = ["ToldMap", "calls", "clock", "interrupt", "look", "moments", "prepare", "start", "state"]


class ToldMap(NamedTuple):
    """A map of what was traced on a rank.

    Attributes:
      provenance: the map.
      cells: of each of its files that is a cell, the cell's number in the notebook, and its text.
    """

    provenance: Provenance
    cells: dict[str, tuple[int, str]]


_worker = Worker()
_moments = Moments()
_watcher = Watcher(_moments)
_maps: list[Provenance] = []


def prepare() -> dict[str, Any]:
    """Make an engine ready to work, once, and return what it is."""
    shell: Any = get_ipython()
    if not isinstance(sys.stdout, JobStream):
        shell.run_line_magic("load_ext", "jxkernel")
        for name in ("stdout", "stderr"):
            setattr(sys, name, JobStream(name, getattr(sys, name), _worker.job_of_caller))
        shell.display_pub = JobPublisher(shell.display_pub, _worker.job_of_caller)
        shell.ask_exit = _refuse_to_exit
        builtins.input = _refuse_to_ask
    return {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "versions": f"jxkernel {__version__}, jaxlib {version_text}",
    }


def _refuse_to_exit() -> None:
    raise ClusterError(
        "A cell does not end the engines that it runs on.",
        instead="sys.exit() to end the cell, or %jx cluster stop in a cell of its own",
    )


def _refuse_to_ask(prompt: object = "") -> str:
    raise ClusterError(
        "A rank cannot ask: nobody answers there.",
        instead="ask in a cell without %%spmd, and send the answer: %jx cluster push NAME",
    )


def start(
    number: int, kind: str, arguments: tuple[Any, ...], is_afresh: bool, patience: float
) -> dict[str, Any]:
    """Begin a job, and return how it is after a while or at its end.

    Args:
      number: the job's number.
      kind: what to do, a key of ``JOBS``.
      arguments: what it is done with.
      is_afresh: whether the job before failed on some rank.
      patience: how many seconds to wait for the end.
    """
    _worker.start(Job(number, partial(_guarded, number, kind, arguments, is_afresh)))
    return look(number, patience)


def look(number: int, patience: float) -> dict[str, Any]:
    """Return how a job is, and what it has given since it was looked at: at its end its value.

    Args:
      number: the job's number.
      patience: how many seconds to wait for the end.
    """
    job = _worker.job
    assert job is not None
    assert job.number == number
    is_done = job.done.wait(patience)
    given = _given(job, is_done)
    if not given.is_done:
        return {"done": False, "given": given, **_watcher.see(job)}
    guard = launch_hook.value
    return {
        "done": True,
        "given": given,
        "value": job.value,
        "error": None if job.error is None else describe_error(get_ipython(), job.error),
        "count": 0 if guard is None else guard.count,
        "order": 0 if guard is None else guard.order,
        "held": state(),
        "maps": _taken_maps(),
    }


def _given(job: Job, is_done: bool) -> Given:
    """Return what a job has given since it was looked at."""
    guard = launch_hook.value
    calls: tuple[int, tuple[int, ...]] = 0, ()
    if guard is not None and guard.section == job.number:  # else it has not begun
        # The count first: what was given before so many calls is taken after it.
        calls = guard.count, tuple(guard.take_orders())
    outputs = tuple(job.outputs.take())
    return Given(is_done, is_done and job.error is not None, *calls, outputs, job.outputs.line)


def calls() -> list[list[str]]:
    """Return the calls of the latest job that exchanged with other ranks, each with its place."""
    return launch_hook.value.rows()


def clock() -> int:
    """Return this process's monotonic clock, in nanoseconds."""
    return time.monotonic_ns()


def moments() -> list[dict[str, Any]]:
    """Return when the latest cells made their calls, see ``moments.Moments.told``."""
    return _moments.told(partial(place_of, get_ipython()))


def interrupt() -> None:
    """Interrupt the job that runs."""
    _worker.interrupt()


def state() -> dict[str, Any]:
    """Return the devices of this rank, and what they hold."""
    group = runtime.joined()
    if group is None:
        return {"devices": [], "bytes": 0}
    local = runtime.local_devices()
    arrays = [one for one in runtime.live_arrays() if not one.is_deleted()]
    held = sum(shard.data.nbytes for one in arrays for shard in one.addressable_shards)
    return {"devices": [f"{one.platform}:{one.id}" for one in local], "bytes": held}


def _join(
    rank: int, size: int, address: str, strict: bool, credentials: cluster.Credentials | None
) -> None:
    cluster.leave()
    cluster.join(rank, size, address, credentials=credentials)
    runtime.devices()
    _guard(strict)


def _guard(strict: bool) -> None:
    """Have programs compared before they run; the notebook knows when a rank does not come."""
    shell: Any = get_ipython()
    naming = partial(place_of, shell)
    made = cluster.Guard(sees_all=strict, naming=naming, tells_orders=True)
    launch_hook.set_global(made)


def _guarded(number: int, kind: str, arguments: tuple[Any, ...], is_afresh: bool) -> Any:
    """Do a job whose programs are compared; a guard that it makes itself begins after it."""
    guard = launch_hook.value
    if guard is None:
        return JOBS[kind](*arguments)
    # A call that failed on one rank has no fast path there any more: none may have one elsewhere.
    guard = guard.renewed() if is_afresh else guard
    guard.begin(number)
    try:
        return JOBS[kind](*arguments)
    finally:
        guard.end()


def _run_cell(source: str, count: int) -> dict[str, str]:
    shell: Any = get_ipython()
    guard = launch_hook.value
    if guard is None:  # a cell before has left the group
        _run_seen(shell, source, count)
        return recovery.small_digests(shell)
    end = _moments.begin(guard.section, count)
    try:
        _run_seen(shell, source, count)
    finally:
        end(guard.calls, guard.count)
    return recovery.small_digests(shell)


def _run_seen(shell: Any, source: str, count: int) -> None:
    """Run a cell as one of this engine's session, and keep the maps of what it traced."""
    session = session_of(shell)
    assert session is not None
    before = {id(one) for _, one in session.maps}
    try:
        with session.within(source, count):
            run_cell(shell, source, count)
    finally:
        _maps.extend(one for _, one in session.maps if id(one) not in before)


def _taken_maps() -> list[ToldMap]:
    """Return the maps that were not told yet, on the first rank alone."""
    group = runtime.joined()
    maps, _maps[:] = [*_maps], []
    if group is None or group.rank:
        return []
    shell: Any = get_ipython()
    numbers: dict[str, int] = getattr(shell.compile, "_filename_map", {})
    files = [{function.file for function in one.functions} & numbers.keys() for one in maps]
    return [
        ToldMap(one, {file: (numbers[file], "".join(linecache.getlines(file))) for file in its})
        for one, its in zip(maps, files, strict=True)
    ]


def _on_variables(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a job that is given the shell's variables first."""

    def work(*arguments: Any) -> Any:
        shell: Any = get_ipython()
        return function(shell, *arguments)

    return work


JOBS: dict[str, Callable[..., Any]] = {
    "cell": _run_cell,
    "guard": _guard,
    "join": _join,
    "leave": cluster.leave,
    "receive": _on_variables(variables.receive),
    "digests": _on_variables(variables.digests),
    "fetch": _on_variables(variables.fetch),
    "savable": _on_variables(variables.refused),
    "save": _on_variables(variables.save),
    "commit": commit,
    "load": _on_variables(variables.load),
    "keep": _on_variables(recovery.keep),
    "give": _on_variables(recovery.give),
    "accept": _on_variables(recovery.accept),
    "accept_later": _on_variables(recovery.accept_later),
    "define": _on_variables(recovery.define),
    "put_back": _on_variables(recovery.put_back),
}
"""What a job may be."""
