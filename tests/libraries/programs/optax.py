"""Fit a line by a chain of gradient transformations with a schedule."""

import jax
import jax.numpy as jnp
import optax


def program():
    x = jnp.linspace(-1, 1, 16)
    params = {"w": jnp.zeros(()), "b": jnp.zeros(())}
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(optax.cosine_decay_schedule(0.1, 50), weight_decay=1e-3),
    )
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        loss, grads = jax.value_and_grad(
            lambda p: jnp.mean((p["w"] * x + p["b"] - 3 * x - 1) ** 2)
        )(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    for _ in range(40):
        params, state, loss = step(params, state)
    return {"loss": loss, **params}
