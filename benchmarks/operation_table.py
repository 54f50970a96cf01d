"""Measuring everyday operations: all libraries take turns, and each is compared with the best."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from benchmarks.library import HOSTS
from benchmarks.metric import repeated
from benchmarks.operation_reasons import reason_of
from benchmarks.operations import OPERATIONS, SIZES, name_of
from benchmarks.processes import Peer, Worker
from benchmarks.report import seconds_text

__all__ = ["Figures", "explained", "measure", "note", "text"]


SHARE = 0.2
"""Of the time that other rows are measured for."""


@dataclass(frozen=True)
class Figures:
    """The seconds of one operation at one size, by library; a library may not have it.

    Attributes:
      seconds: the least of the batches of each library.
      error: why there is no figure of jxkernel.
      same: whether XLA runs the same program for jxkernel and jax.
    """

    seconds: dict[str, float]
    error: str = ""
    same: bool = False

    def ratio(self, *peers: str) -> float | None:
        """Return jxkernel's time relative to the best of the peers, if there are any."""
        theirs = [self.seconds[peer] for peer in peers if peer in self.seconds]
        if "jxkernel" not in self.seconds or not theirs:
            return None
        return self.seconds["jxkernel"] / min(theirs)

    @property
    def best(self) -> str:
        """The fastest of the other libraries."""
        peers = {name: time for name, time in self.seconds.items() if name != "jxkernel"}
        return min(peers, key=peers.__getitem__) if peers else "–"


SLOW = 1.5
"""The ratio to the best from which on a row is explained."""

Found = dict[tuple[str, int], Figures]


def measure(libraries: Sequence[Peer], say: Callable[[str], None]) -> Found:
    """Return the figures of all operations at all sizes, under libraries that take turns.

    Args:
      libraries: the libraries.
      say: is told each operation as it is begun.
    """
    found: Found = {}
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(library, "operations")) for library in libraries]
        for number, operation in enumerate(OPERATIONS, 1):
            say(f"{number} of {len(OPERATIONS)}, {operation.name}")
            for size in SIZES:
                found[operation.name, size] = _figures(workers, name_of(operation, size))
    return found


def _figures(workers: Sequence[Worker], name: str) -> Figures:
    """Return the figures of the libraries that can do it: the least of batch after batch."""
    able: list[Worker] = []
    error = ""
    for worker in workers:
        try:
            worker.ask("seconds", name)
            able.append(worker)
        except RuntimeError as refusal:
            if worker.peer.library == "jxkernel":
                error = str(refusal).strip().splitlines()[-1][:80]
    if not able:
        return Figures({}, error)
    rounds = repeated(lambda: [worker.ask("seconds", name) for worker in able], SHARE)
    least = map(min, zip(*rounds, strict=True))
    seconds = {worker.peer.library: one for worker, one in zip(able, least, strict=True)}
    compilers = [worker for worker in able if worker.peer.library not in HOSTS]
    programs = [worker.ask("program", name) for worker in compilers]
    return Figures(seconds, error, len(programs) == 2 and len(set(programs)) == 1)


def note(found: Found, peers: Sequence[str]) -> str:
    """Return what the figures amount to, size by size."""
    parts = [
        f"Jitted calls on arguments that are on the device, against {' and '.join(peers)}. "
        "Each ratio is the least time of jxkernel to that of the best of them, then of jax. "
        "A = after it says that XLA runs the same program for both: its distance from 1 is noise."
    ]
    for size in SIZES:
        figures = [each for (_, own), each in found.items() if own == size]
        best = [r for each in figures if (r := each.ratio(*peers)) is not None]
        jax = [r for each in figures if (r := each.ratio("jax")) is not None]
        same = [r for each in figures if each.same and (r := each.ratio("jax")) is not None]
        slower = sum(r > 1.05 for r in jax)
        if best and jax:
            parts.append(
                f"About {size:,} elements: median {median(best):.2f} of the best in {len(best)} "
                f"rows, {sum(r > SLOW for r in best)} above {SLOW} and {sum(r > 4 for r in best)} "
                f"above 4; to jax median {median(jax):.2f}, {sum(r < 0.5 for r in jax)} rows below "
                f"0.5 and {slower} above 1.05, {sum(r > 1.05 for r in same)} of them of the "
                f"{len(same)} of the same program."
            )
    return "\n".join(parts)


def text(found: Found, peers: Sequence[str]) -> str:
    """Return the figures as a Markdown table, one row for each operation."""
    heads = ["operation", *[f"to the best, {size:,}" for size in SIZES]]
    heads += [*[f"to jax, {size:,}" for size in SIZES], "jxkernel, most", "the best, most"]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    for operation in OPERATIONS:
        rows = [found[operation.name, size] for size in SIZES]
        largest = rows[-1]
        own = largest.seconds.get("jxkernel")
        best = largest.best
        lines.append(
            [
                operation.name,
                *[_ratio(row.ratio(*peers), row) for row in rows],
                *[_ratio(row.ratio("jax"), row) + " =" * row.same for row in rows],
                "–" if own is None else seconds_text(own),
                f"{best}, {seconds_text(largest.seconds[best])}" if best != "–" else best,
            ]
        )
    return "\n".join([f"| {' | '.join(line)} |" for line in lines])


def explained(found: Found, peers: Sequence[str]) -> str:
    """Return why rows are slower than the best by more than half, one reason after the other."""
    slow: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        ratios = {size: found[operation.name, size].ratio(*peers) for size in SIZES}
        sizes = [size for size, ratio in ratios.items() if ratio is not None and ratio > SLOW]
        for reason in dict.fromkeys([reason_of(operation.name, size) for size in sizes]):
            slow.setdefault(reason, []).append(operation.name)
    lines = [f"- {reason}: {', '.join(names)}." for reason, names in slow.items()]
    return "\n".join([f"Why rows are above {SLOW} of the best:\n", *lines]) if lines else ""


def _ratio(ratio: float | None, figures: Figures) -> str:
    return f"{ratio:.2f}" if ratio is not None else figures.error or "–"
