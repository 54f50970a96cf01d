"""What random programs may call: operations, transforms, control flow, and rules of their own.

Functions here have rules that tell the true derivative, so that every way to it must agree.
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax, ops
from jxkernel.custom_batching import custom_vmap
from jxkernel.custom_derivatives import linear_call

TRANSFORMS = ("checkpoint", "grad", "jit", "jvp", "linearize", "vjp", "vmap")
CONTROL_FLOW = ("associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop")
LIBRARY = ("einsum", "sort", "take", "where")


def total(x: Any) -> Any:
    """Return the sum of all elements."""
    return NAMES["reduce_sum"](x, tuple(range(len(x.shape))))


def own_jvp(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function with a ``custom_jvp`` rule, which is its true derivative."""
    f = jx.custom_jvp(g)
    f.defjvp(lambda primals, tangents: jx.jvp(g, primals, tangents))
    return f


def own_vjp(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function with a ``custom_vjp`` rule, which is its true derivative."""
    f = jx.custom_vjp(g)
    f.defvjp(lambda x: (g(x), x), lambda x, ct: jx.vjp(g, x)[1](ct))
    return f


def own_vmap(g: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function with a ``custom_vmap`` rule, which is its true batched form."""
    f = custom_vmap(g)
    f.def_vmap(lambda size, batched, x: (jx.vmap(g)(x), True) if batched[0] else (g(x), False))
    return f


def own_transpose(x: Any) -> Any:
    """Return three times the argument, by a linear call with its true transpose."""
    return linear_call(lambda r, x: x * r, lambda r, ct: ct * r, 3.0, x)


def solved(a: Any, b: Any) -> Any:
    """Return the solution of (1.5 + a * a) x = b, whose solver is not differentiated."""
    return lax.custom_linear_solve(
        lambda x: (1.5 + a * a) * x, b, lambda mv, b: b / mv(jnp.ones_like(b)), symmetric=True
    )


def root(a: Any) -> Any:
    """Return the cube root of 2 + a * a, found by a loop that has no reverse derivative."""

    def newton(f: Any, x: Any) -> Any:
        def step(s: Any) -> Any:
            n, x = s
            return n + 1, x - f(x) / (3 * x * x)

        return lax.while_loop(lambda s: s[0] < 40, step, (0, x))[1]

    return lax.custom_root(
        lambda x: x * x * x - 2.0 - a * a,
        jnp.full_like(a, 2.0),
        newton,
        lambda g, y: y / g(jnp.ones_like(y)),
    )


def _names() -> dict[str, Any]:
    """Return what a program may call: operations, transforms and control flow by name."""
    own = (own_jvp, own_transpose, own_vjp, own_vmap, root, solved, total)
    found: dict[str, Any] = {function.__name__: function for function in own}
    for info in pkgutil.iter_modules(ops.__path__):
        module = importlib.import_module(f"{ops.__name__}.{info.name}")
        found.update({name: getattr(module, name) for name in getattr(module, "__all__", ())})
    found.update({name: getattr(jx, name) for name in TRANSFORMS})
    found.update({name: getattr(lax, name) for name in CONTROL_FLOW})
    found.update({name: getattr(jnp, name) for name in LIBRARY})
    found["jnp"] = jnp
    return found


NAMES = _names()
