"""A session in one view: the environment, and everything that was traced and compiled.

Purpose: what to attach to a question or a bug report, as JSON and as one self-contained page.

Place in the pipeline: `jupyter.answers` gives it as `%jx report`.

Must not know: where it is written.
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict
from typing import Any

import IPython
import numpy as np

from jxkernel import runtime
from jxkernel._jaxlib import version as jaxlib_version
from jxkernel._version import __version__
from jxkernel.config import config
from jxkernel.jupyter.display import View, ledger_view, table_view
from jxkernel.jupyter.display.html import Html, element, join, page
from jxkernel.jupyter.session import Session

__all__ = ["overview", "page_of"]


def overview(session: Session) -> View:
    """Returns the view of a session: environment, options, totals, cells and ledger."""
    environment = _environment()
    options = {name: str(value) for name, value in _options_set().items()}
    totals = asdict(session.recorder.totals())
    rows = session.ledger()
    parts = [
        table_view("environment", ("", ""), list(environment.items())),
        table_view("options set", ("option", "value"), list(options.items())),
        table_view("totals", ("", ""), [pair for pair in totals.items() if pair[1]], (1,)),
        ledger_view(rows, session.recorder.dropped),
    ]
    data = {
        "environment": environment,
        "options": options,
        "totals": totals,
        "cells": [
            {"name": cell.name, "versions": len(cell.versions)} for cell in session.cells.values()
        ],
        "ledger": dict(parts[-1].data),
    }
    text = "\n\n".join(part.text for part in parts)
    html = page(join([element("div", Html(part.html)) for part in parts]))
    return View("report", text, html, data)


def page_of(view: View, *, as_json: bool) -> str:
    """Returns a view as the content of a file: JSON, or a page that needs no other file."""
    if as_json:
        bundle = view._repr_mimebundle_()
        return json.dumps(bundle.get("application/vnd.jxkernel.report+json", {}), indent=1)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>jxkernel session</title>'
        '<meta name="color-scheme" content="light dark">'
        f'<body style="margin:1.5em">{view.html}</body></html>\n'
    )


def _environment() -> dict[str, Any]:
    runtime.default_device()
    devices = [
        f"{device.platform}:{device.id} {device.device_kind}"
        for client in runtime.backends().values()
        for device in client.local_devices()
    ]
    return {
        "jxkernel": __version__,
        "jaxlib": ".".join(map(str, jaxlib_version)),
        "numpy": np.__version__,
        "IPython": IPython.__version__,
        "Python": sys.version.split()[0],
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "devices": ", ".join(devices),
    }


def _options_set() -> dict[str, Any]:
    """The options of the core whose value is not the default."""
    return {
        name: value for name, value in config.values.items() if value != config.state(name).default
    }
