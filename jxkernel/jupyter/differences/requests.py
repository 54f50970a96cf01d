"""What a front end asks of two programs: what can be compared, and what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, TypedDict

from jxkernel.api.jit import traced_functions
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.jupyter.differences.answer import trace_title
from jxkernel.jupyter.differences.payload import DiffPayload
from jxkernel.jupyter.differences.view import diff_view
from jxkernel.jupyter.feature import MOST_ROWS
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.view import tidied
from jxkernel.observe import diff, outline
from jxkernel.observe.explain import function_label
from jxkernel.observe.outlined_programs import kept_program

__all__ = ["CompareAnswer", "OthersAnswer", "compare", "others"]


class OthersAnswer(TypedDict):
    """The titles of programs that one can be compared with, those of its function first."""

    titles: list[str]


class CompareAnswer(TypedDict):
    """Two programs compared, as data and as text."""

    diff: DiffPayload
    text: str


def others(session: Session, token: str) -> dict[str, Any]:
    """Return the titles of programs that one can be compared with: traces that jit keeps.

    Those of the same function come first.

    Args:
      session: the session that is asked.
      token: that of the program's outline.

    Raises:
      LookupError: the program is gone.
    """
    _, own = kept_program(token)
    titles: list[str] = []
    for traces in _traces_by_function():
        found = [title for title, closed in traces if closed is not own]
        titles = [*found, *titles] if len(found) < len(traces) else [*titles, *found]
    return tidied({"titles": titles[:MOST_ROWS]})


def compare(session: Session, token: str, other: str) -> dict[str, Any]:
    """Return what differs between a program and another one.

    Args:
      session: the session that is asked.
      token: that of the program's outline.
      other: the title of the other one, of those that are comparable.

    Raises:
      LookupError: one of them is gone.
    """
    title, own = kept_program(token)
    every = [one for traces in _traces_by_function() for one in traces]
    found = next((closed for name, closed in every if name == other and closed is not own), None)
    if found is None:
        raise LookupError(f"{other} is no longer in the kernel")
    title = next((name for name, closed in every if closed is own), title)
    view = diff_view(diff(outline(own, title=title), outline(found, title=other)))
    return tidied({"diff": view.data, "text": view.text})


def _traces_by_function() -> Iterator[list[tuple[str, ClosedJaxpr]]]:
    """For each living jitted function its traces, each with a title of its own."""
    met = Counter[str]()
    for function, traces in traced_functions():
        name = function_label(function)
        yield [
            (_numbered(trace_title(name, one), met), one.closed) for one in list(traces.values())
        ]


def _numbered(title: str, met: Counter[str]) -> str:
    met[title] += 1
    return title if met[title] == 1 else f"{title} #{met[title]}"
