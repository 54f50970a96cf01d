"""Set operations of a given size: what fills, and where it says that it comes from."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

NAN = np.nan

A, B = np.array([1, 2, 3, 3, 5]), np.array([3, 5, 7, 5])
NONE = np.zeros(0, np.float32)

FILLED: list[tuple[Any, tuple[Any, Any], list[Any]]] = [
    (jnp.union1d, (A, B), [1, 2, 3, 5, 7, 1]),
    (jnp.intersect1d, (A, B), [3, 5, 3, 3, 3, 3]),
    (jnp.setxor1d, (A, B), [1, 2, 7, 1, 1, 1]),
    (jnp.setdiff1d, (A, B), [1, 2, 0, 0, 0, 0]),
    (jnp.intersect1d, (A[:2], B), [0] * 6),
    (jnp.setxor1d, (A, A), [0] * 6),
    (jnp.intersect1d, (NONE, NONE), [0.0] * 6),
    (jnp.setxor1d, (NONE, NONE), [0.0] * 6),
]


def test_what_is_in_one_array_is_found_beside_its_neighbours_where_all_are_unique() -> None:
    found = jnp.setxor1d(np.array([1, 1, 2, 3]), np.array([3, 3, 4]), assume_unique=True)
    assert found.tolist() == [2, 4]
    assert jnp.setxor1d(NONE, NONE, assume_unique=True).tolist() == []
    x = np.float32([NAN, 1, NAN])
    np.testing.assert_array_equal(jnp.setxor1d(x, x[:2], assume_unique=True), [NAN] * 3)


def test_complex_numbers_that_are_nan_are_one() -> None:
    x = np.complex64([complex(NAN, 5), complex(1, NAN), 1, complex(0, NAN), 2j])
    values, places, inverse, counts = jnp.unique(x, True, True, True)
    np.testing.assert_array_equal(values, np.complex64([2j, 1, NAN]))
    assert (places.tolist(), counts.tolist()) == ([4, 2, 0], [1, 1, 3])
    assert inverse.tolist() == [2, 2, 1, 2, 0]
    assert jnp.unique(x, equal_nan=False).size == 5
    assert jnp.union1d(x, x).size == jnp.setdiff1d(x, NONE).size == 3


def test_distinct_parts_of_nothing() -> None:
    assert jnp.unique(np.zeros((3, 0)), axis=0).shape == (1, 0)
    assert jnp.unique(NONE, size=2, fill_value=3).tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="no least one to fill with"):
        jnp.unique(NONE, size=2)


@pytest.mark.parametrize("run", [lambda f: f, jx.jit], ids=["eager", "jit"])
def test_what_fills_is_the_least_or_zero(run: Any) -> None:
    for function, (a, b), wanted in FILLED:
        found = run(lambda a, b, f=function: f(a, b, size=6))(a, b)
        assert found.tolist() == wanted, function.__name__
        found = run(lambda a, b, f=function: f(a, b, size=6, fill_value=-9))(a, b)
        count = len(getattr(np, function.__name__)(a, b))
        assert found.tolist() == [*wanted[:count], *[-9] * (6 - count)], function.__name__


def test_positions_of_what_fills_are_the_sizes() -> None:
    values, first, second = jnp.intersect1d(A, B, return_indices=True, size=4)
    assert values.tolist() == [3, 5, 3, 3]
    assert first.tolist() == [2, 4, 5, 5]
    assert second.tolist() == [0, 1, 4, 4]


def test_positions_have_the_dtype_asked_for() -> None:
    places = jnp.argsort(jnp.array([3, 1, 2]), dtype="uint8")
    assert (places.dtype, places.tolist()) == (np.uint8, [1, 2, 0])


@pytest.mark.parametrize("q", [np.float32(0.4), np.float32([0.2, 0.4])])
def test_quantiles_have_the_dtype_of_the_array(q: Any) -> None:
    x = jnp.array([1, 2, 3, 4], jnp.bfloat16)
    for function in (jnp.quantile, jnp.nanquantile, jnp.percentile):
        assert function(x, q).dtype == jnp.bfloat16
    np.testing.assert_allclose(jnp.quantile(x, q).astype("float32"), 1 + 3 * q, rtol=0.01)


@pytest.mark.parametrize("name", ["setdiff1d", "setxor1d", "union1d", "intersect1d", "unique"])
def test_nan_is_one_element_of_each_set(name: str) -> None:
    operands = [np.float32([NAN, 1, NAN]), np.float32([2, NAN, 1])][: 1 if name == "unique" else 2]
    wanted = getattr(np, name)(*operands)
    np.testing.assert_array_equal(getattr(jnp, name)(*operands), wanted)
    sized = jx.jit(lambda *xs: getattr(jnp, name)(*xs, size=4))(*operands)
    np.testing.assert_array_equal(sized[: wanted.size], wanted)
