"""The import contracts of pyproject.toml are kept; they break when they should, and say by what."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.checkout import PACKAGE, ROOT

LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    # A cached import graph does not see that a module it could not resolve exists by now.
    command = [str(LINT), "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_contracts_are_kept() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


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
        (
            "primitives/shape/upward.py",
            "import jxkernel.primitives.conv",
            "Wings of the primitives",
            "primitives.shape.upward -> jxkernel.primitives.conv",
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
    done = lint(copy)
    assert done.returncode == 1
    assert f"{contract} BROKEN" in done.stdout
    assert named in done.stdout


def string_imports() -> Iterator[tuple[str, int, str]]:
    """Yield file, line and module of each import by string: what is given to ``_lazy``'s doors."""
    doors = {"late_function", "late_module", "lazy_names", "give_names"}
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text()
        if not any(door in source for door in doors):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id not in doors:
                    continue
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Constant) and is_module(inner.value):
                        yield str(path.relative_to(PACKAGE)), inner.lineno, inner.value


def is_module(value: object) -> bool:
    if not isinstance(value, str) or not value.startswith("jxkernel."):
        return False
    place = PACKAGE.joinpath(*value.split(".")[1:])
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def floors() -> dict[str, int]:
    """Return for each part of the package how far below the top it lies."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(one["layers"] for one in contracts["contracts"] if one["name"] == "Layers")
    return {name.strip(): number for number, row in enumerate(layers) for name in row.split("|")}


def test_no_import_by_string_goes_upward() -> None:
    floor = floors()
    found = list(string_imports())
    assert len(found) > 40
    upward = [
        (file, line, module)
        for file, line, module in found
        if file not in ("__init__.py", "_lazy.py")
        and floor[module.split(".")[1]] < floor[Path(file).with_suffix("").parts[0]]
    ]
    assert upward == [], "a façade may give the name: see give_names"


def test_imports_by_string_go_through_one_door() -> None:
    others = [
        str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "_lazy.py"
        and re.search(r"\bimport_module\(|__import__\(", path.read_text())
    ]
    assert others == []
