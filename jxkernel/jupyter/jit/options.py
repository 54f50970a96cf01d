"""The flags of ``%%jit`` and its short forms, parsed and checked."""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser, argument

from jxkernel.jupyter.cells.cell import CellOptions
from jxkernel.jupyter.session.settings import SHOWN
from jxkernel.runtime import local_devices

__all__ = [
    "Request",
    "axes_type",
    "cell_arguments",
    "check_names",
    "names_type",
    "parse",
    "without_cluster",
]

_Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A parsed magic line.

    Attributes:
      options: what concerns tracing and compiling.
      show: views to show open.
      run: whether to run the cell after tracing.
      quiet: whether to show nothing but the result.
    """

    options: CellOptions
    show: tuple[str, ...] = ()
    run: bool = True
    quiet: bool = False


def names_type(text: str) -> tuple[str, ...]:
    """Read ``a,b,c``, for argparse."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if not name.isidentifier():
            raise argparse.ArgumentTypeError(f"{name!r} is not a name; write them as a,b,c")
    return names


def axes_type(text: str) -> tuple[tuple[str, int], ...]:
    """Read ``x:0,y:1``, for argparse."""
    pairs = []
    for part in text.split(","):
        name, colon, axis = part.strip().partition(":")
        if not name.isidentifier() or (colon and not axis.strip().lstrip("-").isdigit()):
            raise argparse.ArgumentTypeError(
                f"{part!r} is not NAME:AXIS; write x:0,y:1 (x alone means x:0)"
            )
        pairs.append((name, int(axis) if colon else 0))
    return tuple(pairs)


def _views(text: str) -> tuple[str, ...]:
    views = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in views:
        if name not in SHOWN:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(SHOWN)}")
    return views


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a count")
    return int(text)


_ARGUMENTS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (
        ("--static",),
        {
            "type": names_type,
            "default": (),
            "metavar": "N,M",
            "help": "Names kept static, not traced.",
        },
    ),
    (
        ("--donate",),
        {
            "type": names_type,
            "default": (),
            "metavar": "X",
            "help": "Names whose memory the results may take over.",
        },
    ),
    (("--backend",), {"metavar": "PLATFORM", "help": "The platform to run on: cpu, gpu or tpu."}),
    (
        ("--device",),
        {"type": _count, "metavar": "N", "help": "The number of the device to run on."},
    ),
    (
        ("--on",),
        {
            "choices": ("cluster",),
            "metavar": "cluster",
            "help": "Where the cell runs: on every rank of the cluster.",
        },
    ),
    (
        ("-o", "--outputs"),
        {
            "type": names_type,
            "default": (),
            "metavar": "Z,W",
            "help": "The only names to write back.",
        },
    ),
    (
        ("--max-traces",),
        {"type": _count, "metavar": "N", "help": "Fail when the cell is traced more often."},
    ),
    (
        ("--no-run",),
        {"action": "store_true", "help": "Trace, and show; run nothing, write nothing."},
    ),
    (
        ("--show",),
        {
            "type": _views,
            "default": (),
            "metavar": "VIEWS",
            "help": f"What to show: {','.join(SHOWN)}.",
        },
    ),
    (("--quiet",), {"action": "store_true", "help": "Show nothing but the result."}),
    (
        ("--grad",),
        {
            "type": names_type,
            "default": (),
            "metavar": "W,B",
            "help": "Give the gradient of the last expression by these names.",
        },
    ),
    (
        ("--vmap",),
        {
            "type": axes_type,
            "default": (),
            "metavar": "X:0,Y:0",
            "help": "Map the cell over these axes of these names.",
        },
    ),
)


def cell_arguments(*without: str) -> Callable[[_Function], _Function]:
    """Return a decorator that gives a magic the flags of ``%%jit``, without those named."""

    def decorate(function: _Function) -> _Function:
        for flags, keywords in reversed(_ARGUMENTS):
            if not set(flags) & set(without):
                function = argument(*flags, **keywords)(function)
        return function

    return decorate


