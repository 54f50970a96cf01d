"""The corpus of compile times: whole programs of many kinds, under either library.

Half of the programs serve to choose how programs are built, the other half (``TUNED`` is false)
only to check the choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.library import Library

__all__ = ["PROGRAMS", "Program", "chain_program"]

Made = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Program:
    """A program of the corpus.

    Attributes:
      name: what it computes.
      make: returns, for a library, the function (not yet jitted, new each time) and its arguments.
      tuned: whether builds were chosen by it; else it was kept apart.
      first_goal: the ratio of times to the first result.
      steady_goal: the ratio of times of a later run.
    """

    name: str
    make: Callable[[Library], Made]
    tuned: bool
    first_goal: float = 1.05
    steady_goal: float = 1.1


class _Numbers:
    """Arrays of a library, the same in each process."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._random = np.random.default_rng(0)

    def normal(self, *shape: int, scale: float = 0.1) -> Any:
        return self._library.array((self._random.standard_normal(shape) * scale).astype(np.float32))

    def uniform(self, *shape: int) -> Any:
        return self._library.array(self._random.random(shape, np.float32) + np.float32(0.1))

    def integers(self, most: int, *shape: int) -> Any:
        return self._library.array(self._random.integers(0, most, shape).astype(np.int32))


def chain_program(layer: str, count: int, size: int = 1000) -> Callable[[Library], Made]:
    """Return what makes the gradient of unrolled elementwise layers, each with a parameter."""

    def make(library: Library) -> Made:
        jnp = library.numpy
        layers = {
            "sines": lambda x, p: jnp.sin(x) * p + jnp.cos(x),
            "products": lambda x, p: x * p + 0.1 * x * x,
            "tanh": lambda x, p: jnp.tanh(x * p) + x,
        }

        def loss(params: Any, x: Any) -> Any:
            for number in range(count):
                x = layers[layer](x, params[number])
            return jnp.sum(x)

        params = [np.float32(0.5)] * count
        return library.api.value_and_grad(loss), (params, _Numbers(library).normal(size))

    return make


def _transformer(
    blocks: int, batch: int, length: int, width: int = 64, *, adam: bool
) -> Callable[[Library], Made]:
    """Return what makes a training step, or a gradient, of a language model."""

    def make(library: Library) -> Made:
        jnp, nn, numbers = library.numpy, library.nn, _Numbers(library)
        heads, vocabulary = 4, 128

        def block(x: Any, weights: Any) -> Any:
            mix, out, up, down = weights
            q, k, v = jnp.split(nn.standardize(x) @ mix, 3, axis=-1)
            shape = (batch, length, heads, width // heads)
            q, k, v = (jnp.reshape(part, shape) for part in (q, k, v))
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads) ** 0.5
            mask = jnp.tril(jnp.ones((length, length), bool))
            seen = jnp.einsum(
                "bhqk,bkhd->bqhd", nn.softmax(jnp.where(mask, scores, -1e9), axis=-1), v
            )
            x = x + seen.reshape(batch, length, width) @ out
            return x + nn.gelu(nn.standardize(x) @ up) @ down

        def loss(params: Any, tokens: Any) -> Any:
            embedding, layers = params
            x = embedding[tokens]
            for weights in layers:
                x = block(x, weights)
            logs = nn.log_softmax(x @ embedding.T, axis=-1)
            return -jnp.mean(jnp.sum(logs * nn.one_hot(tokens, vocabulary), axis=-1))

        sizes = ((width, 3 * width), (width, width), (width, 4 * width), (4 * width, width))
        params = (
            numbers.normal(vocabulary, width),
            [tuple(numbers.normal(*size) for size in sizes) for _ in range(blocks)],
        )
        tokens = numbers.integers(vocabulary, batch, length)
        gradient = library.api.value_and_grad(loss)
        if not adam:
            return gradient, (params, tokens)
        return _adam(library, gradient), (params, params, params, tokens)

    return make


