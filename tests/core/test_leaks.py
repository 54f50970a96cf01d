"""The leak checker names what holds a tracer, and sounds no false alarm."""

import re
import sys

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import LeakError, UnexpectedTracerError

pytestmark = pytest.mark.usefixtures("all_objects_in_sight")

LOG: list = []
HERE = re.escape(__file__)


class Model:
    """Something with attributes."""

    __slots__ = ("cache", "state")


MODEL = Model()


@pytest.fixture(autouse=True)
def _checking():
    with jx.checking_leaks():
        yield
    LOG.clear()
    MODEL.state = MODEL.cache = None
    # What lives on would be found by the tests of other files in this process.
    for kept in (_into_default.__defaults__[0], _inner.__closure__[0].cell_contents):
        kept.clear()


def _into_global(x):
    LOG.append({"k": (1, x)})
    return x


def _into_slot(x):
    MODEL.state = jnp.sin(x)
    return x


def _into_closure():
    kept = []

    def inner(x):
        kept.append(x)
        return x

    return inner


def _into_default(x, kept=[]):  # noqa: B006
    kept[:] = [x]
    return x


_inner = _into_closure()

HOLDERS = [
    (_into_global, r"held by LOG\[0\]\['k'\]\[1\], a global variable of tests\.core\.test_leaks"),
    (_into_slot, r"held by MODEL\.state, a global variable of tests\.core\.test_leaks"),
    (_inner, rf"held by kept\[\d\], which inner \({HERE}:\d+\) closes over"),
    (_into_default, r"held by the defaults\[0\]\[0\] of _into_default"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("function", "message"), HOLDERS)
@pytest.mark.parametrize("transform", [jx.jit, jx.grad, lambda f: jx.vmap(lambda x: f(x + 0.0))])
def test_the_holder_is_named(function, message, transform):
    x = jnp.ones(2) if transform not in (jx.jit, jx.grad) else 1.0
    with pytest.raises(LeakError, match=message):
        transform(function)(x)


def test_a_local_variable_of_a_running_function_is_named():
    box = []

    def leaky(x):
        box.append(x)
        return x

    with pytest.raises(LeakError, match=rf"box\[0\], (a local variable of|which leaky \({HERE})"):
        jx.jit(leaky)(1.0)


def test_where_the_tracer_was_made_is_said():
    with pytest.raises(
        LeakError, match=r"made by the operation 'sin' at .*test_leaks\.py"
    ) as caught:
        jx.jit(_into_slot)(1.0)
    assert "traced argument x of the function '_into_slot'" in str(caught.value)


def test_loops_and_branches_are_looked_at():
    with pytest.raises(LeakError, match="LOG"):
        lax.scan(lambda c, _: (_into_global(c), None), 0.0, None, length=2)
    LOG.clear()
    with pytest.raises(LeakError, match="LOG"):
        lax.cond(True, _into_global, lambda x: x, 1.0)


CLEAN = [
    jx.jit(lambda x: jnp.sin(x) * x),
    jx.grad(jx.jit(lambda x: jnp.sin(x) * jx.nn.relu(x))),
    jx.jit(jx.grad(jx.checkpoint(lambda x: jnp.sin(x)))),
    jx.hessian(lambda x: x**3),
    jx.jit(lambda x: lax.scan(lambda c, _: (c + x, c * x), x, None, length=3)[0]),
    jx.grad(lambda x: lax.scan(lambda c, _: (c * x, c), x, None, length=3)[0]),
    jx.grad(lambda x: lax.cond(x > 0, lambda y: y * x, lambda y: y, x)),
    lambda x: jx.vmap(jx.jit(lambda y: jnp.sum(y * x)))(jnp.ones((2, 3))),
    lambda x: jx.vjp(lambda y: jnp.sin(y), x)[1](1.0),
    lambda x: jx.linearize(jx.jit(jnp.sin), x)[1](1.0),
]


@pytest.mark.parametrize("function", CLEAN)
def test_clean_functions_raise_no_alarm(function):
    function(1.5)


def test_cycles_and_caught_errors_raise_no_alarm():
    def f(x):
        cycle = [x]
        cycle.append(cycle)
        try:
            bool(x > 0)
        except TypeError as error:
            sys.last_value = error
        return x

    try:
        jx.jit(f)(1.0)
    finally:
        del sys.last_value


def test_names_of_ipython_raise_no_alarm(monkeypatch):
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "_", None, raising=False)
    monkeypatch.setattr(main, "kept", None, raising=False)

    def displayed(x, name):
        setattr(main, name, x)
        return x

    jx.jit(displayed, static_argnums=1)(1.0, "_")
    with pytest.raises(LeakError, match="kept, a global variable of __main__"):
        jx.jit(displayed, static_argnums=1)(1.0, "kept")


def test_off_it_looks_for_nothing():
    with jx.checking_leaks(False):
        assert jx.jit(_into_global)(1.0) == 1.0
        with pytest.raises(UnexpectedTracerError, match=r"traced argument x of the function"):
            LOG[0]["k"][1] + 1.0
