"""``scan``: values and derivatives against the loop written out, and what it keeps and runs."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import dtypes, lax
from tests.higher_order.checks import agree, close, count, names, only, pruned

XS = np.linspace(-1.0, 1.5, 4)


def turn(w, c, x):
    return jnp.sin(c * x + w), c * jnp.exp(w) + x


def looped(**options):
    def f(w, c, xs):
        last, ys = lax.scan(lambda c, x: turn(w, c, x), c, xs, **options)
        return last + (ys * ys).sum()

    return f


def written_out(reverse=False):
    def f(w, c, xs):
        total = 0.0
        order = range(len(xs))
        for i in reversed(order) if reverse else order:
            c, y = turn(w, c, xs[i])
            total = total + y * y
        return c + total

    return f


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("reverse", "unroll"), [(False, 1), (False, 2), (False, 7), (False, True), (True, 1), (True, 2)]
)
def test_values_and_derivatives_are_those_of_the_loop_written_out(reverse, unroll):
    agree(looped(reverse=reverse, unroll=unroll), written_out(reverse), 0.3, 0.7, XS)


@pytest.mark.parametrize("length", [0, 1])
def test_scans_of_few_elements(length):
    agree(looped(), written_out(), 0.3, 0.7, XS[:length])


@pytest.mark.parametrize("axes", [(0, 0, 0), (None, 0, None), (0, None, None), (None, None, 1)])
def test_vmap_agrees_with_one_at_a_time(axes):
    w, c = np.array([0.1, 0.4]), np.array([0.2, 0.7])
    xs = np.stack([XS, XS + 0.3], axis=axes[2] or 0)
    args = tuple(a if axis is not None else a[0] for a, axis in zip((w, c), axes, strict=False))
    args = (*args, xs if axes[2] is not None else XS)

    def one(i):
        return tuple(
            a if axis is None else np.take(a, i, axis) for a, axis in zip(args, axes, strict=True)
        )

    gradient = jx.grad(looped(), (0, 1, 2))
    batched = jx.jit(jx.vmap(gradient, axes))(*args)
    for i in range(2):
        close([g[i] for g in batched], list(gradient(*one(i))))
    summed = jx.grad(lambda *a: jx.vmap(looped(), axes)(*a).sum(), 2)(*args)
    expected = sum(np.asarray(gradient(*one(i))[2]) for i in range(2))
    if axes[2] is None:
        close(summed, expected)


def test_the_body_is_traced_once_per_kind_of_arguments_however_often_it_runs():
    count = []

    def f(c, x):
        count.append(1)
        return c + x, c

    for _ in range(3):
        lax.scan(f, 0.0, XS)
    lax.scan(f, 0.0, np.arange(1000.0))
    jx.jit(lambda: lax.scan(f, 0.0, XS))()
    # The second trace has a carry of strong type, for 0.0 yields to the type of x.
    assert len(count) == 2


def test_a_body_that_closes_over_a_tracer_is_traced_anew():
    def body(c, x):
        return c * body.scale + x, None

    def f(scale):
        body.scale = scale
        return lax.scan(body, 0.0, XS)[0]

    def expected(scale):
        c = 0.0
        for x in XS:
            c = c * scale + x
        return c

    jitted = jx.jit(f)
    close(jitted(2.0), expected(2.0))
    body.scale = None
    close(jx.jit(lambda s: f(s) + 0.0)(3.0), expected(3.0))
    close(jx.grad(f)(2.0), (expected(2.0 + 1e-6) - expected(2.0 - 1e-6)) / 2e-6, 1e-6)


# ---------------------------------------------------------------- what is kept for the way back


def test_residuals_that_are_the_same_at_every_turn_are_computed_once():
    def f(w, c):
        return lax.scan(lambda c, x: (c * jnp.exp(w) * x, None), c, XS)[0]

    backward = jx.make_jaxpr(jx.grad(f, 1))(0.3, 0.7).eqns
    _, back = [eqn for eqn in backward if eqn.primitive.name == "scan"]
    assert "exp" not in [e.primitive.name for e in back.params["jaxpr"].eqns]
    assert back.params["num_consts"] == 1


def test_the_way_back_through_a_scan_recomputes_nothing():
    def f(w, c):
        return lax.scan(lambda c, x: (jnp.sin(c * x) + w, jnp.tanh(c)), c, XS)[0]

    gradient = jx.grad(f, (0, 1))
    assert [count(gradient, name, 0.3, 0.7) for name in ("sin", "cos")] == [1, 1]
    assert count(gradient, "tanh", 0.3, 0.7) <= 1
    assert count(jx.grad(jx.jit(f)), "sin", 0.3, 0.7) == 1


def test_scanned_arrays_that_are_residuals_are_not_copied():
    def f(c):
        return lax.scan(lambda c, x: (c * x, None), c, XS)[0]

    forward, _ = [e for e in jx.make_jaxpr(jx.grad(f))(0.7).eqns if e.primitive.name == "scan"]
    assert [var.aval.shape for var in forward.outvars] == [()]


def test_what_is_not_differentiated_leaves_no_residuals():
    def f(c):
        return lax.scan(lambda c, x: ((c[0] + x, c[1] * 2), jnp.sin(x)), (c, 1), XS)[0][0]

    assert names(jx.grad(f), 0.7).count("sin") == 0
    close(jx.grad(f)(0.7), 1.0)


def test_dead_results_and_the_carry_behind_them_are_pruned():
    def f(a, b, xs):
        return lax.scan(lambda c, x: ((c[0] * x, jnp.sin(c[1])), (c[1], x)), (a, b), xs)

    eqn = pruned(f, [True, False, False, False], 0.7, 0.8, XS)
    assert (eqn.params["num_carry"], len(eqn.invars), len(eqn.outvars)) == (1, 2, 1)
    eqn = pruned(f, [False, False, True, False], 0.7, 0.8, XS)
    assert (eqn.params["num_carry"], len(eqn.invars)) == (1, 1)


# ---------------------------------------------------------------- pitfalls


def test_integer_carries_have_no_tangents():
    def f(x):
        (_, y), ns = lax.scan(lambda c, _: ((c[0] + 1, c[1] * x), c[0]), (0, x), None, length=3)
        return y * ns.sum()

    close(jx.grad(f)(2.0), 3 * 4 * 2.0**3)
    close(jx.jvp(f, (2.0,), (1.0,))[1], 3 * 4 * 2.0**3)


def test_integer_results_take_float0_cotangents():
    (last, _), pull = jx.vjp(lambda c: lax.scan(lambda c, n: (c * 2.0, n), c, np.arange(3)), 1.0)
    (ct,) = pull((np.float64(1), np.zeros(3, dtypes.float0)))
    close((last, ct), (8.0, 8.0))


def test_unused_elements_have_zero_gradient():
    gradient = jx.grad(lambda xs: lax.scan(lambda c, x: (c * 2.0, None), 1.0, xs)[0])(XS)
    close(gradient, np.zeros(4))


def test_an_unused_carry_under_grad_of_jit_of_scan():
    @jx.jit
    def f(x, unused):
        (y, _), _ = lax.scan(lambda c, _: ((jnp.sin(c[0]), c[1]), None), (x, unused), length=2)
        return y

    close(jx.grad(f, (0, 1))(0.5, 3.0), (np.cos(np.sin(0.5)) * np.cos(0.5), 0.0))


def test_jit_of_jacfwd_of_scan():
    f = looped()
    close(jx.jit(jx.jacfwd(f, 2))(0.3, 0.7, XS), jx.grad(f, 2)(0.3, 0.7, XS))
    close(
        jx.jit(jx.jacfwd(jx.jacrev(f, 2), 2))(0.3, 0.7, XS),
        jx.hessian(written_out(), 2)(0.3, 0.7, XS),
    )


def test_cond_inside_scan():
    def f(c, xs):
        def body(c, x):
            return lax.cond(x > 0, lambda c: c * x, lambda c: jnp.sin(c) + x, c), c

        return lax.scan(body, c, xs)[0]

    def reference(c, xs):
        for i in range(len(XS)):
            c = c * xs[i] if XS[i] > 0 else jnp.sin(c) + xs[i]
        return c

    agree(f, reference, 0.7, XS)


def test_scan_inside_scan():
    def f(c, xs):
        def outer(c, x):
            return lax.scan(lambda d, y: (jnp.sin(d * x + y), None), c, xs)[0], c

        last, ys = lax.scan(outer, c, xs)
        return last * ys.sum()

    def reference(c, xs):
        total = 0.0
        for i in range(2):
            total = total + c
            for j in range(2):
                c = jnp.sin(c * xs[i] + xs[j])
        return c * total

    agree(f, reference, 0.7, XS[:2])


def test_a_counter_in_the_carry_of_a_transposed_scan_is_run_first():
    def linear(x):
        return lax.fori_loop(0, 4, lambda i, y: y * (i + 1.0) + x, x)

    close(jx.linear_transpose(linear, 1.0)(1.0), (jx.jvp(linear, (0.0,), (1.0,))[1],))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "bfloat16", "complex64"])
def test_stacked_results_keep_their_dtype(dtype):
    xs = jnp.asarray(np.array([1, 0, 1]), dtype)
    _, ys = lax.scan(lambda c, x: (c, x), 0, xs)
    assert ys.dtype == xs.dtype
    np.testing.assert_array_equal(np.asarray(ys), np.asarray(xs))


def test_a_thousand_turns_lower_one_body():
    text = jx.jit(lambda c: lax.scan(lambda c, x: (jnp.sin(c) + x, None), c, np.ones(1000))).lower(
        1.0
    )
    assert text.as_text().count("stablehlo.sine") == 1


def test_the_loop_shows_in_the_jaxpr():
    eqn = only(looped(reverse=True, unroll=2), "scan", 0.3, 0.7, XS)
    shown = {key: eqn.params[key] for key in ("length", "reverse", "unroll", "num_carry")}
    assert shown == {"length": 4, "reverse": True, "unroll": 2, "num_carry": 1}
    assert "scan[" in str(eqn)
