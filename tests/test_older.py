"""Names of earlier years: they work, and say once what to write today."""

import importlib
import sys
import warnings

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import ops

X = np.arange(4.0, dtype=np.float32)
PAIR = ({"a": 1}, {"a": 2})

CALLS = [
    (ops, "index_update", lambda f: f(X, 1, 9.0), np.add(X, [0, 8, 0, 0]), "x.at[idx].set(y)"),
    (ops, "index_add", lambda f: f(jnp.asarray(X), 1, 9.0), np.add(X, [0, 9, 0, 0]), ".add(y)"),
    (ops, "index_mul", lambda f: f(X, 1, 9.0), X * [1, 9, 1, 1], ".multiply(y)"),
    (ops, "index_min", lambda f: f(X, 3, 1.0), np.minimum(X, [4, 4, 4, 1]), ".min(y)"),
    (ops, "index_max", lambda f: f(X, 0, 7.0), np.maximum(X, [7, 0, 0, 0]), ".max(y)"),
    (ops, "index", lambda i: X[i[1:3, ...]], X[1:3], "x.at[...]"),
    (jx, "tree_map", lambda f: f(lambda x: x + 1, PAIR[0])["a"], 2, "jax.tree.map"),
    (jx, "tree_multimap", lambda f: f(lambda x, y: x - y, *PAIR)["a"], -1, "jax.tree.map"),
    (jx, "tree_leaves", lambda f: f(PAIR), [1, 2], "jax.tree.leaves"),
    (jx, "tree_flatten", lambda f: f(PAIR)[0], [1, 2], "jax.tree.flatten"),
    (jx, "tree_reduce", lambda f: f(lambda x, y: x + y, PAIR), 3, "jax.tree.reduce"),
    (jx, "device_put_sharded", lambda f: f([X], jx.devices()[:1]), X[None], "P('x')"),
    (jx, "device_put_replicated", lambda f: f(X, jx.devices()[:1]), X[None], "P()"),
    (
        importlib.import_module("jxkernel.experimental.shard_map"),
        "shard_map",
        lambda f: f(lambda x: x, jx.make_mesh((1,), "i"), jx.P("i"), jx.P("i"), check_rep=False)(X),
        X,
        "jax.shard_map",
    ),
    (jx, "DeviceArray", lambda kind: isinstance(jnp.ones(2), kind), True, "jax.Array"),
    (jnp, "DeviceArray", lambda kind: isinstance(jnp.ones(2), kind), True, "jax.Array"),
    (jx.interpreters.xla, "DeviceArray", lambda kind: isinstance(X, kind), False, "jax.Array"),
    (
        jx.interpreters.pxla,
        "ShardedDeviceArray",
        lambda kind: isinstance(jnp.ones(2), kind),
        True,
        "jax.Array",
    ),
    (
        jx.interpreters.pxla,
        "thread_resources",
        lambda found: found.env.physical_mesh.empty,
        True,
        "jax.sharding.get_mesh()",
    ),
    (
        importlib.import_module("jxkernel.experimental.pjit"),
        "pjit",
        lambda f: f(lambda x: x + 1)(X),
        X + 1,
        "jax.jit",
    ),
    (jx, "xla_computation", lambda f: "sine" in f(jnp.sin)(1.0).as_hlo_text(), True, "lower(x)"),
]


@pytest.mark.parametrize(
    ("package", "name", "call", "wanted", "today"),
    CALLS,
    ids=[f"{package.__name__}.{name}" for package, name, *_ in CALLS],
)
def test_older_names_work_and_say_once_what_to_write(package, name, call, wanted, today):
    vars(package).pop(name, None)
    with pytest.warns(DeprecationWarning, match="older name") as told:
        found = getattr(package, name)
    assert today in str(told[0].message)
    assert told[0].filename == __file__
    np.testing.assert_array_equal(call(found), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(package, name) is found
    assert name not in package.__all__


def test_a_name_that_never_was_is_no_name():
    for package in (jx, ops, jnp):
        with pytest.raises(AttributeError, match="no attribute 'never_was'"):
            package.never_was  # noqa: B018


def test_warnings_point_at_the_user_through_an_alias():
    with jx.alias("jax"):
        front = __import__("jax")
        vars(jx).pop("tree_map", None)
        with pytest.warns(DeprecationWarning, match="older name") as told:
            front.tree_map  # noqa: B018
    assert told[0].filename == __file__


@pytest.mark.parametrize("given", [{"backend": "cpu"}, {"device": jx.devices()[0]}])
def test_placing_arguments_of_jit_work_and_say_what_to_write(given):
    with pytest.warns(DeprecationWarning, match="device_put"):
        function = jx.jit(lambda x: x + 1, **given)
    found = function(1.0)
    assert float(found) == 2.0
    assert found.committed


def test_nothing_is_loaded_for_older_names_before_they_are_asked_for():
    code = "import jxkernel, sys; sys.exit('jxkernel._older' in sys.modules)"
    assert __import__("subprocess").run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.filterwarnings("ignore:jit\\(")
@pytest.mark.parametrize("given", ["device", "backend"])
def test_platforms_of_jit_may_be_named_and_are_looked_for_at_the_call(given):
    found = jx.jit(jnp.sin, **{given: "cpu"})(1.0)
    assert found.devices() == {jx.local_devices(backend="cpu")[0]}
    nowhere = jx.jit(jnp.sin, **{given: "nowhere"})
    with pytest.raises(RuntimeError, match="Unknown backend 'nowhere'"):
        nowhere(1.0)
