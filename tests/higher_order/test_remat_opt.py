"""``defvjp(optimize_remat=True)``: the way there only where residuals are read."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from tests.higher_order.checks import close

X = np.array([0.5, 1.5, 2.0])


def made(optimize):
    @jx.custom_vjp
    def f(x):
        return jnp.sin(x)

    # Opaque, as a call of foreign code is: nothing prunes what is inside a while loop's state.
    def fwd(x):
        _, out, residual = jx.lax.while_loop(
            lambda s: s[0] < 1, lambda s: (s[0] + 1, jnp.sin(s[2]), s[2]), (0, x, x)
        )
        return out, residual

    f.defvjp(fwd, lambda x, ct: (10.0 * ct * x,), optimize_remat=optimize)
    return f


@pytest.mark.parametrize("optimize", [True, False])
def test_values_and_derivatives_are_those_of_the_rule(optimize):
    f = made(optimize)
    close(f(0.5), np.sin(0.5))
    close(jx.grad(f)(0.5), 5.0)
    close(jx.jit(jx.grad(jx.jit(f)))(0.5), 5.0)
    close(jx.vmap(jx.grad(f))(X), 10.0 * X)
    close(jx.grad(lambda x: jx.vmap(f)(x).sum())(X), 10.0 * X)
    close(jx.grad(jx.checkpoint(lambda x: jnp.cos(f(x))))(0.5), -np.sin(np.sin(0.5)) * 5.0)


def test_the_function_runs_where_no_residual_is_read():
    def lowered(f):
        g = jx.checkpoint(lambda x: jnp.cos(f(x)))
        return jx.jit(lambda x: jx.vjp(g, x)[0]).lower(0.5).as_text()

    assert "stablehlo.while" in lowered(made(False))
    assert "stablehlo.while" not in lowered(made(True))


def test_the_rule_is_differentiated_in_turn():
    f = jx.custom_vjp(jnp.sin)
    f.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (10.0 * ct * x,), optimize_remat=True)
    close(jx.grad(jx.grad(f))(0.5), 10.0)
    close(jx.jit(jx.vmap(jx.grad(jx.grad(lambda x: f(x) * x))))(X), 20.0 * X + np.cos(X))


def test_what_the_way_there_closes_over_is_no_obstacle():
    def outer(k, x):
        f = jx.custom_vjp(lambda x: k * x)
        f.defvjp(lambda x: (k * x, x), lambda x, ct: (k * ct * 100.0,), optimize_remat=True)
        return f(x)

    close(jx.grad(outer, 1)(2.0, 0.5), 200.0)
    close(jx.jit(jx.grad(outer, 1))(2.0, 0.5), 200.0)
    close(jx.vmap(jx.grad(outer, 1), (None, 0))(2.0, X), np.full(3, 200.0))
