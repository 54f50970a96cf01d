"""A progress bar in a notebook: one output, drawn anew as the loop goes on."""

from __future__ import annotations

from typing import Any

from IPython.display import display

from jxkernel.jupyter.views.html import element, page
from jxkernel.jupyter.views.view import View
from jxkernel.observe.progress import Progress

__all__ = ["NotebookBar", "progress_view"]


class NotebookBar:
    """Shows one run of a bar; the output stays, with its last state, in the saved notebook."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, state: Progress) -> None:
        """Draw the bar, in place of what it showed before."""
        view = progress_view(state)
        if self._handle is None:
            self._handle = display(view, display_id=True)
        else:
            self._handle.update(view)


def progress_view(state: Progress) -> View:
    """Return the view of a bar."""
    text = str(state)
    data = {
        "label": state.label,
        "done": state.done,
        "total": state.total,
        "seconds": state.seconds,
    }
    return View("progress", text, page(element("pre", text, class_="m")), data)
