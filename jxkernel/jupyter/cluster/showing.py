"""Showing what ranks print and display while their cell runs: once where they agree."""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, publish_display_data

from jxkernel.jupyter.cluster.folding import ranks_named
from jxkernel.jupyter.cluster.outputs import Output
from jxkernel.jupyter.cluster.progress import Progress
from jxkernel.jupyter.cluster.rows import Row, folded, grouped
from jxkernel.jupyter.cluster.watch import Watch

__all__ = ["Showing"]

Bundle = tuple[Mapping[str, Any], Mapping[str, Any]]

_PICTURES = ("image/png", "image/jpeg")
_DISPLAYS = 256


class _Display:
    """A display of the notebook, for those of ranks that change: in one, where theirs differ."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._bundles: dict[int, Bundle] = {}
        self._handle: DisplayHandle | None = None

    def put(self, rank: int, output: Output) -> None:
        """Set what a rank shows."""
        self._bundles[rank] = output.data, output.metadata

    def show(self) -> None:
        """Show it, or show it anew."""
        groups = grouped(self._bundles)
        is_one = len(groups) == 1 and len(groups[0][0]) == self._size
        data, metadata = groups[0][1] if is_one else (_together(groups), {})
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(data, raw=True, metadata=metadata)
        else:
            self._handle.update(data, raw=True, metadata=metadata)


def _together(groups: Sequence[tuple[list[int], Bundle]]) -> dict[str, str]:
    """Return bundles as one, each with its ranks."""
    parts = [(f"[{ranks_named(ranks)}]", data) for ranks, (data, _) in groups]
    plain = "\n".join(f"{name} {data.get('text/plain', '')}" for name, data in parts)
    pages = "".join(f"<div>{name}</div>{_page(data)}" for name, data in parts)
    return {"text/plain": plain, "text/html": pages}


def _page(data: Mapping[str, Any]) -> str:
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return str(data[kind])
    for kind in _PICTURES:
        if kind in data:
            return f'<img alt="" src="data:{kind};base64,{data[kind]}">'
    return f"<pre>{html.escape(str(data.get('text/plain', '')))}</pre>"


class Showing:
    """Shows the outputs of cells that run on ranks; ``end`` shows what is left of one.

    Args:
      size: how many ranks there are.
      is_live: whether what is shown can be changed and taken away.
    """

    def __init__(self, size: int, is_live: bool) -> None:
        self._size = size
        self._is_live = is_live
        self._displays: dict[tuple[int, str], _Display] = {}
        self.begin()

    def begin(self) -> None:
        """Begin a cell: displays of those before can still change."""
        self._progress = Progress(self._is_live)
        self._shown: list[Row] = []
        self._cleared: set[int] = set()

    def __call__(self, watch: Watch) -> None:
        """Show the rows that are whole, and where the ranks are."""
        for row in watch.rows.whole():
            self._take(row)
        self._progress(watch)

    def end(self, watch: Watch) -> None:
        """Show what is left; the cell is over."""
        self._progress.clear()
        watch.rows.end()
        for row in watch.rows.whole():
            self._take(row)
        self._clear()

    def _take(self, row: Row) -> None:
        rank, first = next(iter(row.items()))
        if first.kind == "update":
            self._change(rank, first)
        elif first.kind != "clear":
            self._clear()
            self._shown.append(row)
            self._show(row)
        elif self._is_live:
            self._cleared.add(rank)

    def _clear(self) -> None:
        """Take away what ranks showed that have cleared their outputs; that of others stays."""
        gone, self._cleared = self._cleared, set()
        if not gone:
            return
        InteractiveShell.instance().display_pub.clear_output(wait=True)
        self._progress.forget()
        rows = [{rank: one for rank, one in row.items() if rank not in gone} for row in self._shown]
        self._shown = [row for row in rows if row]
        for row in self._shown:
            self._show(row)

    def _show(self, row: Row) -> None:
        if any(output.identity for output in row.values()):
            self._show_changing(row)
            return
        for ranks, output in folded(row):
            prefix = f"[{ranks_named(ranks)}] " if len(ranks) < self._size else ""
            if output.kind == "display":
                sys.stdout.write(f"{prefix.rstrip()}\n" if prefix else "")
                publish_display_data(dict(output.data), dict(output.metadata))
            else:
                _print(output, prefix)

    def _show_changing(self, row: Row) -> None:
        shown = _Display(self._size)
        for rank, output in row.items():
            shown.put(rank, output)
            self._displays[rank, output.identity] = shown
        shown.show()
        while len(self._displays) > _DISPLAYS:
            del self._displays[next(iter(self._displays))]

    def _change(self, rank: int, output: Output) -> None:
        """Show a display anew that a rank has changed; of one that nobody knows show nothing."""
        shown = self._displays.get((rank, output.identity))
        if shown is not None:
            shown.put(rank, output)
            shown.show()


def _print(output: Output, prefix: str) -> None:
    text = output.text
    if prefix:
        text = "".join(f"{prefix}{line}\n" for line in text.splitlines())
    getattr(sys, output.kind).write(text)
