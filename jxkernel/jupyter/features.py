"""The features of the notebook half, and what they add up to.

To delete a feature, delete its folder and its line here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jxkernel.jupyter import (
    benchmarks,
    caches,
    cluster,
    devices,
    differences,
    guide,
    jit,
    ledger,
    memory,
    nonfinite,
    process,
    programs,
    provenance,
    report,
    residuals,
    teaching,
    timeline,
    values,
)
from jxkernel.jupyter.feature import Feature, Request, Subcommand
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.payload import TablePayload
from jxkernel.jupyter.views.view import View

__all__ = ["EXTENDED", "FEATURES", "FRAGMENTS", "PAYLOADS", "REQUESTS", "SUBCOMMANDS", "VIEWS"]

FEATURES: tuple[Feature, ...] = (
    jit.FEATURE,
    programs.FEATURE,
    provenance.FEATURE,
    differences.FEATURE,
    ledger.FEATURE,
    memory.FEATURE,
    nonfinite.FEATURE,
    timeline.FEATURE,
    devices.FEATURE,
    cluster.FEATURE,
    caches.FEATURE,
    process.FEATURE,
    benchmarks.FEATURE,
    teaching.FEATURE,
    values.FEATURE,
    residuals.FEATURE,
    report.FEATURE,
    guide.FEATURE,
    Feature(payloads={"table": TablePayload}),
)

SUBCOMMANDS: dict[str, Subcommand] = {
    name: one for feature in FEATURES for name, one in feature.subcommands.items()
}
"""The subcommands of ``%jx``, by name."""

REQUESTS: dict[str, Request] = {
    name: one for feature in FEATURES for name, one in feature.requests.items()
}
"""What front ends may ask for, by name."""

PAYLOADS: dict[str, type] = {
    kind: one for feature in FEATURES for kind, one in feature.payloads.items()
}
"""The payload of each kind of view that the lab extension may draw."""

EXTENDED: dict[type, type] = {
    one: base for feature in FEATURES for one, base in feature.extended.items()
}
"""Payload or answer -> the dataclass whose fields it has besides its own."""

VIEWS: dict[type, Callable[[Any], View]] = {
    shown: view for feature in FEATURES for shown, view in feature.views.items()
}
"""How a notebook shows a value, by the value's type."""

FRAGMENTS: dict[type, Callable[[Session, Any], str | None]] = {
    shown: html for feature in FEATURES for shown, html in feature.fragments.items()
}
"""The HTML of a value beside its own text, by the value's type."""
