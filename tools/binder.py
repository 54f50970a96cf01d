"""Binder's steps, replayed in a clean environment: what an image costs, and a visitor's start.

Run as a program it writes the table of docs/places.md.
"""

import os
import resource
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from tools import figures
from tools.checkout import ROOT

VERSION = (ROOT / "binder/runtime.txt").read_text().strip().removeprefix("python-")
LAST_STEP = ROOT / "binder/postBuild"

STEPS = {
    "`pip install -r binder/requirements.txt`": "pip install -q -r binder/requirements.txt",
    "`binder/postBuild`: checks, and the first demo with nothing compiled": "binder/postBuild",
    "the first demo again, programs from the disk cache": "jupyter nbconvert --to notebook"
    " --execute --stdout demos/01_first_steps.ipynb",
    "`%load_ext jxkernel` in IPython, and the first operation": "ipython -c"
    " '%load_ext jxkernel\nimport jxkernel.numpy as jnp\njnp.ones(3) + 1'",
}
"""What a step is -> its command, run from the top of the checkout."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a step took.

    Attributes:
      processor: the seconds of processor time, of all its processes.
      memory: the bytes of its largest process.
      wall: the seconds by the clock.
    """

    processor: float
    memory: int
    wall: float


def interpreter() -> str:
    """Return Binder's version of Python where this machine has it, else the one running this."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    program = f"import ensurepip, sys; assert '%d.%d' % sys.version_info[:2] == '{VERSION}'"
    for candidate in (f"python{VERSION}", *installed.glob(f"{VERSION}.*/bin/python")):
        try:
            done = subprocess.run([candidate, "-c", program], capture_output=True, check=False)
        except FileNotFoundError:
            continue
        if done.returncode == 0:
            return str(candidate)
    return sys.executable


def environment(folder: Path) -> dict[str, str]:
    """Make an environment in a folder, and return the variables of a process that lives in it.

    Programs are compiled into a cache of its own, and nothing of the caller's Python is seen.
    """
    subprocess.run([interpreter(), "-m", "venv", str(folder / "venv")], check=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # Thousands of sources are never imported: those that are get compiled then.
    own = {"PIP_NO_COMPILE": "1", "JXKERNEL_COMPILATION_CACHE_DIR": str(folder / "cache")}
    return {**inherited, **own, "PATH": f"{folder / 'venv/bin'}:{os.environ['PATH']}"}


def run(command: str, variables: dict[str, str]) -> Cost:
    """Run a command from the top of the checkout, and return what it took.

    Raises:
      CalledProcessError: it failed.
    """
    began = monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(shlex.split(command), cwd=ROOT, env=variables, stdout=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise subprocess.CalledProcessError(process.returncode, command, said.read())
    return _cost(used, monotonic() - began)


def _cost(used: resource.struct_rusage, wall: float) -> Cost:
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, wall)


def main() -> None:
    """Replay the steps and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        variables = environment(Path(folder))
        costs = {name: run(command, variables) for name, command in STEPS.items()}
    rows = (
        (name, f"{cost.processor:.0f} s", f"{cost.wall:.0f} s", f"{cost.memory / 2**20:.0f} MiB")
        for name, cost in costs.items()
    )
    head = ("step", "processor time", "by the clock", "largest process")
    figures.write("docs/places.md", "tools.binder", figures.table(head, rows))


if __name__ == "__main__":
    main()
