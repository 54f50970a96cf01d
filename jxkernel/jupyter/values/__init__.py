"""Values: what arrays and trees of arrays hold, in figures and small pictures."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Subcommand
from jxkernel.jupyter.values.answer import value
from jxkernel.jupyter.values.view import array_html, tree_html
from jxkernel.runtime.arrays import ArrayImpl

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "value": Subcommand(value, "EXPR  what an array or a tree of arrays holds, in figures"),
    },
    fragments={ArrayImpl: array_html, dict: tree_html, list: tree_html, tuple: tree_html},
)
