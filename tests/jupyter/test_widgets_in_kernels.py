"""Widgets in a real kernel, driven by the messages that a front end sends."""

from __future__ import annotations

from typing import Any

import ipykernel
import pytest

from tests.jupyter.kernels import TIMEOUT, Kernel, running_kernel

WIDGET = "application/vnd.jupyter.widget-view+json"


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


def test_in_a_kernel_the_memory_panel_deletes_after_two_clicks(kernel: Kernel) -> None:
    kernel.ok("panel = jx.widgets.MemoryPanel(interval=0.01)\nbig = jnp.ones((100, 100))")
    place = kernel.value("[name for _, name in panel.held.options].index('big')")
    kernel.receive_comm(set_control(kernel, "panel.held", index=[int(place)]))
    updates(kernel, click(kernel, "panel.release_button"), "Nothing is deleted yet")
    assert kernel.value("big.is_deleted()") == "False"
    updates(kernel, click(kernel, "panel.delete_button"), "big deleted: 40 KB")
    assert kernel.value("'big' in globals()") == "False"
    kernel.ok("panel.close()")


def test_in_a_kernel_a_benchmark_runs_at_a_click(kernel: Kernel) -> None:
    kernel.ok("bench = jx.widgets.Benchmark(jx.jit(lambda a: a * 2), x)\nbench")
    (saved,) = left_by(kernel, click(kernel, "bench.run_button")).values()
    assert "1 measurement" in saved["text/plain"]
    assert "f32[8]" in saved["text/plain"]
    assert kernel.value("len(bench._chart.outputs)") == "1"
    kernel.ok("bench.close()")


@pytest.mark.skipif(ipykernel.version_info < (7,), reason="ipykernel 6 has no subshells")
def test_in_a_kernel_a_control_acts_beside_a_running_cell(kernel: Kernel) -> None:
    kernel.ok("selector = jx.widgets.BackendSelector(interval=0.01)\nselector")
    kernel.ok("import threading\ngo = threading.Event()")
    subshell = kernel.subshell()
    running = kernel.send("reached = True\ngo.wait(60)\nmade = jnp.ones(2)")
    beside = "while 'reached' not in globals(): pass\nselector.x64.value = True"
    updates(kernel, kernel.send_beside(beside, subshell), "is running: the change holds")
    request = kernel.send_beside("selector.apply_button.click()", subshell)
    updates(kernel, request, "64-bit dtypes on")
    kernel.send_beside("go.set()", subshell)
    kernel.receive_comm(running)
    assert kernel.value("made.dtype.name") == "'float64'"
    kernel.ok("selector.close()\njx.config.update('jax_enable_x64', False)")
