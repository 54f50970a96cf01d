"""What a front end asks of a cluster: its ranks, and where each is while a cell runs.

Nothing is asked of engines: a request may come in a thread of its own in the midst of a cell, and
the notebook knows what it saw of them last.
"""

from __future__ import annotations

from typing import Any, TypedDict

from jxkernel.jupyter.cluster.answer import known_cluster
from jxkernel.jupyter.cluster.controller import Cluster
from jxkernel.jupyter.cluster.progress import places_told
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import tidied

__all__ = ["ClusterAnswer", "ClusterRank", "cluster"]


class ClusterRank(TypedDict):
    """A rank of a cluster.

    Attributes:
      rank: its number.
      host: the machine that it runs on.
      process: its number there.
      devices: the names of its devices.
      bytes: what these hold, when a cell last ended.
      state: ``ready``, ``runs``, ``waits``, ``has ended`` its part of the cell, or ``lost``.
      why: why it is lost, for which ranks or in which program it waits, or that it does not answer.
      place: where it is, in words: ``Cell In[3], line 4``.
      code: that line.
      seconds: for how long it has been there.
    """

    rank: int
    host: str
    process: int
    devices: list[str]
    bytes: int
    state: str
    why: str
    place: str
    code: str
    seconds: float


class ClusterAnswer(TypedDict):
    """The ranks of the cluster; none where there is no cluster."""

    address: str
    is_running: bool
    ranks: list[ClusterRank]
    text: str


def cluster(session: Session) -> dict[str, Any]:
    """Return the ranks, and where each is."""
    found = known_cluster(session)
    if found is None:
        return tidied({"address": "", "is_running": False, "ranks": [], "text": "no cluster runs"})
    ranks = [_rank(found, rank) for rank in range(found.size)]
    watch = found.watch
    lines = [f"Cluster of {found.size}, service at {found.address}"]
    if watch is not None:
        lines.append(places_told(watch))
    lines += [f"rank {one['rank']}: {one['state']} {one['why']}".rstrip() for one in ranks]
    return tidied(
        {
            "address": found.address,
            "is_running": watch is not None,
            "ranks": ranks,
            "text": "\n".join(filter(None, lines)),
        }
    )


def _rank(found: Cluster, rank: int) -> ClusterRank:
    about, held = found.about[rank], found.held.get(rank, {"devices": [], "bytes": 0})
    told: ClusterRank = {
        "rank": rank,
        "host": about["host"],
        "process": about["pid"],
        "devices": held["devices"],
        "bytes": held["bytes"],
        "state": "ready",
        "why": "",
        "place": "",
        "code": "",
        "seconds": 0.0,
    }
    watch = found.watch
    lost = {**found.lost, **({} if watch is None else watch.lost)}
    if rank in lost:
        told.update(state="lost", why=lost[rank])
    elif watch is not None and rank in watch.ended:
        told.update(state="has ended")
    elif watch is not None and rank in (silent := watch.silent()):
        told.update(state="runs", why=f"has not answered for {silent[rank]:.0f} s")
    elif watch is not None:
        told.update(_running(watch.places.get(rank), rank in watch.waiting()))
    return told


def _running(place: dict[str, Any] | None, waits: bool) -> Any:
    if place is None:
        return {"state": "runs"}
    others = ", ".join(map(str, place["waits_for"]))
    return {
        "state": "waits" if waits else "runs",
        "why": f"for rank {others}" if others else f"in {place['name']}" if waits else "",
        "place": place["place"],
        "code": place["code"],
        "seconds": place["seconds"],
    }
