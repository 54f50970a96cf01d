"""How much work XLA puts into a program: the two compiler options that are levels.

They are fields of XLA's build options; all other compiler options are XLA flags by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["apply_options"]

_LEVELS = {"UNKNOWN": 0, "O0": 9, "O1": 19, "O2": 29, "O3": 39}
"""XLA's numbers of the levels; ``UNKNOWN`` leaves the choice to the platform."""

_FIELDS = ("optimization_level", "memory_fitting_level")


def apply_options(options: Any, given: Sequence[tuple[str, Any]]) -> None:
    """Write compiler options into XLA's compile options.

    Args:
      options: XLA's compile options.
      given: names and values; of one that is named twice the last holds.

    Raises:
      ValueError: a level is none of XLA's.
    """
    for name, value in given:
        if name in _FIELDS:
            setattr(options.executable_build_options, name, _level(name, value))
    options.env_option_overrides = [(name, v) for name, v in given if name not in _FIELDS]


def _level(name: str, value: Any) -> int:
    if isinstance(value, str) and value in _LEVELS:
        return _LEVELS[value]
    if type(value) is int and value in _LEVELS.values():
        return value
    listed = ", ".join(f"{word!r} ({number})" for word, number in _LEVELS.items())
    raise ValueError(f"compiler_options: {name} is one of {listed}, got {value!r:.100}")
