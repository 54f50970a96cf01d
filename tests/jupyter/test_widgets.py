"""Widgets: live in a kernel, from any thread; closed they are still; saved they are static."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from ipywidgets import HTML, Button, Label
from ipywidgets.widgets.widget_description import DescriptionWidget

import jxkernel as jx
from jxkernel import events, runtime, widgets
from jxkernel import numpy as jnp
from jxkernel.config import config
from jxkernel.events import bus
from jxkernel.jupyter.widgets.ledger import timeline_figure
from jxkernel.jupyter.widgets.live import Throttle
from jxkernel.observe import BackendSwitch, LedgerRow, Recorder, provenance
from jxkernel.observe.builds import build_timeline
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import TIMEOUT, Kernel, running_kernel

OPTIONS = (
    "jax_num_cpu_devices",
    "jax_default_device",
    "jax_enable_x64",
    "jax_default_matmul_precision",
)
WIDGET = "application/vnd.jupyter.widget-view+json"


def shown(widget: Any) -> str:
    return widget._shown.value


def wait_until(widget: Any, text: str) -> None:
    """Waits until a widget shows a text; its own thread draws it."""
    seen = threading.Event()
    watch = lambda change: seen.set() if text in change["new"] else None  # noqa: E731
    widget._shown.observe(watch, "value")
    if text not in shown(widget):
        assert seen.wait(TIMEOUT), shown(widget)
    widget._shown.unobserve(watch, "value")


def layer(x: Any) -> Any:
    h = jnp.tanh(x)
    return jx.lax.fori_loop(0, 3, lambda _, c: c * h, h)


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
        ledger = widgets.Ledger(recorder, interval=0.01)
        worker = threading.Thread(target=lambda: jx.jit(lambda x: x * 3.5)(jnp.ones(3)))
        worker.start()
        worker.join()
        wait_until(ledger, "first call of &lt;lambda&gt;")
        ledger.refresh()
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


@pytest.fixture
def selector() -> Iterator[widgets.BackendSelector]:
    """A selector in a process with two CPU devices, which is left as it was."""
    before = {option: config.read(option) for option in OPTIONS}
    config.update("jax_num_cpu_devices", 2)
    selector = widgets.BackendSelector(interval=0.01)
    yield selector
    selector.close()
    for option, value in before.items():
        config.update(option, value)
    runtime.clear_backends()
    jx.clear_caches()


def test_backend_selector_asks_before_it_acts(selector: widgets.BackendSelector) -> None:
    selector._switch = BackendSwitch({"held": jnp.arange(5.0)})
    selector.device.value = "cpu:1"
    selector.x64.value = True
    assert "default device: cpu:0 → cpu:1" in selector._asked.value
    assert "stays: held  f32[5]" in selector._asked.value
    assert not config.jax_enable_x64
    selector.move.value = True
    assert "moves: held  f32[5]  20 B  cpu:0 → cpu:1" in selector._asked.value
    selector.apply_button.click()
    assert config.jax_enable_x64
    assert config.jax_default_device == jx.devices()[1]
    assert "Done:" in selector._asked.value
    assert "64-bit dtypes on" in shown(selector)
    assert (selector.move.value, selector.apply_button.disabled) == (False, True)


def test_backend_selector_forgets_what_is_not_applied(selector: widgets.BackendSelector) -> None:
    selector.cpu_devices.value = 4
    assert "cpu:3" in dict(selector.device.options)
    selector.device.value = "cpu:3"
    selector.undo_button.click()
    assert (selector.cpu_devices.value, selector.device.value) == (2, "auto")
    assert "cpu:3" not in dict(selector.device.options)
    assert selector._asked.value == ""
    assert len(jx.devices()) == 2


def test_backend_selector_follows_code_and_keeps_what_is_chosen(
    selector: widgets.BackendSelector,
) -> None:
    selector.precision.value = "highest"
    config.update("jax_enable_x64", True)
    wait_until(selector, "64-bit dtypes on")
    assert selector.x64.value
    assert selector.precision.value == "highest"
    assert "64-bit" not in selector.preview.text
    config.update("jax_num_cpu_devices", 3)
    wait_until(selector, "3 CPU devices")
    assert selector.cpu_devices.value == 3
    config.update("jax_default_matmul_precision", "BF16_BF16_F32")
    wait_until(selector, "precision BF16_BF16_F32")
    assert selector.preview.steps[0].before == "BF16_BF16_F32"


def test_backend_selector_says_that_a_restart_is_needed(
    selector: widgets.BackendSelector, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = runtime.multiprocess.Group("localhost:1", 0, 2, None)
    monkeypatch.setattr(runtime.multiprocess._state, "group", group)
    selector.cpu_devices.value = 4
    assert "This cannot be done in this process" in selector._asked.value
    assert "RESTART NEEDED" in selector._asked.value
    assert selector.apply_button.disabled


def test_what_goes_wrong_is_shown_until_it_goes_well(
    selector: widgets.BackendSelector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(change: Any) -> Any:
        raise RuntimeError("no <b>luck</b>")

    monkeypatch.setattr(selector._switch, "apply", broken)
    selector.x64.value = True
    selector.apply_button.click()
    assert "did not work: RuntimeError: no &lt;b&gt;luck&lt;/b&gt;" in selector._problem.value
    assert 'role="alert"' in selector._problem.value
    selector.refresh()
    assert "luck" in selector._problem.value
    monkeypatch.undo()
    selector.apply_button.click()
    assert selector._problem.value == ""
    assert config.jax_enable_x64


def test_handlers_in_several_threads_lose_nothing(selector: widgets.BackendSelector) -> None:
    def toggle(name: str) -> None:
        for number in range(20):
            config.update(name, bool(number % 2))

    def choose() -> None:
        for _ in range(20):
            selector.precision.value = "high"
            selector.apply_button.click()
            selector.precision.value = "default"
            selector.apply_button.click()

    work = [
        threading.Thread(target=toggle, args=("jax_enable_x64",)),
        threading.Thread(target=choose),
        threading.Thread(target=lambda: [selector.refresh() for _ in range(20)]),
    ]
    for one in work:
        one.start()
    for one in work:
        one.join()
    selector.refresh()
    assert selector._problem.value == ""
    assert config.jax_enable_x64
    assert selector.x64.value
    assert config.jax_default_matmul_precision is None
    assert selector.precision.value == "default"


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
    assert "left with a deleted array: kept[&#x27;x&#x27;]" in panel._question.value
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
    notebook.run("ran = []\ndef f(a):\n    return jnp.outer(a, a)")
    notebook.run("panel = jx.widgets.MemoryPanel()")
    panel = notebook.names["panel"]
    panel.call.value = "f(jx.ShapeDtypeStruct((1000,), 'float32'))"
    panel.estimate_button.click()
    assert "not run" in shown(panel)
    assert "it fits" in shown(panel)
    assert not any(one.bytes > 1_000_000 for one in panel._found.arrays if "f32[1000" in one.type)
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


FIGURE = "application/vnd.plotly.v1+json"


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


def test_a_figure_takes_any_name_as_text() -> None:
    row = LedgerRow(1, 0.0, "<i>", "<b>\x00" + "n" * 100_000, 1, trace_ns=5)
    (bars,) = timeline_figure(build_timeline([row])).data
    assert bars.y[0].startswith("&lt;b&gt;\ufffdnnn")
    assert len(bars.y[0]) < 200


@pytest.fixture(scope="module")
def kernel() -> Any:
    with running_kernel() as kernel:
        yield kernel


def updates(kernel: Kernel, request: str, wanted: str) -> None:
    """Reads messages until the request is done and a widget's new state holds a text."""
    found = done = False
    while not (found and done):
        message = kernel.client.get_iopub_msg(timeout=TIMEOUT)
        content = message["content"]
        if message["msg_type"] in ("comm_open", "comm_msg"):
            found = found or wanted in str(content["data"].get("state", {}).get("value", ""))
        elif message["msg_type"] == "status" and content["execution_state"] == "idle":
            done = done or message["parent_header"].get("msg_id") == request


