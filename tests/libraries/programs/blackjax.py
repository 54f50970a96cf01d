"""Sample by NUTS with adapted steps."""

import blackjax
import jax
import jax.numpy as jnp


def program():
    def density(x):
        return -0.5 * jnp.sum((x / jnp.array([1.0, 2.0])) ** 2)

    warmup = blackjax.window_adaptation(blackjax.nuts, density)
    (state, parameters), _ = warmup.run(jax.random.key(0), jnp.ones(2), num_steps=50)
    kernel = jax.jit(blackjax.nuts(density, **parameters).step)
    for key in jax.random.split(jax.random.key(1), 5):
        state, _ = kernel(key, state)
    return {"position": state.position, "step": parameters["step_size"]}
