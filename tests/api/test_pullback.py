"""What ``vjp`` returns: what it keeps, and gradients into references."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.ad import DidntWant, DontWant, GradRef, GradValue

X = jnp.float32([0.5, -1.0, 2.0])
Y = jnp.float32([2.0, 3.0, 4.0])


def product(x, y):
    return jnp.sum(jnp.sin(x) * y)


def test_arguments_that_are_kept_are_told_from_other_residuals():
    _, pullback = jx.vjp(product, X, Y)
    not_needed, kept = pullback.args_res
    assert (repr(not_needed), kept is Y) == ("NotNeeded()", True)
    opaque = sorted([residual.tolist() for residual in pullback.opaque_residuals])
    wanted = sorted([jnp.cos(X).tolist(), jnp.sin(X).tolist()])
    np.testing.assert_allclose(opaque, wanted, rtol=1e-6)
    _, pullback = jx.vjp(lambda tree: tree["a"] * tree["b"], {"a": X, "b": Y})
    assert pullback.args_res[0]["a"] is X
    assert pullback.args_res[0]["b"] is Y
    assert pullback.opaque_residuals == []


def test_an_argument_can_be_let_go_of_and_put_back():
    _, pullback = jx.vjp(product, X, Y)
    wanted = pullback(1.0)
    pullback.args_res[1] = None
    with pytest.raises(ValueError, match="whose place in args_res is None: put it back first"):
        pullback(1.0)
    pullback.args_res[1] = 10.0 * Y
    np.testing.assert_allclose(pullback(1.0)[0], 10.0 * wanted[0], rtol=1e-6)


def test_an_argument_that_may_not_be_kept_is_put_back():
    tree = {"a": X, "b": Y}
    _, pullback = jx.vjp(lambda t: jnp.sum(t["a"] * t["b"]), tree, saveable_args=((True, False),))
    kept = pullback.args_res[0]
    assert (kept["a"] is X, repr(kept["b"])) == (True, "NotSaveable()")
    assert len(jx.tree.leaves(pullback)) == 1
    with pytest.raises(ValueError, match=r"args_res is NotSaveable\(\): put it back"):
        pullback(1.0)
    kept["b"] = Y
    np.testing.assert_allclose(pullback(1.0)[0]["a"], Y)


def test_a_computed_residual_is_kept_whatever_may_be():
    _, pullback = jx.vjp(jnp.sin, X, saveable_args=False)
    np.testing.assert_allclose(pullback(X)[0], jnp.cos(X) * X, rtol=1e-6)


def moving(x, y):
    return {"product": [x * y], "own": y}, (jnp.floor(x), None)


def test_a_tangent_that_is_zero_says_so_of_what_depends_on_it_alone():
    _, pullback = jx.vjp(moving, X, Y, in_nzs=(True, False))
    nonzero = ({"product": [True], "own": False}, (False, None))
    assert pullback.out_nzs == nonzero
    cotangent = ({"product": [X], "own": X}, (X, None))
    by_x, by_y = pullback(cotangent)
    np.testing.assert_allclose(by_x, X * Y)
    np.testing.assert_array_equal(by_y, jnp.zeros(3))
    _, push = jx.linearize(moving, X, Y, in_nzs=(True, False))
    assert push.out_nzs == nonzero
    assert jx.tree.map(lambda x: x, push).out_nzs == nonzero
    tangent = push(X, Y)
    np.testing.assert_allclose(tangent[0]["product"][0], X * Y)
    np.testing.assert_array_equal(tangent[0]["own"], jnp.zeros(3))


def test_what_does_not_move_is_known_to_custom_rules():
    seen = []

    @jx.custom_vjp
    def f(x, y):
        return x * y

    def there(x, y):
        seen.append((x.perturbed, y.perturbed))
        return x.value * y.value, y.value

    f.defvjp(there, lambda y, ct: (ct * y, None), symbolic_zeros=True)
    _, pullback = jx.vjp(f, 2.0, 3.0, in_nzs=(True, False))
    assert ([float(ct) for ct in pullback(1.0)], seen) == ([3.0, 0.0], [(True, False)])


def test_a_reference_that_does_not_move():
    def f(ref, x):
        ref[...] = ref[...] * x
        return x

    ref = jx.new_ref(2.0)
    _, push = jx.linearize(f, ref, 3.0, in_nzs=(False, True))
    tangent = jx.new_ref(7.0)
    push(tangent, 1.0)
    assert float(tangent[...]) == 2.0


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"in_nzs": (True,)}, r"vjp\(in_nzs=\) got \(True,\), which is no tree above arguments of"),
        ({"in_nzs": (True, 1)}, r"vjp\(in_nzs=\) takes True and False, or trees of them"),
        ({"saveable_args": None}, "saveable_args=.* got None, which is no tree"),
        ({"saveable_args": (True, ())}, "which is no tree above arguments of structure"),
        ({"saveable_args": (True, (True,))}, "which is no tree above arguments of structure"),
    ],
)
def test_trees_of_booleans_that_do_not_fit_are_refused(keywords, words):
    with pytest.raises(ValueError, match=words):
        jx.vjp(product, X, Y, **keywords)


def test_a_pullback_is_a_tree_that_jit_returns_and_takes():
    pullback = jx.jit(lambda x, y: jx.vjp(product, x, y)[1])(X, Y)
    assert pullback.args_res[1].tolist() == Y.tolist()
    again = jx.jit(lambda back, ct: back(ct))
    for one, other in zip(again(pullback, 2.0), jx.vjp(product, X, Y)[1](2.0), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    leaves, structure = jx.tree.flatten(pullback)
    assert structure.unflatten(leaves)(1.0)[1].tolist() == pullback(1.0)[1].tolist()


def test_gradients_are_added_to_references():
    total = jx.new_ref(jnp.ones(3))
    _, pullback = jx.vjp(product, X, Y)
    wanted = pullback(1.0)
    adding = pullback.with_refs(total, GradValue())
    for turn in (1, 2):
        first, second = adding(1.0)
        assert first == GradRef()
        np.testing.assert_allclose(second, wanted[1], rtol=1e-6)
        np.testing.assert_allclose(total[...], 1.0 + turn * wanted[0], rtol=1e-6)
    assert pullback.with_refs(DontWant(), DontWant())(1.0) == (DidntWant(), DidntWant())


def test_gradients_are_added_inside_of_programs():
    total = jx.new_ref(jnp.zeros(3))

    @jx.jit
    def step(x, y):
        value, pullback = jx.vjp(product, x, y)
        pullback.with_refs(total, DontWant())(1.0)
        return value

    def turn(carry, y):
        return carry + step(X, y), None

    value, _ = lax.scan(turn, 0.0, jnp.stack([Y, 2.0 * Y]))
    np.testing.assert_allclose(value, 3.0 * product(X, Y), rtol=1e-6)
    np.testing.assert_allclose(total[...], 3.0 * jnp.cos(X) * Y, rtol=1e-6)


def test_keys_and_integers_are_arguments_too():
    def noisy(key, count, x):
        return x * count + jx.random.normal(key)

    total = jx.new_ref(0.0)
    _, pullback = jx.vjp(noisy, jx.random.key(0), 3, 2.0)
    assert pullback.with_refs(DontWant(), DontWant(), total)(1.0)[2] == GradRef()
    assert total[...] == 3.0


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        (lambda: (GradValue(),), ValueError, "takes trees like the arguments"),
        (lambda: (None, GradValue()), ValueError, "None is an empty tree"),
        (lambda: (3.0, GradValue()), TypeError, "got a float: it takes references"),
        (
            lambda: (jx.new_ref(jnp.zeros(2)), DontWant()),
            ValueError,
            r"type Ref\{f32\[2\]\} for a gradient of type Ref\{f32\[3\]\}",
        ),
    ],
)
def test_what_fits_no_argument_is_refused(wanted, error, words):
    _, pullback = jx.vjp(product, X, Y)
    with pytest.raises(error, match=words):
        pullback.with_refs(*wanted())(1.0)
