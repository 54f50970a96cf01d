"""The rules themselves, on small sources: each finds what it is there to find, and no more."""

import ast
from textwrap import dedent

import pytest

from tests.meta import rules

SOURCE = ast.parse(
    dedent(
        '''
        import os.path
        from xml import etree
        from .sibling import name

        def outer():
            """A docstring."""

            def inner():
                import json
                return json

            return inner

        class Thing:
            async def method(self):
                return 1
        '''
    )
)


def test_functions_include_methods_and_nested_ones() -> None:
    assert {function.name for function in rules.functions(SOURCE)} == {"outer", "inner", "method"}


def test_length_counts_from_def_to_the_last_line() -> None:
    lengths = {function.name: rules.length(function) for function in rules.functions(SOURCE)}
    assert lengths == {"outer": 8, "inner": 3, "method": 2}


def test_imports_in_functions_name_every_enclosing_function() -> None:
    assert sorted(rules.imports_in_functions(SOURCE)) == ["inner", "outer"]


def test_imported_roots_leave_out_relative_imports() -> None:
    assert rules.imported_roots(SOURCE) == {"os", "xml", "json"}


@pytest.mark.parametrize(
    ("importer", "statement", "found"),
    [
        (
            "jxkernel.api.jit",
            "from jxkernel.core.trace import _state",
            ["jxkernel.core.trace._state"],
        ),
        ("jxkernel.core.jaxpr", "from jxkernel.core.trace import _state", []),
        ("jxkernel.core", "from jxkernel.core.trace import _state", []),
        ("jxkernel.core.jaxpr", "from jxkernel.core import _axes", []),
        ("jxkernel.corex", "from jxkernel.core import _axes", ["jxkernel.core._axes"]),
        ("jxkernel.api.jit", "from jxkernel import _jaxlib", []),
        ("jxkernel.api.jit", "from jxkernel._jaxlib import pjit", []),
        (
            "jxkernel.api.jit",
            "from jxkernel.errors import _sentence",
            ["jxkernel.errors._sentence"],
        ),
        ("jxkernel.api.jit", "from jaxlib import _jax", []),
        ("jxkernel.api.jit", "from jxkernel._version import __version__", []),
    ],
)
def test_private_imports_are_those_from_another_package(
    importer: str, statement: str, found: list[str]
) -> None:
    assert rules.private_imports(importer, ast.parse(statement)) == found


def test_docstrings_of_another_dialect_are_found_by_line() -> None:
    source = dedent(
        '''
        def right(x):
            """Return it.

            Args:
              x: a number, or if it is large
                a vector.

            Raises:
              ValueError: it is 0.
            """

        class Wrong:
            """A thing.

            Attributes:
                x: a number.

            Raises:
              TypeError, ValueError: if it is 0.

            Example:
              >>> "`right`"
              '`right`'

            Of `Wrong`.
            """
        '''
    )
    found = rules.docstrings_of_another_dialect(ast.parse(source))
    assert found == [
        "x: a number.",
        "TypeError, ValueError: if it is 0.",
        "Example:",
        "Of `Wrong`.",
    ]
