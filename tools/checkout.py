"""Where things are in the checkout: the files and modules that the gates in this folder judge."""

import ast
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "jxkernel"


def project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def python_files(*folders: str) -> list[Path]:
    """Return the Python files below ``folders`` of the checkout, relative to it."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path.relative_to(ROOT) for path in found)


def module_name(path: Path) -> str:
    """Return the dotted name of the module in the file ``path``, relative to the checkout."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def public_modules() -> list[str]:
    """Return what users may import: each package, and each module at the top of jxkernel.

    A package that only opens with its docstring offers its modules, and no names of its own.
    """
    modules = {path: module_name(path) for path in python_files("jxkernel")}
    return [
        name
        for path, name in modules.items()
        if (path.stem == "__init__" or len(path.parts) == 2)
        and not any(part.startswith("_") for part in name.split("."))
        and len(ast.parse((ROOT / path).read_text()).body) > 1
    ]
