"""Words that switch something on or off."""

from __future__ import annotations

from IPython.core.error import UsageError

__all__ = ["switch"]


def switch(subcommand: str, words: str) -> bool | None:
    """Return True for ``on``, False for ``off``, and None where only the state is asked for.

    Raises:
      UsageError: the word is neither.
    """
    if words not in ("", "on", "off"):
        raise UsageError(f"%jx {subcommand}: {words!r} is neither 'on' nor 'off'")
    return words == "on" if words else None
