"""The examples in docstrings show what really happens, and users find one in each function.

Examples need not import what they are about: ``jx``, ``jnp``, ``lax`` and ``np`` stand for what
they do everywhere in the field.
"""

import doctest
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import jxkernel
from jxkernel import lax
from jxkernel import numpy as jnp
from tools.checkout import ROOT, module_name, public_modules, python_files

COMPLETE = [
    "jxkernel",
    "jxkernel.config",
    "jxkernel.custom_batching",
    "jxkernel.custom_derivatives",
    "jxkernel.flatten_util",
    "jxkernel.image",
    "jxkernel.lax",
    "jxkernel.lax.linalg",
    "jxkernel.nn",
    "jxkernel.nn.initializers",
    "jxkernel.numpy",
    "jxkernel.numpy.fft",
    "jxkernel.numpy.linalg",
    "jxkernel.ops",
    "jxkernel.random",
    "jxkernel.scipy.cluster",
    "jxkernel.scipy.linalg",
    "jxkernel.scipy.signal",
    "jxkernel.scipy.sparse.linalg",
    "jxkernel.scipy.special",
    "jxkernel.scipy.stats",
    "jxkernel.tree",
    "jxkernel.tree_util",
]
"""The public modules of which every function has an example."""

NAMES = {"jx": jxkernel, "jnp": jnp, "lax": lax, "np": np}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    module_name(path) for path in python_files("jxkernel") if ">>> " in (ROOT / path).read_text()
]


def _public_functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in module.__all__:
        value = getattr(module, name)
        own = (getattr(value, "__module__", None) or "").startswith("jxkernel")
        if callable(value) and own and not inspect.isclass(value):
            yield name, value


@cache
def _examples() -> dict[str, dict[str, doctest.DocTest]]:
    """Return, for each module, the examples that no module before it has, by their docstrings.

    Where functions are made by functions or compiled, doctest does not tell where they belong:
    the public module that offers one is searched for what was not found so far.
    """
    seen: set[str] = set()
    found: dict[str, dict[str, doctest.DocTest]] = {}

    def keep(module: str, examples: list[doctest.DocTest]) -> None:
        new = {test.docstring: test for test in examples if test.examples}
        found.setdefault(module, {}).update({k: new[k] for k in new if k not in seen})
        seen.update(new)

    for name in MODULES:
        module = importlib.import_module(name)
        keep(name, doctest.DocTestFinder().find(module, name, extraglobs=NAMES))
    parser = doctest.DocTestParser()
    for name in public_modules():
        module = importlib.import_module(name)
        for function, value in _public_functions(module):
            doc = value.__doc__ or ""
            own = {**vars(module), **NAMES}
            keep(name, [parser.get_doctest(doc, own, f"{name}.{function}", None, None)])
    return found


@pytest.mark.parametrize("name", sorted({*MODULES, *public_modules()}))
def test_examples_give_what_they_show(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    for example in _examples().get(name, {}).values():
        runner.run(example)
    assert runner.failures == 0, "see the captured output"


@pytest.mark.parametrize("name", COMPLETE)
def test_examples_are_in_every_public_function(name: str) -> None:
    functions = _public_functions(importlib.import_module(name))
    assert [key for key, value in functions if ">>> " not in (value.__doc__ or "")] == []


def test_examples_of_functions_made_by_functions_are_found() -> None:
    names = {test.name for tests in _examples().values() for test in tests.values()}
    assert {"jxkernel.numpy.isinf", "jxkernel.numpy.creation.zeros"} <= names
