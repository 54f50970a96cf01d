"""Distributions and flows of a small library."""

import distrax
import jax
import jax.numpy as jnp


def program():
    base = distrax.MultivariateNormalDiag(jnp.zeros(3), jnp.array([1.0, 2.0, 0.5]))
    bijector = distrax.Chain(
        [distrax.Block(distrax.Tanh(), 1), distrax.Block(distrax.ScalarAffine(0.5, 2.0), 1)]
    )
    flow = distrax.Transformed(base, bijector)
    x, log_prob = flow.sample_and_log_prob(seed=jax.random.PRNGKey(0), sample_shape=(2,))
    hmm = distrax.HMM(
        init_dist=distrax.Categorical(probs=jnp.array([0.6, 0.4])),
        trans_dist=distrax.Categorical(probs=jnp.array([[0.7, 0.3], [0.2, 0.8]])),
        obs_dist=distrax.Normal(jnp.array([0.0, 3.0]), jnp.ones(2)),
    )
    return {
        "samples": x,
        "log_prob": log_prob,
        "kl": base.kl_divergence(distrax.MultivariateNormalDiag(jnp.ones(3))),
        "viterbi": hmm.viterbi(jnp.array([0.1, 2.8, 3.1, -0.2])),
    }
