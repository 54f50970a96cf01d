"""Fit a normalizing flow, and take its densities."""

import jax
import jax.numpy as jnp
from flowjax.distributions import Normal
from flowjax.flows import masked_autoregressive_flow
from flowjax.train import fit_to_data


def program():
    key = jax.random.key(0)
    x = jax.random.normal(jax.random.key(1), (64, 2)) * jnp.array([1.0, 0.3]) + 1
    flow = masked_autoregressive_flow(
        key, base_dist=Normal(jnp.zeros(2)), nn_width=8, flow_layers=2
    )
    before = flow.log_prob(x).mean()
    flow, losses = fit_to_data(
        jax.random.key(2), flow, data=x, max_epochs=2, batch_size=32, show_progress=False
    )
    return {"before": before, "after": flow.log_prob(x).mean(), "losses": losses["train"]}
