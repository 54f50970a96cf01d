"""Rearrange, reduce and repeat axes by names."""

import jax
import jax.numpy as jnp
from einops import einsum, pack, rearrange, reduce, repeat


def program():
    x = jnp.arange(24.0).reshape(2, 3, 4)
    total = jax.jit(jax.grad(lambda y: reduce(y * y, "a b c -> ", "sum")))
    return {
        "rearrange": rearrange(x, "a b c -> c (a b)")[1],
        "reduce": reduce(x, "a (b) c -> a c", "mean"),
        "repeat": repeat(x[0, 0], "c -> n c", n=2),
        "einsum": einsum(x, x, "a b c, a b c -> a"),
        "pack": pack([x, x], "* b c")[0].sum(),
        "gradient": total(x)[1, 2],
    }
