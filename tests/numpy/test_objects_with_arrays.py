"""Objects that say what array they are (``__jax_array__``) are taken where arrays are."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax

ONES = jnp.ones((2, 2))


class Weight:
    """A number that a layer keeps, scaled where it is used."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return 2.0 * jnp.asarray(self.value)


class Leaf(Weight):
    """The same, as a pytree."""


jx.tree_util.register_pytree_node(Leaf, lambda leaf: ((leaf.value,), None), lambda _, c: Leaf(*c))

USES = {
    "shape": (lambda w: jnp.shape(w), (2, 2)),
    "ndim": (lambda w: jnp.ndim(w), 2),
    "size": (lambda w: jnp.size(w), 4),
    "sin": (lambda w: jnp.sin(w), np.sin(np.full((2, 2), 2.0))),
    "array == w": (lambda w: w == ONES, np.zeros((2, 2), bool)),
    "w == array": (lambda w: w == ONES, np.zeros((2, 2), bool)),
    "array + w": (lambda w: ONES + w, np.full((2, 2), 3.0)),
    "w + array": (lambda w: w + ONES, np.full((2, 2), 3.0)),
    "array - w": (lambda w: ONES - w, np.full((2, 2), -1.0)),
    "array @ w": (lambda w: ONES @ w, np.full((2, 2), 4.0)),
    "w @ array": (lambda w: w @ ONES, np.full((2, 2), 4.0)),
    "array < w": (lambda w: w > ONES, np.ones((2, 2), bool)),
    "where": (lambda w: jnp.where(True, w, 0), np.full((2, 2), 2.0)),
    "set": (lambda w: ONES.at[:].set(w), np.full((2, 2), 2.0)),
    "add to": (lambda w: ONES.at[0].add(w), None),
    "stack": (lambda w: jnp.stack([w, w]).sum(), 16.0),
    "concatenate": (lambda w: jnp.concatenate([w, ONES]).sum(), 12.0),
    "sum": (lambda w: jnp.sum(w), 8.0),
    "zeros_like": (lambda w: jnp.zeros_like(w), np.zeros((2, 2))),
    "array": (lambda w: jnp.array(w), np.full((2, 2), 2.0)),
    "list": (lambda w: jnp.array([w, w]).shape, (2, 2, 2)),
    "astype": (lambda w: jnp.astype(w, int), np.full((2, 2), 2)),
    "convert": (lambda w: lax.convert_element_type(w, jnp.int32), np.full((2, 2), 2)),
    "closed over": (lambda w: jx.jit(lambda x: x * w)(ONES), np.full((2, 2), 2.0)),
    "differentiated": (lambda w: jx.grad(lambda x: jnp.sum(x * w))(ONES), np.full((2, 2), 2.0)),
    "mapped": (lambda w: jx.vmap(lambda x: x + jnp.sum(w))(jnp.zeros(2)), np.full(2, 8.0)),
}


@pytest.mark.parametrize(("use", "expected"), USES.values(), ids=USES)
@pytest.mark.parametrize("kind", [Weight, Leaf])
def test_an_object_is_the_array_that_it_gives(use, expected, kind):
    w = kind(np.ones((2, 2), np.float32))
    if expected is None:
        with pytest.raises(ValueError, match="broadcast"):
            use(w)
        return
    for _ in range(3):  # C++ must not answer the later calls from the object's leaves
        np.testing.assert_allclose(use(w), expected, rtol=1e-6)
    w.value = 3 * w.value
    if use(w) is not None and np.shape(expected) == (2, 2) and np.all(expected == 2.0):
        assert not np.array_equal(use(w), expected)


def test_an_object_is_an_index():
    class Place(Weight):
        def __jax_array__(self):
            return jnp.asarray(self.value)

    assert jnp.arange(4)[Place(1)] == 1
    assert jnp.arange(9)[Place(np.array([1, 2]))].tolist() == [1, 2]
