"""Why public names and options of the interface are not here: said where one is asked for."""

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["FILE", "option_without_effect", "reason"]

FILE = Path(__file__).with_name("refusals.json")
"""Module -> reason -> names; the name ``*`` stands for all that a module lacks."""

_BESIDE_NUMPY = Path(__file__).with_name("beside_numpy.json")
"""Reason -> names of NumPy that the interface has not, and that people look for."""

_OPTIONS = Path(__file__).with_name("options_without_effect.json")
"""Reason -> option -> its value where nobody sets it."""


@cache
def _options() -> dict[str, tuple[Any, str]]:
    groups = json.loads(_OPTIONS.read_text(encoding="utf-8"))
    return {
        name: (default, why) for why, options in groups.items() for name, default in options.items()
    }


def option_without_effect(name: str) -> tuple[Any, str] | None:
    """Return the default of an option that changes nothing here, and why; None for others."""
    return _options().get(name)


@cache
def _reasons() -> dict[tuple[str, str], str]:
    modules = json.loads(FILE.read_text(encoding="utf-8"))
    beside = json.loads(_BESIDE_NUMPY.read_text(encoding="utf-8"))
    modules["numpy"] = {**modules["numpy"], **beside}
    return {
        (module, name): reason
        for module, groups in modules.items()
        for reason, names in groups.items()
        for name in names
    }


def reason(module: str, name: str) -> str | None:
    """Return why a name of a module is not here; None where nobody said.

    Args:
      module: the module's name below the package: ``""`` is the package itself.
      name: the name in it.
    """
    found = _reasons()
    return found.get((module, name)) or found.get((module, "*"))
