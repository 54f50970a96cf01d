"""Sample and score distributions, and run a Markov chain."""

import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp

tfd, tfb = tfp.distributions, tfp.bijectors


def program():
    mixture = tfd.MixtureSameFamily(
        tfd.Categorical(probs=[0.3, 0.7]), tfd.Normal([-1.0, 2.0], [0.5, 1.0])
    )
    flow = tfd.TransformedDistribution(tfd.MultivariateNormalDiag(jnp.zeros(2)), tfb.Softplus())
    kernel = tfp.mcmc.HamiltonianMonteCarlo(mixture.log_prob, 0.5, 3)
    chain = tfp.mcmc.sample_chain(
        20, current_state=0.5, kernel=kernel, seed=jax.random.PRNGKey(0), trace_fn=None
    )
    return {
        "mixture": mixture.log_prob(jnp.array([0.0, 1.0])),
        "samples": mixture.sample(3, seed=jax.random.PRNGKey(1)),
        "flow": flow.log_prob(jnp.array([0.5, 1.0])),
        "chain": chain,
        "gradient": jax.grad(mixture.log_prob)(0.3),
    }
