"""``%jx cluster``: start engines, show them, end them."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from IPython.core.error import UsageError

from jxkernel.jupyter.cluster import rank as engine
from jxkernel.jupyter.cluster.controller import Cluster
from jxkernel.jupyter.cluster.folding import ranks_named
from jxkernel.jupyter.cluster.meetings import gathered_cells
from jxkernel.jupyter.cluster.moments import CELLS
from jxkernel.jupyter.cluster.moving import (
    differing,
    first_difference,
    known_on_a_rank,
    load,
    pull,
    push,
    save,
)
from jxkernel.jupyter.cluster.timeline import meetings_view
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.explain import format_size

__all__ = ["cluster", "cluster_of", "known_cluster", "stop_cluster"]

_ANSWER_SECONDS = 2.0

_clusters: WeakKeyDictionary[Session, Cluster] = WeakKeyDictionary()


def cluster(session: Session, words: str) -> View:
    """Start, show or end the cluster, by the words after ``%jx cluster``.

    Raises:
      UsageError: the words are not understood, or there is no cluster.
      ClusterError: engines or their group fail.
    """
    name, *rest = shlex.split(words) or ["show"]
    if name.lstrip("-").isdigit():
        return _start(session, int(name), rest)
    if name not in _ACTIONS:
        raise UsageError(
            f"%jx cluster: {name!r} is neither a number of engines nor one of {', '.join(_ACTIONS)}"
        )
    return _ACTIONS[name](session, rest)


def cluster_of(session: Session) -> Cluster:
    """Return the cluster of a session.

    Raises:
      UsageError: there is none.
    """
    found = known_cluster(session)
    if found is None:
        raise UsageError("there is no cluster yet: %jx cluster 2 starts one")
    return found


def known_cluster(session: Session) -> Cluster | None:
    """Return the cluster of a session; None where there is none."""
    return _clusters.get(session)


def stop_cluster(session: Session) -> bool:
    """End the cluster of a session; return whether there was one."""
    found = _clusters.pop(session, None)
    if found is not None:
        found.stop()
    return found is not None


def _start(session: Session, count: int, rest: list[str]) -> View:
    known = _clusters.get(session)
    if known is not None:
        if known.size == count and not rest:
            return _show(session, [])
        raise UsageError(
            f"%jx cluster: {known.size} engines run already; %jx cluster stop ends them"
        )
    if count < 1:
        raise UsageError(f"%jx cluster: a cluster has at least one engine, got {count}")
    _clusters[session] = Cluster(count, **_options(rest))
    return _show(session, [])


def _options(words: list[str]) -> dict[str, str]:
    names = {"--profile": "profile", "--host": "host", "--tls": "tls"}
    pairs = list(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or any(flag not in names for flag, _ in pairs):
        raise UsageError("write %jx cluster N [--profile NAME] [--host ADDRESS] [--tls FOLDER]")
    options = {names[flag]: value for flag, value in pairs}
    return {name: os.path.abspath(one) if name == "tls" else one for name, one in options.items()}


def _show(session: Session, rest: list[str]) -> View:
    found = cluster_of(session)
    told = [] if found.is_whole else found.mend()
    rows = [_row(found, rank) for rank in range(found.size)]
    head = ("Rank", "Host", "Process", "Devices", "In use", "State")
    title = f"Cluster of {found.size}, service at {found.address}"
    table = table_view(title, head, rows, numeric=(0, 4))
    if not told:
        return table
    return stacked_view("text", {"ranks": table, "missing": text_view("", "\n".join(told))})


def _row(found: Cluster, rank: int) -> tuple[Any, ...]:
    about = found.about[rank]
    state = found.ask(rank, engine.state, timeout=_ANSWER_SECONDS)
    if state is None:
        return rank, about["host"], about["pid"], "", "", found.lost.get(rank, "does not answer")
    found.held[rank] = state
    devices, held = ", ".join(state["devices"]), format_size(state["bytes"])
    return rank, about["host"], about["pid"], devices, held, "ready"


def _stop(session: Session, rest: list[str]) -> View:
    cluster_of(session)
    stop_cluster(session)
    return text_view("", "The engines have ended.")


def _push(session: Session, rest: list[str]) -> View:
    if not rest:
        raise UsageError("write %jx cluster push NAMES")
    found = cluster_of(session)
    push(found, session.shell.user_ns, rest)
    return text_view("", f"{', '.join(rest)}: on all {found.size} ranks.")


def _pull(session: Session, rest: list[str]) -> View:
    options, names = _pull_options(rest)
    found = cluster_of(session)
    if options["rank"] is not None and not 0 <= options["rank"] < found.size:
        raise UsageError(f"%jx cluster pull: --rank takes a number from 0 to {found.size - 1}")
    for name in names:
        session.shell.user_ns[name] = pull(found, name, **options)
    return text_view("", f"{', '.join(names)}: in the notebook.")


def _pull_options(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    gather = "--gather" in words
    words = [word for word in words if word != "--gather"]
    rank = None
    if "--rank" in words:
        place = words.index("--rank")
        number = words[place + 1] if len(words) > place + 1 else ""
        rank = int(number) if number.isdigit() else -1
        del words[place : place + 2]
    if not words or any(not word.isidentifier() for word in words):
        raise UsageError("write %jx cluster pull NAMES [--rank N] [--gather]")
    return {"rank": rank, "gather": gather}, words


def _diff(session: Session, rest: list[str]) -> View:
    found = cluster_of(session)
    rows = []
    told = known_on_a_rank(found, rest) if rest else differing(found, None)
    for name, groups in told.items():
        if len(groups) > 1:
            first = first_difference(found, name, groups[0][0][0], groups[1][0][0])
            rows += [(name, ranks_named(ranks), what, "") for ranks, what in groups]
            rows[-1] = (*rows[-1][:3], first)
    if not rows:
        return text_view("", f"The variables are the same on all {found.size} ranks.")
    head = ("Variable", "Ranks", "Value", "First difference")
    return table_view("Variables that differ between ranks", head, rows)


def _strict(session: Session, rest: list[str]) -> View:
    if rest not in (["on"], ["off"]):
        raise UsageError("write %jx cluster strict on, or off")
    found = cluster_of(session)
    found.set_strict(rest == ["on"])
    compared = "every call" if rest == ["on"] else "the first call of each kind"
    return text_view("", f"The ranks compare their programs before {compared}.")


def _silence(session: Session, rest: list[str]) -> View:
    seconds = _positive(rest[0]) if len(rest) == 1 else None
    if seconds is None:
        raise UsageError("write %jx cluster silence SECONDS")
    cluster_of(session).limits.silence = seconds
    return text_view("", f"A rank that does not answer for {seconds:g} s counts as lost.")


def _positive(text: str) -> float | None:
    """Return a number above 0 and finite, or None where the text is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None


