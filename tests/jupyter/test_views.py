"""Views: right, self-contained, inert whatever the user's text holds, and never large."""

import json
from dataclasses import replace
from typing import Any

import jxkernel.numpy as jnp
from jxkernel.api.jit import jit
from jxkernel.api.tracing import make_jaxpr
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.errors import NonFiniteError
from jxkernel.events import Reason
from jxkernel.jupyter.benchmarks.view import benchmark_view
from jxkernel.jupyter.errors.findings import finding_view
from jxkernel.jupyter.jit.view import RunReport, Section, run_view
from jxkernel.jupyter.ledger.view import ledger_view
from jxkernel.jupyter.memory.view import memory_view
from jxkernel.jupyter.programs.view import jaxpr_view
from jxkernel.jupyter.provenance.view import map_view
from jxkernel.jupyter.teaching.view import graded_view
from jxkernel.jupyter.timeline.view import timeline_view
from jxkernel.jupyter.views.html import details, element, line_class, page, table
from jxkernel.jupyter.views.tables import table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe import (
    Benchmark,
    DeviceMemory,
    Exercise,
    Graded,
    Lane,
    LedgerRow,
    LiveArray,
    LiveMemory,
    Roofline,
    Slice,
    Timeline,
    Times,
    Window,
)
from jxkernel.observe.marks import FunctionMap, Link, Loop, Mark, NameFact, Provenance
from jxkernel.observe.programs import count_equations
from jxkernel.observe.teaching.exercises import LineStory, Outcome
from tests.jupyter.inspector import inspect

LIMIT = 300_000


def _graded(text: str) -> Graded:
    """A graded exercise with the user's text in every place."""
    reason = Reason("shape", text, text, text, text)
    exercise = Exercise(text, "1", question=text or "?", lesson=text, asks="prints")
    row = LedgerRow(1, 0.0, text, text, 0, reasons=(reason,))
    lines = (LineStory(1, text, ((reason,),), 2),)
    return Graded(exercise, text, Outcome(text, lines, (row,), text))


def views_of(text: str, number: int = 1) -> list[View]:
    """Every view with the user's text in every place that can hold some."""
    mark = Mark("traced", text, 1, 0, 1, max(len(text), 1), text, is_name=True)
    fact = NameFact(text, text, "traced", text, 1, text)
    function = FunctionMap(
        text, text, 1, 1, True, (fact,), (mark,), (mark,), (Loop(1, text, 3, 9, text),)
    )
    provenance = Provenance((function,))
    reason = Reason("shape", text, text, text, text)
    row = LedgerRow(1, 0.0, text, text, 0, "trace", (reason,), 3, error=text, storm=text)
    report = RunReport(
        text,
        text,
        changed=text,
        reasons=(reason,),
        traced={text: text},
        static={text: text},
        assigned=(text,),
        provenance=provenance,
        warnings=(text,),
        sections=(Section(text, text, text),),
        run_ns=5,
    )
    place = {"where": text, "code": text, "underline": (0, max(len(text), 1))}
    found = NonFiniteError("nan", text, details=(text,) * min(number, 50), **place)
    array = LiveArray(text, 8, (text,), (text,), (3,), (text,))
    return [
        map_view(provenance),
        graded_view(_graded(text)),
        ledger_view([row] * number),
        run_view(report),
        table_view(text, (text, text), [(text, text)] * number),
        text_view(text, text),
        benchmark_view(benchmark_named(text)),
        finding_view(found, text),
        memory_view(LiveMemory((array,) * number, (DeviceMemory(text),))),
        timeline_view(timeline_named(text, number)),
    ]


def timeline_named(text: str, number: int) -> Timeline:
    slices = [Slice(text, 2.0 * n, 1.0, 1.0, text, text, (f"{text}:{n}",)) for n in range(number)]
    lanes = (Lane(text, "stage", tuple(slices)), Lane(text, "device", tuple(slices)))
    return Timeline(lanes, (Window(text, 0.0, 2.0 * number),), 2.0 * number, 1, (text,))


def benchmark_named(text: str) -> Benchmark:
    times = Times(tuple(1e-3 + 1e-6 * one for one in range(200)))
    best = Roofline(text, text, 1e9, 1e9)
    return Benchmark(
        *(text, text, False, 3, times, times, times),
        **{"flops": 1e6, "bytes": 1e6, "compile_time": 0.1, "roofline": best},
    )


def test_a_benchmark_is_drawn_as_bars_and_a_histogram() -> None:
    text = inspect(benchmark_view(benchmark_named("f")))
    assert "f on f: 1.1 ms per call" in text
    assert "histogram of 200 latencies, from 1 ms to 1.19 ms and more" in text
    few = benchmark_named("f")
    few = replace(few, latency=Times(few.latency.seconds[:5]))
    assert "histogram" not in inspect(benchmark_view(few))


def test_many_rows_are_cut_and_counted() -> None:
    for view in views_of("name", 5_000):
        inspect(view)
    assert (
        "4700 earlier rows are not shown"
        in ledger_view([LedgerRow(1, 0.0, "In[1]", "f", 0)] * 5_000).text
    )


