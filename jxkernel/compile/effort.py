"""How much work XLA puts into a program: compiler options, and what is done to loops.

Two compiler options are levels, which are fields of XLA's build options; all others are XLA flags
by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

__all__ = [
    "CompilerEffortLevel",
    "apply_options",
    "listed_options",
    "without_dividing",
    "without_kernel_loops",
    "without_unrolling",
]


class CompilerEffortLevel(IntEnum):
    """XLA's levels of effort; ``UNKNOWN`` leaves the choice to the platform.

    A value of the compiler options ``optimization_level`` and ``memory_fitting_level``.

    >>> import jxkernel as jx
    >>> level = jx.CompilerEffortLevel.O1
    >>> jx.jit(lambda x: x + 1, compiler_options={"optimization_level": level})(2).item()
    3
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39


_FIELDS = ("optimization_level", "memory_fitting_level")


def listed_options(given: Any) -> tuple[tuple[str, Any], ...]:
    """Return compiler options as names and values.

    Args:
      given: a dictionary.

    Raises:
      TypeError: it is none, a name is no string, or XLA has no option of such a value.
    """
    if not isinstance(given, dict):
        raise TypeError(
            f"compiler_options is a dictionary of XLA's options by name, got {type(given).__name__}"
        )
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, (str, bool, int, float)):
            raise TypeError(
                f"compiler_options: {name!r:.100} is {value!r:.100}; a name is a string, and its "
                "value a string, a boolean or a number"
            )
    return tuple(given.items())


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


_DEBUG_OPTIONS = (3, 3)
"""Where they are in XLA's protocol buffer of options: among the build options."""
_EXTRA_OPTION = (*_DEBUG_OPTIONS, 500, 1)
_PASS_LEFT_OUT = (*_DEBUG_OPTIONS, 30)


def without_unrolling(options: Any) -> Any:
    """Return compile options by which LLVM leaves loops as they are; jaxlib has no name for it."""
    return _with(options, _EXTRA_OPTION, b"xla_cpu_disable_loop_unrolling")


def without_dividing(options: Any) -> Any:
    """Return compile options by which XLA does not divide loops among cores.

    A flag would replace the passes that ``XLA_FLAGS`` leaves out; this is one more.
    """
    return _with(options, _PASS_LEFT_OUT, b"cpu-parallel-task-assigner")


def without_kernel_loops(options: Any) -> Any:
    """Return compile options by which XLA makes no kernel of a whole loop."""
    return _with(options, _PASS_LEFT_OUT, b"small-while-loop-hoisting")


def _with(options: Any, place: Sequence[int], added: bytes) -> Any:
    """Return compile options with a text at a place of their protocol buffer.

    Buffers that are written one after the other are read as one, so it is written after all others.
    """
    for number in reversed(place):
        added = _number(number << 3 | 2) + _number(len(added)) + added
    return type(options).ParseFromString(options.SerializeAsString() + added)


def _number(value: int) -> bytes:
    """Return a number below 2^14 as protocol buffers write it: seven bits a byte."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128, value >> 7])


def _level(name: str, value: Any) -> int:
    levels = CompilerEffortLevel.__members__
    if isinstance(value, str) and value in levels:
        return int(levels[value])
    if isinstance(value, int) and not isinstance(value, bool) and value in levels.values():
        return int(value)
    listed = ", ".join(f"{word!r} ({int(number)})" for word, number in levels.items())
    raise ValueError(f"compiler_options: {name} is one of {listed}, got {value!r:.100}")
