"""What random programs may call, of either library, and functions with rules of their own.

The rules tell the true derivative, so that every way to it must agree.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Function = Callable[[Any], Any]


def total(jax: Any, x: Any) -> Any:
    """Return the sum of all elements."""
    return jax.numpy.sum(x)


def own_jvp(jax: Any, g: Function) -> Function:
    """Return a function with a ``custom_jvp`` rule, which is its true derivative."""
    f = jax.custom_jvp(g)
    f.defjvp(lambda primals, tangents: jax.jvp(g, primals, tangents))
    return f


def own_vjp(jax: Any, g: Function) -> Function:
    """Return a function with a ``custom_vjp`` rule, which is its true derivative."""
    f = jax.custom_vjp(g)
    f.defvjp(lambda x: (g(x), x), lambda x, ct: jax.vjp(g, x)[1](ct))
    return f


def own_vmap(jax: Any, g: Function) -> Function:
    """Return a function with a ``custom_vmap`` rule, which is its true batched form."""
    f = jax.custom_batching.custom_vmap(g)
    f.def_vmap(lambda size, batched, x: (jax.vmap(g)(x), True) if batched[0] else (g(x), False))
    return f


def own_transpose(jax: Any, x: Any) -> Any:
    """Return three times the argument, by a linear call with its true transpose."""
    return jax.custom_derivatives.linear_call(lambda r, x: x * r, lambda r, ct: ct * r, 3.0, x)


def solved(jax: Any, a: Any, b: Any) -> Any:
    """Return the solution of (1.5 + a * a) x = b, whose solver is not differentiated."""
    return jax.lax.custom_linear_solve(
        lambda x: (1.5 + a * a) * x,
        b,
        lambda mv, b: b / mv(jax.numpy.ones_like(b)),
        symmetric=True,
    )


def root(jax: Any, a: Any) -> Any:
    """Return the cube root of 2 + a * a, found by a loop that has no reverse derivative."""

    def newton(f: Function, x: Any) -> Any:
        def step(s: Any) -> Any:
            n, x = s
            return n + 1, x - f(x) / (3 * x * x)

        return jax.lax.while_loop(lambda s: s[0] < 40, step, (0, x))[1]

    return jax.lax.custom_root(
        lambda x: x * x * x - 2.0 - a * a,
        jax.numpy.full_like(a, 2.0),
        newton,
        lambda g, y: y / g(jax.numpy.ones_like(y)),
    )


def swapped(jax: Any, x: Any) -> Any:
    """Return an array with its bytes in the other order, which ``jax`` itself refuses."""
    return x if jax.__name__ == "jax" else np.asarray(x, np.asarray(x).dtype.newbyteorder(">"))


def nudged(jax: Any, x: Any) -> Any:
    """Return an argument with floating elements moved by as little as a rounding moves them."""
    if not jax.numpy.issubdtype(jax.numpy.result_type(x), jax.numpy.inexact):
        return x
    step = 1 + 4 * jax.numpy.finfo(jax.numpy.result_type(x)).eps
    if isinstance(x, float | complex):
        return x * (1 + 1e-6)
    return (x * step).astype(x.dtype)


OWN = (nudged, own_jvp, own_transpose, own_vjp, own_vmap, root, solved, swapped, total)
PARTS = ("custom_batching", "custom_derivatives", "scipy.linalg", "scipy.special", "scipy.stats")


def names(library: str) -> dict[str, Any]:
    """Return what a program may call: the library as ``jax``, its parts, and functions above."""
    jax = importlib.import_module(library)
    for part in PARTS:
        importlib.import_module(f"{library}.{part}")
    own = {function.__name__: partial(function, jax) for function in OWN}
    return {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np, **own}
