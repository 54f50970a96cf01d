"""Parsing of indices: what cannot be an index says why."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.errors import NonConcreteBooleanIndexError


def test_a_traced_mask_is_refused_and_says_where_it_came_from():
    with pytest.raises(NonConcreteBooleanIndexError, match=r"a boolean mask \(bool\[3\]\)"):
        jx.jit(lambda x: x[x > 0])(jnp.ones(3))


X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
LONG = np.arange(300.0, dtype=np.float32)


@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit])
@pytest.mark.parametrize("position", [-12, -(2**40), 12, 2**40])
def test_known_positions_beyond_an_axis_are_clamped_and_not_written(wrap, position):
    x, places = jnp.arange(10.0), np.array([position])
    end = 9 if position > 0 else 0
    assert wrap(lambda x: x[places])(x).tolist() == [end]
    assert wrap(lambda x: x.at[places].set(-1.0))(x).tolist() == x.tolist()


@pytest.mark.parametrize(
    "index",
    [
        np.s_[:, 0, ..., np.array([0, 1])],
        np.s_[:, np.array([1, 2]), ..., np.array([0, 1])],
        np.s_[0, ..., :, np.array([0, 1])],
        np.s_[..., 0, np.array([0, 1])],
        np.s_[0, np.array([0, 1]), ..., :],
    ],
)
def test_an_ellipsis_without_axes_still_parts_index_arrays(index):
    np.testing.assert_array_equal(jnp.asarray(X)[index], X[index])
    changed = X.copy()
    changed[index] = np.arange(X[index].size).reshape(X[index].shape)
    np.testing.assert_array_equal(jnp.asarray(X).at[index].set(changed[index]), changed)


def test_a_mask_without_elements_chooses_nothing_of_any_axis():
    x, mask = jnp.asarray(X), np.zeros(0, bool)
    assert x[mask].shape == (0, 3, 4)
    assert x[:, mask].shape == (2, 0, 4)
    assert x[np.zeros((2, 0), bool)].shape == (0, 4)
    np.testing.assert_array_equal(x.at[mask].set(-1.0), X)
    with pytest.raises(IndexError, match=r"shape \(0, 5\) does not fit axes of sizes \(2, 3\)"):
        x[np.zeros((0, 5), bool)]


@pytest.mark.parametrize("wrap", [lambda f: f, jx.jit])
@pytest.mark.parametrize(
    ("read", "wanted"),
    [
        (lambda x, i: jnp.take_along_axis(x, i, 0), [299, 5, 172]),
        (lambda x, i: jnp.take(x, i), [299, 5, 172]),
        (lambda x, i: jnp.take(x, i, mode="wrap"), [299, 5, 172]),
        (lambda x, i: jnp.take(x, i, mode="clip"), [0, 5, 0]),
        (lambda x, i: x[i], [299, 5, 172]),
        (lambda x, i: x.at[i].get(), [299, 5, 172]),
        (lambda x, i: jnp.put(x, i, -1.0, inplace=False)[:2], [-1, 1]),
        (lambda x, i: jnp.unravel_index(i, (30, 10))[1], [9, 5, 2]),
        (lambda x, i: jnp.ravel_multi_index((i, i), (300, 300), mode="wrap")[1:2], [1505]),
        (lambda x, i: jnp.roll(x, i[2])[:2], [128, 129]),
    ],
)
def test_positions_of_narrow_dtypes_reach_all_of_a_long_axis(wrap, read, wanted):
    places = jnp.array([-1, 5, -128], np.int8)
    assert wrap(read)(jnp.asarray(LONG), places).tolist() == wanted


def test_unsigned_positions_of_narrow_dtypes_are_clipped_to_the_axis():
    places = jnp.array([1, 200], np.uint8)
    assert jnp.take(LONG, places, mode="clip").tolist() == [1, 200]
    assert jnp.choose(places, [np.int32([1, 2]), np.int32([3, 4])], mode="clip").tolist() == [3, 4]


@pytest.mark.parametrize(
    ("index", "kind"),
    [
        ({}, IndexError),
        (set(), IndexError),
        (object(), IndexError),
        (len, IndexError),
        (int, IndexError),
        ((1, {}), IndexError),
        ("a", TypeError),
        (b"", TypeError),
        (1.5, TypeError),
        (range(2), TypeError),
        (np.datetime64("2020"), TypeError),
    ],
)
def test_what_is_no_index_is_refused_by_its_kind(index, kind):
    x = jnp.arange(3)
    for use in (lambda: x[index], lambda: x.at[index].set(1)):
        with pytest.raises(
            (IndexError, TypeError), match="an index is an integer, a slice"
        ) as told:
            use()
        assert told.type is kind
