"""Permutations and choices: the standard's orders, and what is refused."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

KEY = jx.random.key(7)


def test_orders_are_the_standard_ones():
    # As real jax 0.12 gives them for this key.
    assert jx.random.permutation(KEY, 10).tolist() == [9, 4, 2, 3, 5, 0, 7, 6, 1, 8]
    rows = jx.random.permutation(KEY, jnp.arange(6).reshape(3, 2))
    assert rows.tolist() == [[4, 5], [0, 1], [2, 3]]
    assert jx.random.choice(KEY, 5, (4,)).tolist() == [4, 2, 0, 2]
    assert jx.random.choice(KEY, 5, (4,), replace=False).tolist() == [4, 2, 3, 0]
    p = jnp.array([0.1, 0.2, 0.7])
    values = jnp.array([1.0, 2.0, 3.0])
    assert jx.random.choice(KEY, values, (3,), p=p).tolist() == [3, 1, 3]
    assert jx.random.choice(KEY, values, (2,), replace=False, p=p).tolist() == [2, 3]


@pytest.mark.parametrize("size", [0, 1, 2, 1000])
def test_a_permutation_holds_every_element_once(size):
    np.testing.assert_array_equal(np.sort(jx.random.permutation(KEY, size)), np.arange(size))


def test_whole_numbers_are_probabilities_and_booleans_are_bounds():
    picked = jx.random.choice(jx.random.key(0), 4, (5,), p=jnp.array([0, 0, 1, 0]))
    assert picked.tolist() == [2] * 5
    assert jx.random.randint(jx.random.key(0), (4,), False, True).tolist() == [0] * 4


def test_independent_orders_differ_between_vectors():
    x = jnp.broadcast_to(jnp.arange(50), (4, 50))
    mixed = np.asarray(jx.random.permutation(KEY, x, axis=1, independent=True))
    np.testing.assert_array_equal(np.sort(mixed, axis=1), np.asarray(x))
    assert len({tuple(row) for row in mixed}) == 4


def test_eager_jit_and_vmap_agree():
    keys = jx.random.split(KEY, 3)
    one_by_one = [jx.random.permutation(keys[i], 5).tolist() for i in range(3)]
    assert jx.vmap(lambda key: jx.random.permutation(key, 5))(keys).tolist() == one_by_one
    assert jx.jit(lambda key: jx.random.permutation(key, 5))(keys[0]).tolist() == one_by_one[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jx.random.permutation(KEY, jnp.zeros((2, 3)), axis=2), "axis 2.*rank 2"),
        (lambda: jx.random.permutation(KEY, 5, axis=1), "axis 1.*rank 1"),
        (lambda: jx.random.permutation(KEY, 5, axis=-2), "axis -2.*rank 1"),
        (lambda: jx.random.choice(KEY, jnp.zeros((2, 3)), axis=2), "axis 2.*rank 2"),
        (lambda: jx.random.choice(KEY, 0, (2,)), "at least one element"),
        (lambda: jx.random.choice(KEY, 3, (4,), replace=False), "draw 4 of 3"),
        (lambda: jx.random.choice(KEY, 3, p=jnp.ones(2)), r"p of shape \(3,\), got \(2,\)"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("x", [2.5, [1, 2]])
def test_permutation_takes_a_whole_number_or_an_array(x):
    with pytest.raises(TypeError):
        jx.random.permutation(KEY, x)
