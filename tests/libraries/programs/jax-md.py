"""Simulate particles with soft spheres."""

import jax
from jax_md import energy, quantity, simulate, space


def program():
    displacement, shift = space.periodic(4.0)
    positions = jax.random.uniform(jax.random.key(0), (16, 2), maxval=4.0)
    potential = energy.soft_sphere_pair(displacement)
    init, apply = simulate.nve(potential, shift, 1e-2)
    state = init(jax.random.key(1), positions, kT=0.1)
    apply = jax.jit(apply)
    for _ in range(10):
        state = apply(state)
    force = quantity.force(potential)
    return {"energy": potential(state.position), "force": force(state.position)[:2]}
