"""Places in sorted arrays, for arrays of every small size."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

VALUES = np.float32([-np.inf, -2, -1, -0.0, 0.0, 0.5, 1, 2, 3, 1e9, np.inf, np.nan])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 1000])
def test_searchsorted_finds_the_places_of_numpy(side, size):
    draw = np.random.default_rng(size)
    # Equal elements among them, both infinities and NaN at the end.
    a = np.sort(draw.integers(-3, 4, size).astype(np.float32))
    if size > 8:
        a[0], a[-2:] = -np.inf, [np.inf, np.nan]
    found = jnp.searchsorted(a, VALUES, side)
    np.testing.assert_array_equal(found, np.searchsorted(a, VALUES, side))
    whole = np.sort(draw.integers(-(2**31), 2**31, size).astype(np.int32))
    sought = np.append(whole, [-(2**31), 0, 2**31 - 1]).astype(np.int32)
    np.testing.assert_array_equal(
        jx.jit(jnp.searchsorted, static_argnums=2)(whole, sought, side),
        np.searchsorted(whole, sought, side),
    )


def test_searchsorted_maps_over_arrays_and_values():
    draw = np.random.default_rng(0)
    a = np.sort(draw.integers(0, 9, (4, 11)).astype(np.int32), axis=1)
    v = draw.integers(-1, 10, (4, 6)).astype(np.int32)
    wanted = [np.searchsorted(row, sought) for row, sought in zip(a, v, strict=True)]
    np.testing.assert_array_equal(jx.vmap(jnp.searchsorted)(a, v), wanted)
    np.testing.assert_array_equal(jx.vmap(jnp.searchsorted, (0, None))(a, v[0])[0], wanted[0])


@pytest.mark.parametrize("side", ["left", "right"])
def test_complex_numbers_with_nan_are_found_where_they_are_sorted(side):
    n = np.nan
    x = np.array([complex(n, n), complex(1, n), complex(n, 2), 2, complex(n, 1), 2 - 1j], "c8")
    ordered = jnp.sort(x)
    places = jnp.searchsorted(ordered, x, side=side)
    first = places - (side == "right")
    np.testing.assert_array_equal(np.sort(first), np.arange(6))
    np.testing.assert_array_equal(ordered[first], x)
