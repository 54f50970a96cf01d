"""Residuals: what a derivative keeps for the way back, by line, and what ``checkpoint`` saves."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Subcommand
from jxkernel.jupyter.residuals.answer import residuals

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "residuals": Subcommand(
            residuals, "F(ARGS)  what its derivative keeps for the way back, by line; not run"
        ),
    },
)
