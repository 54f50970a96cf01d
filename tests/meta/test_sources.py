"""Sizes and shape of the source files: what keeps the code readable, held as numbers.

A file or function over its limit is either split or listed here with the reason why splitting it
would make it harder to read. An entry that is no longer needed fails too.
"""

import ast
import statistics
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.meta import rules
from tools.checkout import ROOT, module_name, project, python_files

FILE_LINES, FUNCTION_LINES = 1_000, 80

LONG_FUNCTIONS: dict[str, str] = {}
"""`path::name` -> why the function may have more than 80 lines."""

IMPORTING_FUNCTIONS = {
    "jxkernel/__init__.py::load_ipython_extension": "IPython is not loaded by `import jxkernel`",
    "jxkernel/__init__.py::unload_ipython_extension": "IPython is not loaded by `import jxkernel`",
}

PACKAGE = [str(path) for path in python_files("jxkernel")]
ALL = [str(path) for path in python_files("jxkernel", "tests", "benchmarks", "tools")]


@cache
def tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def test_files_are_within_their_limit() -> None:
    # A file holds one concept, whatever its length; past this it holds two.
    lines = {path: len((ROOT / path).read_text().splitlines()) for path in ALL}
    assert {path: count for path, count in lines.items() if count > FILE_LINES} == {}


def test_functions_are_within_their_limit() -> None:
    long = {
        f"{path}::{function.name}": rules.length(function)
        for path in ALL
        for function in rules.functions(tree(path))
        if rules.length(function) > FUNCTION_LINES
    }
    unexpected = long.keys() ^ LONG_FUNCTIONS.keys()
    assert not unexpected, {name: long.get(name, "no longer long") for name in unexpected}


def test_functions_are_short_as_a_rule() -> None:
    lengths = [
        rules.length(function) for path in PACKAGE for function in rules.functions(tree(path))
    ]
    assert statistics.median(lengths) <= 10
    assert statistics.quantiles(lengths, n=20)[-1] <= 50


@pytest.mark.parametrize("path", PACKAGE)
def test_module_opens_with_its_purpose(path: str) -> None:
    assert ast.get_docstring(tree(path))


def test_docstrings_speak_one_dialect() -> None:
    found = {path: rules.docstrings_of_another_dialect(tree(path)) for path in PACKAGE}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_every_folder_of_the_package_is_a_package() -> None:
    # Without its __init__ a folder is invisible to the layer contracts.
    folders = {Path(path).parent for path in PACKAGE}
    assert [folder for folder in folders if not (ROOT / folder / "__init__.py").exists()] == []


def test_no_function_imports() -> None:
    importing = {
        f"{path}::{name}" for path in PACKAGE for name in rules.imports_in_functions(tree(path))
    }
    assert importing <= IMPORTING_FUNCTIONS.keys()


def test_private_names_stay_in_their_package() -> None:
    found = {path: rules.private_imports(module_name(Path(path)), tree(path)) for path in PACKAGE}
    assert {path: names for path, names in found.items() if names} == {}


def test_layers_that_exist_are_not_optional() -> None:
    contracts = project()["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    members = [member.strip() for layer in layers for member in layer.split("|")]
    existing = {module_name(Path(path)).removeprefix("jxkernel.") for path in PACKAGE}
    optional = {member.strip("()") for member in members if member.startswith("(")}
    assert optional & existing == set(), "take the parentheses off in pyproject.toml"


def test_imported_packages_are_declared_dependencies() -> None:
    declared = {
        requirement.partition(">")[0].lower()
        for requirement in project()["project"]["dependencies"]
    }
    imported = {root for path in PACKAGE for root in rules.imported_roots(tree(path))}
    third_party = imported - sys.stdlib_module_names - {"jxkernel"}
    assert {name.lower() for name in third_party} <= declared
