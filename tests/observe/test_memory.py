"""Live arrays, their holders, and what a call would take."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import tree_util
from jxkernel.core.holders import holders_of
from jxkernel.observe import Recorder, device_memory, estimate, free, freeing, leaks, ledger, live
from jxkernel.observe.memory import MemoryEstimate


def test_arrays_by_variable_and_output() -> None:
    big, small = jnp.ones((64, 64)), jnp.zeros((3,), jnp.int8)
    out = {4: [small]}
    names = {"big": big, "tree": {"s": (small, big)}, "_": out[4], "Out": out}
    found = live(names, out, holders=False)
    mine = [one for one in found.arrays if one.names]
    assert [one.type for one in mine] == ["f32[64,64]", "i8[3]"]
    assert mine[0].held_by == ("big", "tree['s'][1]")
    assert mine[1].held_by == ("tree['s'][0]", "Out[4]")
    assert found.bytes >= 64 * 64 * 4 + 3
    assert "tree['s'][1]" in str(found)


def test_a_variable_of_the_users_may_be_an_underscore() -> None:
    out = {4: jnp.ones(3)}
    names = {"_": (jnp.zeros(9), 1), "__": out[4], "_4": out[4], "Out": out}
    mine = [one for one in live(names, out).arrays if one.names or one.outputs]
    assert [(one.type, one.names, one.outputs) for one in mine] == [
        ("f32[9]", ("_[0]",), ()),
        ("f32[3]", (), (4,)),
    ]


def test_a_pullback_is_told_without_its_parts() -> None:
    _, pullback = jx.vjp(jnp.sin, jnp.ones(97))
    found = live({"pullback": pullback}, holders=False)
    assert ("pullback",) in [one.names for one in found.arrays if one.type == "f32[97]"]


def test_what_looks_is_told_as_no_holder() -> None:
    held = iter((jnp.ones(76543),))  # what holds it says nothing by its type
    assert [one.held_by for one in live({}).arrays if one.type == "f32[76543]"] == [()]
    assert next(held).shape == (76543,)


def test_looking_keeps_nothing_alive() -> None:
    array = jnp.ones((17, 19))
    gone = weakref.ref(array)
    found = live({"array": array})
    del array
    gc.collect()
    assert ("array",) in [one.names for one in found.arrays if one.type == "f32[17,19]"]
    assert gone() is None, holders_of([gone()])


def test_a_devices_share_is_its_part() -> None:
    before = {one.device: one.array_bytes for one in device_memory()}
    array = jnp.ones((50, 50))
    (device,) = [one for one in device_memory() if one.device == "cpu:0"]
    assert device.array_bytes - before["cpu:0"] == array.nbytes
    assert device.free is None or device.free > 0


def test_a_copy_on_each_device_counts_each_time(mesh: jx.Mesh) -> None:
    array = jx.device_put(jnp.ones((8, 2)), jx.NamedSharding(mesh, jx.P()))
    split = jx.device_put(jnp.ones((8, 2)), jx.NamedSharding(mesh, jx.P("x")))
    names = {"array": array, "split": split}
    found = live(names, holders=False)
    sizes = {one.names[0]: one.bytes for one in found.arrays if one.names}
    assert sizes == {"array": 8 * 64, "split": 2 * 64}
    assert found.bytes == sum(one.array_bytes for one in found.devices)
    assert freeing("array", namespace=names).bytes == 8 * 64
    assert free("array", namespace=names) == 8 * 64


def test_values_that_cannot_be_looked_into_are_passed_over() -> None:
    class Odd(OrderedDict[str, jx.Array]):
        def items(self):
            raise RuntimeError("no")

    found = live({"odd": Odd(), "mixed": {1: jnp.ones(2), "a": jnp.ones(3)}}, holders=False)
    assert [one for one in found.arrays if one.names] == []


@tree_util.register_pytree_node_class
class Half:
    """Computes what it holds when it is taken apart."""

    def __init__(self, whole: jx.Array) -> None:
        self.whole = whole

    def tree_flatten(self) -> tuple[tuple[jx.Array, ...], None]:
        return (jx.jit(lambda x: x * 2.0)(self.whole)[:1], self.whole), None

    @classmethod
    def tree_unflatten(cls, aux: None, parts: tuple[jx.Array, ...]) -> Half:
        return cls(parts[1])


def test_looking_runs_nothing_of_what_variables_hold() -> None:
    half = Half(jnp.ones((5, 7)))
    with Recorder() as recorder:
        (found,) = [one for one in live({"half": half}).arrays if one.type == "f32[5,7]"]
    assert ledger(recorder) == ()
    assert not recorder.records()
    assert found.names == ()
    # The search is bounded, so among many arrays of others it may not get to all.
    assert ".whole" in str(holders_of([half.whole])[0].first)


def test_free_is_all_or_nothing() -> None:
    variables = {"a": jnp.ones(8), "n": 3}
    array = variables["a"]
    with pytest.raises(ValueError, match="n holds no device array"):
        free("a", "n", namespace=variables)
    assert not array.is_deleted()
    outputs = {2: array}
    variables["_2"] = array
    assert free("Out[2]", namespace=variables, outputs=outputs) == 32
    assert (outputs, "_2" in variables, array.is_deleted()) == ({}, False, True)


def test_an_estimate_compiles_and_does_not_run() -> None:
    ran = []

    def f(x: jx.Array) -> jx.Array:
        jx.debug.callback(ran.append, 1)
        return jnp.sin(x) @ x

    size = jx.ShapeDtypeStruct((500, 500), "float32")
    found = estimate(f, size)
    assert found.arguments == 1_000_000
    assert found.results >= 1_000_000
    assert found.peak >= 2_000_000
    assert found.needed >= 1_000_000
    assert ran == []
    donated = estimate(jx.jit(lambda x: x + 1.0, donate_argnums=0), size)
    assert donated.aliased == 1_000_000
    assert donated.needed == 0


@pytest.mark.parametrize(
    ("left", "fits", "words"),
    [
        (None, None, "needs 100 B more than its arguments on gpu:0"),
        (100, True, "where 100 B is free: it fits"),
        (99, False, "where 99 B is free: it does not fit"),
    ],
)
def test_the_verdict(left: int | None, fits: bool | None, words: str) -> None:
    found = MemoryEstimate(50, 80, 0, 20, 0, 150, ("gpu:0",), left)
    assert found.fits is fits
    assert words in str(found)


def test_leaks_name_function_holder_and_place() -> None:
    kept: list[object] = []

    @jx.jit
    def leaky(x: jx.Array) -> jx.Array:
        kept.append({"y": jnp.cos(x)})
        return x

    leaky(1.0)
    (found,) = [one for one in leaks() if one.fun == "leaky"]
    assert found.fun == "leaky"
    assert found.holders[0].startswith("kept[0]['y'], ")
    assert any(__file__ in line for line in found.origin)
    assert "made while leaky was traced" in str(found)
    kept.clear()
    assert [one for one in leaks() if one.fun == "leaky"] == []
