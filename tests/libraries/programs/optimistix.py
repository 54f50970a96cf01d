"""Find roots, minima and least squares, and differentiate through them."""

import jax
import jax.numpy as jnp
import optimistix as optx


def program():
    def root(a):
        return optx.root_find(
            lambda y, a: y**3 - a, optx.Newton(rtol=1e-6, atol=1e-6), jnp.array(1.0), a
        ).value

    x, y = jnp.linspace(0, 1, 8), jnp.exp(-1.5 * jnp.linspace(0, 1, 8))
    fit = optx.least_squares(
        lambda p, args: p[0] * jnp.exp(-p[1] * x) - y,
        optx.LevenbergMarquardt(rtol=1e-6, atol=1e-6),
        jnp.array([0.5, 0.5]),
    )
    low = optx.minimise(
        lambda p, args: jnp.sum((p - jnp.array([1.0, 2.0])) ** 2),
        optx.BFGS(rtol=1e-5, atol=1e-5),
        jnp.zeros(2),
    )
    return {
        "root": root(2.0),
        "gradient": jax.grad(root)(2.0),
        "fit": fit.value,
        "low": low.value,
    }
