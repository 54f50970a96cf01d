"""A class whose instances are pytrees."""

import jax
import jax.numpy as jnp
from simple_pytree import Pytree, static_field


class Scale(Pytree):
    name: str = static_field()

    def __init__(self, factor, name):
        self.factor = factor
        self.name = name

    def __call__(self, x):
        return self.factor * x


def program():
    scale = Scale(jnp.array(3.0), "scale")
    grads = jax.grad(lambda s: s(2.0) ** 2)(scale)
    return {"value": jax.jit(lambda s, x: s(x))(scale, jnp.arange(3.0)), "gradient": grads.factor}
