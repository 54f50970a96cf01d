"""``ds``: slices of a known size whose start may be data, of arrays and of references."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

X = np.arange(10)
M = X.reshape(2, 5)


def both(read, start):
    """What a function of a start gives at once and jitted, which is one thing."""
    now, later = read(jnp.int32(start)), jx.jit(read)(start)
    np.testing.assert_array_equal(now, later)
    return later.tolist()


def test_a_known_start_is_a_slice_of_python():
    x = jnp.asarray(X)
    assert x[jx.ds(2, 3)].tolist() == [2, 3, 4]
    assert x[jx.ds(8, 4)].tolist() == [8, 9]
    assert x[jx.ds(-3, 2)].tolist() == [7, 8]
    assert x[jx.ds(1, 4, 2)].tolist() == [1, 3]
    assert x[jx.ds(3)].tolist() == [0, 1, 2]
    assert jx.ds(None) == slice(None)
    assert x.at[jx.ds(2, 3)].set(0).tolist() == [0, 1, 0, 0, 0, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("start", "found"), [(1, [1, 2, 3]), (9, [7, 8, 9]), (-2, [7, 8, 9]), (-3, [7, 8, 9])]
)
def test_a_start_that_is_data_is_moved_within(start, found):
    x = jnp.asarray(X)
    assert both(lambda i: x[jx.ds(i, 3)], start) == found
    assert both(lambda i: x.at[jx.ds(i, 3)].get(mode="clip"), start) == found


def test_beside_other_indices():
    m = jnp.asarray(M)
    assert both(lambda i: m[0, jx.ds(i, 2)], 2) == [2, 3]
    assert both(lambda i: m[None, ..., jx.ds(i, 2)], 2) == [[[2, 3], [7, 8]]]
    assert both(lambda i: m[::-1, jx.ds(i, 2)], 1) == [[6, 7], [1, 2]]
    rows = jnp.array([1, 0, 1])
    assert both(lambda i: m[rows, jx.ds(i, 2)], 1) == [[6, 7], [1, 2], [6, 7]]
    assert both(lambda i: m[rows, jx.ds(i, 2, 3)], 1) == [[6, 9], [1, 4], [6, 9]]


def test_a_stride_spaces_the_elements():
    x = jnp.asarray(X)
    assert both(lambda i: x[jx.ds(i, 3, 2)], 1) == [1, 3, 5]
    assert both(lambda i: x[jx.ds(i, 3, 2)], 9) == [9, 9, 9]


def test_updates_out_of_bounds_are_left_out():
    x = jnp.asarray(X)
    assert both(lambda i: x.at[jx.ds(i, 3)].set(0), 1) == [0, 0, 0, 0, 4, 5, 6, 7, 8, 9]
    for start in (9, -2):
        assert both(lambda i: x.at[jx.ds(i, 3)].set(0), start) == X.tolist()
        assert both(lambda i: x.at[jx.ds(i, 3)].multiply(2), start) == X.tolist()
    moved = both(lambda i: x.at[jx.ds(i, 3)].add(5, mode="clip"), 9)
    assert moved == [0, 1, 2, 3, 4, 5, 6, 12, 13, 14]
    assert both(lambda i: x.at[jx.ds(i, 2)].get(mode="fill", fill_value=-1), 9) == [-1, -1]


def test_transforms():
    x = jnp.asarray(X)
    rows = jx.vmap(lambda i: x[jx.ds(i, 3)])(jnp.arange(2))
    assert rows.tolist() == [[0, 1, 2], [1, 2, 3]]
    slope = jx.grad(lambda y: y[jx.ds(jnp.int32(2), 2)].sum())(jnp.ones(4))
    assert slope.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert jx.jit(lambda part: x[part])(jx.ds(jnp.int32(4), 2)).tolist() == [4, 5]


def by_references(start, stride):
    ref = jx.new_ref(jnp.asarray(X))
    ref[jx.ds(start, 3, stride)] += 10
    return jnp.concatenate([ref[...], ref[jx.ds(start, 3, stride)]])


@pytest.mark.parametrize(("start", "first"), [(1, 1), (9, 7), (-2, 7)])
def test_references_move_the_start(start, first):
    after = [x + 10 * (first <= x < first + 3) for x in range(10)]
    expected = [*after, *after[first : first + 3]]
    assert both(lambda i: by_references(i, 1), start) == expected


def test_references_with_a_known_start_and_a_stride():
    expected = [0, 11, 2, 13, 4, 15, 6, 7, 8, 9, 11, 13, 15]
    assert by_references(1, 2).tolist() == expected
    assert both(lambda i: by_references(i, 2), 1) == expected
    ref = jx.new_ref(jnp.asarray(M))
    ref[..., jx.ds(3, 2)] = jnp.zeros((2, 2), int)
    assert ref[...].tolist() == [[0, 1, 2, 0, 0], [5, 6, 7, 0, 0]]


@pytest.mark.parametrize("part", [jx.ds(8, 4), jx.ds(-3, 2), jx.ds(12, 0), jx.ds(5, 3, 3)])
def test_references_check_a_known_start(part):
    ref = jx.new_ref(jnp.asarray(X))
    with pytest.raises(ValueError, match="out of bounds for an axis of size 10"):
        ref[part]
    with pytest.raises(ValueError, match="out of bounds for an axis of size 10"):
        ref[part] = 0


def test_what_is_no_slice_is_refused():
    x = jnp.asarray(X)
    with pytest.raises(ValueError, match="stride that is an int of at least 1"):
        jx.ds(1, 3, -1)
    with pytest.raises(TypeError, match="starts at an int or at an integer array of rank 0"):
        jx.ds(jnp.float32(1), 3)
    with pytest.raises(TypeError, match="size of a slice is a whole number that is known"):
        jx.jit(lambda n: x[jx.ds(0, n)])(2)
    with pytest.raises(TypeError, match="does not fit axis 0 of size 10"):
        x[jx.ds(jnp.int32(0), 12)]


def test_numbers_of_numpy_are_known_starts():
    x = jnp.asarray(X)
    for start in (np.int64(8), np.array(8)):
        assert x[jx.ds(start, 4)].tolist() == [8, 9]
