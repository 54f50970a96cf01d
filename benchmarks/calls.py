"""Forty calls of the NumPy API, each eagerly and compiled, on small and on larger arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = ["CALLS", "EAGER", "JITTED"]

SIZES = (8, 256)
GOAL = 1.1

Call = Callable[[Any, Any, Any], Any]

CALLS: dict[str, Call] = {
    "x + y": lambda jnp, x, y: x + y,
    "x * 2": lambda jnp, x, y: x * 2,
    "x @ y": lambda jnp, x, y: x @ y,
    "x > y": lambda jnp, x, y: x > y,
    "x[3]": lambda jnp, x, y: x[3],
    "x[1:4]": lambda jnp, x, y: x[1:4],
    "x[:, ::2]": lambda jnp, x, y: x[:, ::2],
    "x.at[0].set(1)": lambda jnp, x, y: x.at[0].set(1.0),
    "x.at[0].add(1)": lambda jnp, x, y: x.at[0].add(1.0),
    "x.T": lambda jnp, x, y: x.T,
    "abs": lambda jnp, x, y: jnp.abs(x),
    "exp": lambda jnp, x, y: jnp.exp(x),
    "sin": lambda jnp, x, y: jnp.sin(x),
    "tanh": lambda jnp, x, y: jnp.tanh(x),
    "power": lambda jnp, x, y: jnp.power(x, 2),
    "maximum": lambda jnp, x, y: jnp.maximum(x, y),
    "where": lambda jnp, x, y: jnp.where(x > y, x, y),
    "clip": lambda jnp, x, y: jnp.clip(x, 0.0, 1.0),
    "sum": lambda jnp, x, y: jnp.sum(x),
    "mean of rows": lambda jnp, x, y: jnp.mean(x, axis=1),
    "std": lambda jnp, x, y: jnp.std(x),
    "max": lambda jnp, x, y: jnp.max(x, axis=0),
    "argmax": lambda jnp, x, y: jnp.argmax(x, axis=1),
    "cumsum": lambda jnp, x, y: jnp.cumsum(x, axis=0),
    "sort": lambda jnp, x, y: jnp.sort(x, axis=1),
    "argsort": lambda jnp, x, y: jnp.argsort(x, axis=1),
    "median": lambda jnp, x, y: jnp.median(x),
    "reshape": lambda jnp, x, y: jnp.reshape(x, (-1,)),
    "transpose": lambda jnp, x, y: jnp.transpose(x),
    "concatenate": lambda jnp, x, y: jnp.concatenate([x, y]),
    "stack": lambda jnp, x, y: jnp.stack([x, y]),
    "split": lambda jnp, x, y: jnp.split(x, 2),
    "pad": lambda jnp, x, y: jnp.pad(x, 1),
    "roll": lambda jnp, x, y: jnp.roll(x, 1, axis=0),
    "zeros_like": lambda jnp, x, y: jnp.zeros_like(x),
    "arange": lambda jnp, x, y: jnp.arange(8.0) + x[0, 0],
    "einsum": lambda jnp, x, y: jnp.einsum("ij,kj->ik", x, y),
    "dot": lambda jnp, x, y: jnp.dot(x, y),
    "outer": lambda jnp, x, y: jnp.outer(x[0], y[0]),
    "linalg.norm": lambda jnp, x, y: jnp.linalg.norm(x),
}


def _arrays(library: Library, size: int) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, size, size)).astype(np.float32)
    return library.array(x), library.array(y)


def _eager(call: Call, size: int) -> Callable[[Library], Work]:
    def setup(library: Library) -> Work:
        jnp = library.numpy
        x, y = _arrays(library, size)
        return Work(lambda: call(jnp, x, y))

    return setup


def _jitted(call: Call, size: int) -> Callable[[Library], Work]:
    def setup(library: Library) -> Work:
        jnp = library.numpy
        x, y = _arrays(library, size)
        function = library.api.jit(lambda x, y: call(jnp, x, y))
        return Work(lambda: function(x, y))

    return setup


EAGER = tuple(
    Metric(f"eager {name}, {size} × {size}", GOAL, _eager(call, size))
    for name, call in CALLS.items()
    for size in SIZES
)
JITTED = tuple(
    Metric(f"jitted {name}, {size} × {size}", GOAL, _jitted(call, size))
    for name, call in CALLS.items()
    for size in SIZES
)
