"""Safety: whatever the user's text holds, no view acts, none writes over a terminal, none grows.

Every function that gives a view is found, and its arguments are made from
its annotations with the text in every place that can hold some. A new view is covered by being
there; one whose arguments cannot be made fails until this file learns to make them.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect as inspection
import json
import linecache
import pkgutil
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jxkernel as jx
from jxkernel import jupyter, widgets
from jxkernel import numpy as jnp
from jxkernel.ad_checkpoint import checkpoint_name
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.errors import JXError
from jxkernel.jupyter.ledger.view import ledger_view
from jxkernel.jupyter.live import LiveView
from jxkernel.jupyter.programs.view import jaxpr_view
from jxkernel.jupyter.provenance.view import map_view
from jxkernel.jupyter.report.page import page_of
from jxkernel.jupyter.views.html import Html, escape
from jxkernel.jupyter.views.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import Comparison, Exercise, LedgerRow, Recorder, provenance
from jxkernel.observe.comparisons import FIGURES
from jxkernel.observe.marks import FunctionMap, Mark, NameFact, Provenance
from jxkernel.observe.teaching.quiz import Quiz
from tests.jupyter.conftest import Notebook
from tests.jupyter.inspector import inspect, inspect_bundle, inspect_html, is_clean

NASTY = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</pre></div></svg><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' style='position:fixed' onload='alert(1)",
    "&lt;script&gt;&#60;img src=x&#62;",
    "javascript:alert(1)",
    "]]><!-- --><?php ?><!DOCTYPE x>",
    "\x1b[2J\x1b]0;title\x07\x00\x08\r\x0b\x0c\x85\x9b31m",
    "\ud800\udfff \u202e right to left \u2066\u2028\u2029 \ufeff\u200b \U000e0001",
    "e\u0301" * 50 + "\u0489" * 200 + "𝒳🏳️‍🌈",
    "{} %s %n ${x} {0.__class__}",
    "../../etc/passwd\\..\\",
    "",
    " \t\n\n\t ",
]
LARGE = ["<" * 1_000_000, "&\x00\n" * 333_333]
OF_WIDGETS = [NASTY[1], NASTY[3], NASTY[8], NASTY[9], NASTY[13], *LARGE]
SOURCE = "def f(x):\n    {}\n    return x * 2.0\n"


# ------------------------------------------------------------------ arguments from annotations


def filled(kind: Any, text: str, depth: int = 0) -> Any:
    """A value of a type, with the text wherever one can stand."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    made = _PLAIN.get(kind)
    if made is not None:
        return made(text)
    if origin in (typing.Union, types.UnionType):
        wanted = [part for part in parts if part is not type(None)]
        return filled(wanted[0], text, depth)
    if origin is typing.Literal:
        return parts[0]
    if origin is tuple and (len(parts) < 2 or parts[1] is not ...):
        return tuple(filled(part, text, depth) for part in parts)
    if origin in (tuple, list, Sequence, Collection, frozenset):
        ends = depth > 4 and parts[0] not in _PLAIN
        items = [] if ends else [filled(parts[0], text, depth + 1)]
        return (origin if origin in (list, frozenset) else tuple)(items)
    if origin in (dict, Mapping):
        return {} if depth > 4 else {filled(parts[0], text): filled(parts[1], text, depth + 1)}
    if origin is Callable:
        return lambda *_: text
    if dataclasses.is_dataclass(kind) or hasattr(kind, "__dataclass_fields__"):
        return filled_record(kind, text, depth)
    if hasattr(kind, "_field_defaults"):  # a NamedTuple
        hints = typing.get_type_hints(kind)
        return kind(*[filled(hints[name], text, depth + 1) for name in kind._fields])
    raise TypeError(f"no value of {kind} can be made here: teach tests/jupyter/test_safety.py to")


def filled_record(kind: Any, text: str, depth: int) -> Any:
    hints = typing.get_type_hints(kind)
    values = {
        field.name: filled(hints[field.name], text, depth + 1)
        for field in dataclasses.fields(kind)
        if field.init and field.name != "rendered"
    }
    return kind(**values)


def nasty_program(text: str) -> ClosedJaxpr:
    """A program with the text in its file's name and lines, function names and parameters."""
    file = text.replace("\0", "\x01")
    lines = [f"{line}\n" for line in SOURCE.format(f"y = 1  # {text!r}").splitlines()]
    linecache.cache[file] = (1, None, lines, file)
    names: dict[str, Any] = {}
    exec(compile(SOURCE.format("pass"), "<made here>", "exec"), names)
    function = names["f"]
    function.__code__ = function.__code__.replace(co_filename=file, co_name=file)
    function.__name__ = text or "f"

    def whole(x: Any) -> Any:
        inner = jx.lax.fori_loop(0, 2, lambda _, c: function(c), checkpoint_name(x, text))
        return checkpoint_name(function(inner), text)

    try:
        return jx.make_jaxpr(whole)(jnp.ones(3))
    finally:
        del linecache.cache[file]


