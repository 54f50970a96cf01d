"""Search a tree of moves with a learned policy."""

import jax
import jax.numpy as jnp
import mctx


def program():
    def recurrent(params, key, action, embedding):
        value = jnp.take(params, action) + embedding
        return mctx.RecurrentFnOutput(
            reward=value,
            discount=jnp.full_like(value, 0.9),
            prior_logits=jnp.zeros((action.shape[0], 3)) + params,
            value=value * 0.5,
        ), embedding + 0.1

    params = jnp.array([0.1, 0.5, -0.2])
    root = mctx.RootFnOutput(
        prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.array([0.0, 1.0])
    )
    out = mctx.gumbel_muzero_policy(
        params, jax.random.key(0), root, recurrent, num_simulations=8, max_num_considered_actions=3
    )
    return {"action": out.action, "weights": out.action_weights}
