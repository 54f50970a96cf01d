"""Widgets: live in a kernel, from any thread; closed they are still; saved they are static."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel import widgets
from jxkernel.config import config
from jxkernel.events import bus
from jxkernel.jupyter.widgets.ledger import timeline_figure
from jxkernel.jupyter.widgets.live import Throttle
from jxkernel.observe import LedgerRow, Recorder, provenance
from jxkernel.observe.builds import build_timeline
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import TIMEOUT, Kernel, running_kernel

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
        ledger._search.value = "nothing of the kind"
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


def test_backend_selector_switches_and_follows() -> None:
    before = config.jax_default_device, config.jax_enable_x64
    selector = widgets.BackendSelector(interval=0.01)
    try:
        assert selector._platform.value == "cpu"
        selector._x64.value = True
        assert config.jax_enable_x64
        config.update("jax_enable_x64", False)
        jx.jit(lambda x: x + 9.5)(1.0)
        wait_until(selector, "64-bit dtypes are off")
        assert not selector._x64.value
        selector._use(jx.devices("cpu")[0])
        assert config.jax_default_device == jx.devices("cpu")[0]
    finally:
        selector.close()
        config.update("jax_default_device", before[0])
        config.update("jax_enable_x64", before[1])


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


def test_in_a_kernel_a_new_trace_sends_new_values(kernel: Kernel) -> None:
    reply = kernel.ok("ledger = jx.widgets.Ledger(interval=0.01)\nledger")
    (bundle,) = reply.displays
    assert set(bundle) == {WIDGET, "text/plain", "text/html"}
    assert "nothing has been traced" in bundle["text/plain"]
    assert "<script" not in bundle["text/html"]
    request = kernel.send("f = jx.jit(lambda a: jnp.sin(a) * 2)\n_ = f(x)")
    updates(kernel, request, "first call of")
    request = kernel.send(
        "import threading\n"
        "worker = threading.Thread(target=lambda: f(x[:3])); worker.start(); worker.join()"
    )
    updates(kernel, request, "f32[8] → f32[3]")
    request = kernel.send("ledger.close()")
    left: dict[str, Any] = {}
    while not left:
        message = kernel.client.get_iopub_msg(timeout=TIMEOUT)
        if message["msg_type"] == "update_display_data":
            left = message["content"]["data"]
    assert set(left) == {"text/plain", "text/html"}
    assert "f32[8] → f32[3]" in left["text/plain"]
    kernel.receive(request)


def test_in_a_kernel_a_control_switches(kernel: Kernel) -> None:
    kernel.ok("selector = jx.widgets.BackendSelector(interval=0.01)\nselector")
    identity = kernel.value("selector._x64.model_id").strip("'")
    data = {"method": "update", "state": {"value": True}, "buffer_paths": []}
    content = {"comm_id": identity, "data": data}
    message = kernel.client.session.msg("comm_msg", content)
    kernel.client.shell_channel.send(message)
    updates(kernel, message["header"]["msg_id"], "64-bit dtypes are on")
    assert kernel.value("jx.config.jax_enable_x64") == "True"
    kernel.ok("selector.close()\njx.config.update('jax_enable_x64', False)")
