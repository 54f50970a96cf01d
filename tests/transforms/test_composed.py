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
from tests.higher_order.checks import names

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


def test_what_they_mean_is_traced_once_for_types_and_settings():
    traced = []

    def meaning(x, y, *, n):
        traced.append(x.dtype.name)
        return n * x * jnp.cos(y)

    counted_p = Composed("counted_of_test", meaning, linear=(0,))
    try:

        def slopes(x):
            return jx.grad(lambda x: jnp.sum(counted_p.bind(x, x[::-1], n=3.0)))(x)

        def pulled(x):
            return jx.vjp(lambda x: counted_p.bind(x, X[0], n=3.0), x)[1](x)[0]

        first, back = slopes(X[0]), pulled(X[0])
        close(first, jx.jit(slopes)(X[0]))
        close(back, 3 * X[0] * jnp.cos(X[0]))
        traced.clear()
        close(pulled(X[0]), back)
        assert traced == []
        with jx.enable_x64(True):
            assert pulled(X[0]).dtype == np.float32
        assert traced == ["float32"]
    finally:
        del Primitive.registry["counted_of_test"]


def test_the_line_of_the_call_is_that_of_its_operations():
    text = jx.jit(lambda x: lax.tile(x, (2, 1))).lower(X).as_text(debug_info=True)
    assert "tiling.py" not in text
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


def test_tokens_come_after_what_gave_them():
    def f(x, token):
        both = lax.after_all(token, lax.create_token(x))
        return x + 1, both

    token = lax.create_token()
    names = [eqn.primitive for eqn in jx.make_jaxpr(f)(1.0, token).eqns]
    assert names == [lax.create_token_p, lax.after_all_p, lax.add_p]
    y, both = jx.jit(f)(2.0, token)
    assert (float(y), both.dtype, both.shape) == (3.0, token.dtype, ())
    assert "optimization_barrier" in jx.jit(f).lower(2.0, token).as_text()
    assert float(jx.grad(lambda x: f(x, token)[0])(2.0)) == 1.0
    np.testing.assert_array_equal(jx.vmap(lambda x: f(x, token)[0])(X[0]), X[0] + 1)
    with pytest.raises(TypeError, match=r"after_all got f32\[3\], which is no token"):
        lax.after_all(X[0])


def test_a_sink_keeps_what_is_computed_for_it():
    def f(x):
        lax.dce_sink({"square": x * x})
        return x + 1

    assert lax.dce_sink(X) is None
    assert names(f, 2.0) == ["mul", "dce_sink", "add"]
    [kept] = jx.make_jaxpr(jx.checkpoint(f))(2.0).eqns
    assert "dce_sink" in str(kept)
    assert "dce_sink" in names(jx.grad(f), 2.0)
    assert "dce_sink" in names(jx.vmap(f), X)
    assert (float(jx.jit(f)(2.0)), float(jx.grad(f)(2.0))) == (3.0, 1.0)
    total, _ = jx.jit(lambda x: lax.scan(lambda c, r: (c + f(r), None), 0.0, x))(X[0])
    assert float(total) == float(jnp.sum(X[0]) + 3)


def test_a_move_is_known_by_its_primitive():
    move = jx.make_jaxpr(lambda x: jx.device_put(x, jx.devices()[0]))(X)
    assert lax.device_put_p in [eqn.primitive for eqn in move.eqns]
