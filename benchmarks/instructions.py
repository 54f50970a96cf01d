"""Counting instructions with valgrind's callgrind: slow to run, exact under any load.

A worker that runs under callgrind switches counting on around each measured step, so that
neither imports nor compilation are counted.  The threads of the runtime count as well.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["OUTPUT", "available", "count_instructions", "total", "under_callgrind"]

OUTPUT = "BENCHMARK_CALLGRIND_OUTPUT"
"""The environment variable that tells a worker where callgrind writes."""

_dumps = 0


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def under_callgrind(command: list[str], output: Path, *, from_start: bool) -> list[str]:
    """Return a command that runs another under callgrind, counting from its start or not yet."""
    start = "yes" if from_start else "no"
    options = ["--tool=callgrind", "-q", f"--instr-atstart={start}"]
    return ["valgrind", *options, f"--callgrind-out-file={output}", *command]


def total(output: Path) -> float:
    """Return the instructions that a callgrind file counted.

    Raises:
      ValueError: the file has no total.
    """
    for line in output.read_text().splitlines():
        if line.startswith("totals:"):
            return float(line.split()[1])
    raise ValueError(f"{output} holds no total")


def count_instructions(
    steps: Sequence[Callable[[], object]], wait: Callable[[object], object]
) -> float:
    """Return the instructions that steps take together, in a process that callgrind runs.

    ``wait`` is applied to the last step's result, so that what runs on other threads is counted.
    """
    global _dumps
    result: object = None
    _control("--zero")
    _control("--instr=on")
    for step in steps:
        result = step()
    wait(result)
    _control("--instr=off")
    _control("--dump")
    _dumps += 1
    return total(Path(f"{os.environ[OUTPUT]}.{_dumps}"))


def _control(option: str) -> None:
    command = ["callgrind_control", option, str(os.getpid())]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
