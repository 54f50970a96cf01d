"""Solve a differential equation with adaptive steps, and differentiate the solution."""

import diffrax
import jax
import jax.numpy as jnp


def program():
    def solve(rate):
        term = diffrax.ODETerm(lambda t, y, args: -rate * y + jnp.sin(t))
        return diffrax.diffeqsolve(
            term,
            diffrax.Tsit5(),
            t0=0.0,
            t1=3.0,
            dt0=0.1,
            y0=jnp.array([1.0, 2.0]),
            saveat=diffrax.SaveAt(ts=jnp.linspace(0, 3, 4)),
            stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5),
        ).ys

    return {"solution": solve(0.5), "gradient": jax.grad(lambda r: jnp.sum(solve(r)[-1]))(0.5)}
