"""Programs written for JAX, one for each row of what the system must have, run unchanged."""

import runpy
from pathlib import Path

import pytest

import jxkernel

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_programs_run_unchanged(program: Path) -> None:
    assert "jxkernel" not in program.read_text()
    with jxkernel.alias("jax"):
        runpy.run_path(str(program))
