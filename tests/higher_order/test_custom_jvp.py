"""``custom_jvp``: the rule in place of the derivative, under every transform and in every place.

Rules here tell another derivative than the true one, so that one sees which was taken.
"""

from functools import partial

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from tests.higher_order.checks import close, only

X = np.array([0.5, 1.5, 2.0])


@jx.custom_jvp
def f(x, y):
    return x * y


@f.defjvp
def f_jvp(primals, tangents):
    (x, y), (s, t) = primals, tangents
    return f(x, y), 10.0 * y * s + 100.0 * x * t


WAYS = {
    "grad": lambda x: jnp.stack([jx.grad(f)(v, 2.0) for v in x]),
    "jit of grad": lambda x: jnp.stack([jx.jit(jx.grad(f))(v, 2.0) for v in x]),
    "grad of jit": lambda x: jnp.stack([jx.grad(jx.jit(f))(v, 2.0) for v in x]),
    "jvp": lambda x: jx.jvp(lambda x: f(x, 2.0), (x,), (jnp.ones(3),))[1],
    "linearize": lambda x: jx.linearize(lambda x: f(x, 2.0), x)[1](jnp.ones(3)),
    "vjp": lambda x: jx.vjp(lambda x: f(x, 2.0), x)[1](jnp.ones(3))[0],
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
    "jacfwd": lambda x: jnp.diag(jx.jacfwd(lambda x: f(x, 2.0))(x)),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_takes_the_rule(way):
    close(WAYS[way](X), np.full(3, 20.0))


def test_values_are_those_of_the_function():
    close([f(3.0, 2.0), jx.jit(f)(3.0, 2.0)], [6.0, 6.0])
    close(jx.vmap(f)(X, X), X * X)
    assert only(jx.jit(f), "jit", 1.0, 2.0).params["jaxpr"].eqns[0].primitive.name == (
        "custom_jvp_call"
    )


def test_rules_are_differentiated_in_turn():
    # d/dx of the rule 10 y s is 0; by y it is 10 s, through the rule of f: 10 · 10 + ... is not
    # asked, for the rule multiplies plainly.
    close(jx.grad(jx.grad(f), 1)(3.0, 2.0), 10.0)
    close(jx.jvp(jx.grad(f), (3.0, 2.0), (0.0, 1.0))[1], 10.0)
    close(jx.jit(jx.grad(jx.grad(jx.jit(f)), 1))(3.0, 2.0), 10.0)


def test_scan_and_grad_and_vmap_over_it():
    def g(c):
        return lax.scan(lambda c, x: (f(c, x), None), c, X)[0]

    expected = np.prod(10.0 * X)
    close(jx.grad(g)(2.0), expected)
    close(jx.vmap(jx.grad(g))(X), np.full(3, expected))
    close(jx.grad(lambda c: jx.vmap(g)(c).sum())(X), np.full(3, expected))
    close(jx.jit(jx.jacfwd(g))(2.0), expected)


def test_pytrees_in_and_out():
    @jx.custom_jvp
    def g(p, x):
        return {"y": p["w"] * x + p["b"][0]}

    @g.defjvp
    def g_jvp(primals, tangents):
        (p, x), (t, _) = primals, tangents
        return g(p, x), {"y": 7.0 * t["w"] + t["b"][0]}

    gradient = jx.grad(lambda p: g(p, 3.0)["y"])({"w": 2.0, "b": (1.0, None)})
    close(gradient, {"w": 7.0, "b": (1.0, None)})


def test_keyword_arguments_and_defaults_reach_the_rule_by_position():
    @jx.custom_jvp
    def g(x, y=3.0, *more):
        return x * y

    @g.defjvp
    def g_jvp(primals, tangents):
        assert len(primals) == 2
        return g(*primals), 5.0 * primals[1] * tangents[0]

    close(jx.grad(g)(1.0), 15.0)
    close(jx.grad(lambda x: g(y=2.0, x=x))(1.0), 10.0)


def test_integer_arguments_and_results():
    @jx.custom_jvp
    def g(n, x):
        return n + 1, n * x

    @g.defjvp
    def g_jvp(primals, tangents):
        (n, x), (no_tangent, t) = primals, tangents
        assert no_tangent.dtype == jx.dtypes.float0
        return g(n, x), (no_tangent, 5.0 * t)

    close(jx.grad(lambda x: g(3, x)[1])(2.0), 5.0)
    close(jx.jit(jx.vmap(jx.grad(lambda n, x: g(n, x)[1], 1)))(np.arange(3), X), np.full(3, 5.0))
    close(jx.grad(lambda x: jx.vmap(g)(np.arange(3), x)[1].sum())(X), np.full(3, 5.0))


def test_defjvps_gives_a_rule_per_argument():
    @jx.custom_jvp
    def g(x, y, z):
        return x * y * z

    g.defjvps(lambda t, out, x, y, z: 3.0 * t, None, lambda t, out, x, y, z: out * t)
    close(jx.grad(g, (0, 1, 2))(2.0, 3.0, 4.0), (3.0, 0.0, 24.0))


def test_values_are_known_to_function_and_rule_while_nothing_is_staged():
    @jx.custom_jvp
    def g(x):
        return x if x > 0 else -x

    @g.defjvp
    def g_jvp(primals, tangents):
        return g(*primals), tangents[0] if primals[0] > 0 else 9.0 * tangents[0]

    close(jx.grad(g)(-2.0), 9.0)
    with pytest.raises(TypeError, match="needs a concrete value"):
        jx.jit(g)(-2.0)


# ---------------------------------------------------------------- pitfalls: closures, nondiff


@partial(jx.custom_jvp, nondiff_argnums=(0, 2))
def apply(function, x, scale):
    return scale * function(x)


@apply.defjvp
def apply_jvp(function, scale, primals, tangents):
    return apply(function, *primals, scale), 7.0 * scale * tangents[0]


def test_nondiff_arguments_may_be_functions_or_tracers():
    close(jx.grad(apply, 1)(jnp.sin, 0.5, 2.0), 14.0)
    close(jx.jit(lambda x, s: jx.grad(apply, 1)(jnp.sin, x, s))(0.5, 2.0), 14.0)
    close(jx.grad(jx.jit(lambda x, s: apply(jnp.sin, x, s)))(0.5, 2.0), 14.0)
    close(jx.vmap(lambda x, s: jx.grad(apply, 1)(jnp.sin, x, s))(X, X), 7.0 * X)
    batched = jx.vmap(lambda x, s: apply(jnp.sin, x, s), (0, None))
    close(jx.grad(lambda x, s: batched(x, s).sum())(X, 3.0), np.full(3, 21.0))


def test_to_differentiate_by_a_nondiff_argument_is_an_error():
    with pytest.raises(
        TypeError, match=r"apply is differentiated with respect to.*nondiff_argnums"
    ):
        jx.grad(lambda s: apply(jnp.sin, 0.5, s))(2.0)


def closing_over(k):
    @jx.custom_jvp
    def g(x):
        return k * x

    @g.defjvp
    def g_jvp(primals, tangents):
        return g(*primals), 3.0 * k * tangents[0]

    return g


CLOSURES = {
    "jit": lambda k, x: jx.jit(lambda k, x: closing_over(k)(x))(k, x),
    "scan": lambda k, x: lax.scan(lambda k, _: (k, closing_over(k)(x)), k, None, length=1)[1][0],
    "vmap": lambda k, x: jx.vmap(lambda k: closing_over(k)(x))(k * np.ones(2)).mean(),
    "cond": lambda k, x: lax.cond(True, lambda k: closing_over(k)(x), lambda k: k * x, k),
    "jit of vmap": lambda k, x: jx.jit(jx.vmap(lambda k, x: closing_over(k)(x), (0, None)))(
        k * np.ones(2), x
    ).mean(),
}


@pytest.mark.parametrize("where", CLOSURES)
def test_functions_and_rules_may_close_over_tracers(where):
    g = CLOSURES[where]
    close(g(2.0, 0.5), 1.0)
    close(jx.grad(g, 1)(2.0, 0.5), 6.0)
    close(jx.jit(jx.grad(g, 1))(2.0, 0.5), 6.0)
    close(jx.vmap(jx.grad(g, 1), (None, 0))(2.0, X), np.full(3, 6.0))


def test_to_differentiate_by_a_closed_over_value_is_an_error():
    with pytest.raises(
        TypeError, match="g is differentiated with respect to a value that it closes"
    ):
        jx.grad(lambda k: closing_over(k)(0.5))(2.0)


def test_a_closed_over_constant_is_no_obstacle():
    close(jx.grad(closing_over(np.float64(2.0)))(0.5), 6.0)
    close(jx.jit(jx.grad(closing_over(jnp.float64(2.0))))(0.5), 6.0)


# ---------------------------------------------------------------- wrong use


def with_rule(rule):
    g = jx.custom_jvp(lambda x: {"y": x * x})
    g.defjvp(rule)
    return lambda x: g(x)["y"]


def one(primals, tangents):
    return primals[0] * primals[0]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (one, r"jvp rule one of <lambda> must return a pair \(result, tangent\), got"),
        (lambda p, t: (p[0], t[0]), "must return a result of the structure that"),
        (lambda p, t: ({"y": p[0]}, t[0]), "a result and a tangent of one structure"),
        (lambda p, t: ({"y": p[0]}, {"y": jnp.ones(2)}), r"tangent of type f64\[\], got f64\[2\]"),
        (lambda p, t: ({"y": p[0]}, {"y": jnp.float32(1)}), r"tangent of type f64\[\], got f32"),
        (lambda p, t: ({"y": p[0]}, {"y": "text"}), "must return arrays or numbers, got 'text'"),
        (lambda p, t: ({"y": jnp.ones(2)}, {"y": jnp.ones(2)}), "results that the function gives"),
    ],
)
def test_a_rule_that_gives_something_else_is_told_so(rule, message):
    g = with_rule(rule)
    jx.jit(g)(2.0)
    with pytest.raises(TypeError, match=message):
        jx.grad(jx.jit(g))(2.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.custom_jvp(3), TypeError, "custom_jvp needs a callable as fun, got 3"),
        (lambda: jx.custom_jvp(lambda x: x)(1.0), AttributeError, r"no rule yet.*defjvp\(\.\.\.\)"),
        (lambda: jx.custom_jvp(one, nondiff_argnums=4), ValueError, "nondiff_argnums"),
        (lambda: f(1.0), TypeError, "missing a required argument"),
        (lambda: jx.grad(f)(1.0, "text"), TypeError, "custom_jvp function f was given 'text'"),
        (lambda: apply.defjvps(None), TypeError, "nondiff_argnums: use defjvp"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_keyword_only_parameters_are_refused():
    @jx.custom_jvp
    def g(x, *, n=1):
        return x * n

    g.defjvps(lambda t, out, x: t)
    with pytest.raises(TypeError, match="takes n by keyword only"):
        g(1.0, n=2)


def test_parameters_by_keyword_only_may_keep_their_defaults():
    f = jx.custom_jvp(jnp.add)
    f.defjvp(lambda primals, tangents: (jnp.add(*primals), 5 * tangents[0]))
    assert jx.grad(f)(1.0, 2.0) == 5.0
    g = jx.custom_jvp(lambda x, y=2.0: x * y)
    g.defjvps(lambda t, z, x, y: t * y, None)
    assert jx.grad(lambda x: g(y=3.0, x=x))(1.0) == 3.0
