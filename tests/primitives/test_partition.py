"""Large arrays in order around an element: by digits they have what a sort has, on each side."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel._jaxlib import version
from jxkernel.primitives.reduction.ranked import ranked

SIZE = (1 << 17) + 3
_SPECIAL = [0, -0.0, 1, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 3, 3, 3, -1]
BY_DIGITS = pytest.mark.skipif(version < (0, 11, 2), reason="needs calls that are one kernel")


def _drawn(dtype: str, shape: tuple[int, ...], special: bool = False) -> Any:
    draw = np.random.default_rng(0)
    if special:
        return draw.choice(np.array(_SPECIAL, np.float32), shape).astype(dtype)
    return (100 * draw.standard_normal(shape)).astype(jnp.dtype(dtype))


def _bits(x: Any) -> Any:
    return np.asarray(x).view(f"uint{8 * x.dtype.itemsize}")


@BY_DIGITS
@pytest.mark.parametrize(
    ("dtype", "special", "rank"),
    [
        *[("float32", special, rank) for special in (False, True) for rank in (0, SIZE // 2)],
        *[("int32", False, SIZE - 1), ("uint8", False, 99), ("bfloat16", False, 70_000)],
        ("float16", True, SIZE // 3),
    ],
)
def test_a_large_partition_has_the_sorted_elements(dtype: str, special: bool, rank: int) -> None:
    x = _drawn(dtype, (SIZE,), special)
    compiled = jx.jit(lambda x: jnp.partition(x, rank))
    assert "partition_by_digits" in compiled.lower(x).as_text()
    found, ordered = _bits(compiled(x)), _bits(jnp.sort(x))
    assert found[rank] == ordered[rank]
    for part in (slice(rank), slice(rank, None)):
        np.testing.assert_array_equal(np.sort(found[part]), np.sort(ordered[part]))


@BY_DIGITS
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("special", [False, True])
def test_partitions_along_an_axis_agree_with_their_places(axis: int, special: bool) -> None:
    x = _drawn("float32", (512, 512), special)
    found = np.asarray(jx.jit(lambda x: jnp.partition(x, 40, axis))(x))
    places = np.asarray(jx.jit(lambda x: jnp.argpartition(x, 40, axis))(x))
    assert places.dtype == np.int32
    moved = np.take_along_axis(x, places, axis)
    wanted = np.sort(x, axis)
    for given in (found, moved):
        np.testing.assert_array_equal(np.take(given, 40, axis), np.take(wanted, 40, axis))
        low, high = np.split(given, [40], axis)
        ordered_low, ordered_high = np.split(wanted, [40], axis)
        np.testing.assert_array_equal(np.sort(low, axis), ordered_low)
        np.testing.assert_array_equal(np.sort(high, axis), ordered_high)


@BY_DIGITS
def test_places_of_a_large_partition_keep_the_order_of_equal_elements() -> None:
    x = jnp.full(SIZE, 7, np.int32).at[SIZE - 2].set(1)
    places = np.asarray(jx.jit(lambda x: jnp.argpartition(x, 5))(x))
    np.testing.assert_array_equal(places[:1], [SIZE - 2])
    np.testing.assert_array_equal(places[1:], np.delete(np.arange(SIZE), SIZE - 2))


def test_tangents_move_as_the_elements_of_a_partition_do() -> None:
    x = jnp.array([[7.0, 1.0, 5.0], [2.0, 9.0, 4.0]])
    found, moved = jx.jvp(lambda x: jnp.partition(x, 1, 1), (x,), (10 * x,))
    np.testing.assert_array_equal(moved, 10 * np.asarray(found))
    slope = jx.grad(lambda x: jnp.partition(x, 1, 1)[:, 1].sum())(x)
    np.testing.assert_array_equal(slope, np.asarray(x) == np.array([[5], [4]]))


def test_complex_numbers_and_other_platforms_are_sorted() -> None:
    x = np.array([2 + 1j, 1, 2 - 1j], np.complex64)
    assert jnp.partition(x, 1).tolist() == [1, 2 - 1j, 2 + 1j]
    assert jnp.argpartition(x, 1).tolist() == [1, 2, 0]
    traced = jx.jit(lambda x: jnp.partition(x, 9)).trace(_drawn("float32", (SIZE,)))
    assert "stablehlo.sort" in traced.lower(lowering_platforms=("cuda",)).as_text()


@BY_DIGITS
@pytest.mark.parametrize("size", [1 << 17, SIZE])
def test_large_sorts_take_all_elements(size: int) -> None:
    """Loops take four elements in a turn, and what is left one by one."""
    x = _drawn("float32", (size,), True)
    np.testing.assert_array_equal(jx.jit(jnp.sort)(x), np.sort(x))
    np.testing.assert_array_equal(jx.jit(jnp.argsort)(x), np.argsort(x, stable=True))


@BY_DIGITS
@pytest.mark.parametrize(("dtype", "special"), [("float32", True), ("bfloat16", False)])
def test_ranks_of_large_arrays(dtype: str, special: bool) -> None:
    x = _drawn(dtype, (3, 50_001), special)
    ranks = np.array([[0, 50_000], [7, 30_000], [25_000, 49_999]], np.int32)
    compiled = jx.jit(ranked)
    assert "rank_by_digits" in compiled.lower(x, ranks).as_text()
    ordered = np.asarray(jnp.sort(x, 1))
    for after, found in enumerate(compiled(x, ranks)):
        wanted = np.take_along_axis(ordered, np.minimum(ranks + after, 50_000), 1)
        np.testing.assert_array_equal(_bits(found), _bits(wanted))
