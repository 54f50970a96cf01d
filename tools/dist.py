"""A release's files: built twice to the same bytes, and the wheel tried in clean environments.

Run as a program it leaves them in ``dist/``. Its arguments are the Pythons to try the wheel with,
the newest first; each gets the newest jaxlib, the last one also the oldest that is allowed.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.checkout import ROOT, project

DIST = ROOT / "dist"

PROGRAM = """
import jxkernel as jx, jxkernel.numpy as jnp
assert jx.__version__ in {wheel!r}, jx.__version__
assert jx.jit(jx.grad(lambda x: jnp.sum(x**2)))(jnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jxkernel")
assert shell.run_cell("%%jit\\nimport jxkernel.numpy as jnp\\ny = jnp.ones(3) * 2").success
import jaxlib.version, platform
print("tried", jx.__version__, "with Python", platform.python_version(), end=" ")
print("and jaxlib", jaxlib.version.__version__)
"""


def build(folder: Path) -> dict[str, str]:
    """Build wheel and source distribution into a folder; return their hashes by name."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.iterdir())
    }


def oldest_jaxlib() -> str:
    """Return the requirement of the oldest jaxlib that is allowed."""
    found = (
        re.fullmatch(r"jaxlib>=([\d.]+),.*", one) for one in project()["project"]["dependencies"]
    )
    [oldest] = filter(None, found)
    return f"jaxlib=={oldest[1]}"


def try_wheel(wheel: Path, python: str, *more: str) -> None:
    """Install a wheel into an environment of its own, and run a program and a cell there.

    Args:
      wheel: the wheel.
      python: the interpreter that makes the environment.
      *more: further requirements.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = str(Path(folder) / "bin/python")
        install = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, str(wheel), *more], check=True)
        program = PROGRAM.format(wheel=wheel.name)
        subprocess.run([inside, "-W", "error", "-c", program], check=True, cwd=folder)


def main() -> None:
    """Build, compare, try."""
    with tempfile.TemporaryDirectory() as once, tempfile.TemporaryDirectory() as again:
        first, second = build(Path(once)), build(Path(again))
        if first != second:
            raise SystemExit(f"two builds differ: {first} and {second}")
        DIST.mkdir(exist_ok=True)
        for old in DIST.glob("jxkernel-*"):
            old.unlink()
        for name in first:
            (DIST / name).write_bytes((Path(once) / name).read_bytes())
    [wheel] = DIST.glob("*.whl")
    pythons = sys.argv[1:] or [sys.executable]
    for python in pythons:
        try_wheel(wheel, python)
    try_wheel(wheel, pythons[-1], oldest_jaxlib())
    for name, digest in first.items():
        sys.stdout.write(f"{digest}  {name}\n")


if __name__ == "__main__":
    main()
