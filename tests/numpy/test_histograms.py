"""Bins of equal width: each value is in the bin that the edges say, however narrow bins are."""

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

RANDOM = np.random.default_rng(0)
MANY = 140_000
VALUES = {
    "normal": RANDOM.standard_normal(MANY),
    "on edges": RANDOM.integers(0, 20, MANY).astype(np.float64),
    "tiny": RANDOM.standard_normal(MANY) * 1e-20,
    "huge": RANDOM.standard_normal(MANY) * 1e30,
    "narrower than rounding": 1e4 + RANDOM.uniform(0, 1e-2, MANY),
    "all the same": np.full(MANY, 3.0),
}


def counted(values, edges, weights=None):
    """Return counts by searching the edges, in float64."""
    values, edges = (np.asarray(x).astype(np.float64) for x in (values, edges))
    place = np.searchsorted(edges, values, "right") - 1
    place[values == edges[-1]] = edges.size - 2
    inside = (place >= 0) & (place < edges.size - 1) & ~np.isnan(values)
    weights = None if weights is None else weights[inside]
    return np.bincount(place[inside], weights, edges.size - 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bins", [1, 20, 257])
@pytest.mark.parametrize("name", VALUES)
def test_counts_are_those_of_a_search(name, bins):
    values = VALUES[name].astype(np.float32)
    counts, edges = jnp.histogram(values, bins)
    rising = (np.diff(edges) >= 0).all()  # Rounding may let edges fall: then bins overlap.
    assert counts.sum() == values.size
    assert not rising or np.array_equal(counts, counted(values, edges))


def test_bins_may_be_narrower_than_rounding():
    values = VALUES["narrower than rounding"].astype(np.float32)
    counts, edges = jnp.histogram(values, 20)
    assert (np.diff(edges) == 0).any()
    np.testing.assert_array_equal(counts, counted(values, edges))


@pytest.mark.parametrize(("dtype", "most"), [(np.float16, 2048), (ml_dtypes.bfloat16, 256)])
def test_counts_of_short_floats_end_where_one_more_is_rounded_off(dtype, most):
    values = VALUES["normal"].astype(dtype)
    counts, edges = jnp.histogram(values, 2000)
    found = np.asarray(counts).astype(np.int64)
    np.testing.assert_array_equal(found, np.minimum(counted(values, edges), most))


@pytest.mark.parametrize(("dtype", "bins"), [(np.float16, 8192), (ml_dtypes.bfloat16, 2048)])
def test_more_bins_than_short_floats_count(dtype, bins):
    # Few in each bin, for short floats do not count far, and many that are in none.
    values = np.append(np.resize(np.arange(bins), 20_000), np.full(MANY, np.nan)).astype(dtype)
    counts, edges = jnp.histogram(values, bins, (0, bins))
    assert (np.diff(np.asarray(edges).astype(np.float32)) == 0).any()
    np.testing.assert_array_equal(np.asarray(counts).astype(int), counted(values, edges))


def test_values_next_to_edges_are_told_apart():
    edges = np.asarray(jnp.histogram_bin_edges(np.zeros(1, np.float32), 300, (-3.1, 4.7)))
    beside = [np.nextafter(edges, np.float32(way)) for way in (-9, 9)]
    values = np.concatenate([edges, *beside])
    counts, _ = jnp.histogram(values, 300, (-3.1, 4.7))
    np.testing.assert_array_equal(counts, counted(values, edges))


def test_values_outside_and_nan_are_not_counted():
    values = np.array([np.nan, np.inf, -np.inf, -2, -1, 0.5, 2, 2.5], np.float32)
    counts, _ = in_four(values)
    assert counts.tolist() == [1, 0, 1, 1]


def in_four(values):
    return jnp.histogram(values, 4, (-1, 2))


def test_traced_mapped_and_differentiated():
    values = np.stack([VALUES["normal"], VALUES["on edges"]]).astype(np.float32)
    counts, edges = jx.jit(jx.vmap(lambda x: jnp.histogram(x, 30)))(values)
    for row in range(2):
        np.testing.assert_array_equal(counts[row], counted(values[row], edges[row]))

    def third(weights):
        return jnp.histogram(values[0], 30, weights=weights)[0][15]

    weights = np.ones(MANY, np.float32)
    slopes = jx.grad(third)(weights)
    assert slopes.sum() == counts[0][15]
    by_values = jx.jacrev(lambda x: jnp.histogram(x, 30)[0])(values[0][:50])
    assert not by_values.any()


def test_boxes_of_a_grid():
    points = np.stack([VALUES["normal"], VALUES["on edges"]], 1).astype(np.float32)
    counts, edges = jnp.histogramdd(points, (7, np.array([0.0, 3, 5, 19])))
    exact, _ = np.histogramdd(points, [np.asarray(line) for line in edges])
    np.testing.assert_array_equal(counts, exact)
