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
    return {"loss": losses[-1], "mean": model.norm.mean[...], **with_references(x)}


def with_references(x):
    """Update running means inside a loop and a gradient: each variable is a reference."""
    with nnx.var_defaults(hijax=False, ref=True):
        model = Net(nnx.Rngs(0))
        turns = nnx.Variable(jnp.array(0.0))

    @jax.jit
    def run(xs):
        def turn(total, x):
            turns[...] += 1.0
            return total + jnp.mean(model(x) ** 2), None

        return jax.lax.scan(turn, 0.0, xs)[0]

    total = run(jnp.stack([x, 2 * x, -x]))
    graph, parameters, others = nnx.split(model, nnx.Param, ...)

    def loss(parameters):
        return jnp.mean(nnx.merge(graph, parameters, others)(x) ** 2)

    slopes = jax.grad(loss)(jax.tree.map(lambda ref: ref[...], parameters))
    slope = jax.tree.leaves(slopes["last"])[1]
    return {"total": total, "turns": turns[...], "slope": slope, "ran": model.norm.mean[...]}
