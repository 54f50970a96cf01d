"""Regress by NUTS and by variational inference."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal


def model(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(slope * x, noise), obs=y)


def program():
    x = jnp.linspace(-1, 1, 20)
    y = 1.5 * x + 0.1 * jax.random.normal(jax.random.PRNGKey(0), (20,))
    mcmc = MCMC(NUTS(model), num_warmup=20, num_samples=20, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(1), x, y)
    guide = AutoNormal(model)
    svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    found = svi.run(jax.random.PRNGKey(2), 50, x, y, progress_bar=False)
    return {
        "slope": mcmc.get_samples()["slope"].mean(),
        "first": mcmc.get_samples()["slope"][0],
        "loss": found.losses[-1],
    }
