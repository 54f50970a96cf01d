"""A session in one view: the environment, and everything that was seen in it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import IPython

from jxkernel import observe
from jxkernel._reprs import counted
from jxkernel.jupyter.cells.cell import Cell, Version
from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.ledger.view import ledger_view
from jxkernel.jupyter.memory.view import memory_view
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.html import Html, details, element, escape, join, page, pre, table
from jxkernel.jupyter.views.tables import table_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.explain import format_duration, format_size
from jxkernel.observe.reports import masked

__all__ = ["overview", "page_of"]

_CELLS = 200
_VERSIONS = 10
_SOURCE = 10_000
_PAGE = 4_000_000


def overview(session: Session) -> View:
    """Return the view of a session: environment, cells, times, ledger, warnings, memory."""
    rows = session.ledger()
    memory = observe.live(session.shell.user_ns)
    data = observe.report(
        session.recorder,
        rows=rows,
        memory=memory,
        cells=[_cell(cell) for cell in list(session.cells.values())[-_CELLS:]],
        warnings=[warning for cell in session.cells.values() for warning in _lints(cell)],
        packages={"IPython": IPython.__version__},
    )
    data = _with_cell_names(data, session.shell.compile)
    totals = [pair for pair in data["totals"].items() if pair[1]]
    parts = [
        table_view("Environment", ("", ""), list(data["environment"].items())),
        table_view("Environment variables", ("", ""), list(data["variables"].items())),
        table_view("Options set", ("Option", "Value"), list(data["options"].items())),
        table_view("Totals", ("", ""), [_readable(*pair) for pair in totals], (1,)),
        _cells_view(data["cells"]),
        table_view(
            "Times", ("Cell", "When", "Took", "Building", "Error"), _times(data), numeric=(2, 3)
        ),
        ledger_view(rows, session.recorder.dropped),
        _warnings_view(data["warnings"]),
        memory_view(memory),
        table_view("Caches", ("", ""), [_readable(*pair) for pair in data["caches"].items()]),
    ]
    shown = [part for part in parts if part.kind != "table" or part.data["rows"]]
    text = "\n\n".join(part.text for part in shown)
    html = page(join([element("div", Html(part.html)) for part in shown]))
    return View("report", text, html, data)


def page_of(view: View, *, as_json: bool) -> str:
    """Return a view as the content of a file: JSON, or a page that needs no other file."""
    if as_json:
        return json.dumps(view.data, indent=1, ensure_ascii=False)
    body = view.html if len(view.html) <= _PAGE else page(pre(view.text))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>jxkernel session</title>'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        f'<body style="margin:1.5em;max-width:75em"><h1 style="font:600 20px system-ui">jxkernel '
        f"session, {time.strftime('%Y-%m-%d %H:%M')}</h1>{body}</body></html>\n"
    )


def _cell(cell: Cell) -> dict[str, Any]:
    versions = [_version(one) for one in list(cell.versions.values())[-_VERSIONS:]]
    return {"name": cell.name, "versions": versions, "count": len(cell.versions)}


def _version(version: Version) -> dict[str, Any]:
    options = version.options
    given = {
        name: str(value)
        for name, value in (
            ("static", ",".join(options.static)),
            ("donate", ",".join(options.donate)),
            ("grad", ",".join(options.grad)),
            ("device", options.device),
        )
        if value
    }
    return {
        "number": version.number,
        "changed": version.changed,
        "traces": version.traces,
        "options": given,
        "source": masked(version.source.text.strip("\n"))[:_SOURCE],
    }


def _lints(cell: Cell) -> Iterator[str]:
    if cell.latest is not None:
        for warning in cell.latest.lints():
            yield f"{cell.name}: {warning}"


def _with_cell_names(data: Any, compiler: Any) -> Any:
    """Names cells in place of their files, in texts at any depth."""
    if isinstance(data, str):
        return name_cells(data, compiler)
    if isinstance(data, Mapping):
        return {key: _with_cell_names(value, compiler) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_with_cell_names(value, compiler) for value in data]
    return data


def _readable(name: str, value: Any) -> tuple[str, str]:
    if name.endswith("_ns"):
        return name.removesuffix("_ns").replace("_", " "), format_duration(value)
    if "bytes" in name or (name == "limit" and value > 0):
        return name.replace("_", " "), format_size(value)
    return name.replace("_", " "), str("" if value is None else value)


def _times(data: Mapping[str, Any]) -> list[tuple[object, ...]]:
    return [
        (
            one["cell"],
            time.strftime("%H:%M:%S", time.localtime(one["when"])),
            format_duration(one["duration_ns"]),
            format_duration(one["trace_ns"] + one["lower_ns"] + one["compile_ns"]),
            one["error"],
        )
        for one in data["timings"]
    ]


def _cells_view(cells: list[dict[str, Any]]) -> View:
    """The cells under ``%%jit`` with the source of each version, folded but the latest."""
    blocks = []
    lines = []
    for cell in cells:
        count = cell["count"]
        head = f"{cell['name']} · {count} version{'' if count == 1 else 's'}"
        inner = [
            details(_version_title(one), pre(one["source"]), is_open=one is cell["versions"][-1])
            for one in cell["versions"]
        ]
        blocks.append(details(head, *inner))
        lines.append(head)
        for one in cell["versions"]:
            lines.append(f"  {_version_title(one)}")
            lines += [f"    {line}" for line in one["source"].splitlines()]
    title = f"{counted(len(cells), 'cell')} under %%jit"
    rows = [(cell["name"], cell["count"]) for cell in cells]
    html = page(details(title, *blocks, is_open=len(cells) <= 10))
    return View("table", "\n".join([title, *lines]), html, {"rows": rows})


def _version_title(one: Mapping[str, Any]) -> str:
    traces = f"{one['traces']} trace{'' if one['traces'] == 1 else 's'}"
    options = " ".join(f"--{name} {value}" for name, value in one["options"].items())
    parts = [f"version {one['number']}", one["changed"], traces, options]
    return " · ".join(part for part in parts if part)


def _warnings_view(warnings: list[str]) -> View:
    title = f"{len(warnings)} warning{'' if len(warnings) == 1 else 's'}"
    rows = [[escape(one, 1_000)] for one in warnings]
    html = page(details(title, table(("",), rows), is_open=len(warnings) <= 20))
    text = "\n".join([title, *(f"  {one}" for one in warnings)])
    return View("table", text, html, {"rows": rows})