_ON_CLUSTER = re.compile(r"(?:^|\s)--on(?:\s+|=)cluster(?=\s|$)")


def without_cluster(line: str) -> str | None:
    """Return a magic's line without ``--on cluster``; None where it has none."""
    words, count = _ON_CLUSTER.subn("", line)
    return words.strip() if count else None


def parse(magic: Any, line: str, backend: str = "") -> Request:
    """Parse a magic's line.

    Args:
      magic: the magic, decorated with ``cell_arguments``.
      line: the rest of its first line.
      backend: the platform when the line names none.

    Raises:
      UsageError: a flag is unknown or has a wrong value; the message names it.
    """
    parsed = _parse_arguments(magic.parser, line)
    value = vars(parsed).get
    options = CellOptions(
        static=parsed.static,
        donate=parsed.donate,
        keep=value("outputs") or (),
        grad=value("grad") or value("wrt") or (),
        axes=value("vmap") or value("axes") or (),
        device=_device(parsed.backend or backend, parsed.device),
        max_traces=value("max_traces"),
    )
    return Request(options, value("show") or (), not value("no_run"), parsed.quiet)


def _with_help(parser: MagicArgumentParser, message: str) -> str:
    """What is said of an argument without a value: how it is written, and what it means."""
    for action in parser._actions:
        flag = "/".join(action.option_strings)
        if message in (
            f"argument {flag}: expected one argument",
            f"the following arguments are required: {action.metavar}",
        ):
            said = f"%%{parser.prog} {action.option_strings[0] if flag else ''}".rstrip()
            return f"{said} lacks a value: {said} {action.metavar}. {action.help}"
    return message


def _parse_arguments(parser: MagicArgumentParser, line: str) -> argparse.Namespace:
    try:
        parsed, unknown = parser.parse_known_args(shlex.split(line))
    except UsageError as error:
        raise UsageError(_with_help(parser, str(error))) from None
    except ValueError as error:  # an open quotation mark
        raise UsageError(f"{error}: {line}") from None
    if {"-h", "--help"} & set(unknown):
        raise UsageError(f"%%{parser.prog}? explains it, with its flags and examples")
    if unknown and unknown[0].isidentifier() and "," in line:
        raise UsageError(
            f"%%{parser.prog}: unknown argument {unknown[0]!r}; lists are written without spaces: "
            "a,b,c"
        )
    if unknown:
        flags = [option for action in parser._actions for option in action.option_strings]
        # Dashes that all flags have make none of them alike.
        named = {flag.strip("-"): flag for flag in flags}
        near = difflib.get_close_matches(unknown[0].strip("-"), named, 1)
        meant = f"; did you mean {named[near[0]]}?" if near else f"; there are {', '.join(flags)}"
        raise UsageError(f"%%{parser.prog}: unknown argument {unknown[0]!r}{meant}")
    return parsed


def _device(backend: str, number: int | None) -> Any:
    if not backend and number is None:
        return None
    try:
        devices = local_devices(backend=backend or None)
    except RuntimeError as error:
        raise UsageError(f"--backend: {error}") from None
    wanted = number or 0
    if wanted >= len(devices):
        last = len(devices) - 1
        raise UsageError(
            f"--device: there is no device {wanted} on {devices[0].platform}: "
            f"it has {'only device 0' if not last else f'devices 0 to {last}'}"
        )
    return devices[wanted]


def check_names(flag: str, wanted: Sequence[str], known: Sequence[str], does: str) -> None:
    """Check the names given to a flag.

    Args:
      flag: the flag.
      wanted: the names given.
      known: the names that there are.
      does: what the cell does with them, "reads".

    Raises:
      UsageError: one is not among the known; the message names the flag.
    """
    for name in wanted:
        if name not in known:
            listed = ", ".join(known) or "nothing"
            near = difflib.get_close_matches(name, known, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"{flag}: the cell {does} no {name!r}; it {does} {listed}.{meant}")
