"""Types: how many parameters say no more than ``Any`` may only fall."""

import ast
from collections.abc import Iterator

import pytest

from tools.checkout import PACKAGE

MOST = {
    "api": 26,
    "cluster": 26,
    "compile": 20,
    "core": 30,
    "debug": 19,
    "dtypes": 18,
    "events": 0,
    "example_libraries": 56,
    "experimental": 40,
    "export": 14,
    "higher_order": 12,
    "hlo": 27,
    "image": 51,
    "jupyter": 14,
    "lowering": 18,
    "nn": 50,
    "numpy": 45,
    "observe": 14,
    "primitives": 35,
    "random": 55,
    "runtime": 34,
    "scipy": 54,
    "sharding": 33,
    "transforms": 12,
    "tree": 32,
}
"""By layer, the greatest share of parameters of type ``Any`` in percent: it may be lowered only."""


def parameters(layer: str) -> Iterator[str]:
    """Yield the annotations of a layer's parameters, but of those that are named like ``_``."""
    for file in sorted((PACKAGE / layer).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = node.args
                for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                    if one.annotation is not None and not one.arg.startswith("_"):
                        yield ast.unparse(one.annotation)


def share(layer: str) -> float:
    found = list(parameters(layer))
    return 100 * sum(one in ("Any", "Any | None") for one in found) / max(len(found), 1)


@pytest.mark.parametrize("layer", MOST)
def test_no_more_parameters_say_nothing(layer: str) -> None:
    assert share(layer) <= MOST[layer]


def test_every_layer_with_functions_is_counted() -> None:
    layers = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {layer for layer in layers - set(MOST) if len(list(parameters(layer))) > 20} == set()
