"""``vmap``: axes in and out, structures, nesting, and errors that name the argument."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.lax import add, mul, sin
from jxkernel.primitives.shape.broadcast import broadcast_in_dim, reduce_sum
from jxkernel.primitives.shape.transpose import transpose

A = np.arange(6, dtype=np.float32).reshape(2, 3)
V = np.arange(3, dtype=np.float32)


def dot(x, y):
    return reduce_sum(mul(x, y), (0,))


@pytest.mark.parametrize(
    ("fun", "args", "in_axes", "expected"),
    [
        (dot, (A, V), (0, None), A @ V),
        (dot, (A.T, V), (1, None), A @ V),
        (dot, (A.T, V), (-1, None), A @ V),
        (dot, (A, A), 0, (A * A).sum(1)),
        (dot, (A, A.T), (0, 1), (A * A).sum(1)),
        (dot, (A, A.T), [0, 1], (A * A).sum(1)),
        (add, (V, np.float32(2)), (0, None), V + 2),
        (lambda x, y: add(x, y), (V, A), (0, 1), V[:, None] + A.T),
        (lambda x: 7.0, (V,), 0, np.full(3, 7.0)),
        (lambda x: V, (A,), 0, np.stack([V, V])),
    ],
)
def test_examples_are_mapped_over_the_given_axes(fun, args, in_axes, expected):
    np.testing.assert_allclose(jx.vmap(fun, in_axes)(*args), expected)
    np.testing.assert_allclose(jx.jit(jx.vmap(fun, in_axes))(*args), expected)


@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_results_get_the_axis_asked_for(out_axis):
    out = jx.vmap(sin, out_axes=out_axis)(A)
    np.testing.assert_allclose(np.moveaxis(np.asarray(out), out_axis, 0), np.sin(A), rtol=1e-6)


def test_unmapped_results_need_not_get_an_axis():
    out = jx.vmap(lambda x: (x, sin(2.0)), out_axes=(0, None))(V)
    assert out[1].shape == ()


def test_structures_and_keyword_arguments():
    out = jx.vmap(
        lambda p, s: {"y": add(p["a"], p["b"]), "z": s}, in_axes=({"a": 0, "b": None}, 0)
    )({"a": A, "b": V}, np.ones(2, np.float32))
    np.testing.assert_allclose(out["y"], A + V)
    np.testing.assert_allclose(jx.vmap(lambda x, y: add(x, y))(V, y=V), V + V)


def test_nesting_gives_outer_products():
    outer = jx.vmap(jx.vmap(mul, (None, 0)), (0, None))
    np.testing.assert_allclose(outer(V, V), np.outer(V, V))


def test_an_axis_size_can_be_given():
    out = jx.vmap(lambda: 1.0, axis_size=4)()
    np.testing.assert_allclose(out, np.ones(4))


def test_axes_of_size_zero():
    assert jx.vmap(sin)(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_shape_changing_rules_under_two_axes():
    def f(x):
        return transpose(broadcast_in_dim(x, (2, 3), (1,)), (1, 0))

    got = jx.vmap(jx.vmap(f), in_axes=1)(np.ones((4, 5, 3), np.float32))
    assert got.shape == (5, 4, 3, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jx.vmap(3), TypeError, "vmap needs a callable"),
        (lambda: jx.vmap(sin, in_axes="a"), TypeError, "in_axes must be an int"),
        (lambda: jx.vmap(dot, (0,))(A, A), ValueError, "has 1 entry and.*2 positional arguments"),
        (lambda: jx.vmap(dot)(A, V), ValueError, r"args\[0\] has 2, args\[1\] has 3"),
        (lambda: jx.vmap(sin)(1.0), ValueError, r"args\[0\] is a scalar.*use None"),
        (lambda: jx.vmap(sin, 2)(A), ValueError, r"axis 2 is out of range for args\[0\]"),
        (lambda: jx.vmap(dot, None)(A, A), ValueError, "no argument of dot has a mapped axis"),
        (lambda: jx.vmap(sin, out_axes=None)(V), ValueError, "differs between examples"),
        (lambda: jx.vmap(sin, out_axes=3)(V), ValueError, "axis 3 is out of range for a result"),
        (
            lambda: jx.vmap(sin, out_axes=(0, 1))(V),
            ValueError,
            "out_axes has a tuple of length 2 there, the result has",
        ),
        (lambda: jx.vmap(lambda p: p, ({"a": 0},))({"b": V}), ValueError, "in_axes lacks"),
        (lambda: jx.vmap(sin)("word"), TypeError, r"given 'word' of type str as args\[0\]"),
        (lambda: jx.vmap(sin, ("x",))(V), TypeError, "must hold ints and None, got 'x'"),
    ],
)
def test_wrong_axes_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "bool", "bfloat16"])
def test_results_that_differ_may_be_summed(dtype):
    x = np.array([100, 100, 1]).astype(dtype)
    summed = jx.vmap(lambda x: (x, 5, x), out_axes=(None, None, 0), sum_match=True)
    total, same, each = summed(x)
    assert (total.dtype, total.item(), same) == (jx.numpy.sum(x).dtype, jx.numpy.sum(x).item(), 5)
    assert each.shape == (3,)


def test_the_derivative_of_a_sum_over_examples():
    square = jx.vmap(lambda x: mul(x, x), out_axes=None, sum_match=True)
    assert jx.jit(jx.grad(square))(np.float32([1, 2])).tolist() == [2, 4]
