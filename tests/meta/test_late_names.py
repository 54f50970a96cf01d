"""What a package gives at its first use, an editor finds without running it."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.checkout import ROOT, module_name, python_files

LATE = [path for path in python_files("jxkernel") if "= lazy_names(" in (ROOT / path).read_text()]


def bound(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a module's statements bind, those for type checkers too."""
    for statement in body:
        match statement:
            case ast.If(body=inner):
                yield from bound(inner)
            case ast.With(body=inner):
                yield from bound(inner)
            case ast.ImportFrom(module=home, names=[ast.alias(name="*")]):
                yield from importlib.import_module(str(home)).__all__
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (
                    node.id
                    for one in targets
                    for node in ast.walk(one)
                    if isinstance(node, ast.Name)
                )
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case _:
                pass


@pytest.mark.parametrize("path", LATE, ids=str)
def test_an_editor_finds_the_public_names_of_a_package(path: Path) -> None:
    package = importlib.import_module(module_name(path))
    assert set(package.__all__) - set(bound(ast.parse((ROOT / path).read_text()).body)) == set()
