"""Condition a Gaussian process on data, and fit it."""

import jax
import jax.numpy as jnp
from tinygp import GaussianProcess, kernels


def program():
    x = jnp.linspace(0, 3, 10)
    y = jnp.sin(2 * x)

    def loss(params):
        kernel = jnp.exp(params["amp"]) * kernels.Matern32(jnp.exp(params["scale"]))
        return -GaussianProcess(kernel, x, diag=0.01).log_probability(y)

    params = {"amp": jnp.array(0.1), "scale": jnp.array(-0.5)}
    value, gradient = jax.jit(jax.value_and_grad(loss))(params)
    process = GaussianProcess(kernels.ExpSquared(0.5), x, diag=0.01)
    quick = GaussianProcess(kernels.quasisep.Matern32(0.7), x, diag=0.01)
    return {
        "loss": value,
        **gradient,
        "mean": process.condition(y, jnp.array([0.5, 1.5])).gp.mean,
        "quick": quick.log_probability(y),
    }
