"""Generators of random bits, for packages that bring their own.

A façade: it re-exports.
"""

from jxkernel.primitives.random_bits import threefry2x32_p
from jxkernel.random.generators import GENERATORS
from jxkernel.random.keys import define_prng_impl, random_seed, seed_with_impl, threefry_2x32

__all__ = [
    "define_prng_impl",
    "random_seed",
    "rbg_prng_impl",
    "seed_with_impl",
    "threefry2x32_p",
    "threefry_2x32",
    "threefry_prng_impl",
    "unsafe_rbg_prng_impl",
]

rbg_prng_impl = GENERATORS["rbg"]
threefry_prng_impl = GENERATORS["threefry2x32"]
unsafe_rbg_prng_impl = GENERATORS["unsafe_rbg"]
