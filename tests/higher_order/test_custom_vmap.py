"""``custom_vmap``: the batch rule that the user gives, under every transform.

Rules here give ten times what the function gives, so that one sees which was taken.
"""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.custom_batching import custom_vmap, sequential_vmap
from tests.higher_order.checks import close

X = np.array([0.5, 1.5, 2.0])


@custom_vmap
def f(x, y):
    return x * y


@f.def_vmap
def f_rule(axis_size, in_batched, x, y):
    assert axis_size in (2, 3)
    assert isinstance(in_batched, list)
    return 10.0 * x * y, any(in_batched)


def total(g):
    return lambda *args: jnp.sum(g(*args))


WAYS = {
    "vmap": lambda: jx.vmap(f, (0, None))(X, 2.0),
    "jit of vmap": lambda: jx.jit(jx.vmap(f, (0, None)))(X, 2.0),
    "vmap of jit": lambda: jx.vmap(jx.jit(f), (0, None))(X, 2.0),
    "vmap by keyword": lambda: jx.vmap(lambda x: f(y=2.0, x=x))(X),
    "vmap of scan": lambda: jx.vmap(
        lambda x: lax.scan(lambda c, _: (c, f(c, 2.0)), x, None, length=1)[1][0]
    )(X),
    "vmap of cond": lambda: jx.vmap(lambda x: lax.cond(x > 0, lambda x: f(x, 2.0), jnp.sin, x))(X),
    "vmap of grad by the other": lambda: jx.vmap(jx.jit(lambda x: jx.vjp(f, x, 2.0)[0]))(X),
    "vmap of checkpoint": lambda: jx.vmap(jx.checkpoint(lambda x: f(x, 2.0)))(X),
    "last axis": lambda: jx.vmap(f, (1, None), 1)(X[None], 2.0)[0],
}


@pytest.mark.parametrize("way", WAYS)
def test_every_vmap_takes_the_rule(way):
    close(WAYS[way](), 20.0 * X)


def test_values_are_those_of_the_function_where_nothing_is_mapped_over():
    close([f(0.5, 2.0), jx.jit(f)(0.5, 2.0)], [1.0, 1.0])
    close(jx.vmap(lambda x: x + f(0.5, 2.0))(X), X + 1.0)


def test_derivatives_exist_both_ways():
    close(jx.jvp(f, (0.5, 2.0), (1.0, 1.0)), (1.0, 2.5))
    close(jx.grad(f, (0, 1))(0.5, 2.0), (2.0, 0.5))
    close(jx.jit(jx.grad(f))(0.5, 2.0), 2.0)
    close(jx.grad(jx.grad(lambda x: f(x, x)))(0.5), 2.0)
    close(jx.grad(lambda x: total(jx.vmap(f, (0, None)))(x, 2.0))(X), np.full(3, 20.0))
    close(jx.jvp(jx.vmap(f, (0, None)), (X, 2.0), (np.ones(3), 1.0))[1], 20.0 + 10.0 * X)


FORWARD = {
    "jvp": lambda x, t: jx.jvp(f, (x, 2.0), (t, 1.0))[1],
    "jvp of jit": lambda x, t: jx.jvp(jx.jit(f), (x, 2.0), (t, 1.0))[1],
    "jit of jvp": lambda x, t: jx.jit(lambda x, t: jx.jvp(f, (x, 2.0), (t, 1.0))[1])(x, t),
}


@pytest.mark.parametrize("way", FORWARD)
def test_vmap_of_a_forward_derivative_takes_the_derivative_of_the_rule(way):
    close(jx.vmap(FORWARD[way])(X, np.ones(3)), 10.0 * (2.0 + X))
    close(jx.vmap(FORWARD[way], (None, 0))(0.5, X), 10.0 * (2.0 * X + 0.5))


def test_nested_maps():
    both = jx.vmap(jx.vmap(f, (0, None)), (None, 0))(X, X[:2])
    close(both, 10.0 * X[:2, None] * X)


def test_trees_and_results_without_the_axis():
    @custom_vmap
    def g(d, n):
        return {"a": d["x"] * n, "b": n}

    flags = []

    @g.def_vmap
    def rule(axis_size, in_batched, d, n):
        flags.append(in_batched)
        return {"a": d["x"] * n, "b": n}, {"a": True, "b": False}

    out = jx.vmap(g, ({"x": 0}, None))({"x": X}, 2)
    close(out, {"a": 2.0 * X, "b": np.full(3, 2)})
    assert flags == [[{"x": True}, False]]


def test_sequential_vmap_runs_one_example_at_a_time():
    @sequential_vmap
    def g(x, n):
        return lax.cond(x > 1.0, lambda: x * n, lambda: -x)

    close(jx.vmap(g, (0, None))(X, 2.0), np.array([-0.5, 3.0, 4.0]))
    assert "cond" in str(jx.make_jaxpr(jx.vmap(g, (0, None)))(X, 2.0))
    close(jx.grad(lambda x: jx.vmap(g, (0, None))(x, 2.0).sum())(X), np.array([-1.0, 2.0, 2.0]))


