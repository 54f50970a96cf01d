"""``custom_vjp``: the way back that the user gives, under every transform and in every place.

Rules here tell another derivative than the true one, so that one sees which was taken.
"""

from functools import partial

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import dtypes, lax
from jxkernel.errors import UnexpectedTracerError
from tests.higher_order.checks import close

X = np.array([0.5, 1.5, 2.0])


@jx.custom_vjp
def f(x, y):
    return x * y


f.defvjp(
    lambda x, y: (f(x, y), (x, y)),
    lambda r, ct: (10.0 * r[1] * ct, jnp.sum(100.0 * r[0] * ct)),
)

WAYS = {
    "grad": lambda x: jnp.stack([jx.grad(f)(v, 2.0) for v in x]),
    "jit of grad": lambda x: jnp.stack([jx.jit(jx.grad(f))(v, 2.0) for v in x]),
    "grad of jit": lambda x: jnp.stack([jx.grad(jx.jit(f))(v, 2.0) for v in x]),
    "vjp": lambda x: jx.vjp(lambda x: f(x, 2.0), x)[1](jnp.ones(3))[0],
    "vmap of vjp": lambda x: jx.vmap(lambda v: jx.vjp(f, v, 2.0)[1](1.0)[0])(x),
    "vmap of pullback": lambda x: jnp.diag(
        jx.vmap(jx.vjp(lambda x: f(x, 2.0), x)[1])(jnp.eye(3))[0]
    ),
    "vmap of grad": lambda x: jx.vmap(jx.grad(f), (0, None))(x, 2.0),
    "jit of vmap of grad of jit": lambda x: jx.jit(jx.vmap(jx.grad(jx.jit(f)), (0, None)))(x, 2.0),
    "grad of vmap": lambda x: jx.grad(lambda x: jx.vmap(f, (0, None))(x, 2.0).sum())(x),
    "grad of jit of vmap": lambda x: jx.grad(lambda x: jx.jit(jx.vmap(f, (0, None)))(x, 2.0).sum())(
        x
    ),
    "grad of map": lambda x: jx.grad(lambda x: lax.map(lambda v: f(v, 2.0), x).sum())(x),
    "grad of vmap of cond": lambda x: jx.grad(
        lambda x: jx.vmap(lambda v: lax.cond(v > 0, lambda v: f(v, 2.0), jnp.sin, v))(x).sum()
    )(x),
    "checkpoint": lambda x: jx.vmap(jx.grad(jx.checkpoint(lambda v: f(v, 2.0))))(x),
    "jacrev": lambda x: jnp.diag(jx.jacrev(lambda x: f(x, 2.0))(x)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_takes_the_rule(way):
    close(WAYS[way](X), np.full(3, 20.0))


def test_values_are_those_of_the_function():
    close([f(3.0, 2.0), jx.jit(f)(3.0, 2.0)], [6.0, 6.0])
    close(jx.vmap(f)(X, X), X * X)


def test_cotangents_of_shared_arguments_are_summed_over_examples():
    def loss(y):
        return jx.vmap(f, (0, None))(X, y).sum()

    close(jx.grad(loss)(2.0), 100.0 * X.sum())
    constant = jx.custom_vjp(lambda x, y: x + y)
    constant.defvjp(lambda x, y: (x + y, None), lambda _, ct: (ct, 4.0))
    close(jx.grad(lambda y: jx.vmap(constant, (0, None))(X, y).sum())(2.0), 12.0)


def test_rules_are_differentiated_in_turn():
    close(jx.grad(jx.grad(f), 1)(3.0, 2.0), 10.0)
    close(jx.jit(jx.grad(jx.grad(jx.jit(f)), 1))(3.0, 2.0), 10.0)
    # Forward over reverse differentiates both halves, and needs no forward rule of f itself.
    smooth = jx.custom_vjp(jnp.sin)
    smooth.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda c, ct: (c * ct,))
    close(jx.jvp(jx.grad(smooth), (0.5,), (1.0,))[1], -np.sin(0.5))


def test_scan_and_grad_and_vmap_over_it():
    def g(c):
        return lax.scan(lambda c, x: (f(c, x), None), c, X)[0]

    expected = np.prod(10.0 * X)
    close(jx.grad(g)(2.0), expected)
    close(jx.jit(jx.vmap(jx.grad(g)))(X), np.full(3, expected))
    close(jx.grad(lambda c: jx.vmap(g)(c).sum())(X), np.full(3, expected))


def test_none_stands_for_a_zero_cotangent():
    @jx.custom_vjp
    def g(p, x):
        return p["a"] * p["b"][0] * x

    g.defvjp(lambda p, x: (g(p, x), x), lambda x, ct: ({"a": ct * x, "b": None}, None))
    gradient = jx.grad(g, (0, 1))({"a": 2.0, "b": (3.0, 4.0)}, 5.0)
    close(gradient, ({"a": 5.0, "b": (0.0, 0.0)}, 0.0))


def test_integer_arguments_and_results():
    @jx.custom_vjp
    def g(n, x):
        return n + 1, n * x

    def backward(x, cts):
        assert cts[0].dtype == dtypes.float0
        return None, 5.0 * cts[1]

    g.defvjp(lambda n, x: (g(n, x), x), backward)
    close(jx.grad(lambda x: g(3, x)[1])(2.0), 5.0)
    close(jx.grad(lambda x: jx.vmap(g)(np.arange(3), x)[1].sum())(X), np.full(3, 5.0))
    close(jx.jit(jx.grad(lambda x: g(3, x)[1]))(2.0), 5.0)


def test_keyword_arguments_and_defaults_reach_the_rule_by_position():
    @jx.custom_vjp
    def g(x, y=3.0):
        return x * y

    g.defvjp(lambda x, y: (g(x, y), y), lambda y, ct: (5.0 * y * ct, None))
    close(jx.grad(g)(1.0), 15.0)
    close(jx.grad(lambda x: g(y=2.0, x=x))(1.0), 10.0)


# ---------------------------------------------------------------- pitfalls: closures, nondiff


@partial(jx.custom_vjp, nondiff_argnums=(0, 2))
def apply(function, x, scale):
    return scale * function(x)


apply.defvjp(
    lambda function, x, scale: (apply(function, x, scale), x),
    lambda function, scale, x, ct: (7.0 * scale * ct,),
)


def test_nondiff_arguments_may_be_functions_and_arrays():
    close(jx.grad(apply, 1)(jnp.sin, 0.5, 2.0), 14.0)
    close(jx.jit(lambda x: jx.grad(apply, 1)(jnp.sin, x, 2.0))(0.5), 14.0)
    close(jx.grad(jx.jit(lambda x: apply(jnp.sin, x, np.float64(2.0))))(0.5), 14.0)
    close(jx.vmap(lambda x: jx.grad(apply, 1)(jnp.sin, x, jnp.float64(2.0)))(X), np.full(3, 14.0))


@pytest.mark.parametrize("transform", [jx.grad, jx.jit, jx.vmap], ids=["grad", "jit", "vmap"])
def test_a_nondiff_argument_that_is_traced_is_an_error(transform):
    message = "apply got a traced value as scale, which is among its nondiff_argnums"
    with pytest.raises(UnexpectedTracerError, match=message):
        transform(lambda s: apply(jnp.sin, 0.5, s))(
            np.float64(2.0) if transform is not jx.vmap else X
        )
    with pytest.raises(UnexpectedTracerError, match=message):
        transform(lambda s: apply(jnp.sin, 0.5, {"s": s}))(X[0] if transform is not jx.vmap else X)


BACK = {
    "another dtype": (1.0, lambda _, ct: (ct.astype(np.float16),), 1.0),
    "an integer": (1.0, lambda _, ct: (jnp.int32(3),), 3.0),
    "a Python number": (1.0, lambda _, ct: (3,), 3.0),
    "a real one of a complex number": (1j, lambda _, ct: (ct.real,), 1.0),
    "one for a tree of one": ({"a": [1.0]}, lambda _, ct: (ct,), {"a": [1.0]}),
    "one for a tree of two": ((1.0, [2.0]), lambda _, ct: (ct,), (1.0, [1.0])),
    "one inside a tree": ((1.0, [2.0, 3.0]), lambda _, ct: ((None, ct),), (0.0, [1.0, 1.0])),
}


@pytest.mark.parametrize("case", BACK)
def test_cotangents_take_the_dtypes_and_places_of_the_arguments(case):
    x, back, expected = BACK[case]
    f = jx.custom_vjp(lambda x: jnp.real(jx.tree.leaves(x)[0]) * 1.0)
    f.defvjp(lambda x: (f(x), None), back)
    for g in (jx.grad(f), jx.jit(jx.grad(f))):
        found = g(x)
        close(found, expected)
        for leaf, like in zip(jx.tree.leaves(found), jx.tree.leaves(x), strict=True):
            assert leaf.dtype == np.asarray(like).dtype


def closing_over(k):
    @jx.custom_vjp
    def g(x):
        return k * x

    g.defvjp(lambda x: (g(x), k * x), lambda kx, ct: (k * k * kx * ct,))
    return g


CLOSURES = {
    "jit": lambda k, x: jx.jit(lambda k, x: closing_over(k)(x))(k, x),
    "scan": lambda k, x: lax.scan(lambda k, _: (k, closing_over(k)(x)), k, None, length=1)[1][0],
    "vmap": lambda k, x: jx.vmap(lambda k: closing_over(k)(x))(k * np.ones(2)).mean(),
    "cond": lambda k, x: lax.cond(True, lambda k: closing_over(k)(x), lambda k: k * x, k),
}


@pytest.mark.parametrize("where", CLOSURES)
def test_functions_and_rules_may_close_over_tracers(where):
    g = CLOSURES[where]
    close(g(2.0, 0.5), 1.0)
    close(jx.grad(g, 1)(2.0, 0.5), 4.0)
    close(jx.jit(jx.grad(g, 1))(2.0, 0.5), 4.0)
    close(jx.vmap(jx.grad(g, 1), (None, 0))(2.0, X), 8.0 * X)


def test_to_differentiate_by_a_closed_over_value_is_an_error():
    with pytest.raises(
        TypeError, match="g is differentiated with respect to a value that it closes"
    ):
        jx.grad(lambda k: closing_over(k)(0.5))(2.0)


# ---------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    "forward",
    [
        lambda: jx.jvp(f, (1.0, 2.0), (1.0, 1.0)),
        lambda: jx.jit(lambda x: jx.jvp(f, (x, 2.0), (1.0, 0.0)))(1.0),
        lambda: jx.jacfwd(f)(1.0, 2.0),
        lambda: jx.linearize(f, 1.0, 2.0)[1](1.0, 1.0),
    ],
)
def test_forward_mode_is_a_type_error_that_says_so(forward):
    with pytest.raises(TypeError, match=r"forward-mode differentiation \(jvp\) to a custom_vjp"):
        forward()


