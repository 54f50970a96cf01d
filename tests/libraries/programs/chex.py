"""Write a dataclass of arrays, assert about it, and test variants of a function."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class State:
    position: chex.Array
    speed: chex.Array


def program():
    state = State(position=jnp.ones(3), speed=jnp.arange(3.0))

    @jax.jit
    @chex.assert_max_traces(n=1)
    def move(state):
        chex.assert_equal_shape([state.position, state.speed])
        return state.replace(position=state.position + 0.1 * state.speed)

    for _ in range(3):
        state = move(state)
    chex.assert_trees_all_close(state.speed, jnp.arange(3.0))
    chex.assert_tree_all_finite(state)
    refused = False
    try:
        chex.assert_shape(state.position, (4,))
    except AssertionError:
        refused = True
    return {"position": state.position, "refused": refused}
