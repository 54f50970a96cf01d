"""What front ends may ask a session for: the panel's lists, changes of the backend, and a few acts.

Purpose: answer each request of the lab extension with plain data.

Place in the pipeline: over `jxkernel.observe` and a session; `jupyter.extension` gives the answers
to the channel. `labextension/src/protocol.ts` is written from the types here.

Must not know: comms, or what a front end does with an answer.

Requests may come in a thread of their own in the midst of a cell. Looking starts no platform.
Every list is bounded, and says how much it leaves out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypedDict

from jxkernel import observe, runtime
from jxkernel.api.jit import clear_caches
from jxkernel.compile import clear_disk_cache, disk_cache_summary
from jxkernel.jupyter.differences.answer import comparable, compared
from jxkernel.jupyter.ledger.answer import chosen_rows, is_eager
from jxkernel.jupyter.ledger.view import ledger_data, row_data
from jxkernel.jupyter.payloads import DiffPayload, LedgerPayload, LedgerRowPayload, ProgramPart
from jxkernel.jupyter.views.view import tidied
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.programs.requests import Programs
from jxkernel.observe import (
    BackendPreview,
    BackendState,
    BackendSwitch,
    DeviceMemory,
    Freeing,
    LedgerRow,
    LedgerTotal,
    LiveArray,
    TracedFunction,
)
from jxkernel.observe.backends import MOST_CPU_DEVICES, PRECISIONS
from jxkernel.observe.explain import format_ledger, format_size

__all__ = [
    "ANSWERS",
    "EXTENDED",
    "BackendAnswer",
    "CachesAnswer",
    "CompareAnswer",
    "ExplainAnswer",
    "FreeAnswer",
    "FunctionRow",
    "FunctionsAnswer",
    "LedgerAnswer",
    "LiveAnswer",
    "LiveRow",
    "OthersAnswer",
    "PreviewAnswer",
    "Requests",
    "TeachAnswer",
]

_ROWS = 200
_ON_DEVICE = 5
_LABEL = re.compile(r"In\[\d+\]")


class LedgerAnswer(TypedDict):
    """The ledger for the panel: builds of functions, newest first; `cells` are ids by label.

    `token` is what `builds` knows it by.
    """

    rows: list[LedgerRowPayload]
    left_out: int
    dropped: int
    token: str
    outside: LedgerTotal
    by_cell: list[LedgerTotal]
    by_site: list[LedgerTotal]
    by_function: list[LedgerTotal]
    cells: dict[str, str]
    text: str


class FunctionRow(TypedDict):
    """The place as words, and as a path from the kernel's folder where it is a file there."""

    place: str
    path: str


class FunctionsAnswer(TypedDict):
    """The living functions that jit has traced, the costliest first."""

    rows: list[FunctionRow]
    left_out: int
    cells: dict[str, str]
    text: str


class LiveRow(TypedDict):
    """The variables and outputs that can be released to release it."""

    roots: list[str]


class LiveAnswer(TypedDict):
    """Live arrays, largest first, and the devices; none of either before a platform runs."""

    rows: list[LiveRow]
    left_out: int
    left_out_bytes: int
    count: int
    bytes: int
    devices: list[DeviceMemory]
    text: str


class FreeAnswer(TypedDict):
    """What releasing would delete, or has deleted."""

    names: list[str]


class BackendAnswer(TypedDict):
    """What computes now, what can be chosen, and the largest arrays of each device."""

    is_started: bool
    precisions: list[str]
    most_cpu_devices: int
    largest: dict[str, list[LiveArray]]
    text: str


class PreviewAnswer(TypedDict):
    """What a change of the backend would do, or has done."""

    changes: bool
    asks: bool
    text: str


class ExplainAnswer(TypedDict):
    """What was built in a cell, and why."""

    title: str
    text: str


class CachesAnswer(TypedDict):
    """What is remembered, in words, or what was forgotten."""

    functions: int
    disk_entries: int
    disk_size: str
    disk_folder: str
    text: str


class OthersAnswer(TypedDict):
    """The titles of programs that one can be compared with, those of its function first."""

    titles: list[str]


