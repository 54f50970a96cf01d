"""Pairs of worker processes, one of each library, that are given the same programs."""

import os
import pickle
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.campaign.answers import LENGTH, SECONDS, Answer

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 3 * SECONDS
PROGRAMS_A_PROCESS = 12_000
DIED = "ProcessDied"


def _exactly(stream: Any, size: int) -> bytes:
    """Return as many bytes of a pipe, unbuffered, so that ``select`` sees what is left."""
    found = b""
    while len(found) < size:
        more = stream.read(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found


class Worker:
    """A process of a library that answers programs; another takes its place when it dies.

    Args:
      library: ``jxkernel`` or ``jax``.
      python: the interpreter of the environment that the library lives in.
    """

    def __init__(self, library: str, python: str = sys.executable) -> None:
        self._command = [python, "-m", "tests.campaign.worker", library]
        self._process: subprocess.Popen[bytes] | None = None
        self._answered = 0

    def send(self, sources: Sequence[str]) -> None:
        """Give it programs to run."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        pickle.dump(list(sources), self._process.stdin)
        self._process.stdin.flush()

    def answers(self, sources: Sequence[str]) -> Iterator[Answer]:
        """Yield the answers to the programs that were sent."""
        for n in range(len(sources)):
            answer = self._receive()
            yield answer
            if answer.error == (DIED,) and n + 1 < len(sources):
                self.send(sources[n + 1 :])
        self._answered += len(sources)
        if self._answered > PROGRAMS_A_PROCESS:
            self.stop()

    def ask(self, source: str) -> Answer:
        """Return the answer to one program."""
        self.send([source])
        return next(iter([*self.answers([source])]))

    def _start(self) -> None:
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "JXKERNEL_", "XLA_"))
        }
        settings = {
            "PYTHONPATH": str(ROOT),
            "JAX_ENABLE_COMPILATION_CACHE": "0",
            "JAX_PLATFORMS": "cpu",
            # What the other library cuts from its tracebacks is not looked at, and costs a sixth.
            **({"JAX_TRACEBACK_FILTERING": "off"} if self._command[-1] == "jax" else {}),
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        }
        self._process = subprocess.Popen(
            self._command,
            env={**kept, **settings},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._answered = 0

    def _receive(self) -> Answer:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], PATIENCE)[0]:
            return self._died("no answer came in time")
        try:
            return pickle.loads(
                _exactly(process.stdout, *LENGTH.unpack(_exactly(process.stdout, 8)))
            )
        except EOFError:
            return self._died(f"it ended with status {process.wait()}")

    def _died(self, why: str) -> Answer:
        self.stop()
        return Answer(error=(DIED,), message=why)

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
