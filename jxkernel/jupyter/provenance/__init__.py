"""Provenance: what was traced in a cell, what was static, and why."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Request, Subcommand
from jxkernel.jupyter.provenance.answer import source_map, why
from jxkernel.jupyter.provenance.payload import MarksPayload, ProvenancePayload
from jxkernel.jupyter.provenance.requests import marks

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "why": Subcommand(why, "NAME  what a name of a traced function or cell is, and why"),
        "map": Subcommand(
            source_map, "[F]  what is traced and static in a function, or what was traced last"
        ),
    },
    requests={"marks": Request(marks, MarksPayload)},
    payloads={"provenance": ProvenancePayload},
)