def left_by(kernel: Kernel, request: str) -> dict[str, dict[str, Any]]:
    """Reads until a request is done; the outputs that were changed meanwhile, by their id."""
    found: dict[str, dict[str, Any]] = {}
    while True:
        message = kernel.client.get_iopub_msg(timeout=TIMEOUT)
        content = message["content"]
        if message["msg_type"] == "update_display_data":
            found[content["transient"]["display_id"]] = content["data"]
        is_mine = message["parent_header"].get("msg_id") == request
        if is_mine and content.get("execution_state") == "idle":
            return found


def set_control(kernel: Kernel, control: str, **state: Any) -> str:
    """Sets a control as a front end does, and returns the number of the message."""
    identity = kernel.value(f"{control}.model_id").strip("'")
    data = {"method": "update", "state": state, "buffer_paths": []}
    return send_comm(kernel, identity, data)


def click(kernel: Kernel, button: str) -> str:
    """Clicks a button as a front end does."""
    identity = kernel.value(f"{button}.model_id").strip("'")
    return send_comm(kernel, identity, {"method": "custom", "content": {"event": "click"}})


def send_comm(kernel: Kernel, identity: str, data: dict[str, Any]) -> str:
    message = kernel.client.session.msg("comm_msg", {"comm_id": identity, "data": data})
    kernel.client.shell_channel.send(message)
    return message["header"]["msg_id"]