def test_sequential_vmap_of_two_maps_runs_one_example_at_a_time_too():
    g = sequential_vmap(lambda x, n: jnp.sin(x) * n)
    x = np.outer(X, [1.0, 2.0])
    twice = jx.vmap(jx.vmap(g, (0, None)), (0, None))
    close(twice(x, 2.0), np.sin(x) * 2.0)
    close(jx.vmap(jx.vmap(jx.grad(g), (0, None)), (0, None))(x, 2.0), np.cos(x) * 2.0)
    jaxpr = str(jx.make_jaxpr(twice)(x, 2.0))
    assert jaxpr.count("scan[") == 2
    assert "[] = sin " in jaxpr
    assert twice(np.zeros((0, 2)), 1.0).shape == (0, 2)


def test_functions_and_rules_get_numbers_as_arrays():
    @custom_vmap
    def g(x, n):
        return x.reshape(()) + n.astype(x.dtype)

    @g.def_vmap
    def rule(axis_size, in_batched, x, n):
        return x + n.reshape(1).astype(x.dtype), True

    assert float(g(1.5, 2)) == 3.5
    close(jx.vmap(g, (0, None))(X, 2), X + 2)
    close(jx.jit(jx.vmap(lambda x: g(x, 2)))(X), X + 2)


def test_a_function_may_close_over_what_no_map_maps_over():
    def outer(y):
        @custom_vmap
        def g(x):
            return x * y

        g.def_vmap(lambda n, b, x: (x * y * 10.0, True))
        return jx.vmap(g)(X)

    close(jx.jit(outer)(2.0), 20.0 * X)
    close(jx.vmap(outer)(X[:2]), 10.0 * X[:2, None] * X)
    close(jx.grad(lambda y: outer(y).sum())(2.0), 10.0 * X.sum())


def test_to_close_over_what_is_mapped_over_is_an_error():
    def outer(y):
        g = custom_vmap(lambda x: x * y)
        g.def_vmap(lambda n, b, x: (x * y, True))
        return g(1.0)

    with pytest.raises(TypeError, match=r"<lambda> closes over a value that vmap maps over.*pass"):
        jx.vmap(outer)(X)


def recording(seen):
    """Return a function of two, whose rule gives ten times its product, and records its calls."""
    g = custom_vmap(lambda x, y: (x * y, x))

    @g.def_vmap
    def rule(axis_size, in_batched, x, y):
        seen.append((in_batched, jnp.shape(x), jnp.shape(y)))
        return (10.0 * x * y, x), (any(in_batched), in_batched[0])

    return g


ONE_EXAMPLE = ([False, False], (), ())
ALL_EXAMPLES = ([True, True], (3,), (3,))
FIRST = ([True, False], (3,), ())