def error_with(text: str) -> JXError:
    error = JXError(text)
    error.details, error.instead = (text,), (text,)
    error.where, error.code, error.underline = text, text, (0, max(len(text), 1))
    return error


def nasty_provenance(text: str) -> Provenance:
    """A map whose marks lie on lines that hold the text."""
    mark = Mark("traced", text, 2, 0, 2, max(len(text), 1), text)
    fact = NameFact(text, text, "traced", text, 2, text)
    effect = dataclasses.replace(mark, kind="effect")
    map_ = FunctionMap(text, text, 1, 1, True, (fact,), (mark,), (effect,), (), ("", text))
    return Provenance((map_, map_))


_PLAIN: dict[Any, Callable[[str], Any]] = {
    str: lambda text: text,
    int: lambda _: 3,
    float: lambda _: 0.5,
    bool: lambda _: True,
    object: lambda text: text,
    type(None): lambda _: None,
    Any: lambda text: text,
    ClosedJaxpr: nasty_program,
    View: lambda text: text_view(text, text),
    Html: escape,
    JXError: error_with,
    Exercise: lambda text: Exercise(text, f"x = {text!r}", "prints", text or "?", text),
    Quiz: lambda text: Quiz({text: True}),
}


def view_functions() -> Iterator[tuple[str, Callable[..., View]]]:
    """Every public function of the notebook half that gives a view of plain data."""
    for module in pkgutil.walk_packages(jupyter.__path__, f"{jupyter.__name__}."):
        loaded = importlib.import_module(module.name)
        for name in getattr(loaded, "__all__", ()):
            function = getattr(loaded, name)
            own = inspection.isfunction(function) and function.__module__ == module.name
            if not own or "session" in inspection.signature(function).parameters:
                continue
            if typing.get_type_hints(function).get("return") is View:
                yield name, function


VIEWS = dict(view_functions())


def drawn(function: Callable[..., View], text: str) -> View:
    """The view with the text in every argument."""
    hints = typing.get_type_hints(function)
    names = inspection.signature(function).parameters
    # What a view is, and which figure it draws, is no text of the user's.
    given = {name: {"kind": "view", "figure": FIGURES[0]}.get(name, text) for name in names}
    return function(**{name: filled(hints[name], given[name]) for name in names})


# ----------------------------------------------------------------------------------- the views


def test_every_exported_view_is_found() -> None:
    assert {"run_view", "outline_view", "diff_view", "ledger_view", "finding_view"} <= set(VIEWS)
    assert len(VIEWS) > 15


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_no_view_acts_on_text(name: str, text: str) -> None:
    inspect(drawn(VIEWS[name], text))


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("text", LARGE, ids=range(len(LARGE)))
def test_no_view_grows_with_text(name: str, text: str) -> None:
    inspect(drawn(VIEWS[name], text))


PIECES = st.one_of(
    st.sampled_from([*NASTY, "<", ">", "&", '"', "'", "\x00", "\n", "]]>", "<!--", "\u202e"]),
    st.text(st.characters(exclude_categories=()), max_size=20),
)


@given(st.lists(PIECES, max_size=8).map("".join))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_inert_in_every_view(text: str) -> None:
    for function in VIEWS.values():
        inspect(drawn(function, text))


def test_many_rows_do_not_make_a_view_grow() -> None:
    row = dataclasses.replace(filled(LedgerRow, "<name>\x00"), trace_ns=5)
    inspect(ledger_view([row] * 5_000))
    inspect(table_view("<t>", ("<a>", "b"), [("<x>\x1b", "y" * 1_000)] * 50_000))
    parts = {f"<{number}>": table_view("<t>", ("a",), [("b",)] * 500) for number in range(90)}
    inspect(stacked_view("tables", parts))


def test_a_view_that_is_not_json_is_refused_early() -> None:
    with pytest.raises(TypeError):
        json.dumps(View("x", "text", "", {"a": object()})._repr_mimebundle_())


# ------------------------------------------------------------------ what else shows itself as HTML


_SHOWN = {"_repr_html_", "_repr_mimebundle_"}


