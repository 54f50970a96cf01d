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

FILE_LINES, FILE_LINES_AT_MOST, FUNCTION_LINES = 600, 1_000, 80

LONG_FILES = {
    "jxkernel/config.py": "the list of all options is long by itself, and each stands once",
    "jxkernel/errors.py": "the whole tree of errors, which its docstring draws, is one file",
    "jxkernel/lax/__init__.py": "a façade: each name stands once in an import and once in __all__",
}
"""Path -> why the file may have more than 600 lines (never more than 1,000)."""

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
    lines = {path: len((ROOT / path).read_text().splitlines()) for path in ALL}
    long = {path for path, count in lines.items() if count > FILE_LINES}
    assert long == LONG_FILES.keys(), {path: lines.get(path) for path in long ^ LONG_FILES.keys()}
    assert not {path: lines[path] for path in long if lines[path] > FILE_LINES_AT_MOST}


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