def test_in_a_kernel_a_new_trace_sends_new_values(kernel: Kernel) -> None:
    reply = kernel.ok("ledger = jx.widgets.Ledger(interval=0.01)\nledger")
    live, beside = reply.displays
    assert set(live) == {WIDGET, "text/plain"}
    assert set(beside) == {"text/plain", "text/html"}
    assert "nothing has been traced" in beside["text/plain"]
    assert "<script" not in beside["text/html"]
    model = live[WIDGET]["model_id"]
    assert f"body:has(.jxk-live-{model}) #jxk" in beside["text/html"]
    request = kernel.send("f = jx.jit(lambda a: jnp.sin(a) * 2)\n_ = f(x)")
    updates(kernel, request, "first call of")
    request = kernel.send(
        "import threading\n"
        "worker = threading.Thread(target=lambda: f(x[:3])); worker.start(); worker.join()"
    )
    (saved,) = left_by(kernel, request).values()
    assert "f32[8] → f32[3]" in saved["text/plain"]
    assert "jxk-live" in saved["text/html"]
    left = left_by(kernel, kernel.send("ledger.close()"))
    closed = [one for one in left.values() if one["text/plain"]]
    assert [set(one) for one in closed] == [{"text/plain", "text/html"}]
    assert "f32[8] → f32[3]" in closed[0]["text/plain"]
    assert "jxk-live" not in closed[0]["text/html"]
    assert len(left) == 2


def test_in_a_kernel_two_views_of_a_widget_end_together(kernel: Kernel) -> None:
    kernel.ok("seen = jx.widgets.SourceMap(interval=0.01)\nseen")
    reply = kernel.ok("seen")
    assert len(reply.displays) == 2
    request = kernel.send("%%jit\nseen_twice = jnp.sin(x)")
    saved = left_by(kernel, request)
    assert len(saved) == 2
    assert all("seen_twice" in one["text/plain"] for one in saved.values())
    assert len(left_by(kernel, kernel.send("seen.close()"))) == 4


def test_in_a_kernel_the_selector_is_set_by_messages(kernel: Kernel) -> None:
    kernel.ok("selector = jx.widgets.BackendSelector(interval=0.01)\nselector")
    kernel.receive_comm(set_control(kernel, "selector.cpu_devices", value=3))
    assert kernel.value("(len(jx.devices()), selector.preview.asks)") == "(1, True)"
    request = click(kernel, "selector.apply_button")
    updates(kernel, request, "3 CPU devices")
    assert kernel.value("len(jx.devices())") == "3"
    kernel.ok("%jx virtual 1")
    assert kernel.value("selector.cpu_devices.value") == "1"
    kernel.ok("selector._switch = None")
    request = click(kernel, "selector.apply_button")
    updates(kernel, request, "did not work: AttributeError")
    kernel.ok("selector.close()")
