"""Sorting and random numbers in quantity: kernels of our own choosing, not only XLA's."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = ["METRICS"]

SORTED, DRAWN = 100_000, 1_000_000


def _sorting(name: str) -> Callable[[Library], Work]:
    def setup(library: Library) -> Work:
        function = getattr(library.numpy, name)
        x = library.array(np.random.default_rng(0).standard_normal(SORTED, np.float32))
        return Work(lambda: function(x))

    return setup


def _drawing(name: str) -> Callable[[Library], Work]:
    def setup(library: Library) -> Work:
        draw: Callable[..., Any] = getattr(library.random, name)
        key = library.random.key(0)
        return Work(lambda: draw(key, (DRAWN,)))

    return setup


METRICS = (
    Metric("`jnp.sort` of 100,000 floats", 0.30, _sorting("sort")),
    Metric("`jnp.argsort` of 100,000 floats", None, _sorting("argsort")),
    Metric("`random.bits`, a million words", 0.35, _drawing("bits")),
    Metric("`random.uniform`, a million floats", None, _drawing("uniform")),
    Metric("`random.normal`, a million floats", 0.50, _drawing("normal")),
)