def chain(length: int) -> ClosedJaxpr:
    def function(x: Any) -> Any:
        for _ in range(length):
            x = x + 1.0
        return x

    return make_jaxpr(function)(jnp.ones(3))


def test_a_jaxpr_of_10_000_equations_stays_small() -> None:
    closed = chain(10_000)
    view = jaxpr_view(closed)
    text = inspect(view)
    assert "… 9,600 more equations" in view.text
    assert "9,600 more equations" in text
    assert "10,000 eqns" in text
    assert "jaxpr · 10,000 equations" in text
    assert " open" not in view.html.partition("<summary>")[0].rpartition("<details")[2]
    bundle = view._repr_mimebundle_()
    assert len(json.dumps(bundle)) < LIMIT
    assert "text/html" in bundle
    assert "application/vnd.jxkernel.jaxpr+json" in bundle


def test_jaxpr_rows_are_linked_to_source_lines() -> None:
    def function(x: Any) -> Any:
        y = jnp.sin(x)
        return y + 1.0

    view = jaxpr_view(make_jaxpr(function)(jnp.ones(3)), "function")
    first = function.__code__.co_firstlineno
    equations = view.data["equations"]
    assert [(one["text"], one["line"]) for one in equations] == [
        ("y:f32[3] = sin a", first + 1),
        ("b:f32[3] = add y 1.0:f32[]", first + 2),
    ]
    assert equations[0]["file"] == __file__
    of_line = line_class(__file__, first + 1)
    assert f'class="row m {of_line}"' in view.html
    links = [link.partition('"')[0] for link in view.html.split('href="#')[1:]]
    assert [link for link in links if f'id="{link}"' not in view.html] == []
    assert any(link.endswith(f"s{of_line}") for link in links)
    assert any(link.endswith("e1") for link in links)


def test_inner_programs_are_folded_and_counted() -> None:
    inner = jit(lambda x: jnp.sin(x) * 2.0)
    closed = make_jaxpr(lambda x: inner(x) + inner(x + 1))(jnp.ones(3))
    assert count_equations(closed.jaxpr) == 3 + 1 + 2 * 2
    view = jaxpr_view(closed)
    assert view.html.count("<details") == 1 + 2 + len(("graph", "text to copy"))
    assert {one["depth"] for one in view.data["equations"]} == {0, 1}
    assert "= sin a" in inspect(view)


def test_what_opens_an_inner_program_holds_no_link() -> None:
    program = make_jaxpr(jit(lambda x: jit(lambda y: y + 1)(x) * 2))(1.0)
    html = jaxpr_view(program, "nested").html
    summaries = [part.partition("</summary>")[0] for part in html.split("<summary>")[1:]]
    assert any("eqns inside" in one or "eqn inside" in one for one in summaries)
    assert [one for one in summaries if "<a " in one] == []
    # Without an inner program the line's place is a link.
    assert 'href="#' in html


def test_html_parts_escape_and_nest() -> None:
    shown = page(details("a<b", table(["x"], [["<i>"]]), element("b", "&")))
    assert "<summary>a&lt;b</summary>" in shown
    assert "<td>&lt;i&gt;</td>" in shown
    assert "<b>&amp;</b>" in shown


def test_each_view_has_an_identity_of_its_own() -> None:
    identities = {page("x").split('id="')[1].split('"')[0] for _ in range(3)}
    assert len(identities) == 3


def test_marks_have_letters_not_only_colours() -> None:
    text = inspect(map_view(views_provenance()))
    assert "T traced · S static · C constant baked in · ! side effect" in text


def views_provenance() -> Provenance:
    return Provenance((FunctionMap("f", "missing.py", 1, 1, True, (), (), (), ()),))


def test_the_list_of_names_has_the_nearest_argument_and_the_others() -> None:
    chain = (Link("h", "f32[8]", 2, "h = w * x"), Link("x", "f32[8]"))
    arguments = ("x", *"abcdefgi")
    fact = NameFact("y", "f", "traced", "f32[8]", 3, "y = h", chain, arguments)
    function = FunctionMap("f", "missing.py", 1, 1, True, (fact,), (), (), ())
    drawn = map_view(Provenance((function,)))._repr_mimebundle_()["text/html"]
    assert "h ← x, and a, b, c, d, e, f, 2 more" in drawn


def test_a_view_without_html_or_data_is_text_alone() -> None:
    assert View("text", "words")._repr_mimebundle_() == {"text/plain": "words"}
    assert repr(View("text", "words")) == "words"


def test_the_place_of_a_line_is_not_broken_in_a_table() -> None:
    head = ("Size", "Line", "Source")
    drawn = table(head, [("2 B", "Cell In[2], line 3", "y = x")], numeric=(0,))
    assert '<td class="code">y = x</td>' in drawn
    assert '<td class="at">Cell In[2], line 3</td>' in drawn
    assert '<td class="n">2 B</td>' in drawn
    assert "td.at{white-space:nowrap}" in page(drawn)
