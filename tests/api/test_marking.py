"""Frontend attributes of operations: ``set_xla_metadata``."""

import re
import threading

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
)


def marks(function, *args):
    """Return the attributes of each kind of operation, in the order of the program."""
    text = jx.jit(function).lower(*args).as_text()
    found = re.findall(r"(?:\w+\.)?(\w+) [^=\n]*?\{mhlo\.frontend_attributes = \{(.*?)\}", text)
    return [(name, dict(re.findall(r'(\w+) = "(.*?)"', listed))) for name, listed in found]


def test_a_block_gives_attributes_to_what_is_traced_in_it_alone():
    def f(x):
        y = jnp.cos(x)
        with set_xla_metadata(stage="first"):
            y = jnp.sin(y)
        return jnp.tan(y)

    assert marks(f, 1.0) == [("sine", {"stage": "first"})]


def test_blocks_in_blocks_join_and_the_inner_value_holds():
    def f(x):
        with set_xla_metadata(a="outer", n=3, on=True, left_out=None):
            with set_xla_metadata(a="inner", half=0.5):
                y = jnp.sin(x)
            return jnp.cos(y)

    outer = {"a": "outer", "n": "3", "on": "true"}
    assert marks(f, 1.0) == [("sine", {**outer, "a": "inner", "half": "0.5"}), ("cosine", outer)]


def test_a_decorated_function_has_the_attributes_at_each_call_and_in_each_thread():
    @set_xla_metadata(k="v")
    def f(x):
        return jnp.sin(x)

    found = []
    thread = threading.Thread(target=lambda: found.extend(marks(f, 1.0)))
    thread.start()
    thread.join()
    assert found == marks(f, 1.0) == [("sine", {"k": "v"})]


def test_a_call_has_attributes_as_have_its_derivatives():
    f = xla_metadata_call(jnp.sin, tag="b", on=True, n=2)
    attributes = {"tag": "b", "on": "true", "n": "2"}
    assert marks(lambda x: f(x) * 2.0, 1.0) == [("sine", attributes)]
    assert ("cosine", attributes) in marks(jx.grad(f), 1.0)
    np.testing.assert_allclose(jx.vmap(f)(np.ones(2)), np.sin(np.ones(2)), rtol=1e-6)

    @xla_metadata_call(tag="c")
    def g(x, *, y):
        return {"both": x * y}

    assert float(g(3.0, y=2.0)["both"]) == 6.0
    with pytest.raises(TypeError, match="takes texts and numbers, got a=NoneType"):
        xla_metadata_call(a=None)
    with pytest.raises(TypeError, match="f"):
        xla_metadata_call(3)


def test_marks_of_what_is_fused():
    assert marks(must_fuse_call("1")(jnp.sin), 1.0) == [("sine", {"MUST_FUSE": "1"})]
    assert marks(fuse_limit()(jnp.sin), 1.0) == [("sine", {"FUSE_LIMIT": "true"})]


def test_an_error_ends_the_block():
    with pytest.raises(ZeroDivisionError), set_xla_metadata(k="v"):
        _ = 1 / 0
    assert marks(jnp.sin, 1.0) == []


def test_operations_made_of_those_in_a_block_keep_the_attributes():
    def f(x):
        with set_xla_metadata(k="v"):
            y = jnp.sin(x)
        return y * 2.0

    names = [name for name, found in marks(jx.vmap(jx.grad(f)), np.ones(3)) if found == {"k": "v"}]
    assert {"cosine", "multiply"} <= set(names)
    assert "sine" in dict(marks(jx.vmap(f), np.ones(3)))


def test_nested_programs_are_traced_for_the_attributes_they_are_called_under():
    @jx.jit
    def inner(x):
        return jnp.sin(x)

    def f(x):
        y = inner(x)
        with set_xla_metadata(k="v"):
            return inner(y), jx.lax.fori_loop(0, 3, lambda i, c: jnp.cos(c), x)

    found = marks(f, 1.0)
    assert [name for name, _ in found].count("sine") == 1
    assert {"call", "cosine"} <= {name for name, _ in found}
    assert all(given == {"k": "v"} for _, given in found)


def test_another_block_around_a_call_is_another_program():
    traced = []

    @jx.jit
    def f(x):
        traced.append(x)
        return x + 1.0

    results = [float(f(1.0))]
    for value in ("b", "c", "b"):
        with set_xla_metadata(k=value):
            results.append(float(f(1.0)))
            assert f.lower(1.0).as_text().count(f'k = "{value}"') == 1
    assert results == [2.0] * 4
    assert len(traced) == 3


def test_values_give_attributes_to_the_operations_that_compute_them():
    def f(x):
        y, z = set_xla_metadata((jnp.sin(x), x), k="v", n=1)
        return y + z

    assert marks(f, 1.0) == [("sine", {"k": "v", "n": "1"})]
    assert dict(marks(jx.vmap(f), np.ones(3))) == {"sine": {"k": "v", "n": "1"}}
    assert marks(lambda x: set_xla_metadata(x + 1.0), 1.0) == []


def test_an_operation_keeps_the_attributes_that_it_has():
    def f(x):
        with set_xla_metadata(k="block", z=1):
            y = jnp.sin(x)
        return set_xla_metadata(set_xla_metadata(y, k="value", a=2), a=3, b=4)

    assert marks(f, 1.0) == [("sine", {"k": "block", "z": "1", "a": "2", "b": "4"})]


def test_marked_values_are_the_values_and_derivatives_pass():
    x = np.arange(3.0, dtype=np.float32)
    tree = set_xla_metadata({"x": x, "n": 2}, k="v")
    assert tree["x"].tolist() == x.tolist()
    assert int(tree["n"]) == 2
    assert jx.grad(lambda x: set_xla_metadata(x * x, k="v"))(3.0).item() == 6.0
    assert jx.jvp(lambda x: set_xla_metadata(x * x, k="v"), (3.0,), (1.0,))[1].item() == 6.0
    assert float(jx.jit(lambda x: set_xla_metadata(x, k="v") + 1)(1.0)) == 2.0


def test_what_is_no_array_cannot_be_marked():
    with pytest.raises(TypeError, match=r"'text' of type builtins.str is not a valid array type"):
        set_xla_metadata("text", k="v")
    with pytest.raises(TypeError, match="2 were given"):
        set_xla_metadata(1.0, 2.0, k="v")  # pyright: ignore[reportCallIssue]
