"""What the tests of higher-order primitives compare with, in double precision."""

from collections.abc import Callable
from typing import Any

import numpy as np

import jxkernel as jx
from jxkernel.core.checking import check_jaxpr
from jxkernel.core.jaxpr import subjaxprs
from jxkernel.transforms.dce import dce_jaxpr


def close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Compare trees of arrays."""
    one, other = jx.tree.leaves(actual), jx.tree.leaves(expected)
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def names(function: Callable[..., Any], *args: Any) -> list[str]:
    """Return the primitives of a function's jaxpr, nested programs not included."""
    return [eqn.primitive.name for eqn in jx.make_jaxpr(function)(*args).eqns]


def only(function: Callable[..., Any], primitive: str, *args: Any) -> Any:
    """Return the one equation of a primitive in a function's jaxpr."""
    eqns = [eqn for eqn in jx.make_jaxpr(function)(*args).eqns if eqn.primitive.name == primitive]
    assert len(eqns) == 1, [str(eqn) for eqn in eqns]
    return eqns[0]


def count(function: Callable[..., Any], primitive: str, *args: Any) -> int:
    """Return how often a function's jaxpr applies a primitive, nested programs included."""

    def within(jaxpr: Any) -> int:
        return sum(
            (eqn.primitive.name == primitive) + sum(map(within, subjaxprs(eqn.params)))
            for eqn in jaxpr.eqns
        )

    return within(jx.make_jaxpr(function)(*args))


def pruned(function: Callable[..., Any], used: list[bool], *args: Any) -> Any:
    """Return the last equation of a function's jaxpr when only some results are used."""
    jaxpr, _ = dce_jaxpr(jx.make_jaxpr(function)(*args).jaxpr, used)
    check_jaxpr(jaxpr)
    return jaxpr.eqns[-1]


Ways = dict[str, list[Callable[[], Any]]]


def derivatives(f: Callable[..., Any], *args: Any) -> Ways:
    """Return ways to compute a scalar function and its first and second derivatives."""
    every = tuple(range(len(args)))
    ones = tuple(np.ones_like(x) for x in args)

    def along(*x: Any) -> Any:
        return jx.jvp(f, x, ones)[1]

    return {
        "value": [lambda: f(*args), lambda: jx.jit(f)(*args)],
        "first": [
            lambda: jx.jit(jx.grad(f, every))(*args),
            lambda: jx.grad(f, every)(*args),
            lambda: jx.grad(jx.jit(f), every)(*args),
        ],
        "along": [
            lambda: jx.jit(along)(*args),
            lambda: along(*args),
            lambda: jx.linearize(f, *args)[1](*ones),
        ],
        "second": [
            lambda: jx.jit(jx.grad(along, every))(*args),
            lambda: jx.jvp(jx.grad(f, every), args, ones)[1],
        ],
    }


def agree(f: Callable[..., Any], reference: Callable[..., Any], *args: Any) -> None:
    """Check values and derivatives of a scalar function against one written without the loop."""
    expected = derivatives(reference, *args)
    for what, ways in derivatives(f, *args).items():
        wanted = expected[what][0]()
        for way in ways:
            close(way(), wanted)
