"""``debug.print`` and ``debug.log``: showing values while a compiled program runs.

The format is checked when the program is traced, with the user's line at hand; the text is made
when it runs.  This module must not know how a program calls back.
"""

import logging
import re
import string
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from jxkernel._reprs import with_type
from jxkernel.api.callbacks import bind_debug_callback

__all__ = ["log", "print"]

_logger = logging.getLogger("jxkernel.debug")
_formatter = string.Formatter()


def print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print values when a program runs, not when it is traced.

    Differentiated code prints primals, ``vmap`` prints a line for each example (in both branches of
    a ``cond`` whose condition differs between examples), and ``checkpoint`` prints again where it
    computes again.

    Args:
      fmt: a format as of ``str.format``, with ``{}`` and ``{name}``.  It is no f-string: that would
        be made when the function is traced.  Without it a function of it is returned, with the
        other options set.
      *args: values for ``{}``: arrays, trees of arrays, anything else.
      ordered: whether lines come in program order; without it they may swap places.
      partitioned: accepted and without meaning here: a program on one device has one part.
      skip_format_check: whether the format is taken as it is until the program runs.
      **kwargs: values for ``{name}``.

    Raises:
      TypeError: ``fmt`` is no string.
      ValueError: a value has no field in ``fmt``.
      IndexError: there are more ``{}`` than values.
      KeyError: a ``{name}`` has no value.

    >>> import jxkernel as jax
    >>> @jax.jit
    ... def f(x):
    ...     jax.debug.print("x = {} and twice that {y:.2f}", x, y=2 * x)
    ...     return x
    >>> y = f(0.25)
    x = 0.25 and twice that 0.50
    """
    if fmt is None:
        return partial(
            print, ordered=ordered, partitioned=partitioned, skip_format_check=skip_format_check
        )
    _check_format("debug.print", fmt, args, kwargs, skip_format_check)
    show = _Text(fmt, _write)
    bind_debug_callback(show, f"print {fmt!r}", args, kwargs, ordered=bool(ordered))
    return None


def log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Log values when a program runs, with the logger ``jxkernel.debug`` at level INFO.

    It is otherwise like ``print``.

    Args:
      fmt: a format as of ``str.format``; without it a function of it is returned.
      *args: values for ``{}``.
      ordered: whether messages come in program order.
      partitioned: accepted and without meaning here.
      skip_format_check: whether the format is taken as it is until the program runs.
      **kwargs: values for ``{name}``.

    Raises:
      TypeError: ``fmt`` is no string.
      ValueError, IndexError, KeyError: fields and values do not fit each other.

    >>> import jxkernel as jax
    >>> jax.debug.log("the loss is {}", 0.5)
    """
    if fmt is None:
        return partial(
            log, ordered=ordered, partitioned=partitioned, skip_format_check=skip_format_check
        )
    _check_format("debug.log", fmt, args, kwargs, skip_format_check)
    show = _Text(fmt, partial(_logger.info, "%s"))
    bind_debug_callback(show, f"log {fmt!r}", args, kwargs, ordered=bool(ordered))
    return None


class _Text:
    """Makes the text of a message and writes it, with the print options of where it was traced."""

    __slots__ = ("fmt", "options", "write")

    def __init__(self, fmt: str, write: Callable[[str], None]) -> None:
        self.fmt = fmt
        self.write = write
        # The runtime calls back in threads of its own, which have the default options.
        self.options: Any = np.get_printoptions()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        with np.printoptions(**self.options):
            text = _formatter.vformat(self.fmt, args, kwargs)
        self.write(text)


def _write(text: str) -> None:
    # One call, so that lines of several threads stay whole.
    sys.stdout.write(f"{text}\n")


def _check_format(
    name: str, fmt: Any, args: tuple[Any, ...], kwargs: dict[str, Any], skip: bool
) -> None:
    if not isinstance(fmt, str):
        raise TypeError(
            f"{name} got {with_type(fmt)} as its format: the first "
            f"argument is a string, {name}('x = {{}}', x)"
        )
    if skip:
        return
    try:
        _Checker(name).vformat(fmt, args, kwargs)
    except (LookupError, ValueError) as error:
        # Without the frames of Python's formatter, in which nothing of the user's fails.
        raise error.with_traceback(None) from None


class _Checker(string.Formatter):
    """Goes through a format without values: is each field there, and each value shown?"""

    def __init__(self, name: str) -> None:
        self.name = name

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return no value, and which argument the field shows."""
        name = re.split(r"[.\[]", field_name, maxsplit=1)[0]
        key = int(name) if name.isdigit() else name
        if isinstance(key, int) and key >= len(args):
            raise IndexError(
                f"{self.name} has a field {{{field_name}}} and {len(args)} values for fields"
            )
        if isinstance(key, str) and key not in kwargs:
            raise KeyError(f"{self.name} has a field {{{field_name}}} and no value {key}=")
        return None, key

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Return the value: there is none yet to convert."""
        return value

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return no text: there is no value yet."""
        return ""

    def check_unused_args(
        self, used_args: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        """Raise a ValueError that names the values that no field shows."""
        unused = [f"{arg!r:.100}" for place, arg in enumerate(args) if place not in used_args]
        unused += [f"{name}=" for name in kwargs if name not in used_args]
        if unused:
            raise ValueError(
                f"{self.name} shows no {', '.join(unused)}: write {{}} or {{name}} into the "
                "format for each value"
            )
