"""The examples in docstrings show what really happens."""

import doctest
import importlib

import pytest

from tests.meta.checkout import ROOT, module_name, python_files

MODULES = [
    module_name(path) for path in python_files("jxkernel") if ">>> " in (ROOT / path).read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name: str) -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testmod(importlib.import_module(name), optionflags=options)
    assert found.attempted
    assert found.failed == 0, "see the captured output"
