"""The light of a star that planets pass, and its derivative."""

import jax
import jax.numpy as jnp
from jaxoplanet.light_curves import limb_dark_light_curve
from jaxoplanet.orbits.keplerian import Body, Central, System


def program():
    def system(radius):
        path = {"impact_param": 0.2, "eccentricity": 0.1, "omega_peri": 0.3}
        planet = Body(period=3.0, radius=radius, time_transit=0.0, **path)
        both = System(Central(radius=1.0, mass=1.0), bodies=[planet])
        return both.add_body(period=7.0, radius=0.05, impact_param=0.1, time_transit=0.1)

    times = jnp.linspace(-0.2, 0.2, 9)
    flux = jax.jit(lambda r: limb_dark_light_curve(system(r), jnp.array([0.3, 0.2]))(times))
    return {
        "flux": flux(0.1),
        "slope": jax.jacfwd(flux)(0.1),
        "back": jax.grad(lambda r: flux(r).sum())(0.1),
    }
