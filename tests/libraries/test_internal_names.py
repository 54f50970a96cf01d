"""Each internal name of the alias is one that released libraries ask for."""

import importlib
import re

import pytest

from tests.libraries import running

ROWS = importlib.import_module("jxkernel._alias_internals").ROWS
NAMED = sorted(
    {
        library
        for rows in ROWS.values()
        for row in rows.values()
        for library in row.libraries.split()
    }
    - {"pickles", "of", "arrays"}
)

there = pytest.mark.skipif(
    not running.PYTHON.exists(), reason="no build/libraries: `make test` makes it"
)


@pytest.mark.slow
@there
@pytest.mark.parametrize("library", NAMED)
def test_libraries_ask_for_the_internal_names_of_their_rows(library):
    text = "\n".join(path.read_text() for path in running.sources(library))
    words = set(re.findall(r"\w+", text))
    asked = {
        (module, name)
        for module, rows in ROWS.items()
        for name, row in rows.items()
        if library in row.libraries.split()
    }
    assert {(module, name) for module, name in asked if name not in words} == set()
    assert {module for module, _ in asked if module.rpartition(".")[2] not in words} == set()
