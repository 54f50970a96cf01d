"""Switching what computes: what a change would do is told before, and done whole or not at all."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import jxkernel as jx
from jxkernel import events, runtime
from jxkernel import numpy as jnp
from jxkernel.config import config
from jxkernel.observe import BackendSwitch, live
from jxkernel.observe.backends import MOST_CPU_DEVICES, PRECISIONS

OPTIONS = (
    "jax_num_cpu_devices",
    "jax_default_device",
    "jax_enable_x64",
    "jax_default_matmul_precision",
)


@pytest.fixture(autouse=True)
def kept_settings() -> Iterator[None]:
    """Leaves the settings and clients as they were; each test begins with two CPU devices."""
    before = {option: config.read(option) for option in OPTIONS}
    config.update("jax_num_cpu_devices", 2)
    yield
    for option, value in before.items():
        config.update(option, value)
    runtime.clear_backends()
    jx.clear_caches()


def test_a_change_is_told_before_it_is_done() -> None:
    names = {"x": jnp.arange(4.0), "kept": jx.device_put(jnp.ones(3), jx.devices()[1])}
    switch = BackendSwitch(names)
    told = switch.preview({"device": "cpu:1", "x64": True, "move": True})
    assert [(one.what, one.before, one.after) for one in told.steps] == [
        ("default device", "cpu:0", "cpu:1"),
        ("64-bit dtypes", "off", "on"),
    ]
    assert [(one.names, one.source, one.target) for one in told.moves] == [
        (("x",), "cpu:0", "cpu:1")
    ]
    assert told.asks
    assert switch.state().device == "cpu:0"
    assert not config.jax_enable_x64
    assert switch.apply({"device": "cpu:1", "x64": True, "move": True}) == told
    state = switch.state()
    assert (state.device, state.is_chosen, state.x64) == ("cpu:1", True, True)
    assert names["x"].devices() == {jx.devices()[1]}
    assert not names["x"].committed
    assert names["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
    switch.apply({"device": "auto", "x64": False})
    assert switch.state().device == "cpu:0"


def test_what_stays_is_told_with_what_becomes_of_it() -> None:
    names = {"x": jnp.arange(4.0), "put": jx.device_put(jnp.ones(3), jx.devices()[0])}
    told = BackendSwitch(names).preview({"device": "cpu:1"})
    assert {one.names for one in told.stays} == {("x",), ("put",)}
    assert "copied to cpu:1 by each call" in told.text
    assert "go on running there" in told.text
    renewed = BackendSwitch(names).preview({"cpu_devices": 4})
    assert "stays: x  f32[4]  16 B  on cpu:0 (former)" in renewed.text
    assert "cannot be used together with arrays on the new devices" in renewed.text


def test_virtual_devices_take_arrays_keys_and_trees_along() -> None:
    x = jnp.arange(4.0)
    names: dict[str, Any] = {"x": x, "tree": {"same": x, "n": 3}, "key": jx.random.key(1)}
    text = str(jx.random.key_data(names["key"]))
    switch = BackendSwitch(names)
    switch.apply({"cpu_devices": 3, "device": "cpu:2", "move": True})
    assert switch.state().cpu_devices == len(jx.devices()) == 3
    assert names["tree"]["same"] is names["x"]
    assert names["x"].devices() == {jx.devices()[2]}
    assert names["tree"]["n"] == 3
    assert str(jx.random.key_data(names["key"])) == text
    assert (names["x"] + jnp.ones(4)).devices() == {jx.devices()[2]}
    del x


def test_arrays_left_on_devices_of_before_are_live_and_move_later() -> None:
    names = {"x": jnp.arange(4.0)}
    switch = BackendSwitch(names)
    switch.apply({"cpu_devices": 4})
    (found,) = [one for one in live(names, holders=False).arrays if "x" in one.names]
    assert found.devices == ("cpu:0 (former)",)
    assert switch.preview({"move": True}).moves[0].source == "cpu:0 (former)"
    switch.apply({"move": True})
    assert names["x"].devices() == {jx.devices()[0]}
    assert not switch.preview({"move": True}).changes


def test_the_default_device_is_never_one_of_before() -> None:
    config.update("jax_default_device", jx.devices()[1])
    config.update("jax_num_cpu_devices", 3)
    assert config.jax_default_device is jx.devices()[1]
    assert jnp.ones(2).devices() == {jx.devices()[1]}
    config.update("jax_num_cpu_devices", 1)
    assert config.jax_default_device is jx.devices()[0]


def test_functions_that_are_traced_again_are_named() -> None:
    @jx.jit
    def doubled(x: Any) -> Any:
        return 2 * x

    doubled(1.0)
    told = BackendSwitch({}).preview({"precision": "highest"})
    assert "doubled" in told.retraced
    assert "the CPU multiplies float32 in full precision" in told.text
    assert told.stays == ()


def test_leaving_64_bits_names_the_arrays_that_stay() -> None:
    names: dict[str, Any] = {}
    switch = BackendSwitch(names)
    switch.apply({"x64": True})
    names["wide"] = jnp.arange(3.0)
    assert "64-bit dtypes stay as they are: wide" in switch.preview({"x64": False}).text


@pytest.mark.parametrize("precision", PRECISIONS)
def test_each_precision_offered_is_one_that_products_take(precision: str) -> None:
    switch = BackendSwitch({})
    switch.apply({"precision": precision})
    assert switch.state().precision == precision
    assert float((jnp.ones((2, 2)) @ jnp.ones((2, 2)))[0, 0]) == 2.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cpu_devices": 0}, f"from 1 to {MOST_CPU_DEVICES}, got 0"),
        ({"cpu_devices": True}, "cpu_devices takes int, got True"),
        ({"device": "abacus"}, "Unknown backend 'abacus'"),
        ({"device": "cpu:2"}, "no device '2' on cpu, which has 0 to 1"),
        ({"device": "cpu:4", "cpu_devices": 4}, "no device '4' on cpu, which has 0 to 3"),
        ({"precision": "very"}, "takes one of"),
        ({"colour": "red"}, "has no 'colour': it has device, cpu_devices"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_changes(
    change: dict[str, Any], message: str
) -> None:
    before = BackendSwitch({}).state().summary
    for act in (BackendSwitch({}).preview, BackendSwitch({}).apply):
        with pytest.raises(ValueError, match=message):
            act({"x64": True, **change})
    assert BackendSwitch({}).state().summary == before


def test_a_move_that_fails_changes_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"x": jnp.arange(4.0)}
    switch = BackendSwitch(names)
    switch.apply({"device": "cpu:1"})
    before = switch.state().summary

    def full(array: Any, device: Any) -> Any:
        raise MemoryError("the device is full")

    monkeypatch.setattr(runtime, "moved_to", full)
    with pytest.raises(MemoryError):
        switch.apply({"cpu_devices": 4, "device": "cpu:3", "x64": True, "move": True})
    assert switch.state().summary == before
    assert names["x"].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_in_a_group_the_number_of_devices_needs_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime.default_device()
    group = runtime.multiprocess.Group("localhost:1", 0, 2, None)
    monkeypatch.setattr(runtime.multiprocess._state, "group", group)
    switch = BackendSwitch({})
    told = switch.preview({"cpu_devices": 4})
    assert "RESTART NEEDED: this process is number 0 of 2" in told.text
    with pytest.raises(RuntimeError, match="Restart the kernel"):
        switch.apply({"cpu_devices": 4})
    assert switch.state().group == "number 0 of 2 at localhost:1"


def test_a_plugin_that_failed_needs_a_restart_and_one_that_waits_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states = [("tpu", "libtpu 1", "no device found"), ("other", "other 1", "not started")]
    monkeypatch.setattr(runtime, "plugin_states", lambda: states)
    switch = BackendSwitch({})
    assert (
        "RESTART NEEDED: tpu did not start: no device found"
        in switch.preview({"device": "tpu"}).text
    )
    assert "other:1 is started" in switch.preview({"device": "other:1"}).text
    assert [one.name for one in switch.state().platforms] == ["cpu", "tpu", "other"]


def test_every_record_is_json() -> None:
    switch = BackendSwitch({"x": jnp.ones(3)})
    told = json.loads(json.dumps(switch.preview({"cpu_devices": 4}).to_data()))
    assert told["asks"]
    assert told["stays"][0]["names"] == ["x"]
    state = json.loads(json.dumps(switch.state().to_data()))
    assert [one["name"] for one in state["platforms"][0]["devices"]] == ["cpu:0", "cpu:1"]


def test_changes_by_anyone_are_told_and_with_blocks_are_not() -> None:
    heard: list[events.Event] = []
    with events.listen(heard.append, (events.SettingChanged,)):
        config.update("jax_enable_x64", False)
        with jx.enable_x64(True):
            assert not BackendSwitch({}).state().x64
        worker = threading.Thread(target=BackendSwitch({}).apply, args=({"device": "cpu:1"},))
        worker.start()
        worker.join()
    assert [(one.option, one.before, one.after) for one in heard] == [
        ("jax_default_device", "None", "cpu:1")
    ]


def test_a_cell_that_runs_in_another_thread_is_named() -> None:
    inside, done = threading.Event(), threading.Event()

    def cell() -> None:
        with events.span(events.CellFinished, cell="In[7]"):
            inside.set()
            done.wait(30)

    switch = BackendSwitch({})
    with events.listen(lambda event: None, (events.CellFinished,)):
        worker = threading.Thread(target=cell)
        worker.start()
        inside.wait(30)
        assert "In[7] is running" in switch.preview({"x64": True}).text
        done.set()
        worker.join()
        with events.span(events.CellFinished, cell="In[8]"):
            assert "running" not in switch.preview({"x64": True}).text


def test_arrays_of_former_devices_are_in_every_sum() -> None:
    x = jnp.arange(4.0)
    names = {"x": x}
    BackendSwitch(names).apply({"cpu_devices": 4})
    y = jnp.ones((2, 2))
    listed = jx.live_arrays()
    assert any(one is x for one in listed)
    assert any(one is y for one in listed)
    found = live(names, holders=False)
    assert found.bytes == sum(one.array_bytes for one in found.devices)
    assert len(found.arrays) == len(listed)
    (former,) = [one for one in found.devices if one.device == "cpu:0 (former)"]
    assert former.arrays >= 1
    del x, listed, names["x"]
    assert all(one.device != "cpu:0 (former)" or one.arrays for one in live({}).devices)
