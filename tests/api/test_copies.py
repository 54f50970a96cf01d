"""Copies: of data, as ``device_put`` is told, of functions, and of what lies on devices."""

import copy
import importlib
import pickle

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel._jaxlib import PjitFunction
from tools.checkout import ROOT

SURFACE = (ROOT / "tools" / "public_surface.txt").read_text(encoding="utf-8").split()


def test_functions_are_pickled_and_copied_by_their_names() -> None:
    others = []
    for line in SURFACE:
        module, _, name = line.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        if isinstance(found, PjitFunction):
            again = (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found))
            others += [] if all(other is found for other in again) else [line]
    assert others == []


def test_what_names_devices_is_its_own_copy() -> None:
    mesh = jx.make_mesh((1,), ("x",))
    for one in (mesh, mesh.abstract_mesh, jx.NamedSharding(mesh, jx.P("x"))):
        assert copy.copy(one) is copy.deepcopy([one])[0] is one


def test_may_alias_false_gives_data_of_its_own():
    x = jnp.arange(3.0) + 1
    for own in (
        jx.device_put(x, may_alias=False),
        jx.device_put(x, jx.devices()[0], may_alias=False),
    ):
        assert own is not x
        assert own.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    own = jx.device_put(x, jx.devices()[0], may_alias=False)
    jx.jit(lambda q: q * 2, donate_argnums=0)(x)
    assert x.is_deleted()
    assert own.tolist() == [1.0, 2.0, 3.0]


def test_data_is_given_or_shared():
    with pytest.raises(ValueError, match="given or shared"):
        jx.device_put(jnp.ones(2), may_alias=True, donate=True)


def test_each_array_of_a_tree_is_shared_or_has_data_of_its_own():
    x = jnp.arange(3.0) + 1
    placed = jx.device_put({"own": x, "shared": [x]}, may_alias={"own": False, "shared": True})
    assert placed["own"].unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    assert placed["shared"][0].unsafe_buffer_pointer() == x.unsafe_buffer_pointer()


@pytest.mark.parametrize("where", ["src", "donate", "may_alias"])
def test_what_is_said_of_a_tree_is_a_prefix_of_it(where):
    with pytest.raises(ValueError, match=f"device_put {where}: its structure is no prefix"):
        jx.device_put([1.0], **{where: {"a": jx.devices()[0] if where == "src" else False}})


@pytest.mark.parametrize("where", ["donate", "may_alias"])
def test_whether_data_is_given_or_shared_is_a_boolean(where):
    with pytest.raises(TypeError, match=f"device_put {where} takes booleans, got 'x'"):
        jx.device_put([1.0], **{where: "x"})


@pytest.mark.parametrize("seed", [2**63, 2**64 - 1, -(2**63) - 1])
def test_seeds_have_64_bits_with_a_sign(seed):
    for make in (jx.random.key, jx.random.PRNGKey):
        with pytest.raises(OverflowError, match="64 bits with a sign"):
            make(seed)
