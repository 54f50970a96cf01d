"""``%jx`` alone and ``%jx tour``: what there is to ask."""

from __future__ import annotations

from collections.abc import Mapping

from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.tables import table_view
from jxkernel.jupyter.views.view import View

__all__ = ["help_view", "tour"]


def help_view(commands: Mapping[str, str]) -> View:
    """Return the list of subcommands."""
    rows = [(f"%jx {name}", *line.partition("  ")[::2]) for name, line in commands.items()]
    rows = [(f"{name} {words}" if text else name, text or words) for name, words, text in rows]
    return table_view("%jx: what jxkernel does", ("Command", "What it shows or sets"), rows)


def tour(session: Session, words: str = "") -> View:
    """Return the steps of a first visit, to be typed one after the other."""
    return table_view("A tour: run these in turn", ("Cell", "What it shows"), _TOUR)


_TOUR = (
    ("import jxkernel.numpy as jnp; x = jnp.arange(8.0)", "arrays on a device"),
    ("%%jit ⏎ y = jnp.sin(x) * 2", "a cell traced, compiled and run, with its jaxpr and its map"),
    ("run the cell again", "a hit: nothing is traced"),
    ("x = jnp.arange(16.0), and run the cell again", "a miss, with its reason"),
    ("%jx ledger", "every trace and compilation, what it cost, what would avoid it"),
    ("%jx why y", "the way back from a value to an argument"),
    ("%timeit jnp.sin(x)", "dispatch, pipelined and latency of an asynchronous call"),
    ("%jaxpr jnp.sin(x) * 2", "the program of an expression"),
    ("%%grad x ⏎ (jnp.sin(x) ** 2).sum()", "the gradient of a cell"),
    ("%%jit ⏎ if x.sum() > 0: y = x", "an error that names the expression and the rewrite"),
    ("%jx quiz", "predict how often a function is traced, and see"),
    ("%jx teach on", "silent mistakes told as lessons, from now on"),
    ("%jx", "everything else"),
)
