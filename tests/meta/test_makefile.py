"""Targets of the Makefile take the options that their comments promise."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("options", ["", "--ServerApp.root_dir=/tmp", "--notebook-dir=/tmp"])
def test_jupyterlab_opens_on_one_folder(options: str) -> None:
    command = ["make", "-n", "lab", f"LAB_ARGS={options}"]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (line,) = [one for one in planned.splitlines() if "bin/jupyter lab " in one]
    assert line.count("root_dir=") + line.count("notebook-dir=") == 1
    assert (options or "--ServerApp.root_dir=demos") in line


WAITING = """
import threading, pytest

@pytest.mark.parametrize("number", range(4))
def test_before(number): pass

def test_that_waits_for_ever():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

@pytest.mark.parametrize("number", range(4))
def test_after(number): pass
"""


def test_a_test_that_waits_for_ever_ends_the_run_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "test_waiting.py").write_text(WAITING)
    planned = subprocess.run(
        ["make", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    (line,) = [one for one in planned.splitlines() if one.startswith(".venv/bin/pytest ")]
    _, *options, folder, _, _ = shlex.split(line)
    assert folder == "tests/meta"
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider"),
            *("-c", str(ROOT / "pyproject.toml"), "-o", "faulthandler_timeout=2", str(tmp_path)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 1
    assert "1 failed" in ended.stdout
    assert "crashed while running 'test_waiting.py::test_that_waits_for_ever'" in ended.stdout
    assert "in test_that_waits_for_ever" in ended.stderr
