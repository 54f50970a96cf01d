"""What ``%jx cluster`` costs: ``python -m benchmarks.clusters --peer PYTHON``.

Measures, with two ranks on this machine, starting against ipyparallel's own, a cell against a bare
``%%px``, the guard and its order check, interrupts, and collectives against real jax in processes
of the same kind.  The two sides take turns.  Writes a part of ``docs/clusters.md``.
"""

import argparse
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.collectives import CALLS, COLLECTIVES
from benchmarks.groups import measure
from benchmarks.processes import ROOT, Peer, environment, heed_interrupts
from benchmarks.report import seconds_text
from jxkernel.cluster import Service
from jxkernel.cluster.service import free_port
from tools import figures

__all__ = ["Row", "batch", "main", "page", "pair"]

_OWN = Peer("jxkernel", sys.executable)
_SHORT = ("psum of 4 KB", "all-gather of 4 KB")

_GROUPS = 5
"""How many groups are formed for collectives."""

_START = """
from time import perf_counter
from jxkernel.jupyter.cluster.controller import Cluster
began = perf_counter()
cluster = Cluster(2)
print(perf_counter() - began)
cluster.stop()
"""
_START_THEIRS = """
from time import perf_counter
began = perf_counter()
from ipyparallel import Cluster
cluster = Cluster(n=2, engines="local", controller_ip="127.0.0.1", log_level=40)
client = cluster.start_and_connect_sync()
print(perf_counter() - began)
client.close()
cluster.stop_cluster_sync()
"""
_TRIPS = """
import json
from time import perf_counter
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jxkernel")
shell.run_cell("%jx cluster 2")
from jxkernel.jupyter.cluster import answer
[cluster] = answer._clusters.values()
view = cluster.engines.client[:]
view.block = True
view.activate()
seconds = {{"spmd": [], "px": []}}
for _ in range({trips}):
    for magic, found in seconds.items():
        began = perf_counter()
        shell.run_cell_magic(magic, "", "a = 1")
        found.append(perf_counter() - began)
cluster.stop()
print(json.dumps(seconds))
"""

_INTERRUPTS = """
import json, pathlib, tempfile, threading, time
from _thread import interrupt_main
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jxkernel")
shell.run_cell("%jx cluster 2")
shell.run_cell('''%%spmd
import pathlib, time, numpy as np, jxkernel as jx, jxkernel.numpy as jnp
rank = jx.process_index()
rows = jx.NamedSharding(jx.make_mesh((2,), ("x",)), jx.P("x"))
x = jx.make_array_from_process_local_data(rows, np.ones(2))
total = jx.jit(lambda x: x.sum())
def chained(x):
    for number in range(300):
        x = jnp.sin(x @ x) + number
    return x
lowered = jx.jit(chained).lower(jnp.ones((32, 32)))
float(total(x)), float(total(x))''')
cells = {{
    "in Python": "while True: pass",
    "in a collective": "float(total(x)) if rank == 0 else time.sleep(60)",
    "in a compile": "lowered.compile()",
}}
told = []
folder = pathlib.Path(tempfile.mkdtemp())
for where, cell in cells.items():
    seconds = []
    for number in range({rounds}):
        places = [folder / f"{{where}} {{number}} {{rank}}" for rank in range(2)]
        moment = []
        def interrupt():
            while not all(place.exists() for place in places):
                time.sleep(0.01)
            time.sleep(0.5)
            moment.append(time.monotonic())
            interrupt_main()
        thread = threading.Thread(target=interrupt)
        thread.start()
        begin = f"pathlib.Path(f'{{folder}}/{{where}} {{number}} {{{{rank}}}}').touch()"
        shell.run_cell(f"%%spmd\\n{{begin}}\\n{{cell}}")
        seconds.append(time.monotonic() - moment[0])
        thread.join()
        shell.run_cell("%%spmd\\nfloat(total(x))")
    told.append((where, seconds))
shell.run_cell("%jx cluster stop")
print(json.dumps(told))
"""


@dataclass(frozen=True)
class Row:
    """A figure beside another.

    Attributes:
      what: what was measured.
      own: jxkernel's seconds.
      other: the other's; None where it is measured against a limit alone.
      goal: the ratio that is aimed at, or the seconds.
    """

    what: str
    own: float
    other: float | None
    goal: float

    @property
    def ratio(self) -> float | None:
        """The seconds relative to the other's."""
        return None if self.other is None else self.own / self.other


def _seconds(source: str) -> Any:
    """Return what a program prints in the end, run in a process of its own."""
    how: Any = {"cwd": ROOT, "env": environment(), "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", source], timeout=600, check=True, **how)
    return json.loads(done.stdout.splitlines()[-1])


def starts(rounds: int) -> Row:
    """Measure starting: the least of some, for what else runs on the machine only adds."""
    own, other = [], []
    for _ in range(rounds):
        own.append(_seconds(_START))
        other.append(_seconds(_START_THEIRS))
    return Row("start of two engines, ipyparallel's own", min(own), min(other), 1.2)


def trips(count: int) -> Row:
    """Measure a cell's round trip."""
    seconds = _seconds(_TRIPS.format(trips=count))
    own, other = (median(seconds[magic][3:]) for magic in ("spmd", "px"))
    return Row("round trip of a cell, bare `%%px`", own, other, 1.5)


