"""The backend selector: it asks before it acts, follows code, and shows what went wrong."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel import runtime, widgets
from jxkernel.config import config
from jxkernel.observe import BackendSwitch
from tests.jupyter.conftest import Notebook
from tests.jupyter.widget_views import shown, wait_until

OPTIONS = (
    "jax_num_cpu_devices",
    "jax_default_device",
    "jax_enable_x64",
    "jax_default_matmul_precision",
)


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


def test_backend_selector_names_cells_and_nothing_of_its_own(notebook: Notebook) -> None:
    notebook.run(
        "selector = jx.widgets.BackendSelector()\nbench = jx.benchmark(jx.jit(jnp.sin), x)"
    )
    notebook.run("%%jit\nz = jnp.sin(x)")
    selector = notebook.names["selector"]
    selector.precision.value = "highest"
    assert "cell_3" in selector.preview.retraced
    assert not [name for name in selector.preview.retraced if name.startswith("_")]
    selector.close()


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
