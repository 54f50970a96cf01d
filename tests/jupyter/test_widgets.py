"""Widgets: live in a kernel, from any thread; closed they are still; saved they are static."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from ipywidgets import HTML, Button, Label
from ipywidgets.widgets.widget_description import DescriptionWidget

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel import widgets
from jxkernel.events import bus
from jxkernel.jupyter.ledger.widget import timeline_figure
from jxkernel.jupyter.live import Throttle
from jxkernel.observe import LedgerRow, Recorder, provenance
from jxkernel.observe.builds import build_timeline
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import TIMEOUT
from tests.jupyter.widget_views import layer, shown, wait_until


def test_throttle_makes_one_call_of_many_requests() -> None:
    called = threading.Semaphore(0)
    throttle = Throttle(called.release, 0.01)
    for _ in range(100):
        throttle.request()
    assert called.acquire(timeout=TIMEOUT)
    throttle.close()
    throttle.request()
    assert not called.acquire(blocking=False)


def test_ledger_shows_new_builds_of_any_thread_and_filters() -> None:
    with Recorder() as recorder:
        jnp.ones((5, 1, 3)) * 3.5  # an operation outside jit is listed where it is asked for
        ledger = widgets.Ledger(recorder, interval=0.01)
        worker = threading.Thread(target=lambda: jx.jit(lambda x: x * 3.5)(jnp.ones(3)))
        worker.start()
        worker.join()
        wait_until(ledger, "first call of &lt;lambda&gt;")
        ledger.refresh()
        assert [row.number for row in ledger.rows()] == [1]
        (chart,) = ledger._chart.outputs
        figure = chart["data"]["application/vnd.plotly.v1+json"]
        assert {bar["name"] for bar in figure["data"]} == {"trace", "lower", "compile"}
        assert figure["data"][0]["y"] == ["&lt;lambda&gt;"]
        ledger.search.value = "nothing of the kind"
        assert "nothing has been traced" in shown(ledger)
        ledger.close()


def test_a_closed_widget_hears_nothing_and_keeps_its_static_view() -> None:
    with Recorder() as recorder:
        before = bus.listeners
        ledger = widgets.Ledger(recorder, interval=0.01)
        assert len(bus.listeners) == len(before) + 1
        ledger.close()
        ledger.close()
        assert bus.listeners == before
        jx.jit(lambda x: x - 7.5)(1.0)
        assert set(ledger._repr_mimebundle_()) == {"text/plain", "text/html"}
        assert "first call" in repr(ledger)


def test_explorer_searches_folds_and_steps() -> None:
    explorer = widgets.JaxprExplorer(layer, jnp.ones(3))
    total = explorer.step.max
    assert explorer.found == f"{total} of {total} equations"
    explorer.search.value = "tanh"
    assert explorer.found == f"1 of {total} equations"
    assert "tanh" in shown(explorer)
    assert "mul" not in shown(explorer).partition("source")[2].partition("equations")[2]
    explorer.search.value = ""
    explorer.folded.value = True
    assert "jaxpr: λ" not in shown(explorer)
    explorer.folded.value = False
    explorer.step.value = 1
    assert explorer.found == f"1 of {total} equations"
    assert "{outline:" in shown(explorer)
    explorer.close()


def test_explorer_follows_the_latest_trace_of_a_function() -> None:
    function = jx.jit(lambda x: jnp.cos(x) + 1.5)
    explorer = widgets.JaxprExplorer(function, interval=0.01)
    assert "nothing was traced yet" in shown(explorer)
    function(jnp.ones(3))
    wait_until(explorer, "f32[3]")
    function(jnp.ones(5))
    wait_until(explorer, "f32[5]")
    explorer.close()


@pytest.mark.parametrize("program", [jx.make_jaxpr(layer)(1.0), jx.jit(layer).trace(1.0)])
def test_explorer_takes_programs(program: Any) -> None:
    explorer = widgets.JaxprExplorer(program)
    assert "tanh" in repr(explorer)
    explorer.close()


def test_explorer_refuses_what_is_no_program() -> None:
    with pytest.raises(TypeError, match="JaxprExplorer got 3: give a jitted function"):
        widgets.JaxprExplorer(3)


def test_source_map_answers_why() -> None:
    seen = widgets.SourceMap(provenance(layer)(jnp.ones(3)))
    assert "T traced" in shown(seen)
    seen._why.value = "h"
    assert "h in layer: traced, f32[3]" in shown(seen)
    seen.close()


def test_the_ledger_stays_quick_with_100_000_events() -> None:
    with Recorder(capacity=100_000) as recorder:
        jx.jit(lambda x: x * 4.5)(jnp.ones(3))
        kept = recorder.records()
        recorder._records.extend(kept * (100_000 // len(kept) + 1))
        ledger = widgets.Ledger(recorder, interval=0.01)
    assert recorder.count == 100_000
    assert "of the latest 2,000 events; since recording began" in shown(ledger)
    assert len(ledger.rows()) < 2_000
    assert len(shown(ledger)) < 500_000
    ledger.close()


def test_what_is_unfolded_stays_when_nothing_changed() -> None:
    explorer = widgets.JaxprExplorer(layer, jnp.ones(3))
    before = shown(explorer)
    explorer.refresh()
    assert shown(explorer) is before
    explorer.close()


def test_the_text_copy_is_shown_on_demand() -> None:
    explorer = widgets.JaxprExplorer(layer, jnp.ones(3))
    assert (explorer._text.value, explorer._text.layout.display) == ("", "none")
    explorer._as_text.value = True
    assert "tanh" in explorer._text.value
    assert explorer._text.layout.display is None
    explorer.search.value = "nothing like it"
    assert "tanh" not in explorer._text.value.partition("equations")[2]
    explorer.close()


def test_explorer_goes_back_and_forward() -> None:
    explorer = widgets.JaxprExplorer(layer, jnp.ones(3))
    last = explorer.step.max
    explorer.back.click()
    assert explorer.step.value == last - 1
    explorer.forward.click()
    explorer.forward.click()
    assert explorer.step.value == last
    explorer.close()


def controls_of(widget: Any) -> Iterator[Any]:
    for child in getattr(widget, "children", ()):
        yield child
        yield from controls_of(child)


@pytest.mark.parametrize("name", widgets.__all__)
def test_every_control_has_a_name(name: str) -> None:
    arguments = {"JaxprExplorer": (layer, jnp.ones(3)), "Benchmark": (layer, jnp.ones(3))}
    widget = getattr(widgets, name)(*arguments.get(name, ()))
    hidden = getattr(widget, "_player", None)
    for control in controls_of(widget):
        if isinstance(control, DescriptionWidget | Button) and control is not hidden:
            told = isinstance(control, HTML | Label) or control.description
            assert told, f"{control} has no description"
    widget.close()


def test_widgets_of_a_session_follow_its_cells(notebook: Notebook) -> None:
    notebook.run(
        "explorer = jx.widgets.JaxprExplorer(interval=0.01)\n"
        "seen = jx.widgets.SourceMap(interval=0.01)\n"
        "ledger = jx.widgets.Ledger(interval=0.01)"
    )
    explorer, seen, ledger = (notebook.names[name] for name in ("explorer", "seen", "ledger"))
    notebook.run("%%jit\nh = jnp.sin(x)\nz = h * w")
    wait_until(explorer, "<b>h</b>")
    wait_until(seen, "jnp.sin")
    wait_until(ledger, "cell_3")
    assert "In[3]" in seen._cell.options
    notebook.run("%%jit\nq = jnp.cos(x)")
    wait_until(explorer, "<b>q</b>")
    seen._cell.value = "In[3]"
    assert "jnp.sin" in shown(seen)
    for widget in (explorer, seen, ledger):
        widget.close()


def test_a_widget_of_an_earlier_run_of_its_cell_rests(notebook: Notebook) -> None:
    source = "seen = jx.widgets.SourceMap(interval=0.01); seen"
    notebook.run(source, cell_id="a")
    first = notebook.names["seen"]
    notebook.run(source, cell_id="a")
    second = notebook.names["seen"]
    notebook.run("%%jit\nz = jnp.sin(x)", cell_id="b")
    assert "jnp.sin" in shown(second)
    assert "nothing was traced yet" in shown(first)
    notebook.names["first"] = first
    notebook.run("first", cell_id="c")
    assert "jnp.sin" in shown(first)
    for widget in (first, second):
        widget.close()


def test_a_figure_takes_any_name_as_text() -> None:
    row = LedgerRow(1, 0.0, "<i>", "<b>\x00" + "n" * 100_000, 1, trace_ns=5)
    (bars,) = timeline_figure(build_timeline([row])).data
    assert bars.y[0].startswith("&lt;b&gt;\ufffdnnn")
    assert len(bars.y[0]) < 200


def test_a_figure_of_many_builds_has_a_line_at_each_break() -> None:
    """Lines that are added one by one took minutes."""
    rows = [LedgerRow(at, 60.0 * at, "In[1]", f"f{at}", 1, trace_ns=5_000) for at in range(1, 301)]
    found = build_timeline(rows)
    lines = timeline_figure(found).layout.shapes
    assert len(lines) == len(found.breaks) == 299
    assert {(one.y0, one.y1, one.yref) for one in lines} == {(0, 1, "paper")}
