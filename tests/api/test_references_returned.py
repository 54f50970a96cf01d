"""References in results of transforms, in trees with other values, in parts, and copied."""

import copy
import pickle

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import lax
from jxkernel.errors import AxisError, RefError

X = np.float32([0.5, -1.0, 2.0])


def doubled(x):
    ref = jx.new_ref(x)
    ref[...] = ref[...] * 2.0
    return ref


def values(result):
    return jx.tree.map(lambda x: np.asarray(x[...] if isinstance(x, jx.Ref) else x), result)


RETURNED = {
    "vmap": (lambda: jx.vmap(doubled)(X), 2 * X),
    "vmap of columns": (
        lambda: jx.vmap(doubled, out_axes=1)(np.stack([X, -X])),
        np.stack([2 * X, -2 * X], 1),
    ),
    "vmap of what is alike": (lambda: jx.vmap(lambda x: jx.new_ref(1.0))(X), np.ones(3)),
    "vmap of a key": (
        lambda: jx.random.key_data(
            jx.vmap(lambda i: jx.new_ref(jx.random.key(i)))(X.astype(int))[...]
        ),
        [[0, 0], [0, 2**32 - 1], [0, 2]],
    ),
    "vmap of vmap": (lambda: jx.vmap(jx.vmap(doubled))(X[None]), 2 * X[None]),
    "jvp": (lambda: jx.jvp(doubled, (X,), (X,)), (2 * X, 2 * X)),
    "jvp of integers": (lambda: jx.jvp(lambda x: (doubled(1.0), x), (X,), (X,))[1], (0.0, X)),
    "linearize": (lambda: jx.linearize(doubled, X)[1](X), 2 * X),
    "vmap of jvp": (lambda: jx.vmap(lambda x: jx.jvp(doubled, (x,), (x,)))(X), (2 * X, 2 * X)),
    "jvp of vmap": (lambda: jx.jvp(jx.vmap(doubled), (X,), (X,)), (2 * X, 2 * X)),
    "jit of vmap": (lambda: jx.jit(lambda x: jx.vmap(doubled)(x)[...])(X), 2 * X),
    "grad": (lambda: jx.grad(lambda x: jx.vmap(doubled)(x)[...] @ x)(X), 4 * X),
    "a tree": (lambda: jx.vmap(lambda x: {"r": doubled(x), "x": x})(X), {"r": 2 * X, "x": X}),
}


@pytest.mark.parametrize(("call", "expected"), RETURNED.values(), ids=RETURNED)
def test_a_reference_made_inside_comes_out_as_another(call, expected):
    jx.tree.map(np.testing.assert_allclose, values(call()), values(expected))


def test_what_comes_out_is_written_like_any_reference():
    primal, tangent = jx.jvp(doubled, (X,), (X,))
    rows = jx.vmap(doubled)(X)
    for ref in (primal, tangent, rows):
        ref[0] = 7.0
        assert ref[...].tolist() == [7.0, -2.0, 4.0]


def test_a_reference_of_outside_comes_out_as_it_is():
    ref, moving = jx.new_ref(X), jx.new_ref(X)
    assert jx.vmap(lambda r: r)(ref) is ref
    assert jx.vmap(lambda x: ref, out_axes=None)(X) is ref
    primal, tangent = jx.jvp(lambda r: r, (ref,), (moving,))
    assert primal is ref
    assert tangent is moving
    primal, linear = jx.linearize(lambda r: r, ref)
    assert primal is ref
    assert linear(moving) is moving
    primal, tangent = jx.jvp(lambda x: ref, (1.0,), (1.0,))
    assert primal is ref
    assert tangent[...].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("ref", [jx.new_ref(X)])
def test_axes_of_results_are_those_of_references(ref):
    with pytest.raises(AxisError, match=r"it is 0 for a reference .* made outside"):
        jx.vmap(lambda x: ref)(X)
    with pytest.raises(AxisError, match=r"it is None for a reference .* whose mapped axis is 0"):
        jx.vmap(lambda r: r, out_axes=None)(ref)
    with pytest.raises(AxisError, match=r"makes for itself: give it an axis, or return ref\["):
        jx.vmap(doubled, out_axes=None)(X)
    with pytest.raises(TypeError, match="value of type View"):
        jx.vmap(lambda x: ref.at[0], out_axes=None)(X)
    with pytest.raises(TypeError, match=r"value of type Ref.*what it holds"):
        jx.vjp(doubled, X)


