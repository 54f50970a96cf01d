"""Optimize a function by a Gaussian process of it."""

import bayex
import jax
import numpy as np


def program():
    def objective(x):
        return -((x - 0.3) ** 2) + 0.1 * np.cos(8 * x)

    optimizer = bayex.Optimizer(domain={"x": bayex.domain.Real(-1.0, 1.0)}, maximize=True, acq="EI")
    points = {"x": [-0.5, 0.0, 0.6]}
    state = optimizer.init([objective(x) for x in points["x"]], points)
    keys = jax.random.split(jax.random.key(0), 3)
    for key in keys:
        new = optimizer.sample(key, state)
        state = optimizer.fit(state, objective(**new), new)
    return {"best": state.best_score}
