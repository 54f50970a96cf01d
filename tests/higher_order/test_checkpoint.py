"""``checkpoint``: the same derivatives, computed again on the way back; what policies keep."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.api.checkpoint import checkpoint_name
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
    assert [e.primitive.name for e in again.params["jaxpr"].eqns].count("dot_general") == 2


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
