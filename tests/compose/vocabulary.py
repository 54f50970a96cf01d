"""What random programs may call, of either library, and functions with rules of their own.

The rules tell the true derivative, so that every way to it must agree.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Function = Callable[[Any], Any]


def total(jax: Any, x: Any) -> Any:
    """Return the sum of all elements."""
    return jax.numpy.sum(x)


def own_jvp(jax: Any, g: Function) -> Function:
    """Return a function with a ``custom_jvp`` rule, which is its true derivative."""
    f = jax.custom_jvp(g)
    f.defjvp(lambda primals, tangents: jax.jvp(g, primals, tangents))
    return f


def own_vjp(jax: Any, g: Function) -> Function:
    """Return a function with a ``custom_vjp`` rule, which is its true derivative."""
    f = jax.custom_vjp(g)
    f.defvjp(lambda x: (g(x), x), lambda x, ct: jax.vjp(g, x)[1](ct))
    return f


def own_vmap(jax: Any, g: Function) -> Function:
    """Return a function with a ``custom_vmap`` rule, which is its true batched form."""
    f = jax.custom_batching.custom_vmap(g)
    f.def_vmap(lambda size, batched, x: (jax.vmap(g)(x), True) if batched[0] else (g(x), False))
    return f


def own_transpose(jax: Any, x: Any) -> Any:
    """Return three times the argument, by a linear call with its true transpose."""
    return jax.custom_derivatives.linear_call(lambda r, x: x * r, lambda r, ct: ct * r, 3.0, x)


def solved(jax: Any, a: Any, b: Any) -> Any:
    """Return the solution of (1.5 + a * a) x = b, whose solver is not differentiated."""
    return jax.lax.custom_linear_solve(
        lambda x: (1.5 + a * a) * x,
        b,
        lambda mv, b: b / mv(jax.numpy.ones_like(b)),
        symmetric=True,
    )


def root(jax: Any, a: Any) -> Any:
    """Return the cube root of 2 + a * a, found by a loop that has no reverse derivative."""

    def newton(f: Function, x: Any) -> Any:
        def step(s: Any) -> Any:
            n, x = s
            return n + 1, x - f(x) / (3 * x * x)

        return jax.lax.while_loop(lambda s: s[0] < 40, step, (0, x))[1]

    return jax.lax.custom_root(
        lambda x: x * x * x - 2.0 - a * a,
        jax.numpy.full_like(a, 2.0),
        newton,
        lambda g, y: y / g(jax.numpy.ones_like(y)),
    )


def boxed(jax: Any, step: Function, x: Any) -> Any:
    """Return what a step makes of an array, by a reference that holds it."""
    ref = jax.new_ref(x)
    ref[...] = step(ref[...])
    return jax.freeze(ref)


def boxed_in_a_loop(jax: Any, step: Function, x: Any) -> Any:
    """Return what two steps make of an array, by a reference that a loop writes to."""
    ref = jax.new_ref(x)

    def turn(*_: Any) -> None:
        ref[...] = step(ref[...])

    jax.lax.fori_loop(0, 2, turn, None)
    return ref[...]


def boxed_in_a_scan(jax: Any, step: Function, x: Any) -> Any:
    """Return the sum of what three steps make of an array, by a reference that is read between."""
    ref = jax.new_ref(x)

    def turn(total: Any, _: Any) -> Any:
        before = ref[...]
        ref[...] = step(before)
        return total + ref[...] - before, None

    total, _ = jax.lax.scan(turn, jax.numpy.zeros_like(x), None, length=3)
    return total + ref[...]


def boxed_in_a_call(jax: Any, step: Function, x: Any) -> Any:
    """Return what two calls of one jitted function make of an array, by a reference."""
    ref = jax.new_ref(x)

    def call(scale: Any) -> Any:
        ref[...] = step(ref[...])
        return ref[...] * scale

    called = jax.jit(call)
    return called(0.5) + called(2) * ref[...]


def boxed_in_a_branch(jax: Any, step: Function, x: Any) -> Any:
    """Return what a branch makes of an array, by a reference that one of two writes to."""
    ref = jax.new_ref(x)

    def write() -> None:
        ref[...] = step(ref[...])

    jax.lax.cond(total(jax, x) < 1.0, write, lambda: None)
    return ref[...]


def boxed_in_parts(jax: Any, step: Function, x: Any) -> Any:
    """Return an array that a reference changed part by part."""
    ref = jax.new_ref(x)
    ref[..., :1] = step(ref[...])[..., -1:]
    ref[..., -1:] += ref[..., :1]
    jax.ref.addupdate(ref, ..., step(x))
    return ref[...] + jax.ref.swap(ref, ..., x)


BOXED = (
    boxed,
    boxed_in_a_loop,
    boxed_in_a_scan,
    boxed_in_a_call,
    boxed_in_a_branch,
    boxed_in_parts,
)
"""Functions that go by way of a reference; what they do is smooth, and keeps the array's type."""


def unaligned(jax: Any, x: Any) -> Any:
    """Return a NumPy array whose data begins at an odd address, and which is read only."""
    del jax
    data = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:]
    return data.view(x.dtype).reshape(x.shape)


def swapped(jax: Any, x: Any) -> Any:
    """Return an array with its bytes in the other order, which ``jax`` itself refuses."""
    return x if jax.__name__ == "jax" else np.asarray(x, np.asarray(x).dtype.newbyteorder(">"))


def nudged(jax: Any, x: Any) -> Any:
    """Return a value with floating elements moved by as little as a rounding moves them.

    Subnormal numbers become zero, which they are to some of a CPU's kernels.
    """
    dtype = getattr(x, "dtype", type(x))
    if dtype not in (float, complex) and not (
        isinstance(dtype, np.dtype) and jax.numpy.issubdtype(dtype, jax.numpy.inexact)
    ):
        return x
    return jax.numpy.multiply(x, 1 + 4 * float(jax.numpy.finfo(dtype).eps))


OWN = (
    *BOXED,
    unaligned,
    nudged,
    own_jvp,
    own_transpose,
    own_vjp,
    own_vmap,
    root,
    solved,
    swapped,
    total,
)
PARTS = ("custom_batching", "custom_derivatives", "scipy.linalg", "scipy.special", "scipy.stats")


def names(library: str) -> dict[str, Any]:
    """Return what a program may call: the library as ``jax``, its parts, and functions above."""
    jax = importlib.import_module(library)
    for part in PARTS:
        importlib.import_module(f"{library}.{part}")
    own = {function.__name__: partial(function, jax) for function in OWN}
    return {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np, **own}
