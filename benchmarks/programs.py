"""Whole jitted programs: the same XLA underneath, so the ratio shows what surrounds it."""

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


def _digits_step(library: Library) -> Work:
    jnp = library.numpy
    random = np.random.default_rng(0)
    images = library.array(random.random((IMAGES, PIXELS), np.float32))
    labels = np.eye(CLASSES, dtype=np.float32)[random.integers(0, CLASSES, IMAGES)]
    targets = library.array(labels)
    sizes = ((PIXELS, HIDDEN), (HIDDEN, CLASSES))
    params = [
        (
            library.array((random.standard_normal(size) * 0.1).astype(np.float32)),
            library.array(np.zeros(size[1], np.float32)),
        )
        for size in sizes
    ]

    def loss(params: Any, images: Any, targets: Any) -> Any:
        (w1, b1), (w2, b2) = params
        scores = jnp.tanh(images @ w1 + b1) @ w2 + b2
        top = jnp.max(scores, axis=1, keepdims=True)
        shifted = scores - top
        logs = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=1, keepdims=True))
        return -jnp.mean(jnp.sum(logs * targets, axis=1))

    @library.api.jit
    def step(params: Any, images: Any, targets: Any) -> Any:
        value, gradient = library.api.value_and_grad(loss)(params, images, targets)
        updated = [
            (w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, gradient, strict=True)
        ]
        return updated, value

    return Work(lambda: step(params, images, targets))


METRICS = (
    Metric("SELU on a million floats", 1.05, _selu),
    Metric("digits training step (64-128-10, batch 1,797)", 1.05, _digits_step),
)
