"""Names of a package that are imported at their first use (PEP 562).

Purpose: ``import jxkernel`` stays quick though rarely used parts hang below it.  A package says
which of its names are loaded late, and from which module; attribute access, ``from`` imports and
completion then work as if they had been imported.

Place in the pipeline: below everything; used by packages that only re-export.  It must not know
any of them.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, names: Mapping[str, str], older: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package with late names.

    Args:
      package: the package's own name, ``__name__``.
      names: for each late name the module that defines it; a name that is the module's own last
        part means the module itself.
      older: names of earlier years, likewise; they are not listed.

    Returns:
      two functions to be bound to ``__getattr__`` and ``__dir__`` in the package.
    """

    def load(name: str) -> Any:
        home = names.get(name) or (older or {}).get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(home)
        found = module if home == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[package]), *names})

    return load, listed
