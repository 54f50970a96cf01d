"""Build a network of named axes, and look into it."""

import jax
import jax.numpy as jnp
from penzai import pz


def program():
    x = pz.nx.wrap(jnp.arange(6.0).reshape(2, 3)).tag("batch", "features")
    total = pz.nx.nmap(jnp.sum)(x.untag("features"))
    model = pz.nn.Affine.from_config(
        "affine",
        init_base_rng=jax.random.key(0),
        input_axes={"features": 3},
        output_axes={"out": 2},
    )
    y = model(x)
    return {
        "sum": total.unwrap("batch"),
        "output": y.unwrap("batch", "out"),
        "scaled": (x * 2 + 1).unwrap("batch", "features"),
    }
