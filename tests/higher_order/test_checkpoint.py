"""``checkpoint``: the same derivatives, computed again on the way back; what policies keep."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.api.derivatives.checkpoint import checkpoint_name
from tests.higher_order.checks import agree, close

XS = np.linspace(-1.0, 1.5, 3)
POLICIES = jx.checkpoint_policies


def plain(w, x):
    return jnp.sin(jnp.dot(w, jnp.sin(jnp.dot(w, x)))).sum()


W = np.array([[0.3, -0.7, 0.2], [0.1, 0.9, -0.4], [0.8, 0.5, 0.6]])


def named(w, x):
    return jnp.sin(jnp.dot(w, checkpoint_name(jnp.sin(jnp.dot(w, x)), "hidden"))).sum()


@pytest.mark.parametrize(
    "policy",
    [
        None,
        POLICIES.everything_saveable,
        POLICIES.nothing_saveable,
        POLICIES.dots_saveable,
        POLICIES.dots_with_no_batch_dims_saveable,
        POLICIES.save_only_these_names("hidden"),
        POLICIES.save_any_names_but_these("hidden"),
        POLICIES.save_anything_except_these_names("hidden"),
        POLICIES.save_from_both_policies(
            POLICIES.dots_saveable, POLICIES.save_only_these_names("hidden")
        ),
    ],
)
def test_first_derivatives_do_not_depend_on_what_is_kept(policy):
    f = jx.checkpoint(named, policy=policy)
    expected = jx.grad(plain, (0, 1))(W, XS)
    close(jx.grad(f, (0, 1))(W, XS), expected)
    close(jx.jit(jx.grad(jx.jit(f), (0, 1)))(W, XS), expected)


@pytest.mark.parametrize("prevent_cse", [True, False])
def test_values_and_derivatives_are_those_of_the_function(prevent_cse):
    agree(jx.checkpoint(plain, prevent_cse=prevent_cse), plain, W, XS)


@pytest.mark.parametrize("transform", [lambda f: f, jx.grad, jx.jit], ids=["call", "grad", "jit"])
def test_the_function_is_traced_once_for_arguments_of_a_kind(transform):
    traced = []

    def f(x):
        traced.append(jnp.shape(x))
        return jnp.sin(x)

    for _ in range(2):
        close(jx.checkpoint(f)(0.5), np.sin(0.5))
        jx.jit(lambda x: transform(jx.checkpoint(f))(x))(0.5)
        transform(jx.checkpoint(f))(0.5)
    assert traced == [()]


def test_static_arguments_need_not_be_hashable():
    f = jx.checkpoint(lambda x, ns: sum(x * n for n in ns), static_argnums=1)
    assert [f(1.0, [2.0]).item(), f(1.0, [2.0, 3.0]).item()] == [2.0, 5.0]
    assert jx.grad(f)(1.0, [2.0, 3.0]).item() == 5.0


def barriers(prevent_cse, *args):
    f = jx.checkpoint(lambda x, y: jnp.sin(x["a"]) * y * x["b"], prevent_cse=prevent_cse)
    text = jx.jit(jx.grad(f, (0, 1))).lower(*args).as_text()
    operands = [line.split(":")[0] for line in text.split("optimization_barrier")[1:]]
    return sum(line.count("%arg") for line in operands)


def test_arguments_may_be_kept_from_the_compiler_one_by_one():
    point = ({"a": 0.5, "b": 2.0}, 3.0)
    assert barriers(True, *point) == 3
    assert barriers(False, *point) == 0
    assert barriers((False, True), *point) == 1
    assert barriers(({"a": True, "b": False}, True), *point) == 2
    assert barriers([{"a": True, "b": False}, False], *point) == 1
    f = jx.checkpoint(plain, prevent_cse=(True, False))
    agree(f, plain, W, XS)
    agree(
        lambda x: jx.vmap(f, (None, 0))(W, x).sum(),
        lambda x: jx.vmap(plain, (None, 0))(W, x).sum(),
        W,
    )


def test_vmap():
    f = jx.checkpoint(plain)
    ws = np.stack([W, W * 0.5])
    expected = np.stack([jx.grad(plain)(w, XS) for w in ws])
    close(jx.vmap(jx.grad(f), (0, None))(ws, XS), expected)
    close(jx.grad(lambda ws: jx.vmap(f, (0, None))(ws, XS).sum())(ws), expected)


def halves(f, *args):
    """Return the two halves of a gradient: known, and computed again."""
    eqns = [e for e in jx.make_jaxpr(jx.grad(f))(*args).eqns if e.primitive.name == "checkpoint"]
    known, again = eqns
    assert not known.params["differentiated"]
    assert again.params["differentiated"]
    return known, again


def three_sines(x):
    return jnp.sin(checkpoint_name(jnp.sin(jnp.sin(x)), "second"))


def test_nothing_is_kept_but_the_arguments():
    known, again = halves(jx.checkpoint(three_sines), 0.5)
    assert len(known.outvars) == 1
    assert [e.primitive.name for e in again.params["jaxpr"].eqns].count("sin") == 2


def test_what_the_policy_names_is_kept():
    policy = POLICIES.save_only_these_names("second")
    known, again = halves(jx.checkpoint(three_sines, policy=policy), 0.5)
    assert len(known.outvars) == 2
    assert [e.primitive.name for e in again.params["jaxpr"].eqns].count("sin") == 1


def test_everything_saveable_computes_nothing_again():
    _, again = halves(jx.checkpoint(three_sines, policy=POLICIES.everything_saveable), 0.5)
    assert "sin" not in [e.primitive.name for e in again.params["jaxpr"].eqns]


def test_policies_see_into_nested_calls():
    inner = jx.jit(lambda w, x: jnp.sin(jnp.dot(w, x)))
    f = jx.checkpoint(lambda x: inner(W, inner(W, x)).sum(), policy=POLICIES.dots_saveable)
    _, again = halves(f, XS)
    # The two products of the way there are kept; those of the way back remain.
    assert str(again.params["jaxpr"]).count("= dot_general") == 2


def step(x):
    return jnp.dot(W, jnp.sin(jnp.dot(W, x)))


def both_ways(x):
    return lax.cond(x[0] > 0, lambda x: -step(x), lambda x: jnp.dot(W, x), x)


NESTED = {
    "scan": lambda x: lax.scan(lambda c, _: (step(c), jnp.sin(c)), x, None, length=3),
    "reversed scan": lambda x: lax.scan(lambda c, x: (step(c) * x, x), x, XS, reverse=True)[0],
    "map": lambda x: lax.map(lambda y: step(y * x), jnp.stack([x, 2.0 * x])),
    "cond": both_ways,
    "switch": lambda x: lax.switch(jnp.int32(x[1] > 0) + 1, [jnp.sin, step, both_ways], x),
    "cond in scan": lambda x: lax.scan(lambda c, _: (both_ways(c), None), x, None, length=3)[0],
    "scan in cond": lambda x: lax.cond(x[0] > 0, jnp.sin, lambda x: NESTED["scan"](x)[0], x),
    "jit in scan": lambda x: lax.scan(
        lambda c, _: (jx.jit(step)(c), jx.jit(jnp.sin)(c)), x, None, length=3
    ),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: step(c) + i, x),
}


def total(f):
    return lambda x: sum(jnp.sum(leaf**2) for leaf in jx.tree.leaves(f(x)))


def products(f):
    return str(jx.make_jaxpr(jx.grad(f))(XS)).count("= dot_general")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NESTED)
def test_policies_see_into_loops_and_branches(name):
    f = total(NESTED[name])
    plainly = jx.grad(f)
    for policy in (POLICIES.dots_saveable, POLICIES.everything_saveable):
        kept = jx.checkpoint(f, policy=policy)
        assert products(kept) == products(f) < products(jx.checkpoint(f))
        for x in (XS, -XS):
            close(jx.grad(kept)(x), plainly(x))
            close(jx.jit(jx.grad(kept))(x), plainly(x))
    kept = jx.checkpoint(f, policy=POLICIES.dots_saveable)
    rows = np.stack([XS, -XS])
    close(jx.vmap(jx.grad(kept))(rows), np.stack([plainly(x) for x in rows]))
    close(jx.jacfwd(jx.grad(kept))(XS), jx.jacfwd(plainly)(XS))


def test_values_that_are_named_inside_a_loop_are_kept():
    def f(x):
        def turn(c, _):
            y = checkpoint_name(jnp.sin(c), "sine")
            return jnp.exp(y) * c, jnp.tanh(y)

        last, ys = lax.scan(turn, x, None, length=3)
        return last + ys.sum()

    kept = jx.checkpoint(f, policy=POLICIES.save_only_these_names("sine"))
    known, again = halves(kept, 0.5)
    assert [var.aval.short() for var in known.outvars[1:]] == ["f64[3]"]
    assert "= sin" not in str(again.params["jaxpr"])
    assert "= tanh" in str(again.params["jaxpr"])
    close(jx.grad(kept)(0.5), jx.grad(f)(0.5))


def test_what_is_kept_of_a_loop_is_not_copied_in_another():
    f = jx.checkpoint(
        lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=3)[0],
        policy=lambda prim, *_, **__: prim.name == "cos",
    )
    _, again = halves(f, 0.5)
    assert str(again.params["jaxpr"]).count("scan[") == 1


def test_the_compiler_does_not_merge_the_second_computation_with_the_first():
    gradient = jx.jit(jx.value_and_grad(jx.checkpoint(plain)))
    assert "optimization_barrier" in gradient.lower(W, XS).as_text()
    plainly = jx.jit(jx.value_and_grad(jx.checkpoint(plain, prevent_cse=False)))
    assert "optimization_barrier" not in plainly.lower(W, XS).as_text()


def test_less_memory_is_needed_between_the_two_ways():
    def layers(w, x):
        for _ in range(8):
            x = jnp.sin(jnp.sin(jnp.sin(jnp.sin(w * x))))
        return x.sum()

    def stored(f):
        shape = jx.ShapeDtypeStruct((1000,), np.float64)
        _, linear = jx.linearize(lambda x: f(1.0, x), np.ones(shape.shape))
        return sum(c.nbytes for c in jx.make_jaxpr(linear)(np.ones(1000)).consts)

    def by_block(w, x):
        block = jx.checkpoint(lambda x: jnp.sin(jnp.sin(jnp.sin(jnp.sin(w * x)))))
        for _ in range(8):
            x = block(x)
        return x.sum()

    close(jx.grad(by_block, 1)(1.0, XS), jx.grad(layers, 1)(1.0, XS))
    assert stored(by_block) * 3 < stored(layers)


def test_the_body_of_a_scan():
    def f(c, xs, wrap):
        return lax.scan(wrap(lambda c, x: (jnp.sin(jnp.sin(c) * x), None)), c, xs)[0]

    agree(
        lambda c, xs: f(c, xs, lambda body: jx.checkpoint(body, prevent_cse=False)),
        lambda c, xs: f(c, xs, lambda body: body),
        0.5,
        XS,
    )


def test_closures_structures_keywords_and_static_arguments():
    def loss(w, x):
        @jx.checkpoint
        def f(p, *, scale):
            return {"y": jnp.sin(p["x"] * w) * scale}

        return f({"x": x}, scale=2.0)["y"]

    close(
        jx.grad(loss, (0, 1))(0.3, 0.5),
        jx.grad(lambda w, x: 2.0 * jnp.sin(x * w), (0, 1))(0.3, 0.5),
    )
    power = jx.checkpoint(lambda n, x: x**n if isinstance(n, int) else None, static_argnums=0)
    close([jx.grad(power, 1)(n, 2.0) for n in (2, 3, 2)], [4.0, 12.0, 4.0])


def test_remat_is_checkpoint_and_decorates():
    @jx.remat
    def f(x):
        return jnp.sin(x)

    @jx.checkpoint(policy=POLICIES.dots_saveable)
    def g(x):
        return jnp.sin(x)

    close([jx.grad(f)(0.5), jx.grad(g)(0.5)], [np.cos(0.5)] * 2)
    assert f.__name__ == "f"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.checkpoint(plain, prevent_cse=1), TypeError, "must be a bool.*got 1 of type"),
        (lambda: jx.checkpoint(plain, prevent_cse=(1,)), TypeError, "must be a bool.*got 1 of ty"),
        (lambda: jx.checkpoint(plain, prevent_cse=None), TypeError, "must be a bool.*got None"),
        (
            lambda: jx.checkpoint(plain, prevent_cse=(True,))(W, XS),
            ValueError,
            "the structure of the positional arguments that are not static",
        ),
        (lambda: jx.remat(), TypeError, "needs a function, or the options of one"),
        (lambda: jx.remat(static_argnames=0), TypeError, "static_argnames is the name.*got 0"),
        (lambda: jx.remat(static_argnums="n"), TypeError, "static_argnums"),
        (lambda: jx.checkpoint(3), TypeError, "checkpoint needs a callable as fun, got 3"),
        (
            lambda: jx.grad(lambda x: jx.checkpoint(lambda x, s: x)(x, "text"))(1.0),
            TypeError,
            "was given 'text'",
        ),
        (
            lambda: jx.grad(jx.checkpoint(lambda x: "text"))(1.0),
            TypeError,
            "checkpoint needs <lambda> to return arrays or numbers, got 'text'",
        ),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_function_sees_arrays_that_have_updates_also_when_evaluated():
    added = jx.checkpoint(lambda x, n: x.at[0].add(n), static_argnums=1)
    x = np.arange(3.0, dtype=np.float32)
    np.testing.assert_array_equal(added(x, 2), [2.0, 1.0, 2.0])
    np.testing.assert_array_equal(jx.jit(lambda v: added(v, 2))(x), [2.0, 1.0, 2.0])
    assert jx.checkpoint(lambda x: x.reshape(1))(2.0).shape == (1,)
