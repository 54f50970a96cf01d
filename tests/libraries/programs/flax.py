"""Train a linen network with dropout and batch statistics."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, training):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not training)(x)
        x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2))
        x = nn.Dense(8)(x.reshape(x.shape[0], -1))
        x = nn.Dropout(0.5, deterministic=not training)(x)
        return nn.Dense(2)(x)


class State(train_state.TrainState):
    batch_stats: dict


def program():
    x = jax.random.normal(jax.random.key(1), (4, 6, 6, 1))
    net = Net()
    variables = net.init(jax.random.key(0), x, False)
    state = State.create(
        apply_fn=net.apply,
        params=variables["params"],
        tx=optax.adam(1e-2),
        batch_stats=variables["batch_stats"],
    )

    @jax.jit
    def step(state, key):
        def loss(params):
            y, updates = state.apply_fn(
                {"params": params, "batch_stats": state.batch_stats},
                x,
                True,
                mutable=["batch_stats"],
                rngs={"dropout": key},
            )
            return optax.softmax_cross_entropy_with_integer_labels(
                y, jnp.array([0, 1, 0, 1])
            ).mean(), updates

        (value, updates), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
        state = state.apply_gradients(grads=grads)
        return state.replace(batch_stats=updates["batch_stats"]), value

    for key in jax.random.split(jax.random.key(2), 5):
        state, value = step(state, key)
    return {"loss": value, "kernel": state.params["Dense_1"]["kernel"]}
