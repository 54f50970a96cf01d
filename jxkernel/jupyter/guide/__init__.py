"""``%jx``, its completion, and the tour."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Subcommand
from jxkernel.jupyter.guide.answer import tour

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={"tour": Subcommand(tour, "what to try first")},
)
