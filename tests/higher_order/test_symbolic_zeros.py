"""Rules that ask for symbolic zeros are told what moves, under every transform."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from tests.higher_order.checks import close

X = np.array([0.5, 1.5, 2.0])


def with_jvp(seen):
    f = jx.custom_jvp(lambda x, y: (x * y, x + y))

    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        seen.append((type(dx) is SymbolicZero, type(dy) is SymbolicZero))
        first = zero_from_primal(x * y, symbolic_zeros=True)
        if type(dx) is not SymbolicZero:
            first = 10.0 * y * dx
        return f(x, y), (first, zero_from_primal(x, symbolic_zeros=True))

    f.defjvp(rule, symbolic_zeros=True)
    return f


WAYS = {
    "jvp": lambda f: jx.jvp(lambda x: f(x, 2.0), (0.5,), (1.0,))[1][0],
    "grad": lambda f: jx.grad(lambda x: f(x, 2.0)[0])(0.5),
    "jit of grad": lambda f: jx.jit(jx.grad(lambda x: f(x, 2.0)[0]))(0.5),
    "grad of jit": lambda f: jx.grad(jx.jit(lambda x: f(x, 2.0)[0]))(0.5),
    "vmap of grad": lambda f: jx.vmap(jx.grad(lambda x: f(x, 2.0)[0]))(X)[0],
    "grad of vmap": lambda f: jx.grad(lambda x: jx.vmap(lambda v: f(v, 2.0)[0])(x).sum())(X)[0],
    "grad of scan": lambda f: jx.grad(
        lambda x: jx.lax.scan(lambda c, v: (c + f(v, 2.0)[0], None), 0.0, x)[0]
    )(X)[0],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_jvp_rule_sees_which_tangents_are_zero(way):
    seen = []
    close(WAYS[way](with_jvp(seen)), 20.0)
    assert set(seen) == {(False, True)}


def test_a_jvp_rule_may_return_a_symbolic_zero():
    f = with_jvp([])
    out, moved = jx.jvp(lambda y: f(0.5, y), (2.0,), (1.0,))
    close([out, moved], [(1.0, 2.5), (0.0, 0.0)])
    close(jx.grad(lambda y: f(0.5, y)[0])(2.0), 0.0)


def test_a_jvp_rule_that_does_not_ask_gets_arrays():
    f = jx.custom_jvp(lambda x, y: x * y)
    f.defjvp(lambda p, t: (p[0] * p[1], p[1] * t[0] + t[1]))
    close(jx.grad(f)(0.5, 2.0), 2.0)
    close(jx.vmap(jx.grad(f), (0, None))(X, 2.0), np.full(3, 2.0))


def with_vjp(moves, zeros):
    f = jx.custom_vjp(lambda x, y: (x * y["k"], x + y["k"]))

    def fwd(x, y):
        moves.append((x.perturbed, y["k"].perturbed))
        x, y = custom_vjp_primal_tree_values((x, y))
        return f(x, y), (x, y)

    def bwd(residuals, cts):
        _x, y = residuals
        zeros.append(tuple(type(ct) is SymbolicZero for ct in cts))
        ct = 0.0 if type(cts[0]) is SymbolicZero else cts[0]
        return 10.0 * ct * y["k"], {"k": zero_from_primal(y["k"], symbolic_zeros=True)}

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return f


VJP_WAYS = {
    "grad": lambda f: jx.grad(lambda x: f(x, {"k": 2.0})[0])(0.5),
    "jit of grad": lambda f: jx.jit(jx.grad(lambda x: f(x, {"k": 2.0})[0]))(0.5),
    "grad of jit": lambda f: jx.grad(jx.jit(lambda x: f(x, {"k": 2.0})[0]))(0.5),
    "vmap of grad": lambda f: jx.vmap(jx.grad(lambda x: f(x, {"k": 2.0})[0]))(X)[0],
    "grad of vmap": lambda f: jx.grad(lambda x: jx.vmap(lambda v: f(v, {"k": 2.0})[0])(x).sum())(X)[
        0
    ],
}


@pytest.mark.parametrize("way", VJP_WAYS)
def test_a_vjp_rule_sees_what_is_perturbed_and_which_cotangents_are_zero(way):
    moves, zeros = [], []
    close(VJP_WAYS[way](with_vjp(moves, zeros)), 20.0)
    assert set(moves) == {(True, False)}
    assert set(zeros) == {(False, True)}


def test_a_vjp_rule_may_return_a_symbolic_zero():
    gradient = jx.grad(lambda x, y: sum(with_vjp([], [])(x, y)), (0, 1))(0.5, {"k": 2.0})
    close(gradient, (20.0, {"k": 0.0}))


def test_values_of_a_tree_of_primals_are_asked_for_by_kind():
    with pytest.raises(TypeError, match=r"takes a tree of CustomVJPPrimal, got 3.*symbolic_zeros"):
        custom_vjp_primal_tree_values((CustomVJPPrimal(1, True), 3))


def test_zeros_have_the_tangent_dtype():
    assert zero_from_primal(3).dtype == jx.float0
    zero = SymbolicZero.from_primal_value(np.ones((2, 3), np.complex64))
    assert (zero.shape, zero.dtype, zero.ndim) == ((2, 3), np.complex64, 2)


def test_zeros_of_a_tree_are_a_tree_of_zeros():
    x = {"a": np.ones(2, np.float32), "b": [1]}
    zeros = zero_from_primal(x)
    close(zeros["a"], np.zeros(2))
    assert zeros["b"][0].dtype == jx.float0
    symbolic = zero_from_primal(x, symbolic_zeros=True)
    assert [type(leaf) for leaf in jx.tree.leaves(symbolic)] == [SymbolicZero, SymbolicZero]
