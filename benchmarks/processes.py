"""Processes of either library: workers that answer, and programs measured as a whole."""

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory, TemporaryFile
from time import perf_counter
from typing import Any, Self

from benchmarks.instructions import OUTPUT, total, under_callgrind

__all__ = [
    "Peer",
    "ProcessCost",
    "Worker",
    "disk_cache_in",
    "environment",
    "heed_interrupts",
    "instructions_of_script",
    "measure_script",
    "run_module",
    "versions",
]

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Peer:
    """A library and the interpreter of the environment that it lives in."""

    library: str
    python: str


@dataclass(frozen=True)
class ProcessCost:
    """What the operating system says a finished process cost.

    Attributes:
      wall: seconds from start to end.
      processor: seconds of processor time, user and system.
      memory: peak resident bytes.
    """

    wall: float
    processor: float
    memory: float


def heed_interrupts() -> None:
    """Let interrupts reach this process, and those that it starts, whoever started it.

    A shell that is no terminal starts what runs in its background with interrupts ignored, and
    what such a process starts ignores them too.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def environment() -> dict[str, str]:
    """Return the variables of a process that is measured."""
    # Both libraries see the checkout's benchmarks and neither another's settings. PYTHON* goes as
    # well: PYTHONDONTWRITEBYTECODE would have every process compile all its modules again.
    settings = ("JAX_", "JXKERNEL_", "XLA_", "PYTHON")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(settings)}
    return {**kept, "PYTHONPATH": str(ROOT), "JAX_ENABLE_COMPILATION_CACHE": "0"}


def run_module(
    peer: Peer, module: str, *arguments: str, variables: dict[str, str] | None = None
) -> str:
    """Return what a module prints that is run as a program in a fresh process.

    Args:
      peer: the library.
      module: the module.
      arguments: of the program.
      variables: of the environment, besides the usual.

    Raises:
      RuntimeError: the process failed; the message holds what it wrote.
    """
    return _output([peer.python, "-m", module, *arguments], variables)


def disk_cache_in(folder: str) -> dict[str, str]:
    """Return the variables that make either library keep all it compiles in a folder."""
    return {
        "JAX_ENABLE_COMPILATION_CACHE": "1",
        "JAX_COMPILATION_CACHE_DIR": folder,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


class Worker:
    """A process of a library that measures one family's metrics when it is asked to.

    Args:
      peer: the library.
      family: the family's name.
      counting: whether callgrind runs it, so that it can count instructions.
    """

    def __init__(self, peer: Peer, family: str, *, counting: bool = False) -> None:
        self.peer = peer
        self._folder = TemporaryDirectory()
        output, errors = (Path(self._folder.name) / name for name in ("callgrind", "errors"))
        command = [peer.python, "-m", "benchmarks.worker", peer.library, family]
        if counting:
            command = under_callgrind(command, output, from_start=False)
        self._errors = errors.open("w+")
        self._process = subprocess.Popen(
            command,
            env={**environment(), OUTPUT: str(output)},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        self._errors.close()
        self._folder.cleanup()

    def ask(self, kind: str, name: str) -> Any:
        """Return a figure of a metric, measured now, or what else is to be known of it.

        Raises:
          RuntimeError: it could not be measured; the message holds what the process said.
        """
        answer = self._send(f"{kind} {name}\n")
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["figure"]

    def _send(self, request: str) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.write(request)
            self._process.stdin.flush()
        if line := self._process.stdout.readline():
            return json.loads(line)
        self._errors.seek(0)
        return {"error": self._errors.read()[-4000:] or "the process ended without a word"}


def _output(command: list[str], variables: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        env={**environment(), **(variables or {})},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
    return done.stdout


def instructions_of_script(
    peer: Peer, source: str, variables: dict[str, str] | None = None
) -> float:
    """Return the instructions of a program as a whole process."""
    command = [peer.python, "-c", source.format(library=peer.library)]
    with TemporaryDirectory() as folder:
        output = Path(folder) / "callgrind"
        _output(
            under_callgrind(command, output, from_start=True),
            {"PYTHONHASHSEED": "0", **(variables or {})},
        )
        return total(output)


_STATUS = Path("/proc/self/status")
_PEAK = re.compile(r"VmHWM:\s*(\d+) kB")
"""Where Linux tells a process's peak of memory.

What it tells of one that has ended is at least what the process had that started it.
"""


def measure_script(peer: Peer, source: str, variables: dict[str, str] | None = None) -> ProcessCost:
    """Return what a program cost as a whole process.

    Args:
      peer: the library.
      source: the program; ``{library}`` is replaced by the library's name.
      variables: of the environment, besides the usual.

    Raises:
      RuntimeError: the program failed; the message holds what it wrote.
    """
    with TemporaryFile() as errors, NamedTemporaryFile("r") as about:
        program = source.format(library=peer.library)
        if _STATUS.exists():
            program += f"\nopen({about.name!r}, 'w').write(open({str(_STATUS)!r}).read())"
        start = perf_counter()
        process = subprocess.Popen(
            [peer.python, "-c", program],
            env={**environment(), **(variables or {})},
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        # wait4 alone tells the usage of this one child.
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            text = errors.read().decode(errors="replace")
            raise RuntimeError(f"{peer.library}: {source!r} failed:\n{text[-4000:]}")
        found = _PEAK.search(about.read())
    # macOS counts the peak in bytes.
    peak = int(found[1]) * 1024 if found else usage.ru_maxrss
    return ProcessCost(wall, usage.ru_utime + usage.ru_stime, peak)


def versions(peer: Peer) -> dict[str, str]:
    """Return the versions of the interpreter, of jaxlib, numpy and the library."""
    source = (
        "import json, platform, importlib.metadata as m; names = ['jaxlib', 'numpy', 'jax']; "
        "found = {n: m.version(n) for n in names if any(True for _ in m.distributions(name=n))}; "
        "print(json.dumps({'python': platform.python_version(), **found}))"
    )
    command = [peer.python, "-c", source]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
