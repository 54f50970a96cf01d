"""Checks that hold for every function of arrays: jit, derivatives and vmap by plain evaluation.

Derivatives are compared in float64 with central differences; the pullback with the pushforward
by the dot-product identity; ``vmap`` with a loop, for every choice of batched operands.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

import jxkernel as jx
from jxkernel.config import enable_x64

Function = Callable[..., Any]


def flat(outs: Any) -> list[Any]:
    """Return the results of a function as a list of NumPy arrays."""
    return [np.asarray(y) for y in (outs if isinstance(outs, (tuple, list)) else [outs])]


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Assert that results agree in number, shape, dtype and, within a tolerance, value."""
    got, wanted = flat(actual), flat(expected)
    assert [(y.shape, y.dtype) for y in got] == [(y.shape, y.dtype) for y in wanted]
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(_wide(a), _wide(b), rtol=tolerance, atol=tolerance)


def _wide(x: Any) -> Any:
    if x.dtype.kind in "iub":
        return x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def is_smooth(x: Any) -> bool:
    """Whether an operand has tangents."""
    return np.asarray(x).dtype.kind in "fc"


def random_like(x: Any, random: np.random.Generator) -> Any:
    """Return normally distributed numbers of the shape and dtype of an array."""
    x = np.asarray(x)
    y = random.standard_normal(x.shape)
    if x.dtype.kind == "c":
        y = y + 1j * random.standard_normal(x.shape)
    return y.astype(x.dtype)


def quickly(function: Function) -> Function:
    """Return a compiled function; the compiler spends no time on making it fast.

    One program costs less than its operations one by one, and half of that without optimization.
    """
    return jx.jit(function, compiler_options={"xla_backend_optimization_level": 0})


def check_jit(function: Function, args: Sequence[Any]) -> None:
    """Assert that the compiled function gives what eager evaluation gives."""
    assert_close(jx.jit(function)(*args), function(*args), 1e-6)


def check_derivatives(
    function: Function, args: Sequence[Any], *, step: float = 1e-5, tolerance: float = 1e-6
) -> None:
    """Assert the pushforward against differences, the pullback against the pushforward.

    Second derivatives are checked too: the pushforward of the pullback against differences.
    """
    smooth = [index for index, arg in enumerate(args) if is_smooth(arg)]

    def of_smooth(*xs: Any) -> Any:
        full = list(args)
        for index, x in zip(smooth, xs, strict=True):
            full[index] = x
        outs = function(*full)
        outs = outs if isinstance(outs, (tuple, list)) else [outs]
        return [y for y in outs if is_smooth_dtype(y)]

    def pulled(cts: Any, *xs: Any) -> Any:
        return list(jx.vjp(of_smooth, *xs)[1](cts))

    primals = [np.asarray(args[index]) for index in smooth]
    compiled = quickly(of_smooth)
    cts = [random_like(y, np.random.default_rng(2)) for y in flat(compiled(*primals))]
    pullback = quickly(pulled)
    _check_first(of_smooth, compiled, lambda c: pullback(c, *primals), primals, step, tolerance)

    def twice(*xs: Any) -> Any:
        return pulled(cts, *xs)

    back_again = quickly(lambda c: list(jx.vjp(twice, *primals)[1](c)))
    _check_first(twice, lambda *xs: pullback(cts, *xs), back_again, primals, step, tolerance)


def is_smooth_dtype(y: Any) -> bool:
    """Whether a result has tangents."""
    return np.dtype(y.dtype).kind in "fc"


def _check_first(
    function: Function,
    compiled: Function,
    pullback: Function,
    primals: Sequence[Any],
    step: float,
    tolerance: float,
) -> None:
    random = np.random.default_rng(1)
    tangents = [random_like(x, random) for x in primals]
    push = quickly(lambda xs, ts: jx.jvp(function, xs, ts))
    outs, pushed = push(tuple(primals), tuple(tangents))
    assert_close(outs, compiled(*primals), 1e-9)
    above = flat(compiled(*[x + step * t for x, t in zip(primals, tangents, strict=True)]))
    below = flat(compiled(*[x - step * t for x, t in zip(primals, tangents, strict=True)]))
    numeric = [(a - b) / (2 * step) for a, b in zip(above, below, strict=True)]
    assert_close(pushed, numeric, tolerance)
    cts = [random_like(y, random) for y in flat(outs)]
    pulled = pullback(cts)
    left = sum(np.sum(c * t).real for c, t in zip(cts, flat(pushed), strict=True))
    right = sum(np.sum(c * t).real for c, t in zip(flat(pulled), tangents, strict=True))
    np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance)


def check_vmap(function: Function, args: Sequence[Any], *, tolerance: float = 1e-6) -> None:
    """Assert that ``vmap`` over each choice of operands, along any axis, equals a loop."""
    random = np.random.default_rng(3)
    size = 3
    compiled = quickly(function)
    for batched in product((False, True), repeat=len(args)):
        if not any(batched):
            continue
        many: list[Any] = []
        axes: list[int | None] = []
        for arg, has in zip(args, batched, strict=True):
            x = np.asarray(arg)
            axis = int(random.integers(x.ndim + 1)) if has else None
            many.append(x if axis is None else np.stack(_variants(x, size, random), axis))
            axes.append(axis)
        got = quickly(jx.vmap(function, in_axes=tuple(axes)))(*many)
        rows = [
            flat(
                compiled(
                    *[
                        x if axis is None else np.take(x, row, axis)
                        for x, axis in zip(many, axes, strict=True)
                    ]
                )
            )
            for row in range(size)
        ]
        assert_close(got, [np.stack(parts) for parts in zip(*rows, strict=True)], tolerance)


def _variants(x: Any, size: int, random: np.random.Generator) -> list[Any]:
    """Return arrays like ``x``: its elements in other orders."""
    return [x, *(random.permutation(x.ravel()).reshape(x.shape) for _ in range(size - 1))]


def check_all(
    function: Function,
    args: Sequence[Any],
    *,
    reference: Function | None = None,
    vmap: bool = True,
    derivatives: bool = True,
    tolerance: float = 1e-6,
) -> None:
    """Run every check, in 64 bits; ``reference`` is the same function in NumPy."""
    with enable_x64(True):
        if reference is not None:
            assert_close(function(*args), reference(*args), 1e-9)
        check_jit(function, args)
        if derivatives and any(is_smooth(arg) for arg in args):
            check_derivatives(function, args, tolerance=tolerance)
        if vmap:
            check_vmap(function, args, tolerance=tolerance)
