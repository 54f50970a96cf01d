"""What tests of widgets share: what is shown, and waiting for it."""

from __future__ import annotations

import threading
from typing import Any

import jxkernel as jx
from jxkernel import numpy as jnp
from tests.jupyter.kernels import TIMEOUT


def shown(widget: Any) -> str:
    return widget._shown.value


def wait_until(widget: Any, text: str) -> None:
    """Waits until a widget shows a text; its own thread draws it."""
    seen = threading.Event()
    watch = lambda change: seen.set() if text in change["new"] else None  # noqa: E731
    widget._shown.observe(watch, "value")
    if text not in shown(widget):
        assert seen.wait(TIMEOUT), shown(widget)
    widget._shown.unobserve(watch, "value")


def layer(x: Any) -> Any:
    h = jnp.tanh(x)
    return jx.lax.fori_loop(0, 3, lambda _, c: c * h, h)