@pytest.mark.parametrize(
    ("bwd", "message"),
    [
        (lambda x, ct: ct, "one cotangent for each of the 2 differentiated arguments, got a"),
        (lambda x, ct: (ct,), "got a tuple of length 1"),
        (lambda x, ct: (ct, [ct]), r"shaped like the arguments.*at the key path \[1\]"),
        (
            lambda x, ct: (jnp.ones(2), None),
            r"cotangent of type f64\[\] for args\[0\], got f64\[2\]",
        ),
        (lambda x, ct: (jnp.complex64(1), None), r"type f64\[\] for args\[0\], got c64\[\]"),
        (lambda x, ct: ("text", None), "must return arrays or numbers, got 'text'"),
        (lambda x, ct: (ct, {"a": ct, "b": ct, "c": ct}), r"Unexpected: \['c'\]"),
    ],
)
def test_a_way_back_that_gives_something_else_is_told_so(bwd, message):
    g = jx.custom_vjp(lambda x, p: x * p["a"])
    g.defvjp(lambda x, p: (x * p["a"], x), bwd)
    for gradient in (jx.grad(g), jx.jit(jx.grad(g)), jx.grad(jx.jit(g))):
        with pytest.raises((TypeError, ValueError), match=message):
            gradient(1.0, {"a": 2.0, "b": 3.0})


