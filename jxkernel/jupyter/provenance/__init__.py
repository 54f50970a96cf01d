"""Provenance: what was traced in a cell, what was static, and why."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Subcommand
from jxkernel.jupyter.provenance.answer import source_map, why
from jxkernel.jupyter.provenance.payload import ProvenancePayload

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "why": Subcommand(
            why, "NAME  what a name of a traced cell is, and the way back to an argument"
        ),
        "map": Subcommand(source_map, "the traced/static map of the cell traced last"),
    },
    payloads={"provenance": ProvenancePayload},
)
