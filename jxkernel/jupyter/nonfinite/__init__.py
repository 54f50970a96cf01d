"""What first made a NaN or an infinity."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Subcommand
from jxkernel.jupyter.nonfinite.answer import nan

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "nan": Subcommand(nan, "[CELL|F(ARGS)]  what first made a NaN or an infinity"),
    },
)
