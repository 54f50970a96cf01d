"""Whole programs: jitted, the ratio shows what surrounds the same XLA; eager, what we are."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = ["METRICS"]

IMAGES, PIXELS, HIDDEN, CLASSES = 1797, 64, 128, 10
"""The sizes of scikit-learn's handwritten digits; the speed does not depend on their values."""


def _selu(library: Library) -> Work:
    jnp = library.numpy

    def selu(x: Any, alpha: float = 1.67, scale: float = 1.05) -> Any:
        return scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    function = library.api.jit(selu)
    x = library.array(np.linspace(-3.0, 3.0, 1_000_000, dtype=np.float32))
    return Work(lambda: function(x))


def _digits(library: Library) -> tuple[Any, Any, Any]:
    """Return the parameters of a network and data of the digits' sizes."""
    random = np.random.default_rng(0)
    images = library.array(random.random((IMAGES, PIXELS), np.float32))
    labels = np.eye(CLASSES, dtype=np.float32)[random.integers(0, CLASSES, IMAGES)]
    params = [
        (_normal(library, random, size), library.array(np.zeros(size[1], np.float32)))
        for size in ((PIXELS, HIDDEN), (HIDDEN, CLASSES))
    ]
    return params, images, library.array(labels)


def _normal(library: Library, random: np.random.Generator, size: tuple[int, ...]) -> Any:
    return library.array((random.standard_normal(size) * 0.1).astype(np.float32))


def _loss_of(library: Library) -> Callable[..., Any]:
    jnp = library.numpy

    def loss(params: Any, images: Any, targets: Any) -> Any:
        (w1, b1), (w2, b2) = params
        scores = jnp.tanh(images @ w1 + b1) @ w2 + b2
        top = jnp.max(scores, axis=1, keepdims=True)
        shifted = scores - top
        logs = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=1, keepdims=True))
        return -jnp.mean(jnp.sum(logs * targets, axis=1))

    return loss


def _step_of(library: Library) -> Callable[..., Any]:
    loss = _loss_of(library)

    def step(params: Any, images: Any, targets: Any) -> Any:
        value, gradient = library.api.value_and_grad(loss)(params, images, targets)
        updated = [
            (w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, gradient, strict=True)
        ]
        return updated, value

    return step


def _digits_step(library: Library) -> Work:
    data, step = _digits(library), library.api.jit(_step_of(library))
    return Work(lambda: step(*data))


def _per_example(library: Library) -> Work:
    params, images, targets = _digits(library)
    gradients = library.api.vmap(library.api.grad(_loss_of(library)), (None, 0, 0))
    function = library.api.jit(gradients)
    images, targets = images[:128, None], targets[:128, None]
    return Work(lambda: function(params, images, targets))


def _eager_gradient(library: Library) -> Work:
    params, images, targets = _digits(library)
    gradient = library.api.grad(_loss_of(library))
    images, targets = images[:32], targets[:32]
    return Work(lambda: gradient(params, images, targets))


def _eager_descent(library: Library) -> Work:
    params, images, targets = _digits(library)
    step = _step_of(library)
    images, targets = images[:32], targets[:32]

    def descend() -> Any:
        now = params
        for _ in range(3):
            now, _ = step(now, images, targets)
        return now

    return Work(descend)


def _recurrent(library: Library) -> Work:
    """A recurrent network over 100 steps: the gradient of a scan."""
    jnp, random = library.numpy, np.random.default_rng(0)
    inner, outer = (_normal(library, random, (64, 64)) for _ in range(2))
    inputs = _normal(library, random, (100, 32, 64))

    def loss(weights: Any, inputs: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            new = jnp.tanh(x @ weights[0] + state @ weights[1])
            return new, jnp.mean(new**2)

        return jnp.sum(library.lax.scan(cell, jnp.zeros((32, 64), np.float32), inputs)[1])

    gradient = library.api.jit(library.api.grad(loss))
    return Work(lambda: gradient((inner, outer), inputs))


def _attention(library: Library) -> Work:
    """One block of a transformer: attention of four heads and a network, with the gradient."""
    jnp, nn, random = library.numpy, library.nn, np.random.default_rng(0)
    weights = [_normal(library, random, size) for size in ((128, 384), (128, 512), (512, 128))]
    tokens = _normal(library, random, (8, 64, 128))

    def loss(weights: Any, x: Any) -> Any:
        mix, up, down = weights
        q, k, v = jnp.split((x @ mix).reshape(8, 64, 4, 96), 3, axis=-1)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 32**0.5
        seen = jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v)
        x = x + seen.reshape(8, 64, 128)
        return jnp.mean((x + nn.gelu(x @ up) @ down) ** 2)

    gradient = library.api.jit(library.api.value_and_grad(loss))
    return Work(lambda: gradient(weights, tokens))


