"""Evolve solutions."""

import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES


def program():
    strategy = CMA_ES(population_size=8, solution=jnp.zeros(3))
    params = strategy.default_params
    start = jax.random.key(0)
    state = strategy.init(start, jnp.ones(3), params)
    for key in jax.random.split(start, 5):
        population, state = strategy.ask(key, state, params)
        fitness = jnp.sum((population - 0.5) ** 2, -1)
        state, _ = strategy.tell(key, population, fitness, state, params)
    return {"best": state.best_fitness, "mean": state.mean}
