"""Train a network of the object-oriented interface."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(2, 8, use_bias=False, rngs=rngs)  # the norm takes it out
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.last = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(nnx.relu(self.norm(self.first(x))))


def program():
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    x = jax.random.normal(jax.random.key(1), (16, 2))

    @nnx.jit
    def step(model, optimizer):
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - x[:, :1]) ** 2))(model)
        optimizer.update(model, grads)
        return loss

    losses = [step(model, optimizer) for _ in range(5)]
    return {"loss": losses[-1], "mean": model.norm.mean[...]}
