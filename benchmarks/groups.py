"""What a group of processes costs: ``python -m benchmarks.groups``.

Forms groups of 2 to 16 processes on this machine, as ``%jx cluster`` does, and measures forming,
a comparison by the guard, a barrier, and gathering an array; the model of larger groups follows
from what each does.  Writes the part of ``docs/scaling.md`` on processes.  As a program with a
rank, a number and an address it is one of the processes.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np

import jxkernel as jx
from benchmarks.processes import ROOT
from benchmarks.report import seconds_text
from jxkernel import cluster, runtime
from jxkernel.experimental import multihost_utils

__all__ = ["Cost", "Model", "fitted", "least", "main", "page"]

COUNTS = (2, 4, 8, 16)
LARGER = (64, 256, 1_000, 10_000)
PAGE = ROOT / "docs" / "scaling.md"
HEADING = "## Groups of processes"

_REPEATS = 15
_GROUPS = 3
_GATHERED = 16_384


@dataclass(frozen=True)
class Cost:
    """What a group of some size costs, in seconds.

    Attributes:
      size: the number of processes.
      forming: to join, until all know all devices.
      guard: to compare one program before it runs.
      barrier: for all to meet at the service.
      gather: for all to have an array of 64 KB from each.
    """

    size: int
    forming: float
    guard: float
    barrier: float
    gather: float


@dataclass(frozen=True)
class Model:
    """Seconds as a function of the number of processes: ``fixed + each * n ** power``."""

    fixed: float
    each: float
    power: int

    def __call__(self, size: int) -> float:
        """Return the seconds for a number of processes."""
        return self.fixed + self.each * size**self.power


POWERS = {"forming": 1, "guard": 2, "barrier": 1, "gather": 1}
"""What each grows with: see the page."""


def fitted(costs: list[Cost], figure: str) -> Model:
    """Return the model of a figure with the least squares of its relative errors."""
    power = POWERS[figure]
    sizes = np.array([one.size for one in costs], float)
    seconds = np.array([getattr(one, figure) for one in costs])
    terms = np.stack([np.ones_like(sizes), sizes**power], axis=1) / seconds[:, None]
    (fixed, each), *_ = np.linalg.lstsq(terms, np.ones_like(seconds), rcond=None)
    if min(fixed, each) < 0:
        fixed, each = 0.0, float(np.mean(seconds / sizes**power))
    return Model(float(fixed), float(each), power)


def _be_rank(rank: int, size: int, address: str) -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    began = perf_counter()
    cluster.join(rank, size, address)
    jx.devices()
    forming = perf_counter() - began
    guard = cluster.guard()
    group = runtime.joined()
    assert group is not None

    def barrier(number: int) -> None:
        group.client.wait_at_barrier(f"measured/{number}", 60_000)

    own = np.ones(_GATHERED, np.float32)
    figures = {
        "guard": _least(lambda number: guard.exchange(str(number))),
        "barrier": _least(barrier),
        "gather": _least(lambda number: multihost_utils.process_allgather(own)),
    }
    if rank == 0:
        print(json.dumps(asdict(Cost(size, forming, **figures))))
    barrier(-1)


def _least(work: Callable[[int], object]) -> float:
    taken = []
    for number in range(_REPEATS):
        began = perf_counter()
        work(number)
        taken.append(perf_counter() - began)
    return min(taken)


def measure(size: int) -> Cost:
    """Return what a group of some size costs."""
    service = cluster.Service(size)
    command = [sys.executable, "-m", "benchmarks.groups", "--rank"]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), str(size), service.address],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for rank in range(size)
    ]
    # All have started before the first joins, or it would wait for the slowest start.
    for rank in ranks:
        assert rank.stdout is not None
        rank.stdout.readline()
    for rank in ranks:
        assert rank.stdin is not None
        rank.stdin.write("join\n")
        rank.stdin.flush()
    said = [rank.communicate(timeout=300)[0] for rank in ranks]
    service.stop()
    return Cost(**json.loads(said[0].splitlines()[-1]))


def least(costs: list[Cost]) -> Cost:
    """Return the least of each figure, of groups of one size that were formed anew."""
    return Cost(**{name: min(asdict(one)[name] for one in costs) for name in asdict(costs[0])})


def page(costs: list[Cost]) -> str:
    """Return the part of the page."""
    models = {figure: fitted(costs, figure) for figure in POWERS}
    head = "| processes | forming | guard, one comparison | barrier | gather of 64 KB each |"
    rows = [head, "| ---: | ---: | ---: | ---: | ---: |"]
    for one in costs:
        figures = [seconds_text(getattr(one, figure)) for figure in POWERS]
        rows.append(f"| {one.size} | {' | '.join(figures)} |")
    for size in LARGER:
        figures = [seconds_text(model(size)) for model in models.values()]
        rows.append(f"| {size:,} (modelled) | {' | '.join(figures)} |")
    formulas = [
        f"- {figure}: {seconds_text(model.fixed)} + {seconds_text(model.each)} * "
        f"{'n²' if model.power == 2 else 'n'}"
        for figure, model in models.items()
    ]
    return "\n".join([HEADING, "", _TEXT, "", *rows, "", "With n processes:", "", *formulas, ""])


_TEXT = """Written by `python -m benchmarks.groups`. Groups on one machine of two cores, over \
loopback, which share these cores: from 4 processes on they wait for a core more than for each \
other, so the model is an upper bound for machines of their own. Forming is without starting the \
processes. Each figure is the least of some on rank 0, in groups formed anew.

What each grows with: forming and a barrier are one message of each process to the service, which \
is one process, so they grow with n. In a comparison each process asks the service for what all \
say, which is n messages of n entries, or n². A gather goes round a ring, so each process receives \
n - 1 parts.

What breaks first is the guard, where a comparison takes longer than compiling the program. What \
one would do then: have one rank compare all, and the others read its verdict, which is 3n short \
messages; calls that C++ answers are not touched. Next is the service itself, one process that \
holds a connection to each: above some thousand one would form groups of groups, with a service \
for each rack. The notebook asks each engine four times a second while a cell runs, which \
ipyparallel's hub, one process of Python, bears for some hundred."""


def main() -> None:
    """Measure groups and write their part of the page, or be a process of one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.groups", description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS))
    parser.add_argument("--rank", nargs=3, metavar=("RANK", "SIZE", "ADDRESS"))
    options = parser.parse_args()
    if options.rank:
        rank, size, address = options.rank
        _be_rank(int(rank), int(size), address)
        return
    costs = []
    for count in options.counts:
        costs.append(least([measure(count) for _ in range(_GROUPS)]))
        print(costs[-1], file=sys.stderr, flush=True)
    before = PAGE.read_text(encoding="utf-8").partition(HEADING)[0].rstrip()
    PAGE.write_text(f"{before}\n\n{page(costs)}", encoding="utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)


if __name__ == "__main__":
    main()
