"""Train a multilayer perceptron, and move a module that holds a random key."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class Walk(eqx.Module):
    """A place, and the key of the next step: a leaf of the module."""

    key: jax.Array
    place: jax.Array


@eqx.filter_jit
def moved(walk):
    key, following = jax.random.split(walk.key)
    step = jax.random.normal(key, walk.place.shape)
    return eqx.tree_at(lambda w: (w.key, w.place), walk, (following, walk.place + step))


def walks(count):
    keys = jax.random.split(jax.random.key(2), count)
    many = eqx.filter_vmap(lambda key: Walk(key, jnp.zeros(2)))(keys)
    for _ in range(3):
        many = eqx.filter_vmap(moved)(many)
    arrays = jax.tree.leaves(eqx.filter(many, eqx.is_array))
    drawn = jax.tree.map(lambda key: jax.vmap(jax.random.uniform)(key), {"keys": many.key})
    return {"place": many.place, "ranks": [a.ndim for a in arrays], "next": drawn["keys"]}


def program():
    key = jax.random.key(0)
    model = eqx.nn.MLP(2, 1, 16, 2, key=key)
    x = jax.random.normal(jax.random.key(1), (32, 2))
    y = jnp.sin(x[:, :1]) * x[:, 1:]
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, state):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(
            model
        )
        updates, state = optimizer.update(grads, state)
        return eqx.apply_updates(model, updates), state, loss

    for _ in range(20):
        model, state, loss = step(model, state)
    return {"loss": loss, "output": jax.vmap(model)(x[:3]), "walks": walks(3)}
