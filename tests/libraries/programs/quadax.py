"""Integrate by adaptive and fixed rules, and differentiate the integral."""

import jax
import jax.numpy as jnp
import quadax


def program():
    def fun(t, rate):
        return jnp.exp(-rate * t) * jnp.log(t + 1e-6) ** 2

    def integral(rate, rule=quadax.quadgk):
        return rule(fun, jnp.array([0.0, 1.0]), args=(rate,), epsabs=1e-4, epsrel=1e-4)[0]

    rules = (quadax.quadgk, quadax.quadcc, quadax.quadts)
    x = jnp.linspace(0, 1, 9)
    return {
        "rules": [integral(1.5, rule) for rule in rules],
        "slope": jax.grad(integral)(1.5),
        "samples": [quadax.simpson(jnp.sin(x), x=x), quadax.trapezoid(jnp.sin(x), x=x)],
        "running": quadax.cumulative_simpson(jnp.sin(x), x=x),
    }
