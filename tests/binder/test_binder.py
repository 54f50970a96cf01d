"""Binder: its files agree with the project, and its steps, replayed, open and run the demos."""

import os
import resource
import subprocess
import sys
from pathlib import Path

from packaging.specifiers import SpecifierSet

from tools.checkout import ROOT, project

VERSION = (ROOT / "binder/runtime.txt").read_text().strip().removeprefix("python-")
MEMORY = 2 * 1024**3
LAST_STEP = ROOT / "binder/postBuild"


def test_binder_installs_what_the_demos_need() -> None:
    assert (ROOT / "binder/requirements.txt").read_text().split() == [".[demo]"]
    assert "demo" in project()["project"]["optional-dependencies"]
    assert VERSION in SpecifierSet(project()["project"]["requires-python"])


def test_binder_last_step_can_be_run() -> None:
    assert os.access(LAST_STEP, os.X_OK)
    subprocess.run(["bash", "-n", str(LAST_STEP)], check=True)


def interpreter() -> str:
    """Return Binder's version of Python where this machine has it, else the one running this."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for candidate in (f"python{VERSION}", *installed.glob(f"{VERSION}.*/bin/python")):
        program = f"import ensurepip, sys; assert '%d.%d' % sys.version_info[:2] == '{VERSION}'"
        try:
            done = subprocess.run([candidate, "-c", program], capture_output=True, check=False)
        except FileNotFoundError:
            continue
        if done.returncode == 0:
            return str(candidate)
    return sys.executable


def test_binder_steps_in_a_clean_environment_run_the_demos(tmp_path: Path) -> None:
    subprocess.run([interpreter(), "-m", "venv", str(tmp_path / "venv")], check=True)
    commands = tmp_path / "venv/bin"
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = {**inherited, "PATH": f"{commands}:{os.environ['PATH']}"}
    # Thousands of sources are never imported: those that are get compiled then.
    environment["PIP_NO_COMPILE"] = "1"
    demos = sorted((ROOT / "demos").glob("*.ipynb"))
    notebooks = [str(path) for path in demos if path.name not in LAST_STEP.read_text()]
    assert len(notebooks) == len(demos) - 1  # the last step runs the first demo
    convert = ["jupyter", "nbconvert", "--to", "html", "--execute", "--output-dir", str(tmp_path)]
    for command in (
        ["pip", "install", "--quiet", "-r", "binder/requirements.txt"],
        ["binder/postBuild"],
        [*convert, *notebooks],
    ):
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    # The largest process of all of them, in KiB; the server beside the kernel takes about 200 MiB.
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert largest + 200 * 1024**2 < MEMORY