def _adam(library: Library, gradient: Callable[..., Any]) -> Callable[..., Any]:
    jnp, tree = library.numpy, library.api.tree

    def step(params: Any, means: Any, squares: Any, data: Any) -> Any:
        value, slopes = gradient(params, data)
        means = tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, slopes)
        squares = tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, slopes)
        params = tree.map(
            lambda p, m, s: p - 1e-3 * m / (jnp.sqrt(jnp.abs(s)) + 1e-8), params, means, squares
        )
        return value, params, means, squares

    return step


def _selu(library: Library) -> Made:
    jnp = library.numpy

    def selu(x: Any) -> Any:
        return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)

    return selu, (_Numbers(library).normal(1_000_000, scale=1.0),)


def _options(library: Library) -> Made:
    """Prices of a million options (Black and Scholes), and their derivatives by the spot."""
    jnp, numbers, erf = library.numpy, _Numbers(library), library.lax.erf

    def price(spot: Any, strike: Any, time: Any) -> Any:
        spread = 0.2 * jnp.sqrt(time)
        d = (jnp.log(spot / strike) + 0.05 * time) / spread
        normal = lambda z: 0.5 * (1 + erf(z * 0.70710678))  # noqa: E731
        return spot * normal(d) - strike * jnp.exp(-0.03 * time) * normal(d - spread)

    total = library.api.value_and_grad(lambda *given: jnp.sum(price(*given)))
    return total, tuple(numbers.uniform(1_000_000) for _ in range(3))


def _network(sizes: tuple[int, ...], batch: int) -> Callable[[Library], Made]:
    def make(library: Library) -> Made:
        jnp, numbers = library.numpy, _Numbers(library)

        def loss(params: Any, data: Any) -> Any:
            x, targets = data
            for w, b in params[:-1]:
                x = jnp.tanh(x @ w + b)
            w, b = params[-1]
            return jnp.mean((x @ w + b - targets) ** 2)

        def step(params: Any, data: Any) -> Any:
            value, slopes = library.api.value_and_grad(loss)(params, data)
            return value, library.api.tree.map(lambda p, g: p - 0.1 * g, params, slopes)

        pairs = pairwise(sizes)
        params = [(numbers.normal(*pair), numbers.normal(pair[1])) for pair in pairs]
        return step, (params, (numbers.normal(batch, sizes[0]), numbers.normal(batch, sizes[-1])))

    return make


def _dropout(library: Library) -> Made:
    """The gradient of a network that drops elements after each layer, by keys split from one."""
    jnp, random, numbers = library.numpy, library.random, _Numbers(library)

    def loss(weights: Any, key: Any, x: Any) -> Any:
        for w in weights:
            key, own = random.split(key)
            kept = random.bernoulli(own, 0.9, x.shape)
            x = jnp.where(kept, jnp.tanh(x @ w) / 0.9, 0.0)
        return jnp.mean(x**2)

    weights = [numbers.normal(64, 64) for _ in range(6)]
    gradient = library.api.value_and_grad(loss)
    return gradient, (weights, random.PRNGKey(0), numbers.normal(32, 64))


def _initialized(library: Library) -> Made:
    """The parameters of a network of ten layers, drawn by keys that are split layer by layer."""
    jnp, random = library.numpy, library.random

    def parameters(key: Any) -> Any:
        layers = []
        for sizes in pairwise([8, *[32] * 9, 4]):
            key, first, second = random.split(key, 3)
            w = random.normal(first, sizes) / jnp.sqrt(sizes[0])
            layers.append((w, random.uniform(second, sizes[1:], minval=-0.1, maxval=0.1)))
        return layers

    return parameters, (random.PRNGKey(0),)