@pytest.mark.parametrize(
    ("fwd", "message"),
    [
        (lambda x: x, r"must return a pair \(result, residuals\), got"),
        (lambda x: ((x, x), x), "must return a result of the structure that"),
        (lambda x: (jnp.ones(2), x), "fwd rule of the custom_vjp function"),
        (lambda x: (x, "text"), "returned a value of type str"),
    ],
)
def test_a_way_there_that_gives_something_else_is_told_so(fwd, message):
    g = jx.custom_vjp(lambda x: x * x)
    g.defvjp(fwd, lambda x, ct: (ct,))
    with pytest.raises(TypeError, match=message):
        jx.grad(jx.jit(g))(1.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.custom_vjp(3), TypeError, "custom_vjp needs a callable as fun, got 3"),
        (lambda: jx.custom_vjp(lambda x: x)(1.0), AttributeError, r"no rule yet.*defvjp\(\.\.\.\)"),
        (lambda: jx.custom_vjp(jnp.sin).defvjp(jnp.sin, 3), TypeError, "callable as bwd, got 3"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_there_may_be_any_number_of_residuals(count):
    @jx.custom_vjp
    def f(x, y):
        return x * y

    def back(residuals, ct):
        assert len(residuals) == count
        return ct * sum(residuals, 1.0), ct

    f.defvjp(lambda x, y: (f(x, y), [x] * count), back)
    assert jx.grad(f)(2.0, 3.0) == 1 + 2.0 * count
    assert jx.jit(jx.grad(f))(2.0, 3.0) == 1 + 2.0 * count


@pytest.mark.parametrize("held", [None, [1.0, 2.0], {"scale": 3.0}, (jnp.ones(2),), "text", 7])
def test_functions_may_close_over_anything(held):
    @jx.custom_vjp
    def f(x):
        return x if held is None else x * 1.0

    f.defvjp(lambda x: (f(x), held is None), lambda known, ct: (2 * ct,))
    assert jx.grad(f)(2.0) == 2.0
    assert jx.jit(jx.grad(f))(2.0) == 2.0