@contextmanager
def pair(peer: Peer, address: str) -> Iterator[list[Any]]:
    """Two processes that have formed a group."""
    command = [peer.python, "-m", "benchmarks.collectives", peer.library]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    ranks: list[Any] = [
        subprocess.Popen([*command, str(rank), address], cwd=ROOT, env=environment(), **pipes)
        for rank in range(2)
    ]
    try:
        for rank in ranks:
            while rank.stdout.readline() not in ("ready\n", ""):
                pass
        yield ranks
    finally:
        # All are told first that there are no more questions: jax's wait for each other.
        for rank in ranks:
            rank.stdin.close()
        for rank in ranks:
            rank.wait(timeout=60)
            rank.stdout.close()


def batch(
    ranks: Sequence[Any], what: str, calls: int, *, guarded: bool = True
) -> tuple[float, float]:
    """Have some calls made, and return the seconds of one.

    Returns:
      wall time, of the slower process, and the calling threads' processor time, their mean.
    """
    for rank in ranks:
        rank.stdin.write(f"{json.dumps([what, calls, guarded])}\n")
        rank.stdin.flush()
    walls, processors = zip(*(json.loads(rank.stdout.readline()) for rank in ranks), strict=True)
    return max(walls), sum(processors) / len(ranks)


def collectives(peer: Peer, rounds: int) -> list[Row]:
    """Measure collectives: batches in turns, in groups formed anew, the tenth part of them.

    How fast a group is depends on where its threads happen to run, and the least of many batches
    on one that met no other work at all.
    """
    own: dict[str, list[float]] = {what: [] for what in COLLECTIVES}
    other: dict[str, list[float]] = {what: [] for what in COLLECTIVES}
    for _ in range(_GROUPS):
        service = Service(2)
        theirs = f"127.0.0.1:{free_port('127.0.0.1')}"
        with pair(_OWN, service.address) as ours, pair(peer, theirs) as others:
            sides = [(ours, own), (others, other)]
            for number, what in itertools.product(range(rounds), COLLECTIVES):
                for ranks, seconds in sides[:: -1 if number % 2 else 1]:
                    seconds[what].append(batch(ranks, what, CALLS[COLLECTIVES[what][1]])[0])
        service.stop()
    return [
        Row(f"{what}, jax", _tenth(own[what]), _tenth(other[what]), 1.05) for what in COLLECTIVES
    ]


def _tenth(seconds: Sequence[float]) -> float:
    """Return what a tenth of the batches is faster than."""
    return sorted(seconds)[len(seconds) // 10]


def order_check(what: str, rounds: int) -> Row:
    """Measure what it adds to a call that it is written down: many with and without in turns.

    It is the calling thread that writes, so what is added is the difference of its processor time,
    which knows nothing of who waits for whom; the call's own time is the least that was seen.
    """
    calls = 200
    service = Service(2)
    with pair(_OWN, service.address) as ranks:
        turns = [
            (*batch(ranks, what, calls), *batch(ranks, what, calls, guarded=False))
            for _ in range(rounds)
        ]
    service.stop()
    _, writing, alone, plain = map(min, zip(*turns, strict=True))
    return Row(f"{what} with the order check, without", alone + writing - plain, alone, 1.03)


def interrupts(rounds: int) -> list[Row]:
    """Measure how long it takes from an interrupt to the prompt: the longest of some."""
    seconds = _seconds(_INTERRUPTS.format(rounds=rounds))
    return [Row(f"interrupt, a rank {where}", max(found), None, 2.0) for where, found in seconds]


def page(rows: Sequence[Row]) -> str:
    """Return the part of the page."""
    lines = ["| what, against what | here | there | ratio | goal |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        there = "–" if row.other is None else seconds_text(row.other)
        ratio = "–" if row.ratio is None else f"{row.ratio:.2f}"
        goal = seconds_text(row.goal) if row.other is None else f"{row.goal:.2f}"
        lines.append(f"| {row.what} | {seconds_text(row.own)} | {there} | {ratio} | {goal} |")
    return "\n".join([*lines, "", _TEXT])


_TEXT = """With two ranks on one machine. The two sides take turns; a start is the least of some, a
round trip the median, a collective what a tenth of its batches in five groups is faster than, an
interrupt the longest: from the interrupt to the prompt. The order check is what it adds to the
calling thread's processor time, beside the least time of a call."""


def main() -> None:
    """Measure, and write the part of the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clusters", description=__doc__)
    parser.add_argument("--peer", required=True, help="the interpreter of an environment with jax")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trips", type=int, default=60)
    options = parser.parse_args()
    heed_interrupts()
    rows = [
        starts(options.rounds),
        trips(options.trips),
        Row("guard, one comparison", measure(2).guard, None, 2e-3),
        *(order_check(what, 20 * options.rounds) for what in _SHORT),
        *interrupts(3),
        *collectives(Peer("jax", options.peer), 60 * options.rounds),
    ]
    figures.write("docs/clusters.md", "benchmarks.clusters", page(rows))


if __name__ == "__main__":
    main()
