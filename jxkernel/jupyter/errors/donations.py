"""Which call took an array's memory over: the function, where it is written, and the call."""

from __future__ import annotations

import ast
from typing import Any

from jxkernel.api.jit import jit_state
from jxkernel.compile.keys import history
from jxkernel.compile.signature import function_number
from jxkernel.errors import DeletedArrayError
from jxkernel.events import CallSignature
from jxkernel.jupyter.errors.rewrites import Names, named_values
from jxkernel.runtime import ArrayImpl

__all__ = ["refused_deleted", "takers_in_words"]

_CELLS = 50
"""How many cells are looked through for the call, the latest first."""


def takers_in_words(kind: str, node: Any, names: Names) -> tuple[str, ...]:
    """Return what took over the memory of an array that is gone, a sentence or two for each.

    Args:
      kind: the array's type, ``f32[8]``.
      node: the expression that used it.
      names: those of its frame.
    """
    values = named_values(node, names)
    gone = [
        name
        for name, value in values.items()
        if isinstance(value, ArrayImpl) and value.is_deleted()
    ]
    takers = history.takers(kind)
    calls = [_latest_call(one, gone, node, names) for one, _ in takers]
    return tuple(
        f"{_called(one, names)} takes over the memory of its argument {argument} (donate_argnums), "
        f"an array of this type: after a call only its result can be used. {call or _first(one)}"
        for (one, argument), call in zip(takers, calls, strict=True)
        if call or not any(calls)
    )


def refused_deleted(error: ValueError, node: Any, names: Names) -> DeletedArrayError | None:
    """Return the error that names the array which C++ refused as one that is gone.

    The oldest jaxlib that is supported refuses it by position, and as a ``ValueError``.

    Args:
      error: what C++ raised.
      node: the call, in the tree of ``executing``.
      names: those of its frame.

    Returns:
      the error, or None where this is no such refusal or its array cannot be told.
    """
    if "Buffer has been deleted or donated" not in str(error):
        return None
    gone = [
        value.aval.short()
        for value in named_values(node, names).values()
        if isinstance(value, ArrayImpl) and value.is_deleted()
    ]
    return DeletedArrayError(gone[0]) if gone else None


def _called(signature: CallSignature, names: Names) -> str:
    """A function by its name; a lambda by its variable, or else by its place."""
    if signature.fun != "<lambda>":
        return signature.fun
    variable = next((name for name in names.found if _is(signature, name, names)), "")
    return variable or f"The lambda in {signature.code_location}"


def _is(signature: CallSignature, name: str, names: Names) -> bool:
    state = jit_state(names.found[name])
    return state is not None and function_number(state.fun) == signature.function_id


def _first(signature: CallSignature) -> str:
    return f"The first such call is in {signature.site}." if signature.site else ""


def _latest_call(signature: CallSignature, gone: list[str], node: Any, names: Names) -> str:
    """The latest call of a function with a variable that is gone; empty where none is found."""
    kept = names.found.get("In")
    cells: list[object] = kept if isinstance(kept, list) else []
    for number, cell in reversed(list(enumerate(cells))[-_CELLS:]):
        for call in _calls(cell):
            is_here = number == len(cells) - 1 and (node is None or not _is_before(call, node))
            if not is_here and _takes(call, gone) and _is_call_of(signature, call, names):
                return f"{ast.unparse(call)} did so in Cell In[{number}], line {call.lineno}."
    return ""


def _is_before(call: ast.Call, node: Any) -> bool:
    """Whether a call of the cell that failed ran before the expression that failed."""
    place, failed = (call.lineno, call.col_offset), (node.lineno, node.col_offset)
    return place < failed or (place == failed and _is_repeated(node))


def _is_repeated(node: Any) -> bool:
    while node is not None:
        if isinstance(node, ast.For | ast.While | ast.comprehension | ast.ListComp):
            return True
        node = getattr(node, "parent", None)
    return False


def _takes(call: ast.Call, gone: list[str]) -> bool:
    """Whether one of the variables, or what it is a part of, is an argument of a call."""
    given = [ast.unparse(one) for one in (*call.args, *(one.value for one in call.keywords))]
    return any(
        name == one or name.startswith((f"{one}[", f"{one}.")) for name in gone for one in given
    )


def _calls(cell: object) -> list[ast.Call]:
    """The calls in a cell's text, the last first."""
    try:
        tree = ast.parse(cell) if isinstance(cell, str) else ast.Module([], [])
    except (SyntaxError, ValueError):
        return []
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
    return sorted(calls, key=lambda one: (one.lineno, one.col_offset), reverse=True)


def _is_call_of(signature: CallSignature, call: ast.Call, names: Names) -> bool:
    found = named_values(call.func, names)
    return any(_is(signature, name, Names(found)) for name in found)
