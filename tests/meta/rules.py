"""The rules about source code that linters do not have, as functions of a syntax tree."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield every function in ``tree``, methods and nested ones included."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length(function: Function) -> int:
    """Return how many lines ``function`` spans, from ``def`` to its last line."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def imports_in_functions(tree: ast.AST) -> list[str]:
    """Return the names of the functions in ``tree`` that import something."""
    return [
        function.name
        for function in functions(tree)
        if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function))
    ]


def imported_roots(tree: ast.AST) -> set[str]:
    """Return the top-level packages that ``tree`` imports."""
    modules = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module)
    return {module.partition(".")[0] for module in modules}


def private_imports(importer: str, tree: ast.AST) -> list[str]:
    """Return the private names of other packages that the module ``importer`` imports.

    A leading underscore means private to the package that the module lies in; that of a module at
    the top of jxkernel is private to the module, and ``jxkernel._name`` to jxkernel.
    """
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("jxkernel"):
            continue
        owner = node.module or ""
        for name in (alias.name for alias in node.names if alias.name.startswith("_")):
            home = owner.rpartition(".")[0] if owner.count(".") > 1 else owner
            if not name.startswith("__") and not f"{importer}.".startswith(f"{home}."):
                found.append(f"{owner}.{name}")
    return found


def docstrings_of_another_dialect(tree: ast.AST) -> list[str]:
    """Return the lines of docstrings that are written in another way than the house's.

    The items of a section stand two columns right of its heading, an error is followed by what
    causes it, without "if": ``ValueError: there is no operand.``, examples have no heading, and
    code stands between double backticks.
    """
    found = []
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef):
            lines = _EXAMPLE.sub("", ast.get_docstring(node) or "").splitlines()
            found += [
                line.strip()
                for before, line in pairwise(lines)
                if (before in _SECTIONS and not re.match(r"  \S", line))
                or _ERROR_IF.match(line)
                or line in ("Example:", "Examples:")
                or _SINGLE.search(line)
            ]
    return found


_SECTIONS = ("Args:", "Attributes:", "Raises:", "Returns:", "Yields:")
_SINGLE = re.compile(r"(?<!`)`(?!`)[^`]+`(?!`)")
_EXAMPLE = re.compile(r"^ *>>> .*(?:\n.+)*", re.MULTILINE)
_ERROR_IF = re.compile(r"  [A-Z]\w+(, [A-Z]\w+)*: if ")