class CompareAnswer(TypedDict):
    """Two programs compared, as data and as text."""

    diff: DiffPayload
    text: str


class TeachAnswer(TypedDict):
    """Whether teaching mode is on."""

    on: bool


ANSWERS: dict[str, type] = {
    "ledger": LedgerAnswer,
    "builds": LedgerPayload,
    "functions": FunctionsAnswer,
    "live": LiveAnswer,
    "freeing": FreeAnswer,
    "free": FreeAnswer,
    "backend": BackendAnswer,
    "preview": PreviewAnswer,
    "apply": PreviewAnswer,
    "explain": ExplainAnswer,
    "caches": CachesAnswer,
    "clear_caches": CachesAnswer,
    "teach": TeachAnswer,
    "program": ProgramPart,
    "others": OthersAnswer,
    "compare": CompareAnswer,
}
"""The answer to each request."""

EXTENDED: dict[type, type] = {
    FunctionRow: TracedFunction,
    LiveRow: LiveArray,
    FreeAnswer: Freeing,
    BackendAnswer: BackendState,
    PreviewAnswer: BackendPreview,
}
"""Answer -> the dataclass whose fields it has besides its own."""


class Requests:
    """Answers the requests about a session.

    Args:
      session: the session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._programs = Programs()

    def answers(self) -> dict[str, Callable[..., Any]]:
        """Returns what answers each request, by the request's name."""
        return {name: getattr(self, name) for name in ANSWERS}

    def program(self, token: str, start: int) -> ProgramPart:
        """Returns a part of a program that a view shows the beginning of."""
        return self._programs.part(token, start)

    def others(self, token: str) -> dict[str, Any]:
        """Returns what a program can be compared with.

        Raises:
          LookupError: the program is gone.
        """
        return tidied({"titles": comparable(token)})

    def compare(self, token: str, other: str) -> dict[str, Any]:
        """Returns what differs between a program and another one, given by its title.

        Raises:
          LookupError: one of them is gone.
        """
        view = compared(token, other)
        return tidied({"diff": view.data, "text": view.text})

    def ledger(self) -> dict[str, Any]:
        """Returns the builds of functions, and where the time of building went."""
        shown, eager = chosen_rows(self._session, "")
        newest = shown[: -_ROWS - 1 : -1]
        totals = {
            f"by_{by}": [asdict(one) for one in observe.ledger_totals(shown, by)[:_ROWS]]
            for by in ("cell", "site", "function")
        }
        outside = observe.ledger_totals(eager, "function")
        data = {
            "rows": [row_data(row) for row in newest],
            "left_out": len(shown) - len(newest),
            "dropped": self._session.recorder.dropped,
            "token": f"{self._session.token} ",
            "outside": asdict(
                LedgerTotal(
                    "operations outside jit",
                    builds=len(eager),
                    compiles=sum(one.compiles for one in outside),
                    cost_ns=sum(one.cost_ns for one in outside),
                )
            ),
            "text": format_ledger(shown[-_ROWS:]),
            "cells": self._identities(text for row in newest for text in (row.cell, row.site)),
        }
        return tidied({**data, **totals})

    def builds(self, token: str) -> dict[str, Any]:
        """Returns all of a ledger that the recorder holds.

        Raises:
          LookupError: it is another session's.
        """
        session, _, words = token.partition(" ")
        if session != self._session.token:
            raise LookupError("the session that it is of is over: run its cell again")
        rows, _ = chosen_rows(self._session, words)
        return tidied(ledger_data(rows, self._session.recorder.dropped, token))

    def functions(self) -> dict[str, Any]:
        """Returns the functions that jit has traced, with their places."""
        found = observe.functions(self._session.ledger())
        rows = [self._function(one) for one in found[:_ROWS]]
        lines = [f"{one['name']}  {one['kept']} traces  {one['place']}" for one in rows]
        data = {
            "rows": rows,
            "left_out": len(found) - len(rows),
            "cells": self._identities(one["place"] for one in rows),
            "text": "\n".join(lines),
        }
        return tidied(data)

    def live(self, holders: bool = False) -> dict[str, Any]:
        """Returns the live arrays and what the devices hold.

        Args:
          holders: whether to look for holders besides variables and outputs, which takes a while.
        """
        if not runtime.backends():
            return tidied(_no_arrays())
        found = observe.live(self._session.shell.user_ns, holders=holders)
        shown, rest = found.arrays[:_ROWS], found.arrays[_ROWS:]
        data = {
            "rows": [{**asdict(one), "roots": _roots(one)} for one in shown],
            "left_out": len(rest),
            "left_out_bytes": sum(one.bytes for one in rest),
            "count": len(found.arrays),
            "bytes": found.bytes,
            "devices": [asdict(one) for one in found.devices],
            "text": str(found),
        }
        return tidied(self._with_cell_names(data))

    def freeing(self, names: Sequence[str]) -> dict[str, Any]:
        """Returns what `free` would delete.

        Raises:
          ValueError: there is no such name, or it holds no array.
        """
        found = observe.freeing(*names, namespace=self._session.shell.user_ns)
        return tidied({"names": list(names), **asdict(found)})

    def free(self, names: Sequence[str]) -> dict[str, Any]:
        """Deletes the arrays that variables and outputs hold, and the names.

        Raises:
          ValueError: there is no such name, or it holds no array.
          RuntimeError: a cell runs, and may use them.
        """
        if self._session.is_running:
            raise RuntimeError("a cell is running and may use them: release them after it")
        done = self.freeing(names)
        observe.free(*names, namespace=self._session.shell.user_ns)
        return done

    def backend(self, start: bool = False) -> dict[str, Any]:
        """Returns what computes, and what can be chosen.

        Args:
          start: whether to start the default platform where none runs yet.
        """
        is_started = start or bool(runtime.backends())
        state = self._switch().state() if is_started else _NOT_STARTED
        data = {
            **state.to_data(),
            "is_started": is_started,
            "precisions": list(PRECISIONS),
            "most_cpu_devices": MOST_CPU_DEVICES,
            "largest": self._largest() if is_started else {},
            "text": _state_text(state) if is_started else "no platform runs yet",
        }
        return tidied(data)

    def preview(self, change: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what a change of the backend would do.

        Raises:
          ValueError: it makes no sense.
        """
        return tidied(_bounded(self._switch().preview(change).to_data()))

    def apply(self, change: Mapping[str, Any]) -> dict[str, Any]:
        """Does a change of the backend, and returns what was done.

        Raises:
          ValueError: it makes no sense.
          RuntimeError: it needs a restart, or a platform does not start.
        """
        done = self._switch().apply(change)
        runtime.default_device()  # with another number of devices the CPU's client is made anew
        return tidied(_bounded(done.to_data()))

    def explain(self, cell: str, number: int | None = None) -> dict[str, Any]:
        """Returns what was built in a cell, and why.

        Args:
          cell: the front end's id of it.
          number: its execution count, for a cell that another front end ran.
        """
        known = self._session.identities.items()
        labels = [label for label, identity in list(known) if identity == cell]
        labels = labels or [f"In[{number}]"] * (number is not None)
        rows = [row for row in self._session.ledger() if row.cell in labels]
        title = f"What was built in {labels[-1] if labels else 'this cell'}"
        return tidied({"title": title, "text": "\n\n".join(self._told(labels, rows))})

    def caches(self) -> dict[str, Any]:
        """Returns what is remembered, here and on disk."""
        disk = disk_cache_summary()
        count = len(observe.functions())
        on_disk = f"{disk.entries} executables on disk" if disk.folder else "no disk cache"
        return tidied(
            {
                "functions": count,
                "disk_entries": disk.entries,
                "disk_size": format_size(disk.bytes),
                "disk_folder": disk.folder or "",
                "text": f"{count} traced functions; {on_disk}",
            }
        )

    def clear_caches(self, disk: bool = False) -> dict[str, Any]:
        """Forgets every trace and executable, and returns what was forgotten.

        Args:
          disk: whether to delete those on disk too.
        """
        before = self.caches()
        clear_caches()
        self._session.cells.clear()
        said = "every trace and compiled call is forgotten"
        if disk:
            said += f"; {clear_disk_cache()} executables deleted from disk"
        return {**before, "text": said}

    def teach(self, on: bool) -> dict[str, Any]:
        """Switches teaching mode on or off."""
        self._session.settings.teach = bool(on)
        return {"on": self._session.settings.teach}

    def _switch(self) -> BackendSwitch:
        return BackendSwitch(self._session.shell.user_ns)

    def _identities(self, texts: Iterable[str | None]) -> dict[str, str]:
        """The front end's ids of the cells that texts name."""
        labels = {label for text in texts for label in _LABEL.findall(text or "")}
        known = self._session.identities
        return {label: known[label] for label in labels if label in known}

    def _with_cell_names(self, data: Any) -> Any:
        """Names cells in place of their files, in texts at any depth."""
        if isinstance(data, str):
            return name_cells(data, self._session.shell.compile)
        if isinstance(data, dict):
            return {key: self._with_cell_names(value) for key, value in data.items()}
        if isinstance(data, list | tuple):
            return [self._with_cell_names(value) for value in data]
        return data

    def _function(self, one: TracedFunction) -> dict[str, Any]:
        place = f"{one.file}:{one.line}" if one.file else ""
        named = self._with_cell_names(place)
        path = _relative(one.file) if named == place else ""
        latest = self._with_cell_names(one.latest)
        return {**asdict(one), "latest": latest, "place": named, "path": path}

    def _largest(self) -> dict[str, list[dict[str, Any]]]:
        """The largest arrays on each device."""
        found: dict[str, list[dict[str, Any]]] = {}
        for one in observe.live(self._session.shell.user_ns, holders=False).arrays:
            for device in one.devices:
                listed = found.setdefault(device, [])
                if len(listed) < _ON_DEVICE:
                    listed.append(asdict(one))
        return found

    def _told(self, labels: Sequence[str], rows: Sequence[LedgerRow]) -> list[str]:
        if not labels:
            return ["This cell has not been run since jxkernel was loaded."]
        built = list(dict.fromkeys(row.fun for row in rows if not is_eager(row)))
        parts = [
            self._with_cell_names(observe.explain(name, self._session.recorder)) for name in built
        ]
        eager = [row for row in rows if is_eager(row)]
        if eager:
            names = ", ".join(dict.fromkeys(row.fun for row in eager))
            parts.append(f"operations outside jit that were compiled: {names}")
        if not parts:
            parts.append(
                "Nothing was traced or compiled in it: its calls, if any, were cache hits."
            )
        return parts


_NOT_STARTED = BackendState("", False, 0, False, "default", ())


def _roots(one: LiveArray) -> list[str]:
    """The variables and outputs, without the ways from them."""
    names = [found.group() for name in one.names if (found := re.match(r"\w+", name))]
    return [*dict.fromkeys(names), *(f"Out[{number}]" for number in one.outputs)]


def _no_arrays() -> dict[str, Any]:
    return {
        "rows": [],
        "left_out": 0,
        "left_out_bytes": 0,
        "count": 0,
        "bytes": 0,
        "devices": [],
        "text": "no platform runs yet",
    }


def _bounded(preview: dict[str, Any]) -> dict[str, Any]:
    """A preview with its longest lists cut; its text has the totals."""
    lists = ("moves", "stays", "retraced")
    return {**preview, **{name: list(preview[name])[:_ROWS] for name in lists}}


def _state_text(state: BackendState) -> str:
    lines = [state.summary]
    for platform in state.platforms:
        lines.append(f"{platform.name}: {platform.status}")
        lines += [
            f"  {one.name}  {one.arrays} arrays, {format_size(one.array_bytes)}"
            + ("  (default)" if one.is_default else "")
            for one in platform.devices
        ]
    return "\n".join(lines)


def _relative(file: str) -> str:
    """The path of a file from the kernel's folder; empty where it is not below that."""
    folder = os.getcwd()
    if not os.path.isabs(file) or not file.startswith(folder + os.sep):
        return ""
    return os.path.relpath(file, folder).replace(os.sep, "/")
