"""Train a multilayer perceptron with filtered transformations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


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
    return {"loss": loss, "output": jax.vmap(model)(x[:3])}
