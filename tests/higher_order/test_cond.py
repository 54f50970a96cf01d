"""``cond`` and ``switch``: the branch chosen, its derivatives, and what the others may not do."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from tests.higher_order.checks import agree, close, count, names, only, pruned

POINTS = np.array([-0.7, -0.2, 0.3, 1.1])


def f(x, w):
    return lax.cond(x > 0, lambda x: jnp.sin(x * w), lambda x: x * x + w, x)


@pytest.mark.parametrize("x", POINTS)
def test_values_and_derivatives_are_those_of_the_branch_chosen(x):
    chosen = (lambda x, w: jnp.sin(x * w)) if x > 0 else (lambda x, w: x * x + w)
    agree(f, chosen, x, 0.4)


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_switch_takes_the_nearest_branch_in_range(index):
    branches = [lambda x: x, lambda x: x * x, jnp.sin]
    chosen = branches[min(max(index, 0), 2)]
    agree(lambda x: lax.switch(index, branches, x), chosen, 0.4)
    agree(lambda x: lax.switch(jnp.int8(index), branches, x), chosen, 0.4)
    close(jx.jit(lambda i, x: lax.switch(i, branches, x))(index, 0.4), chosen(0.4))


def test_only_the_branch_chosen_runs():
    text = jx.jit(f).lower(0.3, 0.4).as_text()
    assert "stablehlo.if" in text
    assert "stablehlo.select" not in text


def test_branches_are_traced_once():
    count = []

    def branch(x):
        count.append(1)
        return x

    for pred in (True, False, True):
        lax.cond(pred, branch, jnp.sin, 0.5)
    assert len(count) == 1


@pytest.mark.parametrize("w", [0.4, POINTS])
def test_a_batched_condition_selects(w):
    axes = (0, None if np.ndim(w) == 0 else 0)
    rows = [f(x, w if np.ndim(w) == 0 else w[i]) for i, x in enumerate(POINTS)]
    close(jx.vmap(f, axes)(POINTS, w), np.stack(rows))
    gradients = [jx.grad(f)(x, w if np.ndim(w) == 0 else w[i]) for i, x in enumerate(POINTS)]
    close(jx.jit(jx.vmap(jx.grad(f), axes))(POINTS, w), np.stack(gradients))
    close(jx.grad(lambda x: jx.vmap(f, axes)(x, w).sum())(POINTS), np.stack(gradients))


def test_an_unbatched_condition_stays_a_cond_under_vmap():
    def g(p, x):
        return lax.cond(p, jnp.sin, jnp.cos, x)

    batched = jx.vmap(g, (None, 0))
    assert names(batched, True, POINTS) == ["cond"]
    close(batched(True, POINTS), np.sin(POINTS))
    close(jx.grad(lambda x: batched(False, x).sum())(POINTS), -np.sin(POINTS))


def test_what_every_branch_passes_on_is_not_batched():
    def f(flag, x, y):
        return lax.cond(flag, lambda x, y: (x, y, x), lambda x, y: (x, 2 * y, y), x, y)

    flags, x, y = np.array([True, False]), np.float32(3), np.arange(2, dtype=np.float32)
    passed, *selected = jx.vmap(f, in_axes=(0, None, 0), out_axes=(None, 0, 0))(flags, x, y)
    assert (passed.shape, float(passed)) == ((), 3.0)
    np.testing.assert_array_equal(selected, [[0.0, 2.0], [3.0, 1.0]])
    every = jx.vmap(lambda flag: lax.cond(flag, lambda a: a, lambda a: a, 2.0), out_axes=None)
    assert isinstance(every(flags), jx.Array)
    with pytest.raises(ValueError, match="differs between examples"):
        jx.vmap(lambda flag: lax.cond(flag, lambda: 1.0, lambda: 1.0), out_axes=None)(flags)


def test_a_batched_switch_selects():
    branches = [lambda x: x, lambda x: x * x, jnp.sin]
    index = np.array([2, 0, 1, 7])
    expected = [branches[min(i, 2)](x) for i, x in zip(index, POINTS, strict=True)]
    close(jx.vmap(lambda i, x: lax.switch(i, branches, x))(index, POINTS), np.stack(expected))


# ---------------------------------------------------------------- pitfalls of vmap of cond


def safe_root(x):
    return lax.cond(x > 0, lambda x: jnp.sqrt(x), lambda x: 2.0 * x, x)


@pytest.mark.parametrize(
    "gradient",
    [
        lambda x: jx.vmap(jx.grad(safe_root))(x),
        lambda x: jx.grad(lambda x: jx.vmap(safe_root)(x).sum())(x),
        lambda x: jx.jit(jx.grad(lambda x: jx.vmap(safe_root)(x).sum()))(x),
        lambda x: jx.jvp(jx.vmap(safe_root), (x,), (np.ones_like(x),))[1],
        lambda x: jx.vmap(jx.jacfwd(safe_root))(x),
    ],
)
def test_nan_of_the_branch_not_chosen_does_not_reach_gradients(gradient):
    x = np.array([-1.0, 0.0, 4.0])
    close(gradient(x), np.array([2.0, 2.0, 0.25]))


@pytest.mark.parametrize("derivative", [lambda g: jx.grad(lambda x: jnp.sum(g(x))), jx.jacrev])
def test_a_branch_of_tangents_is_transposed_for_the_examples_that_chose_it(derivative):
    """A rule of a user's that pushes tangents through a branch makes it a branch of tangents."""

    def choose(x):
        return lax.cond(x > 1.0, lambda x: x * x, lambda x: 3.0 * jnp.sqrt(x), x)

    pushed = jx.custom_jvp(choose)
    pushed.defjvp(lambda primals, tangents: jx.jvp(choose, primals, tangents))
    x = np.array([0.25, 2.0, 4.0])
    found = derivative(jx.vmap(pushed))(x)
    expected = np.array([3.0, 4.0, 8.0])
    close(found if found.ndim == 1 else np.diag(found), expected)
    assert found.ndim == 1 or np.count_nonzero(found) == 3


