"""Targets of the Makefile take the options that their comments promise."""

import subprocess
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