def _hamiltonian(library: Library) -> Work:
    """A step of Hamiltonian Monte Carlo: 20 leapfrog steps on a density of 100 dimensions."""
    jnp, random = library.numpy, np.random.default_rng(0)
    position, momentum = (_normal(library, random, (100,)) for _ in range(2))

    def energy(q: Any) -> Any:
        return jnp.sum(q**2) / 2 + jnp.sum(jnp.log1p(q**2))

    @library.api.jit
    def proposal(q: Any, p: Any) -> Any:
        force = library.api.grad(energy)

        def leap(_: Any, state: Any) -> Any:
            q, p = state
            p = p - 0.05 * force(q)
            q = q + 0.1 * p
            return q, p - 0.05 * force(q)

        new, kick = library.lax.fori_loop(0, 20, leap, (q, p))
        change = energy(q) - energy(new) + (jnp.sum(p**2) - jnp.sum(kick**2)) / 2
        return jnp.where(change > 0, new, q)

    return Work(lambda: proposal(position, momentum))


def _hessian(library: Library) -> Work:
    jnp, random = library.numpy, np.random.default_rng(0)
    weights, x = _normal(library, random, (64, 64)), _normal(library, random, (64,))
    curvature = library.api.jit(
        library.api.hessian(lambda x: jnp.sum(jnp.tanh(weights @ x) ** 2)),
    )
    return Work(lambda: curvature(x))


def _heat(library: Library) -> Work:
    """Warmth that spreads on a grid, step by step."""
    jnp, random = library.numpy, np.random.default_rng(0)
    grid = _normal(library, random, (1000, 1000))

    @library.api.jit
    def later(u: Any) -> Any:
        def step(_: Any, u: Any) -> Any:
            around = [jnp.roll(u, shift, axis) for axis in (0, 1) for shift in (1, -1)]
            return u + 0.1 * (sum(around) - 4 * u)

        return library.lax.fori_loop(0, 50, step, u)

    return Work(lambda: later(grid))


def _walkers(library: Library) -> Work:
    """Walkers that are drawn to 0 and pushed about: a stochastic differential equation."""
    random = library.api.random
    key, start = random.key(0), library.array(np.zeros(100_000, np.float32))

    @library.api.jit
    def later(key: Any, x: Any) -> Any:
        def step(x: Any, key: Any) -> tuple[Any, None]:
            return x - 0.01 * x + 0.1 * random.normal(key, x.shape), None

        return library.lax.scan(step, x, random.split(key, 50))[0]

    return Work(lambda: later(key, start))


METRICS = (
    Metric("SELU on a million floats", 1.05, _selu),
    Metric("digits training step (64-128-10, batch 1,797)", 1.05, _digits_step),
    Metric("gradients of 128 examples, one by one", 1.05, _per_example),
    Metric("recurrent network, gradient over 100 steps", 1.05, _recurrent),
    Metric("transformer block, value and gradient", 1.05, _attention),
    Metric("Hamiltonian Monte Carlo, 20 leapfrog steps", 1.05, _hamiltonian),
    Metric("Hessian of 64 variables", 1.05, _hessian),
    Metric("heat on a grid of 1,000 x 1,000, 50 steps", 1.05, _heat),
    Metric("random walks of 100,000, 50 steps", 1.05, _walkers),
    Metric("eager gradient of the digits network, batch 32", 0.50, _eager_gradient),
    Metric("eager descent, three steps, batch 32", 0.60, _eager_descent),
)
