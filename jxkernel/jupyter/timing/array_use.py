"""Whether a piece of code may make jxkernel arrays, judged by what its names refer to.

Names are followed through functions, methods, containers and the user's own modules. Installed
libraries are not searched: one counts where the globals of its module hold something of ours.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

from jxkernel._jaxlib import ArrayImpl, PjitFunction
from jxkernel.jupyter.code.functions import captured_values, globals_read
from jxkernel.source import is_library_file
from jxkernel.tree import physical

__all__ = ["uses_arrays"]

_VALUES = 2_000
_LEAVES = 100
_PACKAGE = "jxkernel"
_NAME = re.compile(r"[^\W\d]\w*")


def uses_arrays(code: ast.AST, namespace: Mapping[str, Any]) -> bool:
    """Whether names in the code lead to jxkernel: its modules, functions or arrays."""
    names = {one.id for one in ast.walk(code) if isinstance(one, ast.Name)}
    names |= {one for part in ast.walk(code) for one in (*_imported(part), *_in_magics(part))}
    # The shell leads to jxkernel, since the extension is loaded into it.
    names.discard("get_ipython")
    waiting = [namespace[name] if name in namespace else sys.modules.get(name) for name in names]
    seen: set[int] = set()
    while waiting and len(seen) < _VALUES:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            if _is_ours(value):
                return True
            waiting += _referred(value)
    return bool(waiting)


def _imported(part: ast.AST) -> list[str]:
    """The modules that a statement imports."""
    if isinstance(part, ast.Import):
        return [one.name for one in part.names]
    return [part.module] if isinstance(part, ast.ImportFrom) and part.module else []


def _in_magics(part: ast.AST) -> list[str]:
    """The names in the line and the cell of a magic, which IPython has made strings of a call."""
    if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Attribute):
        return []
    if part.func.attr not in ("run_line_magic", "run_cell_magic"):
        return []
    texts = [str(one.value) for one in part.args if isinstance(one, ast.Constant)]
    return [name for text in texts[1:] for name in _NAME.findall(text)]


def _is_ours(value: Any) -> bool:
    if isinstance(value, ArrayImpl | PjitFunction):
        return True
    module = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
    return module == _PACKAGE or module.startswith(f"{_PACKAGE}.")


def _module_of(value: Any) -> str:
    kind = value if isinstance(value, type | FunctionType) else type(value)
    return str(getattr(kind, "__module__", ""))


def _referred(value: Any) -> Iterable[Any]:
    """What a value leads to; modules and values of installed libraries lead nowhere further."""
    if isinstance(value, ModuleType):
        return _of_module(value.__name__, list(vars(value).values()))
    if isinstance(value, FunctionType):
        found = value.__globals__
        names = [name for name in globals_read(value.__code__) if name in found]
        read = [found[name] for name in names]
        return captured_values(value) + _of_module(value.__module__, read)
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, list | tuple | dict):
        try:
            return physical.leaves(value)[:_LEAVES]
        except Exception:  # dict keys that cannot be sorted, foreign flatten functions
            return []
    kind = value if isinstance(value, type) else type(value)
    parts = [*vars(kind).values(), *getattr(value, "__dict__", {}).values(), *kind.__bases__]
    return _of_module(_module_of(value), parts)


def _of_module(name: str | None, values: list[Any]) -> list[Any]:
    """Values found in a module: all of a user's own, of an installed one only what is ours."""
    module = sys.modules.get(name or "")
    file = getattr(module, "__file__", None) or ""
    if name == "__main__" or (file and not is_library_file(file)):
        return values
    return [one for one in vars(module).values() if _is_ours(one)] if file else []
