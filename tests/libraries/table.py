"""Libraries written for JAX that are run over the alias, each with one program of its kind.

``programs/NAME.py`` is the program, whose docstring says what it does; ``numbers.json`` has what it
gives on real ``jax``.  ``make libraries`` runs all of them and writes `docs/libraries.md`.
"""

from typing import NamedTuple

__all__ = ["LIBRARIES", "Library"]


class Library(NamedTuple):
    """A library of the table.

    Attributes:
      group: what it is for.
      fast: whether its program is among those that `make test` runs.
      part: what of it does not work; empty where nothing is known.
    """

    group: str
    fast: bool = False
    part: str = ""


NETWORKS = "Networks"
OPTIMIZATION = "Optimization and linear algebra"
PROBABILITY = "Probability and inference"
SCIENCE = "Physics and geometry"
LEARNING = "Reinforcement learning and search"
TOOLS = "Tools"

LIBRARIES: dict[str, Library] = {
    "dm-haiku": Library(NETWORKS, fast=True),
    "einops": Library(NETWORKS, fast=True),
    "equinox": Library(NETWORKS, fast=True),
    "flax": Library(NETWORKS),
    "flax-nnx": Library(
        NETWORKS,
        part="variables that have types above arrays (`hijax=True`)",
    ),
    "jraph": Library(NETWORKS, fast=True),
    "keras": Library(NETWORKS),
    "penzai": Library(NETWORKS, fast=True),
    "simple-pytree": Library(NETWORKS),
    "bayex": Library(OPTIMIZATION),
    "evosax": Library(OPTIMIZATION),
    "interpax": Library(OPTIMIZATION),
    "jaxopt": Library(OPTIMIZATION, fast=True),
    "lineax": Library(OPTIMIZATION, fast=True),
    "optax": Library(OPTIMIZATION, fast=True),
    "optimistix": Library(OPTIMIZATION),
    "orthax": Library(OPTIMIZATION),
    "ott-jax": Library(OPTIMIZATION),
    "quadax": Library(OPTIMIZATION),
    "blackjax": Library(PROBABILITY),
    "distrax": Library(PROBABILITY),
    "flowjax": Library(PROBABILITY),
    "numpyro": Library(PROBABILITY),
    "sbijax": Library(PROBABILITY),
    "surjectors": Library(PROBABILITY),
    "tfp-nightly": Library(PROBABILITY),
    "tinygp": Library(PROBABILITY),
    "brax": Library(SCIENCE),
    "diffrax": Library(SCIENCE),
    "dynamiqs": Library(SCIENCE),
    "e3nn-jax": Library(SCIENCE),
    "jax-cosmo": Library(SCIENCE),
    "jax-md": Library(SCIENCE),
    "jaxlie": Library(SCIENCE, fast=True),
    "jaxoplanet": Library(SCIENCE),
    "mujoco-mjx": Library(SCIENCE, part="its backend for CUDA (Warp)"),
    "netket": Library(SCIENCE),
    "s2fft": Library(SCIENCE),
    "gymnax": Library(LEARNING),
    "mctx": Library(LEARNING),
    "rlax": Library(LEARNING),
    "chex": Library(TOOLS, fast=True),
    "dm-pix": Library(TOOLS),
    "jaxtyping": Library(TOOLS, fast=True),
    "orbax-checkpoint": Library(TOOLS),
    "quax": Library(
        TOOLS,
        fast=True,
        part="`jit` and loops inside `quaxify`: they read parameters of the reference's primitives",
    ),
    "treescope": Library(TOOLS),
}
"""By the name of the distribution; ``flax-nnx`` is flax's second interface."""
