"""A redefined function is freed, with all that it compiled, whatever its trace refers to."""

import functools
import gc
import pickle
import weakref

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.api.memo import FunctionMemo


def rule_inside():
    """A rule defined in the function."""

    @jx.jit
    def f(x):
        @jx.custom_jvp
        def h(y):
            return y * 2

        h.defjvp(lambda primals, tangents: (h(*primals), tangents[0]))
        return h(x * 1.0)

    return f


def rule_of_itself():
    """A rule that closes over the function."""

    @jx.jit
    def f(x):
        @jx.custom_jvp
        def h(y):
            return y * (2 if f else 1)

        h.defjvp(lambda primals, tangents: (h(*primals), tangents[0] * (2 if f else 1)))
        return h(x * 1.0)

    return f


def ways_of_itself():
    """A way back that closes over the function."""

    @jx.jit
    def f(x):
        @jx.custom_vjp
        def h(y):
            return y * (2 if f else 1)

        h.defvjp(lambda y: (h(y), y), lambda y, ct: (ct * (2 if f else 1),))
        return h(x * 1.0)

    return f


def batching_of_itself():
    """A batching rule that closes over the function."""

    @jx.jit
    def f(x):
        @jx.custom_batching.custom_vmap
        def h(y):
            return y * (2 if f else 1)

        h.def_vmap(lambda size, batched, y: (y * (2 if f else 1), True))
        return h(x * 1.0)

    return f


def debug_of_itself():
    """A debug callback that closes over the function."""

    @jx.jit
    def f(x):
        jx.debug.callback(lambda value: f, x)
        return x * 2.0

    return f


def pure_of_itself():
    """A pure callback, with a rule to differentiate it, that closes over the function."""

    @jx.jit
    def f(x):
        host = jx.custom_jvp(
            lambda y: jx.pure_callback(
                lambda v: v * (2 if f else 1), y, y, vmap_method="sequential"
            )
        )
        host.defjvps(lambda t, out, y: t * out)
        return host(x)

    return f


def static_of_itself():
    """A static argument that closes over the function."""

    @functools.partial(jx.jit, static_argnums=1)
    def g(x, how):
        return how(x)

    def how(x):
        return x * (2.0 if g else 1.0)

    return lambda x: g(x, how)


def loop_of_itself():
    """A loop whose body closes over the function."""

    @jx.jit
    def f(x):
        def body(carry, _):
            return carry * (2.0 if f else 1.0), carry

        return lax.scan(body, x, None, length=3)[0]

    return f


@pytest.mark.parametrize(
    "make",
    [
        rule_inside,
        rule_of_itself,
        ways_of_itself,
        batching_of_itself,
        static_of_itself,
        loop_of_itself,
    ],
    ids=lambda make: make.__name__,
)
def test_a_function_dies_with_its_traces(make):
    dead = used(make())
    gc.collect()
    assert dead() is None


@pytest.mark.parametrize("make", [debug_of_itself, pure_of_itself], ids=lambda make: make.__name__)
def test_a_callback_that_closes_over_its_function_lives_until_caches_are_cleared(make):
    # The compiled program holds its callbacks out of the collector's sight.
    dead = used(make())
    gc.collect()
    assert dead() is not None
    jx.clear_caches()
    gc.collect()
    # The runtime lets go of Python objects when it is next entered.
    jx.jit(lambda x: x + 2)(1.0)
    gc.collect()
    assert dead() is None


def used(f):
    """Run, differentiate and batch a function, and return a weak reference to it."""
    f(1.0)
    jx.block_until_ready(jx.grad(f)(1.0))
    jx.block_until_ready(jx.vmap(f)(jnp.ones(3)))
    jx.effects_barrier()
    return weakref.ref(getattr(f, "__wrapped__", f))


def test_a_callable_that_is_no_function_is_remembered_while_it_lives():
    class Scale:
        def __call__(self, x):
            traces.append(x)
            return x * 2

    traces = []
    scale = Scale()
    jx.jit(scale)(1.0)
    jx.jit(scale)(2.0)
    assert len(traces) == 1
    dead = weakref.ref(scale)
    traces.clear()
    del scale
    gc.collect()
    assert dead() is None


def test_what_wraps_a_function_has_traces_of_its_own():
    def f(x):
        return x * 2

    jx.jit(f)(1.0)

    @functools.wraps(f)
    def wrapped(x):
        return f(x) + 1

    assert float(jx.jit(wrapped)(1.0)) == 3.0
    assert float(jx.jit(f)(1.0)) == 2.0


def test_a_copied_attribute_remembers_nothing():
    memo = FunctionMemo("tried")

    def f():
        return None

    memo.of(f)["key"] = object()
    (carried,) = vars(f).values()
    assert pickle.loads(pickle.dumps(carried)).kept == {}
    memo.clear()
    assert memo.of(f) == {}


def test_clear_caches_forgets_traces():
    count = []

    @jx.jit
    def f(x):
        count.append(1)
        return x + 1

    f(np.float32(1))
    jx.clear_caches()
    f(np.float32(1))
    assert len(count) == 2
