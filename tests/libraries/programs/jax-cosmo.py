"""Distances and spectra of the universe, and their derivatives."""

import jax
import jax_cosmo as jc


def program():
    cosmo = jc.Planck15()

    def distance(omega):
        return jc.background.radial_comoving_distance(
            jc.Cosmology(omega, 0.05, 0.67, 0.96, 0.8, 0.0, -1.0, 0.0), 0.5
        )[0]

    return {
        "distance": jc.background.angular_diameter_distance(cosmo, jax.numpy.array([0.5, 1.0])),
        "growth": jc.background.growth_factor(cosmo, jax.numpy.array([0.5, 1.0])),
        "power": jc.power.linear_matter_power(cosmo, jax.numpy.array([0.1, 1.0])),
        "gradient": jax.grad(distance)(0.26),
    }
