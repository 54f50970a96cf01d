"""Infer parameters of a simulator from its outputs by a learned posterior."""

import jax
import jax.numpy as jnp
import sbijax
from sbijax.nn import make_maf
from sbijax.simulators import two_moons


def program():
    prior, simulator, _ = two_moons()
    data = sbijax.simulate(jax.random.PRNGKey(0), prior, simulator, n=64)
    objective = sbijax.npe(make_maf(2, n_layers=1, hidden_sizes=(8,)))
    _, info = sbijax.train(jax.random.PRNGKey(1), objective, data, n_iter=2, batch_size=32)
    losses = [leaf for leaf in jax.tree.leaves(info) if hasattr(leaf, "shape")]
    return {"losses": losses, "mean": jnp.mean(jax.tree.leaves(data)[0])}
