"""Minimize functions, and differentiate through a minimum."""

import jax
import jax.numpy as jnp
import jaxopt


def program():
    x = jnp.array([[1.0, 2.0], [2.0, 1.0], [0.5, -1.0], [3.0, 0.0]])
    y = jnp.array([1.0, 2.0, -1.0, 0.5])

    def ridge(w, strength):
        return jnp.mean((x @ w - y) ** 2) + 0.5 * strength * jnp.sum(w**2)

    def fitted(strength):
        solver = jaxopt.LBFGS(ridge, maxiter=50, tol=1e-6)
        return solver.run(jnp.zeros(2), strength=strength).params

    lasso = jaxopt.ProximalGradient(
        jaxopt.objective.least_squares, jaxopt.prox.prox_lasso, maxiter=100, tol=1e-6
    )
    return {
        "ridge": fitted(0.1),
        "gradient": jax.jacobian(fitted)(0.1),
        "lasso": lasso.run(jnp.zeros(2), hyperparams_prox=0.1, data=(x, y)).params,
        "bisection": jaxopt.Bisection(lambda z: z**3 - z - 2, 1.0, 2.0).run().params,
    }