def classes_with_html() -> set[str]:
    """The classes of the package that say how they are shown."""
    found: set[str] = set()
    for module in pkgutil.walk_packages(jx.__path__, "jxkernel."):
        loaded = importlib.import_module(module.name)
        for value in vars(loaded).values():
            if isinstance(value, type) and value.__module__ == module.name:
                found |= {value.__name__} if _SHOWN & vars(value).keys() else set()
    return found


def test_whatever_shows_itself_as_html_is_covered_here() -> None:
    assert classes_with_html() == {"View", "LiveView", "ShardingView"}


def test_a_sharding_shows_no_text_of_the_user() -> None:
    rows = jx.NamedSharding(jx.make_mesh((1,), ("<script>\x1b",)), jx.P("<script>\x1b"))
    shown = jx.debug.ShardingView((4, 2), rows)._repr_html_()
    assert "<script" not in shown
    assert is_clean(shown)


# --------------------------------------------------------------------------------------- widgets

WIDGETS: dict[str, Callable[[str], LiveView]] = {
    "BackendSelector": lambda text: widgets.BackendSelector(),
    "JaxprExplorer": lambda text: widgets.JaxprExplorer(nasty_program(text)),
    "SourceMap": lambda text: widgets.SourceMap(nasty_provenance(text)),
    "Ledger": lambda text: widgets.Ledger(_Told(text)),
    "MemoryPanel": lambda text: widgets.MemoryPanel(_named(text), 1.0),
    "Benchmark": lambda text: _measured(text),
}


class _Told(Recorder):
    """A recorder of builds whose every text is the given one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        with self, jx.named_scope("cell"):
            jx.jit(_named(text)).trace(1.0)


def _named(text: str) -> Callable[[float], float]:
    """A function whose name is the text."""
    function = lambda x: x + 1.0  # noqa: E731
    function.__name__ = function.__qualname__ = _encodable(text or "f")
    return function


def _measured(text: str) -> LiveView:
    """A benchmark whose names, cases and errors are the text."""
    widget = widgets.Benchmark([_named(text)], cases={text: (1.0,)})
    widget.found = filled(Comparison, text)
    widget.refresh()
    return widget


def _encodable(text: str) -> str:
    """A text that the compiler's C++ takes as a name."""
    return text.encode("utf-8", "replace").decode()[:10_000]


def test_every_widget_is_covered_here() -> None:
    assert set(WIDGETS) == set(widgets.__all__)


@pytest.mark.parametrize("name", WIDGETS)
@pytest.mark.parametrize("text", OF_WIDGETS, ids=range(len(OF_WIDGETS)))
def test_no_widget_acts_on_text_or_grows(name: str, text: str) -> None:
    widget = WIDGETS[name](text)
    try:
        for control in widget._controls.children:
            if type(control).__name__ == "Text":
                control.value = _encodable(text)[:1_000]
        inspect_html(widget._shown.value)
        bundle = widget._repr_mimebundle_()
        inspect_bundle(
            {kind: bundle[kind] for kind in ("text/plain", "text/html") if kind in bundle}
        )
        for output in getattr(getattr(widget, "_chart", None), "outputs", ()):
            figure = json.dumps(output["data"])
            assert "<" not in figure
            assert len(figure) < 300_000
    finally:
        widget.close()


# --------------------------------------------------------------------------------- whole sessions


@pytest.mark.parametrize("text", [NASTY[2], NASTY[3], NASTY[8] + NASTY[9]])
def test_a_session_full_of_odd_text_is_inert(notebook: Notebook, text: str) -> None:
    notebook.names["text"] = text
    source = (
        "%%jit --static text --show jaxpr,source,stages,cost\n"
        "print(text)\n"
        "class Odd:\n    def __repr__(self): return text\n"
        "y = x * (2.0 if text else 3.0)"
    )
    bundles = list(notebook.run(source).shown)
    notebook.attempt("%%jit\nraise ValueError(text)")
    for command in ("ledger", "events", "map", "report", "why text", "live", "stages jnp.sin(x)"):
        value = notebook.run(f"%jx {command}").value
        bundles.append(value._repr_mimebundle_())
        if command == "report":
            page = page_of(value, as_json=False)
            assert "<script" not in page
            assert "<img" not in page
    for bundle in bundles:
        inspect_bundle(bundle)


def test_docstrings_and_sources_reach_no_view_as_markup() -> None:
    def odd(x: Any) -> Any:
        """<script>alert(1)</script>."""
        y = x * 2.0  # <img src=x onerror=alert(1)>
        return y, "<b>"[:0]

    odd.__doc__ = NASTY[1]
    inspect(map_view(provenance(lambda x: odd(x)[0])(1.0)))
    inspect(jaxpr_view(jx.make_jaxpr(lambda x: odd(x)[0])(1.0), NASTY[2]))