def _convolutional(library: Library) -> Made:
    jnp, lax, numbers = library.numpy, library.lax, _Numbers(library)

    def loss(params: Any, images: Any) -> Any:
        first, second, dense = params
        x = images
        for kernel in (first, second):
            x = jnp.maximum(lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            ), 0.0)  # fmt: skip
            x = lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.mean((x.reshape(x.shape[0], -1) @ dense) ** 2)

    params = (numbers.normal(3, 3, 1, 8), numbers.normal(3, 3, 8, 16), numbers.normal(784, 10))
    return library.api.value_and_grad(loss), (params, numbers.normal(32, 28, 28, 1))


def _recurrent(library: Library) -> Made:
    jnp, lax, numbers = library.numpy, library.lax, _Numbers(library)

    def loss(weights: Any, inputs: Any) -> Any:
        def cell(state: Any, x: Any) -> Any:
            gate, new = jnp.split(x @ weights[0] + state @ weights[1], 2, axis=-1)
            gate = 1 / (1 + jnp.exp(-gate))
            state = gate * state + (1 - gate) * jnp.tanh(new)
            return state, jnp.mean(state**2)

        return jnp.sum(lax.scan(cell, jnp.zeros((16, 32), np.float32), inputs)[1])

    weights = (numbers.normal(32, 64), numbers.normal(32, 64))
    return library.api.value_and_grad(loss), (weights, numbers.normal(50, 16, 32))


def _gaussian_process(library: Library) -> Made:
    jnp, numbers = library.numpy, _Numbers(library)

    def loss(params: Any, x: Any, y: Any) -> Any:
        scale, height, noise = (jnp.exp(p) for p in params)
        squares = jnp.sum((x[:, None] - x[None]) ** 2, axis=-1)
        kernel = height * jnp.exp(-squares / scale) + (noise + 1e-3) * jnp.eye(len(x))
        factor = jnp.linalg.cholesky(kernel)
        solved = library.lax.linalg.triangular_solve(factor, y[:, None], left_side=True, lower=True)
        return jnp.sum(solved**2) / 2 + jnp.sum(jnp.log(jnp.diagonal(factor)))

    params = tuple(np.float32(value) for value in (0.1, 0.2, -1.0))
    x, y = numbers.normal(128, 3, scale=1.0), numbers.normal(128, scale=1.0)
    return library.api.value_and_grad(loss), (params, x, y)


