"""Train a small convolutional network with state."""

import haiku as hk
import jax
import jax.numpy as jnp


def program():
    def forward(x, training):
        x = hk.Conv2D(4, 3)(x)
        x = hk.BatchNorm(True, True, 0.9)(x, training)
        x = hk.Flatten()(jax.nn.relu(x))
        return hk.nets.MLP([8, 2])(x)

    net = hk.without_apply_rng(hk.transform_with_state(forward))
    x = jax.random.normal(jax.random.key(1), (4, 6, 6, 1))
    params, state = net.init(jax.random.key(0), x, True)

    @jax.jit
    def step(params, state):
        def loss(p):
            y, new = net.apply(p, state, x, True)
            return jnp.mean(jnp.square(y - 1)), new

        (value, new), grads = jax.value_and_grad(loss, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, grads), new, value

    for _ in range(5):
        params, state, value = step(params, state)
    return {"loss": value, "output": net.apply(params, state, x, False)[0]}
