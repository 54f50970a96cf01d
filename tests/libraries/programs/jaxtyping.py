"""Check the shapes of arguments while a function is traced."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jaxtyping import Array, Float, jaxtyped


@jaxtyped(typechecker=beartype)
def product(x: Float[Array, "n k"], y: Float[Array, "k m"]) -> Float[Array, "n m"]:
    return x @ y


def program():
    x = jnp.ones((2, 3))
    try:
        jax.jit(product)(x, x)
    except Exception as error:
        refused = type(error).__name__
    return {"product": jax.jit(product)(x, x.T), "refused": refused}
