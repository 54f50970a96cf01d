"""Modules that ``%autoreload`` has changed in place: what was traced with them is forgotten."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from jxkernel import source
from jxkernel.api.jit import clear_caches, jit_state

__all__ = ["ReloadWatch"]

_AUTORELOAD = "IPython.extensions.autoreload"


class ReloadWatch:
    """Compares the functions of the user's modules with what they were a cell ago.

    Args:
      namespace: the notebook's variables.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._seen: dict[str, tuple[int, ...]] = {}
        self._codes: list[Any] = []

    def before_cell(self) -> None:
        """Forget all traces if a module has changed, and renew jitted functions by name."""
        if _AUTORELOAD not in sys.modules:
            return
        before, self._seen, codes = self._seen, {}, []
        changed = False
        for module in _modules_of_the_user():
            found = list(_codes(module))
            codes += found
            now = self._seen[module.__name__] = tuple(map(id, found))
            if before.get(module.__name__, now) != now:
                changed = True
                self._renew(module)
        # Kept until the next comparison, so that an id is not used again meanwhile.
        self._codes = codes
        if changed:
            clear_caches()

    def _renew(self, module: ModuleType) -> None:
        for name, value in list(self._namespace.items()):
            state = jit_state(value)
            if state is None or getattr(state.fun, "__module__", "") != module.__name__:
                continue
            new = vars(module).get(getattr(state.fun, "__name__", ""))
            if new is not value and jit_state(new) is not None:
                self._namespace[name] = new


def _modules_of_the_user() -> Iterator[ModuleType]:
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if (
            isinstance(module, ModuleType)
            and name != "__main__"
            and isinstance(file, str)
            and not source.is_package_file(file)
            and not source.is_library_file(file)
        ):
            yield module


def _codes(module: ModuleType) -> Iterator[Any]:
    """The code of each function and method that a module defines, jitted or not."""
    for value in list(vars(module).values()):
        parts = vars(value).values() if isinstance(value, type) else (value,)
        for part in list(parts):
            state = jit_state(part)
            function = part if state is None else state.fun
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                yield function.__code__
