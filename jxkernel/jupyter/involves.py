"""Whether a piece of code may make jxkernel arrays, judged by what its names refer to.

Purpose: leave timing alone, to the last detail, where jxkernel has no part in it.

Place in the pipeline: below `magics.timing`.

Must not know: what is timed, or how.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

from jxkernel import tree
from jxkernel._jaxlib import ArrayImpl, PjitFunction
from jxkernel.jupyter.codes import captured_values, globals_read

__all__ = ["involves_arrays"]

_VALUES = 2_000
_LEAVES = 100
_PACKAGE = "jxkernel"


def involves_arrays(code: ast.AST, namespace: Mapping[str, Any]) -> bool:
    """Whether names in the code lead to jxkernel: its modules, functions or arrays."""
    names = {one.id for one in ast.walk(code) if isinstance(one, ast.Name)}
    waiting = [namespace[name] for name in names if name in namespace]
    seen: set[int] = set()
    while waiting and len(seen) < _VALUES:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            if _is_ours(value):
                return True
            waiting += _referred(value)
    return bool(waiting)


def _is_ours(value: Any) -> bool:
    if isinstance(value, ArrayImpl | PjitFunction):
        return True
    module = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
    return module == _PACKAGE or module.startswith(f"{_PACKAGE}.")


def _module_of(value: Any) -> str:
    kind = value if isinstance(value, type | FunctionType) else type(value)
    return str(getattr(kind, "__module__", ""))


def _referred(value: Any) -> Iterable[Any]:
    """What a value leads to; modules and values of installed libraries lead nowhere."""
    if isinstance(value, FunctionType):
        found = captured_values(value)
        if value.__module__ == "__main__":
            names = globals_read(value.__code__)
            found += [value.__globals__[name] for name in names if name in value.__globals__]
        return found
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if _module_of(value) == "__main__":
        kind = value if isinstance(value, type) else type(value)
        return [*vars(kind).values(), *getattr(value, "__dict__", {}).values(), *kind.__bases__]
    if isinstance(value, list | tuple | dict):
        try:
            return tree.leaves(value)[:_LEAVES]
        except Exception:  # dict keys that cannot be sorted, foreign flatten functions
            return []
    return []