@pytest.mark.parametrize("around", [lambda f: f, jx.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    ("points", "directions", "calls"),
    [
        ((None, None), (0, None), [ONE_EXAMPLE]),
        ((None, None), (0, 0), [ONE_EXAMPLE]),
        ((0, None), (None, None), [ONE_EXAMPLE]),
        ((0, None), (None, 0), [ONE_EXAMPLE]),
        ((0, None), (0, None), [FIRST]),
        ((0, 0), (0, 0), [ALL_EXAMPLES]),
        ((0, 0), (0, None), [ALL_EXAMPLES]),
        ((0, None), (0, 0), [ALL_EXAMPLES, FIRST]),
    ],
)
def test_the_rule_of_a_forward_derivative_is_told_what_differs(points, directions, calls, around):
    seen = []
    g = recording(seen)

    def push(x, y, s, t):
        return jx.jvp(g, (x, y), (s, t))

    values = (X, 2.0 + X, 1.0 - X, 3.0 * X)
    axes = (*points, *directions)
    given = [v if axis == 0 else v[0] for v, axis in zip(values, axes, strict=True)]
    shared = 0 if points[0] == 0 else None
    (y, _), (t, _) = around(jx.vmap(push, axes, ((0 if 0 in points else None, shared), (0, 0))))(
        *given
    )
    px, py, s, q = [np.broadcast_to(v, 3) for v in given]
    close(np.broadcast_to(y, 3), 10.0 * px * py)
    close(t, 10.0 * (s * py + px * q))
    assert seen == calls


def test_jacobians_differentiate_the_rule_at_the_point():
    seen = []
    g = recording(seen)
    close(jx.jacfwd(lambda x: g(x, 2.0)[0])(X), np.diag(np.full(3, 20.0)))
    assert seen == [([False, False], (3,), ())]


def test_a_rule_may_call_its_function():
    g = custom_vmap(lambda x: jnp.sin(x))
    calls = []

    @g.def_vmap
    def rule(axis_size, in_batched, x):
        calls.append(in_batched)
        if not in_batched[0]:
            return g(x), False
        return 10.0 * jnp.sin(x), True

    close(jx.vmap(lambda t: jx.jvp(g, (0.0,), (t,))[1])(X), 10.0 * X)
    assert calls == [[False], [True], [False]]


def test_what_a_rule_marks_without_reason_is_looked_at():
    g = custom_vmap(lambda x: 2.0 * x)
    g.def_vmap(lambda n, b, x: (20.0 * x, True))
    h = custom_vmap(lambda x: 2.0 * x)
    h.def_vmap(lambda n, b, x: (20.0 * jnp.broadcast_to(x, (n, *x.shape[b[0] :])), True))
    for f in (g, h):
        close(jx.jacfwd(f)(X), np.diag(np.full(3, 20.0)))
        close(jx.vmap(f)(X), 20.0 * X)


def test_values_stay_known_where_derivatives_are_recorded():
    seen = []
    g = recording(seen)
    for around in (lambda f: f, jx.jit):
        f = around(lambda x: g(x, 2.0)[0])
        value, slope = jx.vmap(jx.value_and_grad(f))(X)
        close([value, slope], [20.0 * X, np.full(3, 2.0)])
    assert seen
    h = custom_vmap(jnp.sin)
    h.def_vmap(lambda n, b, x: (jnp.sin(x), b[0]))
    for f in (h, jx.jit(h)):
        close(jx.vmap(jx.hessian(f))(X), -np.sin(X))
        close(jx.vmap(jx.grad(jx.grad(jx.grad(f))))(X), -np.cos(X))


def with_rule(g):
    """Return a function whose rule gives ten times what it gives."""
    mapped = custom_vmap(g)
    mapped.def_vmap(lambda size, batched, x: (10.0 * jx.vmap(g)(x), True))
    return mapped


AROUND = {
    "alone": lambda g: g,
    "in jit": jx.jit,
    "in a scan": lambda g: lambda x: lax.scan(lambda c, _: (g(c), None), x, None, length=1)[0],
    "in a branch": lambda g: lambda x: lax.cond(True, g, jnp.cos, x),
    "in a checkpoint": jx.checkpoint,
    "one in the other": with_rule,
}


@pytest.mark.parametrize("around", AROUND)
def test_functions_with_rules_call_others_with_rules(around):
    def outer(x):
        return with_rule(AROUND[around](with_rule(jnp.sin)))(x)

    close(jx.grad(outer)(0.5), np.cos(0.5))
    close(jx.jvp(jx.grad(outer), (0.5,), (1.0,))[1], -np.sin(0.5))
    # What is transposed is a program like any other, without rules.
    close(jx.vmap(jx.grad(outer))(X), np.cos(X))
    maps = 100.0 if around != "one in the other" else 1000.0
    close(jx.grad(total(jx.vmap(outer)))(X), maps * np.cos(X))


def test_sequential_vmap_of_a_forward_derivative_runs_one_example_at_a_time():
    g = sequential_vmap(lambda x, y: jnp.sin(x) * y)
    mapped = jx.vmap(lambda t: jx.jvp(g, (0.0, 3.0), (t, 1.0)))
    close(mapped(X), (np.zeros(3), 3.0 * X))
    assert "scan[" in str(jx.make_jaxpr(mapped)(X))


def ruled(rule):
    g = custom_vmap(lambda x: x)
    g.def_vmap(rule)
    return lambda: (jx.vmap(g)(X), jx.vmap(jx.jit(g))(X))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: custom_vmap(3), TypeError, "custom_vmap needs a callable as fun, got 3"),
        (lambda: custom_vmap(jnp.sin).def_vmap(3), TypeError, "def_vmap needs a callable"),
        (lambda: custom_vmap(lambda x: x)(X), AttributeError, r"no rule yet.*def_vmap\(\.\.\.\)"),
        (ruled(lambda n, b, x: ("s", True)), TypeError, "rule .* returned a value of type str"),
        (ruled(lambda n, b, x: x), TypeError, r"must return a pair \(result, out_batched\), got"),
        (ruled(lambda n, b, x: (x, [True])), ValueError, "a boolean for each array of its result"),
        (ruled(lambda n, b, x: ((x, x), (True, True))), ValueError, "result of the structure that"),
        (ruled(lambda n, b, x: (x[:2], True)), ValueError, r"f64\[2\] as batched.*batch size 3"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_function_with_a_way_back_is_given_its_batch_rule_through_it():
    @jx.custom_vjp
    @custom_vmap
    def f(x, y):
        return jnp.sin(x) * y

    @f.def_vmap
    def _(size, batched, x, y):
        return jnp.cos(x) * y, True

    f.defvjp(lambda x, y: (f(x, y), jnp.cos(x) * y), lambda res, ct: (res * ct, None))
    assert jx.vmap(f)(jnp.zeros(3), jnp.ones(3)).tolist() == [1, 1, 1]
    assert jx.grad(f)(0.0, 1.0) == 1.0
    with pytest.raises(AttributeError, match="no attribute 'def_other'"):
        _ = f.def_other
    with pytest.raises(AttributeError, match="custom_jvp function <lambda> has no 'def_vmap'"):
        _ = jx.custom_jvp(lambda x: x).def_vmap
