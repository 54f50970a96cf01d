"""How a notebook shows arrays and trees of arrays: their text, figures and a picture.

The text stays what ``repr`` gives. Scalars, small arrays and containers of a few numbers are their
text alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from IPython.utils.dir2 import get_real_method

from jxkernel.core.avals import abstractify
from jxkernel.core.key_data import ExtendedArray
from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.values.picture import number, picture
from jxkernel.jupyter.views.html import Html, details, element, join, page, pre
from jxkernel.jupyter.views.view import View
from jxkernel.observe.explain import format_size
from jxkernel.observe.layout import ShardingView
from jxkernel.observe.values import ArrayFigures, figures_of
from jxkernel.runtime.arrays import ArrayImpl
from jxkernel.tree.nodes import keyed_children

__all__ = ["array_html", "tree_html", "value_view"]

_SMALL = 16
"""Arrays of fewer elements, and containers whose arrays have fewer, are their text alone."""

_TEXT = 4_000
_NODES, _SEARCHED, _DEPTH = 300, 1_000, 30
_PICTURES, _ELEMENTS = 12, 1 << 24
"""How many pictures a tree has, and how many elements are looked at for it."""


def array_html(session: Session, array: Any) -> str | None:
    """Return an array's text with its figures and picture, or None where the text says it all."""
    if not session.settings.values or array.is_deleted() or array.size < _SMALL:
        return None
    return _array_page(array, figures_of(array))


def tree_html(session: Session, value: Any) -> str | None:
    """Return a container's arrays with their figures, folded as the container is nested.

    Containers without arrays or with a few numbers, and those that have an HTML form of their own,
    keep theirs.
    """
    method = get_real_method(value, "_repr_html_")
    if method is not None:
        return method()
    if not session.settings.values or _elements(value) < _SMALL:
        return None
    return page(_Tree().folded("", value))


def value_view(value: Any) -> View:
    """Return the view of an array, or of a tree of arrays, of any size."""
    if isinstance(value, ArrayImpl):
        figures = figures_of(value)
        return View("value", _line(value, figures), _array_page(value, figures))
    return View("value", "\n".join(_Tree().lines("", value)), page(_Tree().folded("", value)))


def _array_page(array: Any, figures: ArrayFigures | None) -> str:
    is_odd = figures is not None and bool(figures.nans or figures.infinities)
    parts = [
        element("div", pre(_text(array), limit=_TEXT), class_="seen"),
        element("div", _line(array, figures), class_="warn" if is_odd else "dim"),
        Html("") if figures is None else picture(figures),
    ]
    if not array.is_deleted() and len(array.sharding.device_set) > 1:
        parts.append(Html(ShardingView(array.shape, array.sharding)._repr_html_()))
    return page(*parts)


def _elements(value: Any) -> int:
    """How many elements the arrays among the first nodes have; a cycle ends with the count."""
    waiting, seen, elements = [value], 0, 0
    while waiting and seen < _SEARCHED:
        seen += 1
        one = waiting.pop()
        if isinstance(one, ArrayImpl):
            elements += one.size
        waiting.extend(child for _, child in _children(one)[: _SEARCHED - seen])
    return elements


def _children(value: Any) -> list[tuple[str, Any]]:
    """The children of a node with what one writes behind it to reach them; none of a leaf."""
    if isinstance(value, ArrayImpl | ExtendedArray):
        return []
    try:
        level = keyed_children(value)
    except (TypeError, ValueError):
        return []  # keys that have no order, or a class whose flattening fails
    return [] if level is None else [(str(key), child) for key, child in level[0]]


class _Tree:
    """What of a tree has been shown, so that the view of a large one stays small and quick."""

    def __init__(self) -> None:
        self._nodes, self._pictures, self._elements = _NODES, _PICTURES, _ELEMENTS

    def folded(self, name: str, value: Any, depth: int = 0) -> Html:
        """Return a node as HTML, its children folded under it."""
        if isinstance(value, ArrayImpl):
            return self._leaf(name, value)
        children = self._chosen(value, depth)
        if not children:
            return element("div", element("code", _named(name, _short(value))))
        shown = [self.folded(key, child, depth + 1) for key, child in children]
        if len(children) < len(_children(value)):
            shown.append(element("div", "… and more", class_="dim"))
        title = _named(name, f"{type(value).__name__} of {len(_children(value)):,}")
        return details(title, *shown, is_open=depth < 2)

    def lines(self, name: str, value: Any, depth: int = 0) -> Iterator[str]:
        """Yield a line for each leaf: how it is reached, and what it is."""
        children = self._chosen(value, depth)
        if not children:
            told = _short(value)
            if isinstance(value, ArrayImpl):
                told = _line(value, self._figures(value))
            yield f"{name}  {told}" if name else told
            return
        for key, child in children:
            yield from self.lines(name + key, child, depth + 1)
        if len(children) < len(_children(value)):
            yield f"{name}  … and more"

    def _chosen(self, value: Any, depth: int) -> list[tuple[str, Any]]:
        """The children that are shown."""
        children = _children(value)[: max(self._nodes, 0)] if depth <= _DEPTH else []
        self._nodes -= len(children)
        return children

    def _figures(self, array: Any) -> ArrayFigures | None:
        self._elements -= array.size
        return figures_of(array) if self._elements >= 0 else None

    def _leaf(self, name: str, array: Any) -> Html:
        figures = self._figures(array)
        title = _named(name, _line(array, figures))
        drawn = picture(figures) if figures is not None and array.size >= _SMALL else ""
        if not drawn or not self._pictures:
            return element("div", title)
        self._pictures -= 1
        return details(title, drawn)


def _named(name: str, told: str) -> Html:
    return join((name, told) if name else (told,), " ")


def _short(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception as error:  # whatever a class of the user's raises
        return f"<{type(value).__name__} without a text: {type(error).__name__}>"
    return text if len(text) <= 80 else f"{text[:79]}…"


def _text(array: Any) -> str:
    return "deleted" if array.is_deleted() else repr(array)


def _line(array: Any, figures: ArrayFigures | None) -> str:
    """An array in one line: type, size, figures."""
    size = "deleted" if array.is_deleted() else format_size(array.nbytes)
    texts = [] if figures is None else _texts(figures, array)
    return " · ".join([abstractify(array).short(), size, *texts])


def _texts(figures: ArrayFigures, array: Any) -> list[str]:
    of = " of magnitudes" if array.dtype.kind == "c" else ""
    texts: list[str] = []
    if array.dtype == bool and figures.mean is not None:
        texts.append(f"{round(figures.mean * figures.looked):,} of {figures.looked:,} true")
    elif figures.least is not None and array.size == 1 and not of:
        texts.append(number(figures.least))
    elif figures.least is not None:
        ends = f"min {number(figures.least)}, mean {number(figures.mean)}"
        texts.append(f"{ends}, max {number(figures.greatest)}{of}")
    for count, what in ((figures.nans, "NaN"), (figures.infinities, "infinite")):
        if count:
            texts.append(f"{count:,} {what}")
    if figures.looked < figures.size:
        texts.append(f"of a sample of {figures.looked:,}")
    if figures.size < array.size:
        texts.append("this process's part")
    return texts
