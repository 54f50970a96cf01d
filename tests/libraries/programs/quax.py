"""Multiply by arrays of one's own: low-rank factors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import quax
from quax.examples import lora


def program():
    linear = eqx.nn.Linear(4, 3, key=jax.random.key(0))
    low_rank = lora.loraify(linear, rank=2, key=jax.random.key(1))
    x = jnp.arange(4.0)
    return {"output": quax.quaxify(low_rank)(x), "plain": linear(x)}
