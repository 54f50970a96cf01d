"""What the ranks gave, folded: once where they agree, by rank where they differ."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from IPython.display import publish_display_data

from jxkernel.errors import ClusterError, DesyncError, RankError
from jxkernel.jupyter.cluster.watch import Watch

__all__ = ["error_of", "grouped", "ranks_named", "show_outputs"]

Output = dict[str, Any]

_VIEW = re.compile(r"jxk\w+n\d+|ipykernel_\d+")


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


def show_outputs(ended: Mapping[int, Mapping[str, Any]]) -> None:
    """Print and display what the ranks gave."""
    outputs = {rank: ended[rank]["outputs"] for rank in sorted(ended)}
    for ranks, output in _folded(outputs):
        _show(output, f"[{ranks_named(ranks)}] " if len(ranks) < len(outputs) else "")


def _folded(outputs: Mapping[int, list[Output]]) -> Iterator[tuple[list[int], Output]]:
    """Yield outputs with the ranks that gave them; side by side where all gave as many."""
    shapes = {tuple(one["kind"] + one.get("name", "") for one in many) for many in outputs.values()}
    if len(shapes) == 1:
        for row in zip(*outputs.values(), strict=True):
            yield from _folded_row(dict(zip(outputs, row, strict=True)))
    else:
        for ranks, many in grouped(outputs):
            for output in many:
                yield ranks, output


def _folded_row(row: Mapping[int, Output]) -> Iterator[tuple[list[int], Output]]:
    first = next(iter(row.values()))
    if first["kind"] == "stream":
        lines = {rank: output["text"].splitlines(keepends=True) for rank, output in row.items()}
        if len({len(many) for many in lines.values()}) == 1:
            for texts in zip(*lines.values(), strict=True):
                for ranks, text in grouped(dict(zip(row, texts, strict=True))):
                    yield ranks, {**first, "text": text}
            return
    for ranks, _ in grouped({rank: _content(output) for rank, output in row.items()}):
        yield ranks, row[ranks[0]]


def _content(output: Output) -> Any:
    """Return what tells an output from those of other ranks: not names of views and files."""
    if output["kind"] == "stream":
        return output["text"]
    return {kind: _VIEW.sub("", str(data)) for kind, data in output["data"].items()}


def grouped(values: Mapping[int, Any]) -> list[tuple[list[int], Any]]:
    """Return the values that differ, each with its ranks."""
    groups: list[tuple[list[int], Any]] = []
    for rank, value in values.items():
        for ranks, known in groups:
            if known == value:
                ranks.append(rank)
                break
        else:
            groups.append(([rank], value))
    return groups


def _show(output: Output, prefix: str) -> None:
    if output["kind"] == "stream":
        lines = output["text"].splitlines(keepends=True)
        getattr(sys, output["name"]).write("".join(prefix + line for line in lines))
        return
    data = dict(output["data"])
    if prefix:
        sys.stdout.write(f"{prefix.rstrip()}\n")
    publish_display_data(data, output["metadata"])


def error_of(watch: Watch, size: int) -> ClusterError | None:
    """Return the one error that says how a job failed, or None where it did not."""
    errors = {rank: state["error"] for rank, state in sorted(watch.ended.items()) if state["error"]}
    if watch.lost:
        return _lost(watch)
    if watch.desync:
        return DesyncError(watch.desync[0], details=(*watch.desync[1:], *_left(watch)))
    own = _of_their_own(errors)
    groups = grouped(
        {rank: (one["name"], one["message"].partition("\n\n")[0]) for rank, one in own.items()}
    )
    if not groups:
        return None
    parts = [
        f"{name} on {'all ranks' if size == len(ranks) > 1 else ranks_named(ranks)}: {message}"
        for ranks, (name, message) in groups
    ]
    traceback = [line for ranks, _ in groups for line in own[ranks[0]]["traceback"]]
    return RankError("\n".join(parts), traceback=traceback, details=_left(watch))


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
        f"{name[0].upper()}{name[1:]} {verb} not come out of a program that waits for others; the "
        "next cell forms the group anew.",
    )
