"""``ravel_pytree``: a tree as one vector, and back."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.flatten_util import ravel_pytree

TREE = {"a": np.arange(6.0, dtype=np.float32).reshape(2, 3), "b": (7.0, np.zeros((0, 2)))}


def test_elements_come_in_the_order_of_leaves_and_go_back():
    flat, unravel = ravel_pytree(TREE)
    np.testing.assert_array_equal(flat, [0, 1, 2, 3, 4, 5, 7])
    back = unravel(flat + 1)
    assert jx.tree.structure(back) == jx.tree.structure(TREE)
    np.testing.assert_array_equal(back["a"], TREE["a"] + 1)
    assert [x.shape for x in jx.tree.leaves(back)] == [(2, 3), (), (0, 2)]


def test_dtypes_promote_and_are_restored():
    flat, unravel = ravel_pytree((3, np.ones(2, np.float16), True))
    assert (flat.dtype, flat.shape) == (np.float16, (4,))
    assert [x.dtype for x in unravel(flat)] == [np.int32, np.float16, np.bool_]


def test_an_empty_tree_is_an_empty_vector():
    flat, unravel = ravel_pytree({})
    assert (flat.shape, flat.dtype) == ((0,), np.float32)
    assert unravel(flat) == {}


def test_it_composes_with_transforms():
    flat, unravel = ravel_pytree({"w": 2.0, "b": jnp.ones(2)})
    gradient = jx.jit(jx.grad(lambda v: unravel(v)["w"] * unravel(v)["b"].sum()))(flat)
    np.testing.assert_allclose(gradient, [2, 2, 2])
    rows = jx.vmap(lambda x: ravel_pytree((x, x))[0])(np.ones((3, 2), np.float32))
    assert rows.shape == (3, 4)


def test_functions_of_one_kind_of_tree_are_equal():
    one, other = ravel_pytree((1.0, 2))[1], ravel_pytree((3.0, 4))[1]
    assert one == other
    assert hash(one) == hash(other)
    assert one != ravel_pytree((1.0, 2.0))[1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda u: u(np.ones(2, int)),
            TypeError,
            r"dtype float32, got i32\[2\].*astype\('float32'\)",
        ),
        (lambda u: u(np.ones(3, np.float32)), ValueError, r"shape \(2,\).*got f32\[3\]"),
        (lambda u: ravel_pytree("a"), TypeError, "ravel_pytree was given 'a'"),
    ],
)
def test_wrong_use_says_what_to_write_instead(call, error, message):
    with pytest.raises(error, match=message):
        call(ravel_pytree((1.0, 2.0))[1])
