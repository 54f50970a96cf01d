"""Which calls share a trace, and which must not: statics, captured values, donation."""

import gc

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.errors import DeletedArrayError


class Options:
    """Compared by content, and mutable: what a careless user passes as static."""

    def __init__(self, *values):
        self.values = list(values)

    def __hash__(self):
        return hash(tuple(self.values))

    def __eq__(self, other):
        return isinstance(other, Options) and self.values == other.values


def test_statics_compare_by_content_also_when_mutated():
    traced = []

    def f(options, x):
        traced.append(options.values[0])
        return x * options.values[0]

    g = jx.jit(f, static_argnums=0)
    options = Options(2)
    assert float(g(options, 1.0)) == 2.0
    assert float(g(Options(2), 1.0)) == 2.0
    options.values[0] = 5
    assert float(g(options, 1.0)) == 5.0
    assert float(g(Options(2), 1.0)) == 2.0
    assert traced[:2] == [2, 5]


@pytest.mark.parametrize("static", [np.ones(2), jnp.ones(2)])
def test_an_array_as_static_is_refused(static):
    with pytest.raises(ValueError, match=r"Non-hashable static|hash"):
        jx.jit(lambda s, x: x, static_argnums=0)(static, 1.0)


def test_nan_as_static_never_gives_a_stale_answer():
    f = jx.jit(lambda s, x: x + s, static_argnums=0)
    nan = float("nan")
    assert np.isnan(f(nan, 1.0))
    assert float(f(2.0, 1.0)) == 3.0
    assert np.isnan(f(float("nan"), 1.0))
    assert np.isnan(f(nan, 1.0))


def test_a_program_traced_inside_a_transform_holds_nothing_of_it():
    weight = jnp.float32(3.0)
    f = jx.jit(lambda x: jnp.sin(x) * weight)
    assert float(jx.grad(f)(0.0)) == 3.0
    np.testing.assert_allclose(f(0.5), 3 * np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(jx.jit(lambda: f(0.5))(), 3 * np.sin(0.5), rtol=1e-6)


def test_a_closure_over_each_outer_value_gives_its_own_answer():
    def outer(y):
        f = jx.jit(lambda x: x * y)
        return f(1.0) + f(2.0)

    y = np.arange(3.0, dtype=np.float32)
    np.testing.assert_array_equal(jx.vmap(outer)(y), 3 * y)
    np.testing.assert_array_equal(jx.vmap(jx.grad(outer))(y), np.full(3, 3.0))


def test_source_lines_of_equal_functions_are_their_own():
    first = jx.jit(lambda x: jnp.sin(x))
    second = jx.jit(lambda x: jnp.sin(x))
    lines = []
    for f in (first, second):
        text = f.lower(1.0).as_text(debug_info=True)
        lines.append([part for part in text.split('"') if part.endswith("test_trace_cache.py")])
        line = f.__wrapped__.__code__.co_firstlineno
        assert f'test_trace_cache.py":{line}:' in text
    assert all(lines)


# ---------------------------------------------------------------- donation


def test_one_buffer_donated_and_passed_again_is_refused_and_stays_whole(capfd):
    f = jx.jit(lambda x, y: (x + 1, y * 2), donate_argnums=0)
    x = jnp.ones(3)
    with pytest.raises(RuntimeError, match="donate"):
        f(x, x)
    np.testing.assert_array_equal(x, np.ones(3))
    capfd.readouterr()


def test_one_buffer_donated_twice_is_refused_and_stays_whole(capfd):
    f = jx.jit(lambda x, y: (x + 1, y * 2), donate_argnums=(0, 1))
    x = jnp.ones(3)
    with pytest.raises(RuntimeError, match="donate"):
        f(x, x)
    np.testing.assert_array_equal(x, np.ones(3))
    capfd.readouterr()


def test_a_donated_array_is_gone_and_says_so():
    f = jx.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.ones(3)
    f(x)
    gc.collect()
    assert x.is_deleted()
    for use in (lambda: x + 1, lambda: f(x), lambda: np.asarray(x)):
        with pytest.raises((DeletedArrayError, RuntimeError, ValueError), match=r"deleted|donated"):
            use()


def test_nan_in_a_program_that_was_given_its_argument_is_found_all_the_same():
    f = jx.jit(lambda x: jnp.log(x - 2) / x, donate_argnums=0)
    with jx.debug_nans(True), pytest.raises(FloatingPointError, match=r"nan came out of.*log"):
        f(jnp.ones(3))
