"""Events: what jxkernel says about its own work, and the bus that carries it.

Purpose: the layers below ``observe`` emit events here and know nothing of who listens.

Place in the pipeline: the lowest layer.

Must not know: anything above it; standard library only.
"""

from __future__ import annotations

from jxkernel.events.bus import (
    Listener,
    ListenerHandle,
    Span,
    SpanHandle,
    ancestors,
    current_span,
    emit,
    listen,
    listening,
    listening_to,
    on_interest_change,
    open_spans,
    private,
    span,
)
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

__all__ = [
    "CacheHit",
    "CacheMiss",
    "CallSignature",
    "CellFinished",
    "CellStarted",
    "Compiled",
    "ConstantCaptured",
    "Event",
    "Executed",
    "FastPathLost",
    "LeafSignature",
    "Leak",
    "Listener",
    "ListenerHandle",
    "Lowered",
    "Narrowed",
    "Reason",
    "SettingChanged",
    "Span",
    "SpanHandle",
    "TraceTimeEffect",
    "Traced",
    "Transferred",
    "ancestors",
    "current_span",
    "emit",
    "listen",
    "listening",
    "listening_to",
    "on_interest_change",
    "open_spans",
    "private",
    "span",
]
