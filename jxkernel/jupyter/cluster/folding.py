"""How ranks failed, folded: one error for those that have the same."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jxkernel.errors import ClusterError, DesyncError, RankError
from jxkernel.jupyter.cluster.rows import grouped
from jxkernel.jupyter.cluster.watch import Watch

__all__ = ["error_of", "interruption", "ranks_named"]


def ranks_named(ranks: Collection[int]) -> str:
    """Return ranks in words: ``rank 2``, ``ranks 0-3, 5``."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    words = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"rank{'' if len(ranks) == 1 else 's'} {', '.join(words)}"


def error_of(watch: Watch, size: int) -> ClusterError | None:
    """Return the one error that says how a job failed, or None where it did not."""
    if watch.lost:
        return _lost(watch)
    if watch.desync:
        return DesyncError(watch.desync[0], details=(*watch.desync[1:], *_left(watch)))
    return _together(_of_their_own(_errors(watch)), watch, size)


def interruption(watch: Watch, size: int) -> RankError | None:
    """Return the error of ranks that were only interrupted, or None where none was."""
    return _together(_errors(watch), watch, size)


def _errors(watch: Watch) -> dict[int, Any]:
    return {rank: state["error"] for rank, state in sorted(watch.ended.items()) if state["error"]}


def _together(own: Mapping[int, Any], watch: Watch, size: int) -> RankError | None:
    """Return errors as one; None where there is none."""
    groups = grouped(
        {rank: (one["name"], one["message"].partition("\n\n")[0]) for rank, one in own.items()}
    )
    if not groups:
        return None
    parts, heads, traceback = [], [], []
    for ranks, (name, message) in groups:
        who = f"{name} on {'all ranks' if size == len(ranks) > 1 else ranks_named(ranks)}"
        lines = own[ranks[0]]["traceback"]
        first, _, more = message.partition("\n")
        parts.append(f"{who}: {message}")
        heads.append(f"{who}: {first} …" if lines and more else parts[-1])
        traceback += lines
    left = _left(watch)
    last = "\n".join([*heads, *left])
    shown = [*traceback, *([""] if traceback else []), f"{RankError.__name__}: {last}"]
    return RankError("\n".join(parts), traceback=shown, details=left)


def _of_their_own(errors: Mapping[int, Any]) -> dict[int, Any]:
    """Return the errors but those of ranks that only waited for one that failed."""
    own = {rank: one for rank, one in errors.items() if one["name"] != "KeyboardInterrupt"}
    causes = {rank: one for rank, one in own.items() if one["name"] != "DesyncError"}
    return causes or own


def _lost(watch: Watch) -> ClusterError:
    which = "; ".join(f"rank {rank} {why}" for rank, why in sorted(watch.lost.items()))
    return ClusterError(
        f"The cell ended: {which}.",
        details=_left(watch),
        instead="%jx cluster forms the group anew, with a replacement",
    )


def _left(watch: Watch) -> tuple[str, ...]:
    if not watch.stuck:
        return ()
    verb = "has" if len(watch.stuck) == 1 else "have"
    name = ranks_named(watch.stuck)
    return (
        f"{name[0].upper()}{name[1:]} {verb} not come out of this cell, and may still wait there. "
        "The next cell forms the group anew.",
    )
