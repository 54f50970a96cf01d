"""Mutable references in loops and at the edge of jitted functions."""

from typing import Any

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = ["METRICS"]


def _scan(library: Library) -> Work:
    """A hundred turns, each of which reads and writes parts of a reference made inside."""
    api, lax, jnp = library.api, library.lax, library.numpy
    inputs = library.array(np.linspace(0, 1, 100 * 256, dtype=np.float32).reshape(100, 256))

    @api.jit
    def run(inputs: Any) -> Any:
        total = api.new_ref(jnp.zeros((256,), np.float32))
        last = api.new_ref(jnp.zeros((100,), np.float32))

        def turn(i: Any, x: Any) -> Any:
            total[...] = total[...] * 0.5 + jnp.sin(x)
            last[i] = jnp.sum(total[...])
            return i + 1, None

        lax.scan(turn, 0, inputs)
        return total[...], last[...]

    return Work(lambda: run(inputs))


def _gradient(library: Library) -> Work:
    """The gradient of a function that mutates a reference in a loop."""
    api, lax, jnp = library.api, library.lax, library.numpy
    inputs = library.array(np.linspace(0, 1, 100 * 256, dtype=np.float32).reshape(100, 256))

    def loss(inputs: Any) -> Any:
        total = api.new_ref(jnp.zeros((256,), np.float32))

        def turn(carry: Any, x: Any) -> Any:
            total[...] = jnp.sin(total[...] + x)
            return carry, None

        lax.scan(turn, 0, inputs)
        return jnp.sum(total[...])

    gradient = api.jit(api.grad(loss))
    return Work(lambda: gradient(inputs))


def _step(library: Library) -> Work:
    """A jitted call that writes to a reference which it gets."""
    api, jnp = library.api, library.numpy
    ref = api.new_ref(jnp.zeros((1000,), np.float32))

    @api.jit
    def step(ref: Any, x: Any) -> Any:
        ref[...] = ref[...] * 0.5 + x
        return x

    x = library.array(np.ones(1000, np.float32))
    return Work(lambda: step(ref, x))


METRICS = (
    Metric("references in a scan of 100 turns", 1.05, _scan),
    Metric("the gradient of a scan that writes a reference", 1.05, _gradient),
    Metric("a jitted call that writes to a reference", None, _step),
)
