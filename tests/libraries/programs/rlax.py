"""Losses and returns of reinforcement learning."""

import jax
import jax.numpy as jnp
import rlax


def program():
    rewards, discounts = jnp.array([1.0, 0.0, 2.0]), jnp.full(3, 0.9)
    values = jnp.array([0.5, 0.2, 1.0, 0.3])
    error = jax.vmap(rlax.q_learning)(
        jnp.arange(6.0).reshape(2, 3),
        jnp.array([0, 2]),
        rewards[:2],
        discounts[:2],
        jnp.ones((2, 3)),
    )
    return {
        "returns": rlax.lambda_returns(rewards, discounts, values[1:], 0.8),
        "advantage": rlax.truncated_generalized_advantage_estimation(
            rewards, discounts, 0.9, values
        ),
        "error": error,
        "gradient": jax.grad(lambda v: rlax.l2_loss(v).sum())(values),
        "greedy": rlax.epsilon_greedy(0.1).probs(jnp.array([1.0, 2.0, 0.0])),
    }
