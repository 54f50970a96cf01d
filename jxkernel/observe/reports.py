"""A report of a session: the environment and everything that was seen, as plain data.

It holds no secrets that it could know of: of the environment's variables those that steer XLA and
jxkernel, and none whose name speaks of a secret. It holds text and numbers, and its size is bounded
whatever the session did.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from jxkernel import runtime
from jxkernel._jaxlib import version_text
from jxkernel._version import __version__
from jxkernel.compile import disk_cache_summary
from jxkernel.config import config
from jxkernel.events import CellFinished, FastPathLost, Leak, TraceTimeEffect
from jxkernel.observe.explain import LedgerRow, ledger
from jxkernel.observe.memory import LiveMemory, live
from jxkernel.observe.recorder import Record, Recorder

__all__ = ["environment", "masked", "options_set", "report", "variables_set"]

_ROWS = 500
_TEXT = 2_000
_STEERING = re.compile(r"(XLA|JAX|JXKERNEL|LIBTPU|TPU|CUDA_VISIBLE|NVIDIA_VISIBLE|OMP_NUM|TF_CPP)")
_SECRET = re.compile(r"(?i)token|secret|passw|credential|api_?key|auth|cookie|private")
_ASSIGNED_SECRET = re.compile(
    r"""(?ix)
    ( \w* (?: token|secret|passw|api_?key|credential|private_?key ) \w* ["']? \s* [=:] \s* )
    [rbfu]{0,2} (?: "[^"\n]*" | '[^'\n]*' )"""
)


def report(
    recorder: Recorder,
    *,
    rows: Sequence[LedgerRow] | None = None,
    memory: LiveMemory | None = None,
    cells: Sequence[Mapping[str, Any]] = (),
    warnings: Sequence[str] = (),
    packages: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return everything that is known of a session, as data that JSON can hold.

    Args:
      recorder: what recorded the session.
      rows: its ledger, where a caller knows more of it; made from the recorder where not given.
      memory: its live arrays; looked for where not given.
      cells: what a notebook knows of its cells.
      warnings: what it told the user.
      packages: further packages and their versions.

    >>> import jxkernel as jx
    >>> with Recorder() as recorder:
    ...     _ = jx.jit(lambda x: x + 1)(1.0)
    >>> found = report(recorder)
    >>> sorted(found)[:4]
    ['caches', 'cells', 'dropped', 'environment']
    >>> found["ledger"][0]["fun"]
    '<lambda>'
    """
    rows = ledger(recorder) if rows is None else rows
    memory = live() if memory is None else memory
    return {
        "environment": {**environment(), **(packages or {})},
        "variables": variables_set(),
        "options": options_set(),
        "totals": asdict(recorder.totals()),
        "timings": _timings(recorder),
        "cells": [dict(cell) for cell in cells],
        "ledger": [_row(row) for row in rows[-_ROWS:]],
        "warnings": _warnings(recorder, rows, warnings),
        "memory": _memory(memory),
        "caches": asdict(disk_cache_summary()),
        "dropped": recorder.dropped,
    }


def environment() -> dict[str, str]:
    """Return versions, the machine and its devices, by name."""
    runtime.default_device()
    devices = [
        f"{device.platform}:{device.id} {device.device_kind}"
        for client in runtime.backends().values()
        for device in client.local_devices()
    ]
    return {
        "jxkernel": __version__,
        "jaxlib": version_text,
        "numpy": np.__version__,
        "Python": sys.version.split()[0],
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "processors": str(os.cpu_count()),
        "devices": _cut(", ".join(devices)),
        "processes": str(runtime.process_count()),
    }


def variables_set() -> dict[str, str]:
    """Return the environment's variables that steer XLA and jxkernel, without secrets."""
    return {
        name: _cut(value)
        for name, value in sorted(os.environ.items())
        if _STEERING.match(name) and not _SECRET.search(name)
    }


def options_set() -> dict[str, str]:
    """Return the options whose value is not the default."""
    return {
        name: _cut(str(value))
        for name, value in config.values.items()
        if value != config.state(name).default
    }


def masked(source: str) -> str:
    """Return source text with the strings left out that are assigned to names of secrets.

    >>> masked("api_key = 'abc'; n = 3")
    "api_key = '***'; n = 3"
    """
    return _ASSIGNED_SECRET.sub(r"\1'***'", source)


def _timings(recorder: Recorder) -> list[dict[str, Any]]:
    """How long each cell took, and how much of that was building."""
    totals = recorder.totals_by_cell()
    found = []
    for record in recorder.records(CellFinished)[-_ROWS:]:
        event = record.event
        own = totals.get(record.cell)
        found.append(
            {
                "cell": record.cell or "",
                "when": record.when,
                "duration_ns": event.duration_ns,
                "trace_ns": own.trace_ns if own else 0,
                "lower_ns": own.lower_ns if own else 0,
                "compile_ns": own.compile_ns if own else 0,
                "error": _cut(event.error or ""),
            }
        )
    return found


def _row(row: LedgerRow) -> dict[str, Any]:
    return {
        "number": row.number,
        "when": row.when,
        "cell": row.cell or "",
        "fun": row.fun,
        "site": row.site or "",
        "why": _cut(row.sentence()),
        "fix": _cut(row.fix),
        "eqns": row.eqns,
        "trace_ns": row.trace_ns,
        "lower_ns": row.lower_ns,
        "compile_ns": row.compile_ns,
        "from_disk": row.from_disk,
        "error": _cut(row.error or ""),
        "warning": _cut(row.storm),
    }


def _warnings(recorder: Recorder, rows: Sequence[LedgerRow], more: Sequence[str]) -> list[str]:
    """What the user was told or could have been, each once."""
    found = [row.storm for row in rows if row.storm]
    found += [_told(one) for one in recorder.records((FastPathLost, Leak, TraceTimeEffect))]
    found += [
        f"{one.cell}: {one.event.error}"
        for one in recorder.records(CellFinished)
        if one.event.error
    ]
    return [_cut(one) for one in dict.fromkeys([*found, *more])][-_ROWS:]


def _told(record: Record) -> str:
    event = record.event
    place = f"{record.cell}: " if record.cell else ""
    if isinstance(event, FastPathLost):
        return f"{place}each call of {event.fun} enters Python: {event.reason}"
    if isinstance(event, Leak):
        return f"{place}{event.tracer} of {event.fun} is held by {event.holder}"
    assert isinstance(event, TraceTimeEffect)
    return f"{place}{event.fun} did this only while it was traced: {event.effect}"


def _memory(memory: LiveMemory) -> dict[str, Any]:
    return {
        "bytes": memory.bytes,
        "count": len(memory.arrays),
        "arrays": [
            {"type": one.type, "bytes": one.bytes, "held_by": [_cut(by) for by in one.held_by]}
            for one in memory.arrays[:_ROWS]
        ],
        "devices": [asdict(one) for one in memory.devices],
    }


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]}…"
