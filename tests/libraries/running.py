"""Running a library's program in the environment that has the libraries and no ``jax``."""

import json
import os
import subprocess
import tempfile
from functools import cache
from math import isclose, isnan
from pathlib import Path
from typing import Any

from tools.checkout import ROOT

__all__ = ["NUMBERS", "PYTHON", "agree", "distributions", "numbers", "run", "sources"]

HERE = Path(__file__).parent
NUMBERS = HERE / "numbers.json"
PYTHON = ROOT / "build/libraries/bin/python"


@cache
def numbers() -> dict[str, Any]:
    """Return what each program gives on real ``jax``."""
    return json.loads(NUMBERS.read_text())


def run(name: str, python: Path = PYTHON, alias: bool = True) -> Any:
    """Return what a program gives, as JSON has it.

    Raises:
      RuntimeError: it failed; the message has the end of what it wrote.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT) if alias else "", "MPLBACKEND": "agg"}
    command = [str(python), str(HERE / "runner.py"), name, *(["--alias"] if alias else [])]
    with tempfile.TemporaryDirectory() as folder:  # Some libraries write logs where they run.
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=folder, check=False
        )
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return json.loads(done.stdout.strip().rpartition("\n")[2])


def agree(found: Any, wanted: Any) -> bool:
    """Whether two results are the same, up to what rounding does in a program of many steps."""
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(agree(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(agree, found, wanted))
    if isinstance(wanted, (str, bool)):
        return found == wanted
    return isclose(found, wanted, rel_tol=2e-3, abs_tol=2e-4) or (isnan(found) and isnan(wanted))


def distributions() -> dict[str, str]:
    """Return the names and versions of what the environment has."""
    code = (
        "import json, importlib.metadata as m\n"
        "print(json.dumps({d.metadata['Name'].lower(): d.version for d in m.distributions()}))"
    )
    done = subprocess.run([str(PYTHON), "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def sources(name: str) -> list[Path]:
    """Return the Python files of a distribution in the environment."""
    code = (
        "import sys, importlib.metadata as m\n"
        "for f in m.files(sys.argv[1]) or ():\n"
        "    if f.suffix == '.py': print(f.locate())"
    )
    done = subprocess.run(
        [str(PYTHON), "-c", code, name], capture_output=True, text=True, check=True
    )
    return [Path(line) for line in done.stdout.splitlines()]
