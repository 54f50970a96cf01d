"""Figures of arrays: right beside NumPy's, of every dtype and sharding, and never in the way."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import events
from jxkernel.observe.values import figures_of


@pytest.mark.parametrize(
    "dtype", ["float32", "bfloat16", "float16", "int32", "uint8", "int4", "bool", "complex64"]
)
def test_figures_are_those_of_numpy(dtype: str) -> None:
    x = jnp.asarray(np.arange(40).reshape(5, 8) % 7, dtype)
    figures = figures_of(x)
    assert figures is not None
    numbers = np.abs(np.asarray(x).astype(complex if dtype == "complex64" else np.float64))
    if dtype == "int4":
        numbers = np.asarray(x).astype(np.float64)
    assert (figures.looked, figures.size) == (40, 40)
    assert (figures.least, figures.greatest) == (numbers.min(), numbers.max())
    assert figures.mean == pytest.approx(numbers.mean())
    assert (figures.nans, figures.infinities) == (0, 0)
    assert np.array_equal(figures.cells, numbers)


def test_what_is_not_finite_is_counted_and_left_out() -> None:
    x = jnp.array([1.0, jnp.nan, 3.0, jnp.inf, -jnp.inf, jnp.nan])
    figures = figures_of(x)
    assert figures is not None
    assert (figures.nans, figures.infinities) == (2, 2)
    assert (figures.least, figures.mean, figures.greatest) == (1.0, 2.0, 3.0)
    nothing = figures_of(jnp.full(20, jnp.nan))
    assert nothing is not None
    assert (nothing.least, nothing.mean, nothing.bars, nothing.nans) == (None, None, (), 20)


def test_bars_count_every_element() -> None:
    x = jx.random.normal(jx.random.key(0), (1000,))
    figures = figures_of(x)
    assert figures is not None
    expected, _ = np.histogram(np.asarray(x, np.float64), len(figures.bars))
    assert figures.bars == tuple(expected)


def test_blocks_of_a_matrix_are_means_where_numbers_are() -> None:
    x = jnp.arange(96 * 96.0).reshape(96, 96).at[:4, :2].set(jnp.nan)
    figures = figures_of(x)
    assert figures is not None
    cells = np.array(figures.cells)
    assert cells.shape == (24, 48)
    assert np.isnan(cells[0, 0])
    expected = np.asarray(x).reshape(24, 4, 48, 2).mean(axis=(1, 3))
    assert np.allclose(cells.ravel()[1:], expected.ravel()[1:])


def test_blocks_show_no_pattern_that_a_few_rows_make() -> None:
    x = jnp.sin(jnp.arange(1_000_000.0)).reshape(1000, 1000)
    figures = figures_of(x)
    assert figures is not None
    parts = [np.array_split(rows, 48, axis=1) for rows in np.array_split(np.asarray(x), 24)]
    means = np.array([[part.mean(dtype=np.float64) for part in row] for row in parts])
    assert np.abs(figures.cells).max() == pytest.approx(np.abs(means).max(), rel=0.5)


def test_shards_are_read_where_they_lie(eight_devices: Any) -> None:
    whole = jnp.arange(64.0 * 32).reshape(64, 32)
    mesh = jx.make_mesh((4, 2), ("a", "b"))
    for spec in (jx.P("a", "b"), jx.P("b"), jx.P(None, "a"), jx.P()):
        divided = jx.device_put(whole, jx.NamedSharding(mesh, spec))
        assert figures_of(divided) == figures_of(whole)


def test_of_large_arrays_a_sample_is_told() -> None:
    figures = figures_of(jnp.ones((5000, 5000)))
    assert figures is not None
    assert figures.size == 25_000_000
    assert 0 < figures.looked < 1_000_000
    assert figures.mean == 1.0


def test_what_has_no_figures_has_none() -> None:
    gone = jnp.ones(3)
    gone.delete()
    assert figures_of(gone) is None
    assert figures_of(jnp.zeros((0, 3))) is None
    assert figures_of(jnp.zeros(3, jx.dtypes.float0)) is None


def test_looking_compiles_nothing() -> None:
    x = jnp.ones((100, 100)).block_until_ready()
    seen: list[events.Event] = []
    with events.listen(seen.append):
        figures_of(x)
    assert not seen
