"""Names of a package, and functions, that are imported at their first use (PEP 562)."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["explained", "give_names", "late_function", "late_module", "lazy_names", "missing"]

_NONE: Mapping[str, str] = {}

_GIVEN: dict[str, tuple[dict[str, str], set[str]]] = {}
"""By package: the modules of its late names, and which of these are listed."""


def lazy_names(
    package: str,
    modules: str = "",
    names: Mapping[str, str] = _NONE,
    older: Mapping[str, str] = _NONE,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package with late names.

    Args:
      package: the package's own name, ``__name__``.
      modules: the names of its late submodules, separated by spaces.
      names: for each module that is imported late, the names that it gives the package, separated
        by spaces.
      older: names of earlier years, likewise; they are not listed.

    Returns:
      two functions to be bound to ``__getattr__`` and ``__dir__`` in the package.
    """
    submodules = modules.split()
    # A package that is loaded again keeps what others gave it.
    homes, listed = _GIVEN.setdefault(package, ({}, set[str]()))
    give_names(package, names, older)

    def load(name: str) -> Any:
        if name in submodules:
            return late_module(f"{package}.{name}")
        if name not in homes:
            said = missing(package, name)
            plain = said == _lacks(repr(package), name)
            raise AttributeError(said) if plain else explained(said)
        found = getattr(late_module(homes[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def known() -> list[str]:
        return sorted({*vars(sys.modules[package]), *submodules, *listed})

    return load, known


def give_names(
    package: str, names: Mapping[str, str] = _NONE, older: Mapping[str, str] = _NONE
) -> None:
    """Give a package of late names more of them: what users look for there and lies above it.

    Args:
      package: a package that called ``lazy_names``.
      names: see there.
      older: see there.
    """
    homes, listed = _GIVEN[package]
    homes.update({**_homes(older), **_homes(names)})
    listed.update(_homes(names))


def missing(package: str, name: str, called: str = "") -> str:
    """Return what to say of a name that a package has not: with the reason, if there is one.

    Under an alias it may be a name of a later interface.

    Args:
      package: the package's own name.
      name: the name that was asked for.
      called: how to call the package; by its own name where not given.
    """
    refusals = late_module("jxkernel._refusals")
    reason = refusals.reason(package.partition(".")[2], name)
    if reason is None and package != "jxkernel":
        reason = late_module("jxkernel._alias").of_a_later_interface()
    said = _lacks(called or repr(package), name)
    return said if reason is None else f"{said}. {reason}"


def explained(said: str) -> AttributeError:
    """Return the error of a missing name that says why: Python is to suggest none that is similar.

    Args:
      said: the message.
    """
    # Python looks for similar names where the error has one, and sets it where nothing is set.
    return AttributeError(said, name=None)


def late_module(name: str) -> Any:
    """Return a module that few programs need, imported now.

    Raises:
      ImportError: there is none.
    """
    return importlib.import_module(name)


def late_function(module: str, name: str) -> Callable[..., Any]:
    """Return a stand-in for a function of a module that is imported at the first call.

    Args:
      module: the module's full name.
      name: the function's name in it.
    """
    found: Any = None

    def call(*args: Any, **options: Any) -> Any:
        nonlocal found
        if found is None:
            found = getattr(late_module(module), name)
        return found(*args, **options)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"See ``{module}.{name}``."
    return call


def _lacks(package: str, name: str) -> str:
    return f"module {package} has no attribute {name!r}"


def _homes(names: Mapping[str, str]) -> dict[str, str]:
    return {name: home for home, listed in names.items() for name in listed.split()}
