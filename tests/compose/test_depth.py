"""Programs nested deep and programs that are long meet no limit of recursion."""

import subprocess
import sys

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.core.jaxpr import nesting

DEPTH = 200
LENGTH = 10_000


def in_jit(inner):
    return jx.jit(lambda x: inner(x) * 1.0)


def in_the_same_name(inner):
    return jx.jit(inner)


def in_scan(inner):
    return lambda x: lax.scan(lambda c, _: (inner(c), None), x, None, length=1)[0]


def in_checkpoint(inner):
    return jx.checkpoint(lambda x: inner(x) * 1.0)


def nest(wrap, depth):
    function = lax.sin
    for _ in range(depth):
        function = wrap(function)
    return function


NESTS = [in_jit, in_the_same_name, in_scan, in_checkpoint]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("wrap", NESTS)
def test_deep_nests_are_traced_transformed_and_run(wrap):
    function = nest(wrap, DEPTH)
    x = np.float32(0.5)
    np.testing.assert_allclose(function(x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(jx.grad(function)(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(jx.jit(jx.grad(function))(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(jx.vmap(function)(np.full(3, x)), np.full(3, np.sin(x)), rtol=1e-6)
    assert str(jx.make_jaxpr(function)(x)).count("sin ") == 1


def test_deep_branches_are_traced_and_run():
    def in_cond(inner):
        return lambda x: lax.cond(x > 0, inner, lambda x: -x, x)

    function = nest(in_cond, DEPTH)
    x = np.float32(0.5)
    # Compiling the derivative of 200 conditionals takes XLA a minute; what it is given is enough.
    assert nesting(jx.make_jaxpr(jx.grad(function))(x)) == DEPTH
    assert jx.jit(function).lower(x).as_text().count("stablehlo.if") == DEPTH
    np.testing.assert_allclose(nest(in_cond, 20)(x), np.sin(x), rtol=1e-6)


def test_a_jitted_function_that_calls_itself_forever_is_a_recursion_error():
    @jx.jit
    def forever(x):
        return forever(x + 1)

    with pytest.raises(RecursionError):
        forever(1.0)
    assert float(jx.jit(lambda x: x + 1)(1.0)) == 2.0


TRANSFORMS = {
    "plain": (lambda f: f, ()),
    "jvp": (lambda f: lambda x: jx.jvp(f, (x,), (x,))[1], ()),
    "grad": (jx.grad, ()),
    "vmap": (jx.vmap, (2,)),
    "vmap of grad": (lambda f: jx.vmap(jx.grad(f)), (2,)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("transform", "shape"), TRANSFORMS.values(), ids=TRANSFORMS)
def test_long_chains_are_traced_and_lowered(transform, shape):
    def chain(x):
        for _ in range(LENGTH):
            x = lax.sin(x)
        return x

    traced = jx.jit(transform(chain)).trace(np.ones(shape, np.float32))
    assert len(traced.jaxpr.eqns) >= LENGTH
    assert traced.lower().as_text().count("stablehlo.sine") >= LENGTH


def test_importing_raises_the_recursion_limit():
    script = "import sys, jxkernel; print(sys.getrecursionlimit())"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert int(told.stdout) >= 10_000
