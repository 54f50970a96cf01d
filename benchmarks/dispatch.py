"""A call of a function that is compiled already, by how many arguments it takes."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = ["METRICS"]


def _sum_of(lax: Any, values: Any) -> Any:
    return reduce(lax.add, values)


def _arguments(count: int) -> Callable[[Library], Work]:
    def setup(library: Library) -> Work:
        lax = library.lax
        arrays = [library.array(np.full(8, i, np.float32)) for i in range(count)]
        function = library.api.jit(lambda *args: _sum_of(lax, args))
        return Work(lambda: function(*arrays))

    return setup


def _tree(library: Library) -> Work:
    lax = library.lax

    def leaf(i: int) -> Any:
        return library.array(np.full(8, i, np.float32))

    layers = [{"w": leaf(3 * i), "b": (leaf(3 * i + 1), leaf(3 * i + 2))} for i in range(8)]

    def double(layers: Any) -> Any:
        return [
            {"w": lax.add(p["w"], p["w"]), "b": tuple(lax.add(b, b) for b in p["b"])}
            for p in layers
        ]

    function = library.api.jit(double)
    return Work(lambda: function(layers))


def _static(library: Library) -> Work:
    lax = library.lax
    x = library.array(np.ones(8, np.float32))
    function = library.api.jit(lambda x, n: lax.mul(x, float(n)), static_argnums=1)
    return Work(lambda: function(x, 3))


def _keywords(library: Library) -> Work:
    lax = library.lax
    x = library.array(np.ones(8, np.float32))
    function = library.api.jit(lambda *, a, b: lax.mul(a, b))
    return Work(lambda: function(a=x, b=x))


def _from_numpy(library: Library) -> Work:
    lax = library.lax
    x = np.ones(8, np.float32)
    function = library.api.jit(lambda x: lax.add(x, x))
    return Work(lambda: function(x))


METRICS = (
    Metric("jitted call, 1 argument", 1.05, _arguments(1)),
    Metric("jitted call, 10 arguments", 1.05, _arguments(10)),
    Metric("jitted call, 100 arguments", 1.05, _arguments(100)),
    Metric("jitted call, a pytree of 24 leaves", 1.05, _tree),
    Metric("jitted call, a static argument", 1.05, _static),
    Metric("jitted call, keyword arguments", 1.05, _keywords),
    Metric("jitted call, a NumPy argument", 1.05, _from_numpy),
)
