"""Transform signals on the sphere, and back."""

import jax
import jax.numpy as jnp
import numpy as np
import s2fft


def program():
    bound = 4
    jax.config.update("jax_enable_x64", True)
    signal = s2fft.utils.signal_generator.generate_flm(np.random.default_rng(0), bound)
    found = {}
    for sampling in ("mw", "dh", "gl"):
        on_sphere = s2fft.inverse_jax(signal, bound, sampling=sampling)
        back = s2fft.forward_jax(on_sphere, bound, sampling=sampling)
        found[sampling] = [on_sphere[1].real, bool(jnp.abs(back - signal).max() < 1e-10)]
    pixels = s2fft.inverse(signal, bound, nside=2, sampling="healpix", method="jax")
    found["healpix"] = pixels.real
    found["slope"] = jax.grad(lambda x: jnp.abs(s2fft.inverse_jax(x * signal, bound)).sum())(2.0)
    jax.config.update("jax_enable_x64", False)
    return found
