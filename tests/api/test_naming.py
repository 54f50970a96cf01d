"""Scopes that name operations, and computing at once what is known."""

import threading

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp


def dump(function, *args):
    return jx.jit(function).lower(*args).as_text(debug_info=True)


def layered(x):
    with jx.named_scope("outer"):
        y = jnp.cos(x)
        with jx.named_scope("inner"):
            return jnp.exp(y)


def test_scopes_stand_before_the_names_of_operations():
    text = dump(layered, 1.0)
    assert '"outer/cos"' in text
    assert '"outer/inner/exp"' in text
    assert '"sin"' in dump(jnp.sin, 1.0)


def test_operations_made_of_a_scoped_one_keep_its_scope():
    text = dump(jx.vmap(jx.grad(layered)), np.ones(3))
    assert '"outer/inner/mul"' in text
    assert "outer/outer" not in dump(lambda x: jx.grad(layered)(x), 1.0)


def test_a_scope_decorates_and_ends_with_its_block():
    @jx.named_scope("decorated")
    def f(x):
        return jnp.sin(x)

    assert '"decorated/sin"' in dump(f, 1.0)
    with pytest.raises(ZeroDivisionError), jx.named_scope("failing"):
        _ = 1 / 0
    assert "failing" not in dump(lambda x: x * 2.0, 1.0)


def test_a_scope_is_of_its_own_thread():
    with jx.named_scope("here"):
        found = []
        thread = threading.Thread(target=lambda: found.append(dump(lambda x: x - 2.0, 1.0)))
        thread.start()
        thread.join()
    assert "here" not in found[0]


def test_an_eager_operation_first_run_in_a_scope_is_not_named_for_ever():
    jx.clear_caches()
    with jx.named_scope("first"):
        jnp.tan(1.0)
    assert "first" not in dump(jnp.tan, 1.0)


def test_named_call_names_a_function():
    def f(x):
        return jnp.sin(x)

    assert '"f/sin"' in dump(jx.named_call(f), 1.0)
    assert '"other/sin"' in dump(jx.named_call(f, name="other"), 1.0)
    assert jx.named_call(f).__name__ == "f"


def test_what_is_known_is_computed_while_tracing():
    @jx.jit
    def f(x):
        with jx.ensure_compile_time_eval():
            n = jnp.arange(4).sum()
            assert int(n) == 6
            y = jnp.sin(x)
        return y + n, jnp.arange(4).sum()

    y, n = f(0.0)
    assert (float(y), int(n)) == (6.0, 6)
    jaxpr = str(jx.make_jaxpr(f)(0.0))
    assert jaxpr.count("reduce_sum") == 1
    assert float(jx.grad(lambda x: f(x)[0])(0.0)) == 1.0


def test_jitted_functions_run_while_tracing_too():
    @jx.jit
    def f(x):
        with jx.ensure_compile_time_eval():
            n = int(jx.jit(lambda n: n + 1)(2))
            m = int(jx.vmap(lambda v: v * 2)(jnp.arange(3)).sum())
        return x * n + m

    assert float(f(2.0)) == 12.0


def test_typeof_tells_shape_dtype_and_weakness():
    aval = jx.typeof(np.ones((2, 3), np.float16))
    assert (aval.shape, aval.dtype, aval.weak_type, str(aval)) == (
        (2, 3),
        np.float16,
        False,
        "float16[2,3]",
    )
    assert str(jx.typeof(1.0)) == "~float32[]"
    assert jx.make_jaxpr(lambda x: x)(1.0).jaxpr.in_avals == [jx.typeof(1.0)]


def test_a_user_context_is_part_of_the_key_of_traces():
    context = jx.make_user_context(0)
    traced = []

    @jx.jit
    def f(x):
        traced.append(context.value)
        return x + context.value

    results = [float(f(1.0))]
    for value in (1, 2, 1, 0):
        with context(value):
            results.append(float(f(1.0)))
    assert results == [1.0, 2.0, 3.0, 2.0, 1.0]
    assert traced == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.named_scope(3), TypeError, "named_scope needs a string as name, got 3"),
        (lambda: jx.named_call(3), TypeError, "named_call needs a callable as fun, got 3"),
        (lambda: jx.named_call(jnp.sin, name=3), TypeError, "named_scope needs a string"),
        (lambda: jx.typeof("a"), TypeError, "'a' of type builtins.str is not a valid array type"),
        (lambda: jx.make_user_context([]), ValueError, r"takes a hashable value; got \[\]"),
        (lambda: jx.make_user_context(1)([]), ValueError, r"takes a hashable value; got \[\]"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_sharding_of_a_traced_value_is_refused_with_what_to_ask_instead():
    for transform in (jx.jit, jx.vmap, jx.grad):
        with pytest.raises(AttributeError, match=r"no 'sharding'.*typeof\(x\)\.sharding"):
            transform(lambda x: x.sharding)(np.ones(3, np.float32))
    assert not jx.jit(lambda x: hasattr(x, "sharding"))(1.0)


def test_names_and_files_that_are_no_text_are_compiled():
    source = "def f(x):\n    with jx.named_scope('of \\ud800'):\n        return jnp.sin(x)\n"
    scope = {"jx": jx, "jnp": jnp}
    exec(compile(source, "folder/\udcff.py", "exec"), scope)
    assert float(jx.jit(scope["f"])(0.0)) == 0.0
    assert "of ?" in jx.jit(scope["f"]).lower(0.0).as_text(debug_info=True)
