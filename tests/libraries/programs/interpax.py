"""Interpolate by splines, and differentiate the interpolant."""

import interpax
import jax
import jax.numpy as jnp


def program():
    x = jnp.linspace(0.0, 3.0, 12)
    f = jnp.sin(2 * x)
    xq = jnp.linspace(0.1, 2.9, 5)
    methods = ("nearest", "linear", "cubic", "cubic2", "akima", "monotonic", "catmull-rom")
    found = {m: interpax.interp1d(xq, x, f, method=m) for m in methods}
    grid = jnp.sin(x)[:, None] * jnp.cos(x)[None]
    found["plane"] = interpax.interp2d(xq, xq[::-1], x, x, grid, method="cubic")
    spline = interpax.CubicSpline(x, f)
    found["slope"] = jax.vmap(jax.grad(spline))(xq)
    found["by values"] = jax.grad(lambda f: interpax.interp1d(xq, x, f, method="akima").sum())(f)
    found["area"] = interpax.PchipInterpolator(x, f).integrate(0.2, 2.0)
    return found
