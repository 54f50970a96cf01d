"""Tab completion of the magics' flags, subcommands and names.

On such a line nothing else is offered: Python's keywords and builtins have no place there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from IPython.core.completer import (
    CompletionContext,
    SimpleCompletion,
    SimpleMatcherResult,
    context_matcher,
)

from jxkernel.jupyter.code.analysis import CellNames, analyse
from jxkernel.jupyter.code.static_keys import is_traceable
from jxkernel.jupyter.session.settings import SHOWN
from jxkernel.runtime import local_devices

__all__ = ["make_matcher"]

_PLATFORMS = ("cpu", "gpu", "tpu")
_NO_VALUE = frozenset({"--quiet", "--no-run"})
_LINE = re.compile(r"(%%(?:jit|grad|vmap|jaxpr)|%jx)\s(.*)", re.DOTALL)
_CELL_LINES = 500


def make_matcher(
    flags: Mapping[str, Sequence[str]],
    words: Mapping[str, Sequence[str]],
    namespace: Mapping[str, Any],
) -> Callable[[Any], Any]:
    """Return a matcher for IPython's completer.

    Args:
      flags: the flags of each cell magic, by its name with the signs.
      words: the subcommands of ``%jx``, each with the words that it is followed by; none for the
        notebook's variables.
      namespace: the notebook's variables.
    """

    @context_matcher(identifier="jxkernel")  # type: ignore[arg-type]  # its Matcher is a union
    def matcher(context: CompletionContext) -> SimpleMatcherResult:
        found = _LINE.fullmatch(context.text_until_cursor.lstrip())
        if found is None:
            return {"completions": [], "suppress": False}
        magic, rest = found.groups()
        if magic == "%jx":
            fragment, choices = _of_jx(rest, words, namespace)
        else:
            names = _Names(_body(context.full_text, context.cursor_line), namespace)
            fragment, choices = _of_cell(magic, rest, flags[magic], names)
        matches = [SimpleCompletion(one, type="magic") for one in choices]
        return {"completions": matches, "suppress": True, "matched_fragment": fragment}

    return matcher


def _of_jx(
    rest: str, subcommands: Mapping[str, Sequence[str]], namespace: Mapping[str, Any]
) -> tuple[str, list[str]]:
    *before, word = re.split(r"\s+", rest)
    if not before:
        return word, _starting(word, sorted(subcommands))
    choices = subcommands.get(before[0], ())
    if choices:
        return word, _starting(word, choices if len(before) == 1 else ())
    fragment = re.split(r"[^\w.]", word)[-1]
    return fragment, _starting(fragment, _variables(namespace))


def _of_cell(magic: str, rest: str, flags: Sequence[str], names: _Names) -> tuple[str, list[str]]:
    *before, word = re.split(r"\s+", rest)
    flag, equals, value = word.partition("=")
    if not (equals and flag in flags):
        flag, value = before[-1] if before else "", word
    takes_value = flag.startswith("-") and flag not in _NO_VALUE
    if not takes_value and (word.startswith("-") or magic in ("%%jit", "%%jaxpr")):
        used = set(before)
        return word, _starting(word, (one for one in flags if one not in used))
    if not takes_value:
        flag = {"%%grad": "--grad", "%%vmap": "--vmap"}[magic]
    fragment = re.split(r"[,:]", value)[-1]
    if flag == "--vmap" and value[: len(value) - len(fragment)].endswith(":"):
        name = re.split(r"[,:]", value)[-2]
        return fragment, _starting(fragment, names.axes(name))
    return fragment, _starting(fragment, _values(flag, names))


def _values(flag: str, names: _Names) -> Iterable[str]:
    """What a flag takes."""
    match flag:
        case "--show":
            return SHOWN
        case "--backend":
            return _PLATFORMS
        case "--device":
            return [str(number) for number in range(len(local_devices()))]
        case "-o" | "--outputs":
            return names.assigned()
        case "--static":
            return names.read()
        case "--donate" | "--grad" | "--vmap":
            return names.traced()
        case _:
            return ()


class _Names:
    """The names that a cell's flags may take: the cell's own, or all where it has no body yet."""

    def __init__(self, body: str, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self._cell: CellNames | None = None
        try:
            tree = ast.parse(body)
        except (SyntaxError, ValueError):  # under construction
            return
        self._cell = analyse(tree) if tree.body else None

    def assigned(self) -> list[str]:
        """Name that the cell assigns."""
        return sorted(self._cell.assigned) if self._cell else _variables(self._namespace)

    def read(self) -> list[str]:
        """Name that the cell reads and that may be traced or static."""
        return [
            name
            for name in (self._cell.reads if self._cell else _variables(self._namespace))
            if name in self._namespace and not isinstance(self._namespace[name], ModuleType)
        ]

    def traced(self) -> list[str]:
        """Name that the cell reads and that hold arrays or numbers."""
        return [name for name in self.read() if is_traceable(self._namespace[name])]

    def axes(self, name: str) -> list[str]:
        """The axes of a variable."""
        value: Any = self._namespace.get(name)
        return [str(axis) for axis in range(np.ndim(value))] if is_traceable(value) else []


def _body(text: str, line: int) -> str:
    """The lines below the one with the cursor."""
    return "\n".join(text.split("\n")[line + 1 :][:_CELL_LINES])


def _starting(word: str, choices: Iterable[str]) -> list[str]:
    return [choice for choice in choices if choice.startswith(word)]


def _variables(namespace: Mapping[str, Any]) -> list[str]:
    hidden = {"In", "Out", "exit", "quit", "get_ipython", "open"}
    return sorted(name for name in namespace if not name.startswith("_") and name not in hidden)
