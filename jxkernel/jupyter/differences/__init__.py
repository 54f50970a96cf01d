"""Differences: two programs side by side."""

from __future__ import annotations

from jxkernel.jupyter.differences.answer import difference
from jxkernel.jupyter.differences.payload import DiffPayload
from jxkernel.jupyter.differences.requests import CompareAnswer, OthersAnswer, compare, others
from jxkernel.jupyter.feature import Feature, Request, Subcommand

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "diff": Subcommand(
            difference, "[F(X), G(Y)|F]  two programs compared; the latest two of F"
        ),
    },
    requests={
        "others": Request(others, OthersAnswer),
        "compare": Request(compare, CompareAnswer),
    },
    payloads={"diff": DiffPayload},
)
