"""Step a physical environment."""

import jax
import jax.numpy as jnp
from brax import envs


def program():
    env = envs.get_environment("inverted_pendulum", backend="generalized")
    state = jax.jit(env.reset)(jax.random.PRNGKey(0))
    step = jax.jit(env.step)
    for i in range(3):
        state = step(state, jnp.full(env.action_size, 0.1 * i))
    return {"observation": state.obs, "reward": state.reward}
