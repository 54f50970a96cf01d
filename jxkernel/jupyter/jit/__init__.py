"""``%%jit`` and its kin: a cell traced, compiled and run, and the view of it."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature
from jxkernel.jupyter.jit.payload import JitPayload

__all__ = ["FEATURE"]

FEATURE = Feature(
    payloads={"jit": JitPayload},
)
