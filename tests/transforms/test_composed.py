"""Primitives made of other operations: by their own name in programs, with every rule."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.core import Primitive
from jxkernel.errors import UndefinedRuleError
from jxkernel.experimental import sparse
from jxkernel.transforms.composed import Composed

X = jnp.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]])
SQUARE = jnp.array([[2.0, 0.5], [0.0, 3.0]])

NAMED = {
    "tile": (lax.tile_p, lambda x: lax.tile(x, (2, 3)), X, lambda x: np.tile(x, (2, 3))),
    "jnp.tile": (lax.tile_p, lambda x: jnp.tile(x, 2), X, lambda x: np.tile(x, 2)),
    "unstack": (lax.unstack_p, lambda x: lax.unstack(x, 1), X, lambda x: tuple(np.asarray(x).T)),
    "jnp.unstack": (lax.unstack_p, lambda x: jnp.unstack(x), X, lambda x: tuple(np.asarray(x))),
    "polynomial": (
        lax.polynomial_p,
        lambda x: lax.polynomial(x, (3.0, x, 2.0)),
        X,
        lambda x: 3 + x * x + 2 * x * x,
    ),
    "approx_max_k": (
        lax.approx_top_k_p,
        lambda x: lax.approx_max_k(x, 2)[0],
        X,
        lambda x: -np.sort(-np.asarray(x), -1)[:, :2],
    ),
    "cholesky_update": (
        lax.linalg.cholesky_update_p,
        lambda r: lax.linalg.cholesky_update(r, jnp.array([1.0, -1.0])),
        SQUARE,
        lambda r: np.linalg.cholesky(r.T @ r + np.array([[1.0, -1.0], [-1.0, 1.0]])).T,
    ),
    "symmetric_product": (
        lax.linalg.symmetric_product_p,
        lambda a: lax.linalg.symmetric_product(a, SQUARE, alpha=2.0, beta=-1.0),
        X,
        lambda a: 2 * a @ a.T - np.asarray(SQUARE),
    ),
}
named = pytest.mark.parametrize(
    ("primitive", "function", "x", "reference"), NAMED.values(), ids=list(NAMED)
)


def close(found, expected):
    for one, other in zip(jx.tree.leaves(found), jx.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


@named
def test_they_stand_in_programs_by_name_and_are_compiled(primitive, function, x, reference):
    [eqn] = [e for e in jx.make_jaxpr(function)(x).eqns if e.primitive is primitive]
    assert eqn.primitive.name == primitive.name
    close(function(x), reference(np.asarray(x)))
    close(jx.jit(function)(x), reference(np.asarray(x)))


@named
def test_they_are_differentiated_and_mapped(primitive, function, x, reference):
    def total(x):
        return sum(jnp.sum(jnp.sin(0.1 * part)) for part in jx.tree.leaves(function(x)))

    jx.test_util.check_grads(total, (x,), 2, ["fwd", "rev"], atol=0.05, rtol=0.05)
    close(jx.jit(jx.grad(total))(x), jx.grad(total)(x))
    many = jnp.stack([x, 1.5 * x])
    each = [function(one) for one in many]
    close(jx.vmap(function)(many), jx.tree.map(lambda *parts: jnp.stack(parts), *each))


def test_tangents_of_linear_operands_keep_the_name():
    jaxpr = jx.make_jaxpr(lambda x, t: jx.jvp(lambda x: lax.tile(x, (2, 1)), (x,), (t,)))(X, X)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [lax.tile_p, lax.tile_p]
    pull = jx.linear_transpose(lambda x: lax.tile(x, (2, 1)), X)
    close(pull(jnp.ones((4, 3))), (2 * jnp.ones((2, 3)),))


def test_an_operation_of_two_linear_operands():
    product_p = Composed("product_of_test", lambda x, y, *, n: n * x * y, linear=(0, 1))
    try:
        f = jx.jit(lambda x, y: jnp.sum(product_p.bind(x, y, n=3.0)))
        close(jx.grad(f, (0, 1))(X, 2 * X), (6 * X, 3 * X))
        close(jx.jvp(f, (X, X), (X, 2 * X))[1], 9 * jnp.sum(X * X))
        close(jx.jacfwd(jx.grad(f), 1)(X[0], X[0]), 3 * jnp.eye(3))
    finally:
        del Primitive.registry["product_of_test"]


def test_results_of_known_operands_stay_known():
    both_p = Composed("both_of_test", lambda x, i: [2 * x, i + 1], multiple_results=True)
    try:

        def f(x):
            doubled, index = both_p.bind(x, jnp.array([0, 1]))
            return jnp.sum(doubled[index - 1] ** 2)

        close(jx.jit(jx.grad(jx.jit(f)))(X[0]), jnp.array([8.0, -16.0, 0.0]))
        out, pull = jx.vjp(lambda x: both_p.bind(x, jnp.array([0, 1]))[0], X)
        close(pull(out), (4 * X,))
    finally:
        del Primitive.registry["both_of_test"]


def test_the_line_of_the_call_is_that_of_its_operations():
    text = jx.jit(lambda x: lax.tile(x, (2, 1))).lower(X).as_text(debug_info=True)
    assert "named_operations.py" not in text
    assert "test_composed.py" in text


def test_they_are_of_random_keys_and_of_sparse_arrays():
    keys = jx.random.split(jx.random.key(0), 2)
    assert (lax.tile(keys, (2,)) == jnp.concatenate([keys, keys])).all()
    mat = sparse.BCOO.fromdense(X)
    close(sparse.sparsify(lambda x: jnp.tile(x, (2, 1)))(mat).todense(), np.tile(X, (2, 1)))


def test_they_have_the_rules_that_follow_and_no_others():
    assert lax.tile_p.dce is None
    with pytest.raises(UndefinedRuleError, match="tile"):
        lax.tile_p.rule("dce")
    with pytest.raises(ValueError, match="is this package's own"):
        lax.tile_p.replace_rule("jvp", None)
