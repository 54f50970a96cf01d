"""The event classes are plain, immutable data that outlives its subject."""

from __future__ import annotations

import ast
import dataclasses
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from jxkernel.events import bus, vocabulary
from jxkernel.events.vocabulary import (
    CacheHit,
    CacheMiss,
    CallSignature,
    CellFinished,
    CellStarted,
    Compiled,
    ConstantCaptured,
    Event,
    Executed,
    FastPathLost,
    LeafSignature,
    Leak,
    Lowered,
    Narrowed,
    Reason,
    SettingChanged,
    Traced,
    TraceTimeEffect,
    Transferred,
)

REQUIRED: list[tuple[type[Event], dict[str, Any]]] = [
    (Traced, {"fun": "f"}),
    (Lowered, {"fun": "f"}),
    (Compiled, {"fun": "f"}),
    (FastPathLost, {"fun": "f"}),
    (CacheHit, {"fun": "f"}),
    (CacheMiss, {"fun": "f"}),
    (Executed, {"fun": "f"}),
    (Transferred, {"bytes": 4, "source": "host", "destination": "cpu:0"}),
    (
        Narrowed,
        {"dtype": "float64", "becomes": "float32", "shape": (2,), "lossy": True},
    ),
    (
        ConstantCaptured,
        {"fun": "f", "name": "w", "shape": (2,), "dtype": "float32", "bytes": 8},
    ),
    (Leak, {"fun": "f", "tracer": "f32[2]", "holder": "a list"}),
    (TraceTimeEffect, {"fun": "f", "effect": "print(x)"}),
    (CellStarted, {"cell": "c1"}),
    (CellFinished, {"cell": "c1"}),
    (SettingChanged, {"option": "jax_enable_x64", "before": "False", "after": "True"}),
]
TIMES = {"span": 1, "parent": None, "start_ns": 5, "duration_ns": 7}


def test_table_of_kinds_is_complete() -> None:
    kinds = {
        value
        for value in vars(vocabulary).values()
        if isinstance(value, type) and issubclass(value, Event) and value is not Event
    }
    assert kinds == {kind for kind, _ in REQUIRED}


@pytest.mark.parametrize(
    ("kind", "fields"), REQUIRED, ids=lambda value: getattr(value, "__name__", "")
)
def test_event_is_frozen_slotted_hashable_and_pickles(
    kind: type[Event], fields: dict[str, Any]
) -> None:
    event = kind(**TIMES, **fields)
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.span = 2  # type: ignore[misc]  # the assignment is what is tested
    assert not hasattr(event, "__dict__")
    assert pickle.loads(pickle.dumps(event)) == event
    assert hash(event) == hash(dataclasses.replace(event))
    assert event.error is None


@pytest.mark.parametrize(
    ("kind", "fields"), REQUIRED, ids=lambda value: getattr(value, "__name__", "")
)
def test_event_needs_its_own_fields_by_name(kind: type[Event], fields: dict[str, Any]) -> None:
    for name in fields:
        rest = {key: value for key, value in fields.items() if key != name}
        with pytest.raises(TypeError, match=name):
            kind(**TIMES, **rest)


def test_miss_carries_its_signature_and_reasons_through_pickle() -> None:
    signature = CallSignature("f", 3, "a.py:1", "(*,)", (LeafSignature("x", (8,), "float32"),))
    reason = Reason("shape", "x", "f32[4]", "f32[8]", "pad x")
    miss = CacheMiss(**TIMES, fun="f", reasons=(reason,), signature=signature)
    copy = pickle.loads(pickle.dumps(miss))
    assert copy.signature == signature
    assert copy.reasons == (reason,)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (Reason("shape", "x", "f32[8]", "f32[16]"), "x: f32[8] → f32[16]"),
        (Reason("first_call", "first call of f"), "first call of f"),
        (Reason("static_value", "n", "", "3"), "n: nothing → 3"),
        (Reason("static_value", "n", "3", ""), "n: 3 → nothing"),
    ],
)
def test_reason_reads_as_one_line(reason: Reason, sentence: str) -> None:
    assert reason.sentence() == sentence


@pytest.mark.parametrize("module", [bus, vocabulary])
def test_events_import_only_the_standard_library_and_what_is_below_everything(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    foreign = {
        name
        for name in imported
        if name.split(".")[0] not in sys.stdlib_module_names
        and not name.startswith(("jxkernel.events", "jxkernel.records", "jxkernel._reprs"))
    }
    assert foreign == set()
