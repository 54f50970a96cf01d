"""Binder: its files agree with the project, and its steps, replayed, open and run the demos."""

import os
import subprocess
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tools import binder_link, figures
from tools.binder import LAST_STEP, STEPS, VERSION, environment, run
from tools.checkout import ROOT, project

README = (ROOT / "README.md").read_text()
MEMORY = 2 * 1024**3


def test_binder_installs_what_the_demos_need() -> None:
    assert (ROOT / "binder/requirements.txt").read_text().split() == [".[demo]"]
    assert "demo" in project()["project"]["optional-dependencies"]
    assert VERSION in SpecifierSet(project()["project"]["requires-python"])


def test_the_readme_has_a_button_where_the_project_has_an_address() -> None:
    [found] = [one for one in figures.PART.finditer(README) if one[2] == "tools.binder_link"]
    assert found[0].split("-->", 1)[1].rpartition("<!--")[0].strip() == binder_link.current()
    link = "https://mybinder.org/v2/gh/an-owner/jxkernel/HEAD?urlpath=lab/tree/demos/01_first_steps"
    for address in (
        "https://github.com/an-owner/jxkernel",
        "https://github.com/an-owner/jxkernel.git",
    ):
        assert f"badge_logo.svg)]({link}.ipynb)" in binder_link.part(address)
    assert "OWNER/NAME" in binder_link.part(None)
    assert (ROOT / binder_link.FIRST).exists()


def test_binder_last_step_can_be_run() -> None:
    assert os.access(LAST_STEP, os.X_OK)
    subprocess.run(["bash", "-n", str(LAST_STEP)], check=True)


@pytest.mark.slow
def test_binder_steps_in_a_clean_environment_run_the_demos(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    demos = sorted((ROOT / "demos").glob("*.ipynb"))
    notebooks = [str(path) for path in demos if path.name not in LAST_STEP.read_text()]
    assert len(notebooks) == len(demos) - 1  # the last step runs the first demo
    convert = f"jupyter nbconvert --to html --execute --output-dir {tmp_path}"
    install, last_step, *_ = STEPS.values()
    commands = (install, last_step, " ".join([convert, *notebooks]))
    largest = max(run(command, variables).memory for command in commands)
    # The server beside the kernel takes about 200 MiB.
    assert largest + 200 * 1024**2 < MEMORY