def _in_a_tree(bwd_of_tree):
    """A function of a dictionary; its way back adds the cotangent to the reference in there."""

    @jx.custom_vjp
    def scaled(parts):
        parts["calls"][...] += 1.0
        return parts["x"] * 2.0

    def bwd(seen, ct):
        seen[...] += ct
        return (bwd_of_tree(ct),)

    scaled.defvjp(lambda parts: (scaled(parts), parts["seen"]), bwd)
    return scaled


WAYS_BACK = {
    "a tree": (lambda ct: {"calls": None, "seen": None, "x": 7.0 * ct}, 21.0),
    "None": (lambda ct: None, 0.0),
    "one for all": (lambda ct: 5.0 * ct, 15.0),
}


@pytest.mark.parametrize("around", [lambda f: f, jx.jit])
@pytest.mark.parametrize(("way", "slope"), WAYS_BACK.values(), ids=WAYS_BACK)
def test_a_tree_of_references_and_values_goes_to_a_custom_vjp(way, slope, around):
    scaled = _in_a_tree(way)
    calls, seen = jx.new_ref(0.0), jx.new_ref(0.0)
    f = around(jx.grad(lambda x: 3.0 * scaled({"calls": calls, "seen": seen, "x": x})))
    assert f(4.0).item() == slope
    assert (calls[...].item(), seen[...].item()) == (1.0, 3.0)


def test_a_way_back_of_another_structure_is_refused():
    scaled = _in_a_tree(lambda ct: {"x": ct})
    ref, other = jx.new_ref(0.0), jx.new_ref(0.0)
    with pytest.raises(TypeError, match="the bwd rule bwd of scaled must return cotangents shaped"):
        jx.grad(lambda x: scaled({"calls": ref, "seen": other, "x": x}))(1.0)


def test_a_tree_of_references_and_values_goes_to_a_custom_jvp():
    @jx.custom_jvp
    def product(pair):
        return pair[0][...] * pair[1]

    @product.defjvp
    def rule(primals, tangents):
        ((ref, x),), ((moving, t),) = primals, tangents
        return ref[...] * x, 10.0 * ref[...] * t + moving[...] * x

    ref, rows = jx.new_ref(3.0), jx.new_ref(X)
    assert product((ref, 5.0)) == 15.0
    along = jx.jvp(lambda x: product((ref, x)), (5.0,), (1.0,))
    assert [part.item() for part in along] == [15.0, 30.0]
    both = jx.jvp(lambda r, x: product((r, x)), (ref, 5.0), (jx.new_ref(1.0), 1.0))
    assert [part.item() for part in both] == [15.0, 35.0]
    np.testing.assert_array_equal(jx.vmap(lambda r, x: product((r, x)))(rows, X), X * X)


def _set(part, x):
    part[...] = x


PARTS = {
    "jit": lambda part: jx.jit(_set)(part, 7.0),
    "jit, not traced again": lambda part: [jx.jit(_set)(part, x) for x in (3.0, 7.0)],
    "compiled": lambda part: jx.jit(_set).lower(part, 7.0).compile()(part, 7.0),
    "cond": lambda part: lax.cond(True, _set, lambda part, x: None, part, 7.0),
    "checkpoint": lambda part: jx.checkpoint(_set)(part, 7.0),
    "vjp": lambda part: jx.vjp(_set, part, 7.0),
}


@pytest.mark.parametrize("use", PARTS.values(), ids=PARTS)
def test_a_part_of_a_reference_is_an_argument(use):
    ref = jx.new_ref(np.stack([X, X]))
    use(ref.at[1].at[2])
    assert ref[...].tolist() == [X.tolist(), [0.5, -1.0, 7.0]]


def test_two_parts_of_one_reference_are_given_once():
    ref = jx.new_ref(X)
    with pytest.raises(RefError, match=r"one reference of type Ref\{f32\[3\]\} twice: as y and"):
        jx.jit(lambda x, y: x[...] + y[...])(ref.at[0], ref.at[1])
    with pytest.raises(RefError, match="twice: as x and as a variable that is closed over"):
        jx.jit(lambda x: x[...] + ref[1])(ref.at[0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_deep_copy_is_a_reference_of_its_own(copied):
    ref = jx.new_ref(X)
    other, part = copied(ref), copied(ref.at[1:])
    other[0] = 9.0
    part[0] = 8.0
    assert ref[...].tolist() == X.tolist()
    assert other[...].tolist() == [9.0, -1.0, 2.0]
    assert part[...].tolist() == [8.0, 2.0]
    assert copy.copy(ref) is ref


def test_the_type_makes_what_new_ref_makes():
    given = np.zeros(2, np.float32)
    ref = jx.Ref(given)
    given[0] = 1.0
    assert ref[...].tolist() == [0.0, 0.0]
    assert isinstance(jx.Ref(True)[...], jx.Array)
