"""Test suites of libraries that are run over the alias: where each is, and how much of it is taken.

They come with the libraries' source distributions; nothing of them is part of this package.
``make suites`` runs them and writes `docs/suites.md`.
"""

from typing import NamedTuple

__all__ = ["SUITES", "WITHOUT", "Suite"]


class Suite(NamedTuple):
    """The test suite of a library.

    Attributes:
      paths: the files and folders of it in the source distribution.
      every: one test of so many is taken, by a checksum of its name.
      ignored: files that need what is not installed: other frameworks, data sets.
      missing: what the tests that fail here need, in words; empty where none fails.
    """

    paths: tuple[str, ...]
    every: int = 1
    ignored: tuple[str, ...] = ()
    missing: str = ""


SUITES: dict[str, Suite] = {
    "chex": Suite(
        ("chex",),
        missing="`check_grads` is stricter here, argument by argument; messages show arrays of a "
        "tree as numbers",
    ),
    "distrax": Suite(
        ("distrax",),
        every=150,
        missing="one test is named after a class of the interface, whose module here is another",
    ),
    "dm-haiku": Suite(
        ("haiku",), every=40, missing="tracers of its own that are made by calling our class"
    ),
    "einops": Suite(("einops/tests",)),
    "flax": Suite(
        ("tests",),
        every=20,
        missing="promotion of two dtypes of 8-bit floats",
    ),
    "jraph": Suite(("jraph/_src", "jraph/experimental")),
    "numpyro": Suite(("test",), every=100),
    "optax": Suite(("optax",), every=20),
}

WITHOUT = ("diffrax", "equinox", "jaxopt", "lineax", "optimistix")
"""Libraries whose source distributions have no tests."""
