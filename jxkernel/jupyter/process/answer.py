"""``%jx x64`` and ``alias``: what is switched for the whole process."""

from __future__ import annotations

from IPython.core.error import UsageError

from jxkernel import _alias
from jxkernel.config import config
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.session.switches import switch
from jxkernel.jupyter.views.tables import text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import BackendSwitch

__all__ = ["alias", "x64"]


def x64(session: Session, words: str) -> View:
    """Switch 64-bit dtypes on or off, or say which it is.

    Raises:
      UsageError: the word is neither ``on`` nor ``off``.
    """
    wanted = switch("x64", words)
    if wanted is not None:
        BackendSwitch(session.shell.user_ns).apply({"x64": wanted})
    state = "on: float64 stays" if config.jax_enable_x64 else "off: float64 becomes float32"
    return text_view("", f"64-bit dtypes are {state}")


def alias(session: Session, words: str) -> View:
    """Make ``import NAME`` mean jxkernel in this kernel, end that, or say what is an alias.

    Unloading the extension ends the aliases that were made here.

    Raises:
      UsageError: a package of that name is loaded already, or it is no name.
    """
    name, _, rest = words.partition(" ")
    if rest not in ("", "off"):
        raise UsageError(f"%jx alias: {rest!r} is not 'off'; write `%jx alias jax` or ... off")
    try:
        if rest:
            _alias.unalias(name)
            session.aliases.discard(name)
        elif name and name not in _alias.aliases():
            _alias.alias(name)
            session.aliases.add(name)
    except (ImportError, ValueError) as error:
        raise UsageError(f"%jx alias: {error}") from None
    named = [f"`import {one}` gives jxkernel" for one in _alias.aliases()]
    return text_view("", "; ".join(named) or "no other name means jxkernel")
