"""Tab completion of the magics' flags, subcommands and names.

Purpose: complete `--st` to `--static`, a flag's value to what it takes, `%jx le` to `ledger`.

Place in the pipeline: `jupyter.extension` registers what is made here as completer hooks.

Must not know: what the flags do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jxkernel.jupyter.settings import SHOWN

__all__ = ["complete_flags", "complete_words"]

_NAMES = ("--static", "--donate", "--grad", "--vmap", "-o")
_PLATFORMS = ("cpu", "gpu", "tpu")
Completer = Callable[[Any, Any], list[str]]


def complete_flags(parser: argparse.ArgumentParser) -> Completer:
    """Returns a completer hook for a magic with arguments."""
    flags = sorted(
        option for action in parser._actions for option in action.option_strings if option
    )

    def complete(shell: Any, event: Any) -> list[str]:
        words = event.line.split()
        if not event.line.endswith(" "):
            words = words[:-1]  # the one being completed
        previous = words[-1] if words else ""
        word = event.symbol
        if previous == "--show":
            return _in_list(word, SHOWN)
        if previous == "--backend":
            return [name for name in _PLATFORMS if name.startswith(word)]
        if previous in _NAMES:
            return _in_list(word, _variables(shell.user_ns))
        return [flag for flag in flags if flag.startswith(word)]

    return complete


def complete_words(words: Iterable[str]) -> Completer:
    """Returns a completer hook that gives subcommands first and then the user's names."""
    known = sorted(words)

    def complete(shell: Any, event: Any) -> list[str]:
        typed = event.line.split()
        count = len(typed) + event.line.endswith(" ")
        if count <= 2:
            return [word for word in known if word.startswith(event.symbol)]
        return [name for name in _variables(shell.user_ns) if name.startswith(event.symbol)]

    return complete


def _in_list(word: str, choices: Iterable[str]) -> list[str]:
    """Completions of the last name of a list with commas."""
    done, comma, last = word.rpartition(",")
    return [f"{done}{comma}{choice}" for choice in choices if choice.startswith(last)]


def _variables(namespace: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in namespace if not name.startswith("_"))
