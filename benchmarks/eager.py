"""Operations on small arrays outside ``jit``: what a notebook user types most."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.library import Library
from benchmarks.metric import Metric, Work

__all__ = ["METRICS"]


def _vector(library: Library) -> Any:
    return library.array(np.linspace(0.1, 1.0, 8, dtype=np.float32))


def _on_vector(make: Callable[[Library, Any], Callable[[], Any]]) -> Callable[[Library], Work]:
    return lambda library: Work(make(library, _vector(library)))


def _function(library: Library) -> Callable[[Any], Any]:
    """Return the small function whose derivatives are taken."""
    jnp = library.numpy

    def small(x: Any) -> Any:
        return jnp.sum(jnp.sin(x) * x + jnp.exp(-x))

    return small


def _grad(library: Library, x: Any) -> Callable[[], Any]:
    gradient = library.api.grad(_function(library))
    return lambda: gradient(x)


def _vmap(library: Library, x: Any) -> Callable[[], Any]:
    mapped = library.api.vmap(_function(library))
    rows = library.array(np.ones((4, 8), np.float32))
    return lambda: mapped(rows)


def _jvp(library: Library, x: Any) -> Callable[[], Any]:
    small = _function(library)
    return lambda: library.api.jvp(small, (x,), (x,))


def _grad_lax(library: Library, x: Any) -> Callable[[], Any]:
    lax = library.lax

    def small(x: Any) -> Any:
        return lax.reduce_sum(lax.add(lax.mul(lax.sin(x), x), lax.cos(x)), axes=(0,))

    gradient = library.api.grad(small)
    return lambda: gradient(x)


def _lax_add(library: Library, x: Any) -> Callable[[], Any]:
    add = library.lax.add
    return lambda: add(x, x)


def _sin(library: Library, x: Any) -> Callable[[], Any]:
    sin = library.numpy.sin
    return lambda: sin(x)


def _zeros(library: Library, x: Any) -> Callable[[], Any]:
    zeros = library.numpy.zeros
    return lambda: zeros((8,))


def _array(library: Library, x: Any) -> Callable[[], Any]:
    array = library.numpy.array
    return lambda: array([1.0, 2.0, 3.0])


def _device_put(library: Library, x: Any) -> Callable[[], Any]:
    put, host = library.api.device_put, np.linspace(0.0, 1.0, 8, dtype=np.float32)
    return lambda: put(host)


def _flatten(library: Library, x: Any) -> Callable[[], Any]:
    flatten, tree = library.api.tree.flatten, {"weights": (x, x), "bias": x}
    return lambda: flatten(tree)[0]


METRICS = (
    Metric("`lax.add(x, y)`", 1.0, _on_vector(_lax_add)),
    Metric("`x + y`", 1.0, _on_vector(lambda library, x: lambda: x + x)),
    Metric("`x + 1`", 1.0, _on_vector(lambda library, x: lambda: x + 1)),
    Metric("`jnp.sin(x)`", 1.0, _on_vector(_sin)),
    Metric("`x.sum()`", None, _on_vector(lambda library, x: lambda: x.sum())),
    Metric("`x[3]`", 0.35, _on_vector(lambda library, x: lambda: x[3])),
    Metric("`x[1:4]`", 0.35, _on_vector(lambda library, x: lambda: x[1:4])),
    Metric("`x.at[0].set(1)`", 0.35, _on_vector(lambda library, x: lambda: x.at[0].set(1.0))),
    Metric("`jnp.zeros((8,))`", 0.40, _on_vector(_zeros)),
    Metric("`jnp.array([1., 2., 3.])`", 0.40, _on_vector(_array)),
    Metric("`device_put` of a NumPy array", 0.40, _on_vector(_device_put)),
    Metric("`tree.flatten` of three leaves", 1.0, _on_vector(_flatten)),
    Metric("eager grad of a small function", 0.30, _on_vector(_grad)),
    Metric("eager grad of a small lax function", 0.30, _on_vector(_grad_lax)),
    Metric("eager vmap of a small function", 0.30, _on_vector(_vmap)),
    Metric("eager jvp of a small function", 0.40, _on_vector(_jvp)),
)
