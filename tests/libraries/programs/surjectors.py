"""Transform a density by surjections and bijections."""

import distrax
import haiku as hk
import jax
import jax.numpy as jnp
from surjectors import Chain, MaskedCoupling, TransformedDistribution
from surjectors.nn import make_mlp
from surjectors.util import make_alternating_binary_mask


def program():
    def flow(x):
        layers = [
            MaskedCoupling(
                mask=make_alternating_binary_mask(2, i % 2 == 0),
                bijector_fn=lambda p: distrax.ScalarAffine(p[..., :2], log_scale=p[..., 2:]),
                conditioner=make_mlp([8, 4]),
            )
            for i in range(2)
        ]
        base = distrax.Independent(distrax.Normal(jnp.zeros(2), jnp.ones(2)), 1)
        return TransformedDistribution(base, Chain(layers)).log_prob(x)

    net = hk.transform(flow)
    x = jax.random.normal(jax.random.PRNGKey(1), (4, 2))
    params = net.init(jax.random.PRNGKey(0), x)
    gradient = jax.grad(lambda p: -jnp.mean(net.apply(p, None, x)))(params)
    return {
        "log_prob": net.apply(params, None, x),
        "gradient": sum(jnp.sum(g**2) for g in jax.tree.leaves(gradient)),
    }
