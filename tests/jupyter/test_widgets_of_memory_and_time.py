"""The memory panel and the benchmark: nothing is deleted or measured unless asked for."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import events, widgets
from jxkernel import numpy as jnp
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import TIMEOUT
from tests.jupyter.widget_views import layer, shown

FIGURE = "application/vnd.plotly.v1+json"


def test_memory_panel_asks_before_it_deletes(notebook: Notebook) -> None:
    notebook.run("panel = jx.widgets.MemoryPanel(interval=0.01)\nkept = {'x': x}")
    panel = notebook.names["panel"]
    notebook.run("big = jnp.ones((100, 100))")
    assert "big" in [name for _, name in panel.held.options]
    assert "big" in shown(panel)
    panel.search.value = "f32[100,100]"
    assert "kept" not in shown(panel)
    assert panel.count.value.startswith("1 of ")
    panel.held.value = ("x", "big")
    panel.release_button.click()
    assert "Nothing is deleted yet" in panel._question.value
    assert "x, big: 2 arrays" in panel._question.value
    assert "these then hold a deleted array: kept[&#x27;x&#x27;]" in panel._question.value
    assert panel.delete_button.layout.display is None
    panel.keep_button.click()
    assert panel._question.value == ""
    assert panel.delete_button.layout.display == "none"
    assert not notebook.names["big"].is_deleted()
    panel.held.value = ("big",)
    panel.release_button.click()
    panel.delete_button.click()
    assert "big deleted: 40 KB" in panel._question.value
    assert "big" not in notebook.names
    assert "big" not in [name for _, name in panel.held.options]
    panel.delete_button.click()
    assert "nothing was chosen to be released" in panel._problem.value
    panel.close()


def test_memory_panel_deletes_nothing_that_changed_meanwhile(notebook: Notebook) -> None:
    notebook.run("panel = jx.widgets.MemoryPanel()\nbig = jnp.ones((100, 100))")
    panel = notebook.names["panel"]
    panel.ask("big")
    notebook.run("big = jnp.ones((10, 10))")
    panel.delete_button.click()
    assert "big changed since you were asked" in panel._problem.value
    assert not notebook.names["big"].is_deleted()
    panel.close()


def test_memory_panel_estimates_a_call_without_running_it(notebook: Notebook) -> None:
    notebook.run(
        "ran = []\n"
        "def f(a):\n"
        "    jx.debug.callback(lambda: ran.append(1))\n"
        "    return jnp.outer(a, a)"
    )
    notebook.run("panel = jx.widgets.MemoryPanel()")
    panel = notebook.names["panel"]
    panel.call.value = "f(jx.ShapeDtypeStruct((1000,), 'float32'))"
    panel.estimate_button.click()
    assert "not run" in shown(panel)
    assert "it fits" in shown(panel)
    jx.effects_barrier()
    assert notebook.names["ran"] == []
    panel.call.value = "f("
    panel.estimate_button.click()
    assert "did not work: UsageError: estimate" in panel._problem.value
    panel.close()


def test_memory_panel_lists_a_bounded_number_of_arrays() -> None:
    kept = [jnp.float32(number) + 1 for number in range(300)]
    panel = widgets.MemoryPanel()
    assert "smaller ones" in shown(panel)
    assert len(panel.held.options) <= 200
    panel.close()
    del kept


def test_memory_panel_without_a_function_takes_no_arguments() -> None:
    with pytest.raises(TypeError, match=r"write MemoryPanel\(f, x\)"):
        widgets.MemoryPanel(x=jnp.ones(3))


def figure_of(widget: Any) -> dict[str, Any]:
    (output,) = widget._chart.outputs
    return output["data"][FIGURE]


def test_benchmark_measures_at_a_click_only() -> None:
    called: list[int] = []

    def slow(x: Any) -> Any:
        called.append(1)
        return x * 2.0

    functions = {"jitted": jx.jit(lambda x: x * 2.0), "<i>slow</i>": slow}
    bench = widgets.Benchmark(functions, sizes=[8, 64], make=jnp.ones)
    assert called == []
    assert "not measured yet" in shown(bench)
    assert bench._chart.outputs == ()
    bench.run_button.click()
    assert called
    assert [row.label for row in bench.found.rows] == ["8", "8", "64", "64"]
    assert "&lt;i&gt;slow&lt;/i&gt;" in shown(bench)
    figure = figure_of(bench)
    assert [line["x"] for line in figure["data"]] == [[8, 64], [8, 64]]
    dashes = [line["line"]["dash"] for line in figure["data"]]
    assert len(set(dashes)) == 2
    bench.figure.value = "first call"
    assert figure_of(bench)["layout"]["yaxis"]["title"]["text"] == "first call"
    assert "first call" in repr(bench)
    assert not bench.run_button.disabled
    bench.close()


def test_benchmark_of_arguments_draws_bars_and_runs_as_asked() -> None:
    f = jx.jit(lambda x: x + 1.5)
    bench = widgets.Benchmark([f], cases={"a": jnp.ones(4), "b": jnp.ones(6)}, run=True)
    (bars,) = figure_of(bench)["data"]
    assert (bars["type"], bars["x"]) == ("bar", ["a", "b"])
    assert "pattern" in bars["marker"]
    bench.close()


def test_a_benchmark_that_is_interrupted_keeps_what_it_has() -> None:
    def interrupted(x: Any) -> Any:
        raise KeyboardInterrupt

    f = jx.jit(lambda x: x + 2.5)
    bench = widgets.Benchmark({"f": f, "g": interrupted}, jnp.ones(4))
    bench.run_button.click()
    assert "did not work: KeyboardInterrupt" in bench._problem.value
    assert "ended after 1 of 2" in shown(bench)
    assert len(bench.found.rows) == 1
    assert not bench.run_button.disabled
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    bench.close()


def test_benchmark_does_not_measure_beside_a_cell() -> None:
    inside, done = threading.Event(), threading.Event()

    def cell() -> None:
        with events.span(events.CellFinished, cell="In[7]"):
            inside.set()
            done.wait(TIMEOUT)

    bench = widgets.Benchmark(layer, jnp.ones(3))
    worker = threading.Thread(target=cell)
    worker.start()
    inside.wait(TIMEOUT)
    bench.run_button.click()
    done.set()
    worker.join()
    assert "In[7] is running, which would spoil the figures" in bench._problem.value
    assert bench.found.rows == ()
    bench.close()
