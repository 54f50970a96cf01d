"""The traced/static map, live: of the cell traced last, or of one that is chosen."""

from __future__ import annotations

import ipywidgets

from jxkernel.jupyter.errors.tracebacks import name_cells
from jxkernel.jupyter.live import INTERVAL, LiveView, current_session
from jxkernel.jupyter.provenance.view import map_view
from jxkernel.jupyter.views.tables import stacked_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import Provenance

__all__ = ["SourceMap"]

_LATEST = "latest"


class SourceMap(LiveView):
    """What is traced (T), static (S), a constant (C) or a side effect (!), on a cell's own source.

    It follows the cell traced last under ``%%jit`` unless a cell is chosen; a name typed into its
    field is led back to the argument that it comes from.

    Args:
      provenance: a map to show instead, as ``jxkernel.observe.provenance(f)(x)`` gives one.
      interval: seconds between two redrawings at the least.

    >>> import jxkernel as jx
    >>> from jxkernel.observe import provenance
    >>> def f(x):
    ...     return x * 2.0
    >>> seen = jx.widgets.SourceMap(provenance(f)(1.0))
    >>> "T x: f32*[]" in repr(seen)
    True
    >>> seen.close()
    """

    def __init__(self, provenance: Provenance | None = None, *, interval: float = INTERVAL) -> None:
        self._fixed = provenance
        self._session = current_session() if provenance is None else None
        self._cell = ipywidgets.Dropdown(description="Cell", options=[_LATEST])
        self._why = ipywidgets.Text(description="Why", placeholder="a name")
        controls = [self._cell, self._why] if provenance is None else [self._why]
        super().__init__(controls, interval)
        for control in controls:
            self.handle(control, lambda _: self._draw())

    def view(self) -> View:
        """Return the map, and above it why the name is what it is."""
        provenance = self._chosen()
        if provenance is None:
            return text_view(
                "", "nothing was traced yet; call a jitted function, or run a cell under %%jit"
            )
        shown = map_view(provenance)
        name = self._why.value.strip()
        if not name:
            return shown
        return stacked_view(
            "why", {"why": text_view("", self._told(provenance, name)), "map": shown}
        )

    def update(self, view: View) -> None:
        """Show the map, and offer the cells that there are."""
        labels = dict.fromkeys(label for label, _ in reversed(self._maps()))
        options = (_LATEST, *labels)
        if tuple(self._cell.options) != options:
            chosen = self._cell.value
            self._cell.options = options
            self._cell.value = chosen if chosen in options else _LATEST
        super().update(view)

    def _maps(self) -> list[tuple[str, Provenance]]:
        return list(self._session.maps) if self._session else []

    def _chosen(self) -> Provenance | None:
        if self._fixed is not None:
            return self._fixed
        found = [one for label, one in self._maps() if self._cell.value in (_LATEST, None, label)]
        return found[-1] if found else None

    def _told(self, provenance: Provenance, name: str) -> str:
        text = provenance.why(name)
        return name_cells(text, self._session.shell.compile) if self._session else text
