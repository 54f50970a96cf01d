"""Tracing and lowering, per operation of a long chain; and a whole cache miss.

A function is traced afresh in every run: each run makes a new function object, because both
libraries remember the traces of an old one.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from benchmarks.corpus import PROGRAMS
from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = [
    "METRICS",
    "Transform",
    "chain_work",
    "in_grad",
    "in_jvp",
    "in_vmap",
    "lowering_work",
    "plain",
]

TRACED, LOWERED, SHORT = 400, 1000, 12
"""Operations of the chains; a step of a chain is four."""
EXAMPLE = np.linspace(0.1, 1.0, 8, dtype=np.float32)

Step = Callable[[Any], Any]
Transform = Callable[[Library, Step], Step]


def lax_steps(library: Library) -> Step:
    sin, mul, add = library.lax.sin, library.lax.mul, library.lax.add

    def four(x: Any) -> Any:
        y = sin(x)
        return add(mul(y, x), sin(y))

    return four


def jnp_steps(library: Library) -> Step:
    sin = library.numpy.sin

    def four(x: Any) -> Any:
        y = sin(x)
        return y * x + sin(y)

    return four


def chain(step: Step, operations: int) -> Step:
    """Return a new function that applies ``operations`` operations, four a step."""

    def chained(x: Any) -> Any:
        for _ in range(operations // 4):
            x = step(x)
        return x

    return chained


def plain(library: Library, function: Step) -> Step:
    return function


def in_grad(library: Library, function: Step) -> Step:
    lax = library.lax
    return library.api.grad(lambda x: lax.reduce_sum(function(x), axes=(0,)))


def in_vmap(library: Library, function: Step) -> Step:
    return library.api.vmap(function)


def in_jvp(library: Library, function: Step) -> Step:
    return lambda x: library.api.jvp(function, (x,), (x,))


def chain_work(
    steps: Callable[[Library], Step],
    transform: Transform = plain,
    operations: int = TRACED,
) -> Callable[[Library], Work]:
    """Return the setup of tracing a chain under a transform."""

    def setup(library: Library) -> Work:
        step = steps(library)
        shape = (4, 8) if transform is in_vmap else (8,)
        x = library.array(np.resize(EXAMPLE, shape))

        def run() -> None:
            library.api.jit(transform(library, chain(step, operations))).trace(x)

        return Work(run)

    return setup


def lowering_work(operations: int) -> Callable[[Library], Work]:
    def setup(library: Library) -> Work:
        step, x = lax_steps(library), library.array(EXAMPLE)

        def prepare() -> Any:
            return library.api.jit(chain(step, operations)).trace(x)

        def run(traced: Any) -> None:
            traced.lower()

        return Work(run, prepare)

    return setup


def _lowering_program(name: str) -> Callable[[Library], Work]:
    """Return the setup of lowering a program of the corpus."""
    (program,) = (one for one in PROGRAMS if one.name == name)

    def setup(library: Library) -> Work:
        function, arguments = program.make(library)

        def prepare() -> Any:
            return library.api.jit(lambda *given: function(*given)).trace(*arguments)

        def run(traced: Any) -> None:
            traced.lower()

        return Work(run, prepare)

    return setup


def _lowering_metric(name: str) -> Metric:
    return Metric(f"lower a program: {name}", 0.50, _lowering_program(name))


def _new_shape(library: Library) -> Work:
    """Trace and lower one function for a size that it was never called with."""
    jnp, sizes = library.numpy, count(9)
    compiled = library.api.jit(lambda x: jnp.sum(jnp.sin(x) * x + 1))

    def prepare() -> Any:
        return library.array(np.ones(next(sizes), np.float32))

    def run(x: Any) -> None:
        compiled.lower(x)

    return Work(run, prepare)


def _new_shape_eagerly(library: Library) -> Work:
    """Call a function of the NumPy API on a size that it was never called with."""
    jnp, sizes = library.numpy, count(9)

    def prepare() -> Any:
        return library.array(np.ones(next(sizes), np.float32))

    return Work(lambda x: jnp.cosh(x), prepare)


def _miss(library: Library) -> Work:
    x = library.array(EXAMPLE)

    def run() -> Any:
        return library.api.jit(lambda x: x + 1)(x)

    return Work(run)


METRICS = (
    Metric("trace, lax chain, per op", 0.40, chain_work(lax_steps), TRACED),
    Metric("trace, jnp chain, per op", 0.30, chain_work(jnp_steps), TRACED),
    Metric("trace under grad, per op", 0.25, chain_work(lax_steps, in_grad), TRACED),
    Metric("trace under vmap, per op", 0.35, chain_work(lax_steps, in_vmap), TRACED),
    Metric("trace under jvp, per op", 0.35, chain_work(lax_steps, in_jvp), TRACED),
    Metric("lower 1,000 ops, per op", 0.50, lowering_work(LOWERED), LOWERED),
    Metric("lower 12 ops, per op", 0.30, lowering_work(SHORT), SHORT),
    *map(_lowering_metric, ("transformer, 6 blocks", "recurrent network", "Gaussian process")),
    Metric("trace and lower a tiny program for a new shape", 0.40, _new_shape),
    Metric("a new shape of `jnp.cosh(x)`, XLA included", 1.0, _new_shape_eagerly),
    Metric("miss of `jit(lambda x: x + 1)(x)`, XLA included", 0.90, _miss),
)
