"""What an engine keeps while its group is formed anew, and what a replacement is given.

A replacement begins empty. Imports and definitions of functions and classes are run again there,
from the cells that ran before; values come from a survivor, where all ranks had the same.
"""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from jxkernel._jaxlib import JaxRuntimeError
from jxkernel.cluster.exchange import digest
from jxkernel.cluster.keeping import Kept, kept, missing_parts, restored
from jxkernel.jupyter.cluster.running import run_cell
from jxkernel.jupyter.cluster.variables import own_names
from jxkernel.runtime import ArrayImpl
from jxkernel.sharding import Mesh, NamedSharding
from jxkernel.tree import leaves

__all__ = ["accept", "accept_later", "define", "give", "keep", "put_back", "small_digests"]

_SMALL_BYTES = 1 << 16
_STATUS = re.compile(r"(UNKNOWN|INTERNAL|ABORTED|CANCELLED|UNAVAILABLE|DEADLINE_EXCEEDED): ")
_DEFINITIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)

_keeping: dict[str, Any] = {}
"""The variables that wait for devices."""


def small_digests(shell: Any) -> dict[str, str]:
    """Return what tells values from other ranks', by name, where it takes microseconds to know."""
    told = {name: [_told(x) for x in leaves(shell.user_ns[name])] for name in own_names(shell)}
    return {name: " ".join(map(str, said)) for name, said in told.items() if None not in said}


def _told(x: Any) -> str | None:
    """Return what tells a leaf from those of other ranks; None where it would take long."""
    if isinstance(x, ArrayImpl) and not x.is_fully_addressable:
        return f"replicated {x.aval.short()}" if x.is_fully_replicated else None
    if isinstance(x, ArrayImpl) and (x.is_deleted() or not x.is_ready()):
        return None
    if isinstance(x, Mesh | NamedSharding):
        return repr(x)
    size = getattr(x, "nbytes", None) or len(x if isinstance(x, str | bytes) else ())
    return digest(x) if size <= _SMALL_BYTES else None


def keep(shell: Any, gone: Sequence[int]) -> tuple[dict[str, str], dict[str, str]]:
    """Keep the variables on the host; return which cannot be kept, and what tells the others.

    Args:
      shell: the engine's shell.
      gone: the ranks that are gone, and with them their parts of arrays.
    """
    _keeping.clear()
    lost, told = {}, small_digests(shell)
    for name in own_names(shell):
        try:
            value = kept(shell.user_ns[name])
        except Exception as error:  # a value may be of any class
            lost[name] = "it was being computed" if _is_of_runtime(error) else str(error)
            continue
        if missing_parts(value, gone):
            lost[name] = "parts of it are gone"
        else:
            _keeping[name] = value
    for name in lost:
        del shell.user_ns[name]
        told.pop(name, None)
    return lost, {name: said + _values(_keeping[name]) for name, said in told.items()}


def _is_of_runtime(error: Exception) -> bool:
    """Whether an error is XLA's; where NumPy reads an array, it comes as a plain one."""
    return isinstance(error, JaxRuntimeError) or bool(_STATUS.match(str(error)))


def _values(value: Any) -> str:
    """Return what tells the values of kept arrays over a mesh; nothing where there are none."""
    arrays = [x.parts[0][1] for x in leaves(value) if isinstance(x, Kept) and x.over is not None]
    return f" {digest(arrays)}" if arrays else ""


def give(shell: Any, names: Sequence[str]) -> dict[str, bytes]:
    """Return kept variables pickled; those that cannot be are left out."""
    given = {}
    for name in names:
        if name in _keeping:
            with suppress(Exception):  # pickling raises what the value's class likes
                given[name] = pickle.dumps(_keeping[name])
    return given


def accept(shell: Any, given: Mapping[str, bytes]) -> list[str]:
    """Set variables that another rank gave; return those that could not be set."""
    failed = []
    for name, data in given.items():
        try:
            shell.user_ns[name] = restored(pickle.loads(data))
        except Exception:  # what it refers to may not be defined here
            failed.append(name)
    return failed


def accept_later(shell: Any, given: Mapping[str, bytes]) -> None:
    """Keep what another rank gave in the place of one's own."""
    _keeping.update({name: pickle.loads(data) for name, data in given.items()})


def put_back(shell: Any) -> None:
    """Give the variables that were kept their values on the new devices."""
    shell.user_ns.update({name: restored(value) for name, value in _keeping.items()})
    _keeping.clear()


def define(shell: Any, cells: Sequence[tuple[str, int]]) -> list[str]:
    """Run the imports and definitions of cells again; return what failed.

    Args:
      shell: the engine's shell.
      cells: source and number of each.
    """
    failed = []
    for source, count in cells:
        tree = ast.parse(shell.transform_cell(source))
        for statement in tree.body:
            if isinstance(statement, _DEFINITIONS):
                try:
                    run_cell(shell, f"{ast.unparse(statement)};", count)
                except Exception as error:  # a decorator may do anything
                    failed.append(f"{getattr(statement, 'name', 'import')}: {error}")
    return failed