def _timeline(session: Session, rest: list[str]) -> View:
    number = rest[0] if rest else "1"
    if len(rest) > 1 or not number.isdecimal() or not 1 <= int(number) <= CELLS:
        raise UsageError(f"%jx cluster timeline [CELLS]: the last 1 to {CELLS} cells")
    cells = gathered_cells(cluster_of(session))[-int(number) :]
    if not cells:
        raise UsageError(
            "%jx cluster timeline: no cell has ended on every rank yet; run a %%spmd cell"
        )
    return meetings_view(cells)


def _save(session: Session, rest: list[str]) -> View:
    folder, names = _folder("save", rest)
    name, refused = save(cluster_of(session), folder, names)
    reasons: dict[str, list[str]] = {}
    for one, why in sorted(refused.items()):
        reasons.setdefault(why, []).append(one)
    left = "".join(f"\nnot saved: {', '.join(some)}: {why}" for why, some in reasons.items())
    return text_view("", f"{rest[0]}/{name}{left}")


def _load(session: Session, rest: list[str]) -> View:
    folder, names = _folder("load", rest)
    loaded = load(cluster_of(session), folder, names)
    return text_view("", f"{', '.join(loaded)}: on all ranks, from {rest[0]}.")


def _folder(action: str, words: list[str]) -> tuple[str, list[str] | None]:
    if not words:
        raise UsageError(f"write %jx cluster {action} FOLDER [NAMES]")
    return os.path.abspath(words[0]), words[1:] or None


_ACTIONS: dict[str, Callable[[Session, list[str]], View]] = {
    "show": _show,
    "stop": _stop,
    "push": _push,
    "pull": _pull,
    "diff": _diff,
    "strict": _strict,
    "silence": _silence,
    "timeline": _timeline,
    "save": _save,
    "load": _load,
}
