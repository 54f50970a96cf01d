"""Branches, loops and rules four deep are what Python's own make of the same, and so are slopes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax

Step = Callable[[Any], Any]


def _scaled_jvp(g: Step) -> Step:
    f = jx.custom_jvp(g)
    f.defjvp(lambda primals, tangents: (g(*primals), 2 * jx.jvp(g, primals, tangents)[1]))
    return f


def _scaled_vjp(g: Step) -> Step:
    f = jx.custom_vjp(g)
    f.defvjp(lambda x: (g(x), x), lambda x, ct: (3 * jx.vjp(g, x)[1](ct)[0],))
    return f


def _steeper(g: Step, factor: float) -> Step:
    return lambda x: factor * g(x) - lax.stop_gradient((factor - 1) * g(x))


def _turned(g: Step, times: int) -> Step:
    def turned(x: Any) -> Any:
        for _ in range(times):
            x = g(x)
        return x

    return turned


def _scanned(g: Step) -> Step:
    return lambda x: lax.scan(lambda c, e: (0.5 * g(c) + e, None), x, jnp.arange(3.0))[0]


def _added(g: Step) -> Step:
    def added(x: Any) -> Any:
        for e in range(3):
            x = 0.5 * g(x) + e
        return x

    return added


def _while(g: Step) -> Step:
    def turn(state: Any) -> Any:
        return state[0] + 1, g(state[1])

    return lambda x: lax.while_loop(lambda state: state[0] < 2, turn, (0, x))[1]


# By name: a step inside of a construct, and what Python makes of it.
WAYS: dict[str, tuple[Callable[[Step], Step], Callable[[Step], Step]]] = {
    "cond": (
        lambda g: lambda x: lax.cond(jnp.sum(x) > 0, g, jnp.cos, x),
        lambda g: lambda x: g(x) if jnp.sum(x) > 0 else jnp.cos(x),
    ),
    "switch": (
        lambda g: lambda x: lax.switch(jnp.int32(jnp.sum(x) > 0), [jnp.cos, g], x),
        lambda g: lambda x: g(x) if jnp.sum(x) > 0 else jnp.cos(x),
    ),
    "scan": (_scanned, _added),
    "fori": (
        lambda g: lambda x: lax.fori_loop(0, 2, lambda _, c: g(c), x),
        lambda g: _turned(g, 2),
    ),
    "while": (_while, lambda g: _turned(g, 2)),
    "vmap": (
        lambda g: lambda x: jx.vmap(g)(jnp.stack([x, 0.5 * x])).sum(0),
        lambda g: lambda x: g(x) + g(0.5 * x),
    ),
    "map": (
        lambda g: lambda x: lax.map(g, jnp.stack([x, 0.5 * x])).sum(0),
        lambda g: lambda x: g(x) + g(0.5 * x),
    ),
    "checkpoint": (jx.checkpoint, lambda g: g),
    "custom_jvp": (_scaled_jvp, lambda g: _steeper(g, 2.0)),
    "custom_vjp": (_scaled_vjp, lambda g: _steeper(g, 3.0)),
}

NESTS = [
    "custom_jvp cond scan vmap",
    "custom_vjp scan cond fori",
    "checkpoint vmap switch scan",
    "cond custom_vjp map checkpoint",
    "scan vmap custom_jvp cond",
    "fori checkpoint scan custom_vjp",
    "custom_jvp cond while vmap",
    "switch while scan map",
]


def _nested(nest: str, side: int) -> Step:
    step = _innermost
    for name in nest.split():
        step = WAYS[name][side](step)
    return step


def _innermost(x: Any) -> Any:
    return jnp.sin(x) * x


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("nest", NESTS)
def test_nests_four_deep_are_what_python_makes_of_them(nest: str) -> None:
    ours, plain = (_nested(nest, side) for side in (0, 1))
    x = np.array([0.4, 0.9], np.float32)
    direction = np.array([1.0, -0.5], np.float32)

    def pushed(f: Step) -> Any:
        return jx.jvp(f, (x,), (direction,))

    if "custom_vjp" in nest:
        close(jx.jit(ours)(x), plain(x))
    else:
        found, wanted = jx.jit(lambda: pushed(ours))(), pushed(plain)
        close(found[0], wanted[0])
        close(found[1], wanted[1])
    if "while" not in nest:
        slope = jx.grad(lambda x: jnp.sum(plain(x)))
        each = jx.jit(jx.vmap(jx.grad(lambda x: jnp.sum(ours(x)))))
        close(each(np.stack([x, -x])), np.stack([slope(x), slope(-x)]))