def _bodies(library: Library) -> Made:
    jnp, lax, numbers = library.numpy, library.lax, _Numbers(library)

    def final(position: Any, velocity: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            q, v = state
            apart = q[:, None] - q[None]
            distance = jnp.sqrt(jnp.sum(apart**2, axis=-1) + 0.01)
            pull = -jnp.sum(apart / (distance**3)[..., None], axis=1)
            v = v + 0.001 * pull
            return (q + 0.001 * v, v), None

        (q, v), _ = lax.scan(step, (position, velocity), None, length=50)
        return jnp.sum(q**2) + jnp.sum(v**2)

    gradient = library.api.value_and_grad(final, (0, 1))
    return gradient, (numbers.normal(64, 3, scale=1.0), numbers.normal(64, 3))


def _monte_carlo(library: Library) -> Made:
    """A step of Hamiltonian Monte Carlo on a regression, its random numbers included."""
    jnp, lax, numbers = library.numpy, library.lax, _Numbers(library)

    def energy(w: Any, x: Any, y: Any) -> Any:
        return jnp.sum(jnp.logaddexp(0.0, -y * (x @ w))) + jnp.sum(w**2) / 2

    def proposal(key: Any, w: Any, x: Any, y: Any) -> Any:
        force = library.api.grad(energy)
        first, second = library.random.split(key)
        kick = library.random.normal(first, w.shape)

        def leap(_: Any, state: Any) -> Any:
            q, p = state
            p = p - 0.005 * force(q, x, y)
            q = q + 0.01 * p
            return q, p - 0.005 * force(q, x, y)

        new, end = lax.fori_loop(0, 10, leap, (w, kick))
        change = energy(w, x, y) - energy(new, x, y) + (jnp.sum(kick**2) - jnp.sum(end**2)) / 2
        return jnp.where(jnp.log(library.random.uniform(second)) < change, new, w)

    data = (numbers.normal(200, 20, scale=1.0), numbers.normal(200, scale=1.0))
    return proposal, (library.random.PRNGKey(0), numbers.normal(20), *data)


def _differential(library: Library) -> Made:
    """The gradient through 40 unequal steps of Runge and Kutta, by a loop over a neural field."""
    jnp, lax, numbers = library.numpy, library.lax, _Numbers(library)

    def loss(params: Any, start: Any, times: Any) -> Any:
        inner, outer = params

        def field(y: Any) -> Any:
            return jnp.tanh(y @ inner) @ outer - 0.1 * y

        def step(y: Any, h: Any) -> Any:
            a = field(y)
            b = field(y + h / 2 * a)
            c = field(y + h / 2 * b)
            d = field(y + h * c)
            y = y + h / 6 * (a + 2 * b + 2 * c + d)
            return y, jnp.sum(y**2)

        return jnp.mean(lax.scan(step, start, times)[1])

    params = (numbers.normal(8, 32), numbers.normal(32, 8))
    return library.api.value_and_grad(loss), (params, numbers.normal(16, 8), numbers.uniform(40))


def _hessian(library: Library) -> Made:
    jnp, numbers = library.numpy, _Numbers(library)
    weights = numbers.normal(64, 64)
    return library.api.hessian(lambda x: jnp.sum(jnp.tanh(weights @ x) ** 2)), (numbers.normal(64),)


def _ranking(library: Library) -> Made:
    """Ranks, quantiles and a join by sorting."""
    jnp, numbers = library.numpy, _Numbers(library)

    def ranks(x: Any, y: Any) -> Any:
        order = jnp.argsort(x)
        places = jnp.searchsorted(x[order], y)
        middle = jnp.quantile(y, np.array([0.1, 0.5, 0.9], np.float32))
        return jnp.sort(y)[::-1], jnp.cumsum(x[order])[places], middle

    return ranks, (numbers.normal(5000), numbers.normal(5000))


def _graph(library: Library) -> Made:
    """The gradient of three rounds of messages along the edges of a graph."""
    jnp, numbers = library.numpy, _Numbers(library)
    nodes, edges, width = 300, 2000, 16

    def loss(layers: Any, x: Any, source: Any, target: Any) -> Any:
        for own, other in layers:
            messages = jnp.maximum(x[source] @ other, 0.0)
            gathered = library.api.ops.segment_sum(messages, target, nodes)
            count = library.api.ops.segment_sum(jnp.ones(edges), target, nodes)
            x = jnp.tanh(x @ own + gathered / jnp.maximum(count, 1.0)[:, None])
        return jnp.mean(x**2)

    layers = [(numbers.normal(width, width), numbers.normal(width, width)) for _ in range(3)]
    ends = (numbers.integers(nodes, edges), numbers.integers(nodes, edges))
    return library.api.value_and_grad(loss), (layers, numbers.normal(nodes, width), *ends)


def _physics(library: Library) -> Made:
    """A network trained to solve the heat equation: second derivatives inside a gradient."""
    jnp, api, numbers = library.numpy, library.api, _Numbers(library)

    def network(params: Any, point: Any) -> Any:
        x = point
        for w in params[:-1]:
            x = jnp.tanh(x @ w)
        return (x @ params[-1])[0]

    def residual(params: Any, point: Any) -> Any:
        slope = api.grad(network, 1)(params, point)
        bend = api.hessian(network, 1)(params, point)
        return (slope[0] - 0.1 * bend[1, 1]) ** 2

    def loss(params: Any, points: Any) -> Any:
        return jnp.mean(api.vmap(residual, (None, 0))(params, points))

    params = [numbers.normal(*size, scale=0.5) for size in ((2, 32), (32, 32), (32, 1))]
    return api.value_and_grad(loss), (params, numbers.normal(200, 2, scale=1.0))


def _filtering(library: Library) -> Made:
    """The likelihood of a series by Kalman's filter, and its gradient."""
    jnp, lax, numbers = library.numpy, library.lax, _Numbers(library)

    def loss(moves: Any, series: Any) -> Any:
        def step(state: Any, seen: Any) -> Any:
            mean, spread = state
            mean, spread = moves @ mean, moves @ spread @ moves.T + 0.1 * jnp.eye(4)
            total = spread[:2, :2] + 0.5 * jnp.eye(2)
            gain = jnp.linalg.solve(total, spread[:2]).T
            error = seen - mean[:2]
            cost = error @ jnp.linalg.solve(total, error) + jnp.log(jnp.linalg.det(total))
            return (mean + gain @ error, spread - gain @ spread[:2]), cost

        return jnp.sum(lax.scan(step, (jnp.zeros(4), jnp.eye(4)), series)[1])

    return library.api.value_and_grad(loss), (
        numbers.normal(4, 4, scale=0.3),
        numbers.normal(60, 2),
    )


def _spectral(library: Library) -> Made:
    """Twenty steps of a wave in Fourier space."""
    jnp, lax, numbers = library.numpy, library.lax, _Numbers(library)
    waves = np.fft.fftfreq(128).astype(np.float32)

    def evolve(field: Any) -> Any:
        damping = jnp.exp(-(waves[:, None] ** 2 + waves[None] ** 2))

        def step(_: Any, field: Any) -> Any:
            linear = jnp.fft.ifft2(jnp.fft.fft2(field) * damping).real
            return linear + 0.01 * (linear - linear**3)

        return lax.fori_loop(0, 20, step, field)

    return evolve, (numbers.normal(128, 128),)


def _six(blocks: int, **sizes: Any) -> dict[str, Any]:
    return {"make": _transformer(blocks, **sizes), "first_goal": 0.5, "steady_goal": 0.8}


PROGRAMS = (
    Program("SELU of a million", _selu, True),
    Program("training step of a small network", _network((64, 128, 10), 1797), True),
    Program("60 unrolled layers of sines", chain_program("sines", 60), True, 0.1),
    Program("transformer, 6 blocks", tuned=True, **_six(6, batch=4, length=32, adam=False)),
    Program("transformer, 12 blocks, Adam", tuned=True, **_six(12, batch=4, length=32, adam=True)),
    Program("convolutional network", _convolutional, True),
    Program("recurrent network", _recurrent, True),
    Program("Gaussian process", _gaussian_process, True),
    Program("64 bodies", _bodies, True),
    Program("Hessian of 64 variables", _hessian, True),
    Program("ranks and quantiles", _ranking, True),
    Program("heat equation by a network", _physics, True),
    Program("six layers with dropout", _dropout, True),
    Program("parameters of ten layers", _initialized, False),
    Program("prices of a million options", _options, False),
    Program("network of 8,192 examples", _network((256, 256, 256, 10), 8192), False),
    Program("20 unrolled layers of tanh", chain_program("tanh", 20), False),
    Program("60 unrolled layers of products", chain_program("products", 60), False, 0.1),
    Program(
        "transformer, 2 blocks, Adam",
        _transformer(2, batch=4, length=32, adam=True),
        False,
    ),
    Program("transformer, 8 blocks", tuned=False, **_six(8, batch=8, length=64, adam=False)),
    Program("transformer, 24 blocks, Adam", tuned=False, **_six(24, batch=2, length=32, adam=True)),
    Program("Hamiltonian Monte Carlo", _monte_carlo, False),
    Program("differential equation", _differential, False),
    Program("graph network", _graph, False),
    Program("Kalman filter", _filtering, False),
    Program("wave in Fourier space", _spectral, False),
)