def test_nan_of_an_operand_that_all_examples_share_does_not_reach_its_gradient():
    def g(p, w):
        return lax.cond(p, lambda w: jnp.log(w), lambda w: 3.0 * w, w)

    p = np.array([False, False])
    close(jx.grad(lambda w: jx.vmap(g, (0, None))(p, w).sum())(0.0), 6.0)


def test_a_while_loop_in_the_branch_not_chosen_ends():
    def halved(x):
        return lax.while_loop(lambda y: y > 1.0, lambda y: y / 2.0, x)

    def doubled(x):
        # It would never end for x <= 0.
        return lax.while_loop(lambda y: y < 100.0, lambda y: y * 2.0, x)

    def g(x):
        return lax.cond(x > 0, doubled, halved, x)

    x = np.array([-1.0, 0.0, 3.0, 60.0])
    close(jx.vmap(g)(x), np.array([-1.0, 0.0, 192.0, 120.0]))
    close(jx.vmap(g)(x[:2]), x[:2])
    close(jx.jvp(jx.vmap(g), (x,), (np.ones(4),))[1], np.array([1.0, 1.0, 64.0, 2.0]))
    nested = jx.vmap(jx.vmap(g))(np.stack([x, x[::-1]]))
    close(nested, np.stack([[-1.0, 0.0, 192.0, 120.0], [120.0, 192.0, 0.0, -1.0]]))


# ---------------------------------------------------------------- programs


def test_branches_share_the_constants_they_close_over():
    def g(p, x, w):
        return lax.cond(p, lambda x: x * w, lambda x: x + w, x)

    eqn = only(g, "cond", True, 0.5, 0.4)
    assert len(eqn.invars) == 3


def test_weak_results_yield_to_strong_ones():
    out = lax.cond(True, lambda x: 1.0, lambda x: x, np.float64(2))
    assert (out.dtype, out.weak_type, float(out)) == (np.float64, False, 1.0)
    assert lax.cond(False, lambda: 1, lambda: 2).weak_type


def test_residuals_of_branches_share_slots():
    def g(x):
        return lax.cond(x > 0, lambda x: jnp.sin(x) * jnp.exp(x), lambda x: jnp.cos(x), x)

    known = next(e for e in jx.make_jaxpr(jx.grad(g))(0.3).eqns if e.primitive.name == "cond")
    assert all(len(b.out_avals) == len(known.outvars) for b in known.params["branches"])
    assert len(known.outvars) <= 5


def test_the_way_back_through_a_branch_recomputes_nothing():
    def g(x):
        return lax.cond(x > 0, lambda x: jnp.sin(jnp.exp(x)), lambda x: jnp.tanh(x), x)

    assert [count(jx.grad(g), name, 0.3) for name in ("exp", "sin", "tanh")] == [1, 1, 1]
    assert count(jx.grad(jx.jit(g)), "exp", 0.3) == 1


def test_unread_operands_and_results_are_pruned():
    def g(x, y):
        return lax.cond(x > 0, lambda: (jnp.sin(x), y), lambda: (x, jnp.cos(y)))

    eqn = pruned(g, [True, False], 0.3, 0.4)
    assert (len(eqn.invars), len(eqn.outvars)) == (2, 1)
    assert "cos" not in str(eqn)


def test_branches_without_results_or_operands():
    assert lax.cond(True, lambda: None, lambda: None) is None
    assert lax.cond(True, lambda: (), lambda: ()) == ()
