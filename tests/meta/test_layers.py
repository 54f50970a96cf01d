"""The import contracts of pyproject.toml break when they should, and name what broke them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.checkout import PACKAGE, ROOT

LINT = Path(sys.executable).with_name("lint-imports")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "jxkernel", ignore=ignored)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "source", "contract", "named"),
    [
        ("events/upward.py", "import jxkernel.core", "Layers", "events.upward -> jxkernel.core"),
        (
            "events/hidden.py",
            "def function():\n    import jxkernel.core",
            "Layers",
            "events.hidden -> jxkernel.core",
        ),
        (
            "lowering/sideways.py",
            "import jxkernel.transforms",
            "Layers",
            "lowering.sideways -> jxkernel.transforms",
        ),
        ("novelty.py", "", "Layers", "novelty"),
        (
            "core/trace.py",
            "import jxkernel.core.jaxpr",
            "No cycle between siblings at any depth",
            ".trace -> .jaxpr",
        ),
        (
            "events/inward.py",
            "from jxkernel import jit",
            "The façade is for users: nothing inside imports it",
            "events.inward -> jxkernel",
        ),
        ("compile/peer.py", "import jax.numpy", "jax is never imported", "compile.peer -> jax"),
        (
            "primitives/direct.py",
            "from jaxlib import _jax",
            "jaxlib only where arrays, programs and executables are made",
            "primitives.direct -> jaxlib",
        ),
        (
            "observe/view.py",
            "import IPython",
            "The notebook's packages only in jxkernel.jupyter",
            "observe.view -> IPython",
        ),
    ],
)
def test_contract_breaks(copy: Path, path: str, source: str, contract: str, named: str) -> None:
    with (copy / "jxkernel" / path).open("a") as file:
        file.write(f"\n{source}\n")
    command = [str(LINT), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{contract} BROKEN" in done.stdout
    assert named in done.stdout
