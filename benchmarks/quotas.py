"""What a container's CPU limit does to calls: ``python -m benchmarks.quotas``.

Each limit has a process of its own in a control group that goes before whatever else runs on the
machine. Needs a root that may make control groups, and two CPUs. Writes the table
of ``docs/places.md``.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT, environment
from benchmarks.report import seconds_text
from tools import figures

__all__ = ["PERIOD", "group", "main"]

PERIOD = 100_000
"""The microseconds after which a quota is given anew: the kernel's own, and Kubernetes'."""

_GROUPS = Path("/sys/fs/cgroup")
_LIMITS = {
    "none": (None, "0,1"),
    "a quota of 2 CPUs": (2.0, "0,1"),
    "a quota of 1 CPU": (1.0, "0,1"),
    "a quota of half a CPU": (0.5, "0,1"),
    "bound to 1 CPU": (None, "0"),
}
"""Name -> the quota, and the CPUs that the process is bound to."""

_CALLS = """
import json
from time import perf_counter
import jxkernel as jx, jxkernel.numpy as jnp
matrix, x = jnp.ones((1_000, 1_000)), jnp.ones(3)
product, small = jx.jit(lambda a: a @ a), jx.jit(lambda a: a + 1)
def seconds(work):
    began = perf_counter()
    work()
    return perf_counter() - began
def many():
    for _ in range(1_000):
        y = small(x)
    y.block_until_ready()
for work in (lambda: product(matrix).block_until_ready(), many):
    work()
    print(json.dumps([seconds(work) for _ in range(300)]))
"""


@contextmanager
def group(quota: float | None, groups: Path = _GROUPS) -> Iterator[Path]:
    """Make a control group that goes before all others.

    Args:
      quota: how many CPUs its processes may use together, in each period; None for all.
      groups: where control groups are mounted.

    Yields:
      the file to which a process is written that joins the group.
    """
    unified = (groups / "cgroup.controllers").exists()
    made = (groups if unified else groups / "cpu") / f"jxkernel-{os.getpid()}"
    made.mkdir()
    amount = None if quota is None else round(quota * PERIOD)
    try:
        if unified:
            (made / "cpu.weight").write_text("10000")
            (made / "cpu.max").write_text(f"{'max' if amount is None else amount} {PERIOD}")
        else:
            (made / "cpu.shares").write_text("262144")
            (made / "cpu.cfs_period_us").write_text(f"{PERIOD}")
            (made / "cpu.cfs_quota_us").write_text(f"{-1 if amount is None else amount}")
        yield made / "cgroup.procs"
    finally:
        made.rmdir()


def _measured(quota: float | None, cpus: str) -> list[list[float]]:
    """Return the seconds of products, and of a thousand small calls each."""
    how: Any = {"cwd": ROOT, "env": environment(), "capture_output": True, "text": True}
    with group(quota) as processes:
        join = ["sh", "-c", f'echo $$ > {processes}; exec "$@"', "sh"]
        command = [*join, "nice", "-n", "-20", "taskset", "-c", cpus]
        command += [sys.executable, "-c", _CALLS]
        done = subprocess.run(command, check=True, timeout=300, **how)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _row(name: str, quota: float | None, cpus: str) -> tuple[str, ...]:
    products, calls = map(sorted, _measured(quota, cpus))
    middle, late, last = (products[int(share * (len(products) - 1))] for share in (0.5, 0.9, 1))
    told = (middle, late, last, calls[len(calls) // 2] / 1_000)
    return (name, *map(seconds_text, told))


def main() -> None:
    """Measure each limit, and write the table."""
    rows = [_row(name, *limit) for name, limit in _LIMITS.items()]
    head = ("limit", "product, median", "one of ten takes", "the longest", "small call")
    figures.write("docs/places.md", "benchmarks.quotas", figures.table(head, rows))


if __name__ == "__main__":
    main()
