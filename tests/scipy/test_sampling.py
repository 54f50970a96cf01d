"""Sampling between elements, integration of samples, nearest codes: against SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.integrate
import scipy.interpolate
import scipy.ndimage

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.scipy import cluster, integrate, interpolate, ndimage

IMAGE = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
PLACES = [np.random.default_rng(i).uniform(-9, 12, (2, 6)).astype(np.float32) for i in (1, 2)]
# SciPy's own modes of these names are not periods of the grid.
NAMES = {"wrap": "grid-wrap", "constant": "grid-constant"}


@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_images_are_sampled_as_by_scipy(mode: str) -> None:
    def sample(x: Any, places: Any, order: int) -> Any:
        return ndimage.map_coordinates(x, places, order=order, mode=mode, cval=2.0)

    both = jx.jit(lambda x, places: [sample(x, places, order) for order in (0, 1)])
    for order, found in enumerate(both(IMAGE, PLACES)):
        wanted = scipy.ndimage.map_coordinates(
            IMAGE, PLACES, order=order, mode=NAMES.get(mode, mode), cval=2.0
        )
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "wrap", "mirror", "reflect"])
def test_the_nearest_element_half_way_between_two_is_scipys(mode: str) -> None:
    row, places = np.arange(4, dtype=np.float32), np.arange(-9.5, 9, dtype=np.float32)
    found = ndimage.map_coordinates(row, [places], order=0, mode=mode)
    wanted = scipy.ndimage.map_coordinates(row, [places], order=0, mode=NAMES.get(mode, mode))
    np.testing.assert_array_equal(found, wanted)


def test_integers_are_rounded_and_slopes_are_those_of_the_lines() -> None:
    values, places = np.array([0, 1, -2, -5]), np.array([0.25, 0.5, 1.5, 2.5])
    whole = ndimage.map_coordinates(jnp.array(values), [places], order=1)
    assert whole.dtype == np.int32
    np.testing.assert_array_equal(whole, scipy.ndimage.map_coordinates(values, [places], order=1))
    assert ndimage.map_coordinates(jnp.arange(5), [jnp.array([-1.7])], order=1).tolist() == [0]
    line = jnp.array([0.0, 2.0, 3.0])
    slope = jx.grad(lambda x: ndimage.map_coordinates(line, [x], order=1))
    assert (slope(0.5), slope(1.5)) == (2, 1)
    by_value = jx.grad(lambda v: ndimage.map_coordinates(v, [jnp.float32(0.25)], order=1))(line)
    assert by_value.tolist() == [0.75, 0.25, 0]


GRID = (np.array([0.0, 1, 3, 4]), np.array([0.0, 2, 3, 5, 9]))


@pytest.mark.parametrize("fill_value", [np.nan, None, 7.0])
@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_grids_are_interpolated_as_by_scipy(method: str, fill_value: Any) -> None:
    points = np.random.default_rng(3).uniform(-1, 10, (3, 4, 2)).astype(np.float32)
    ours = interpolate.RegularGridInterpolator(GRID, IMAGE, method, fill_value=fill_value)
    theirs = scipy.interpolate.RegularGridInterpolator(GRID, IMAGE, method, False, fill_value)
    np.testing.assert_allclose(ours(points), theirs(points), atol=1e-5)
    traced = jx.jit(lambda grid, points: grid(points))(ours, points)
    np.testing.assert_allclose(traced, theirs(points), atol=1e-5)
    pair = (points[..., 0], points[..., 1])
    np.testing.assert_allclose(ours(pair), theirs(points), atol=1e-5)


def test_interpolated_values_may_be_vectors() -> None:
    values = np.stack([IMAGE, -IMAGE], -1)
    flat = np.float32([0.5, 1.0, 1.5, 1.0])
    for points in (flat, flat.reshape(-1, 2)):
        assert interpolate.RegularGridInterpolator(GRID, IMAGE)(points).shape == (2,)
    both = interpolate.RegularGridInterpolator(GRID, values)(np.float32([[0.5, 1.0]]))
    assert both.shape == (1, 2)
    assert both[0, 0] == -both[0, 1]
    slope = jx.grad(lambda x: interpolate.RegularGridInterpolator(GRID, IMAGE)(x)[0])
    wanted = (IMAGE[1, 1] - IMAGE[0, 1]) * 0.5 + (IMAGE[1, 0] - IMAGE[0, 0]) * 0.5
    np.testing.assert_allclose(slope(jnp.array([[0.5, 1.0]]))[0, 0], wanted, rtol=1e-5)


def test_trapezoid_is_that_of_scipy() -> None:
    places = np.float32([0.0, 1.0, 1.5, 4.0])
    for kwargs in ({"dx": 0.5, "axis": 1}, {"x": places, "axis": 0}):
        found = integrate.trapezoid(IMAGE, **kwargs)
        np.testing.assert_allclose(found, scipy.integrate.trapezoid(IMAGE, **kwargs), rtol=1e-5)


def test_codes_are_those_nearest() -> None:
    for obs, book in ((IMAGE, IMAGE[:2]), (IMAGE[0], IMAGE[1, :2])):
        codes, distances = cluster.vq.vq(obs, book)
        wanted_codes, wanted = scipy.cluster.vq.vq(obs, book)
        np.testing.assert_array_equal(codes, wanted_codes)
        np.testing.assert_allclose(distances, wanted, rtol=1e-5, atol=1e-6)


def test_codes_of_complex_vectors_are_nearest_by_modulus() -> None:
    codes, distances = cluster.vq.vq(np.array([[1j, 2.0]]), np.array([[0.0, 5.0], [-2j, 2.0]]))
    assert codes.tolist() == [1]
    assert distances.tolist() == [3.0]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ndimage.map_coordinates(IMAGE, PLACES[:1], 1), ValueError, "1 for an input of"),
        (lambda: ndimage.map_coordinates(IMAGE, PLACES, 3), NotImplementedError, "order=3"),
        (
            lambda: ndimage.map_coordinates(IMAGE, PLACES, 1, "edge"),
            NotImplementedError,
            "mode='edge'.*nearest",
        ),
        (
            lambda: interpolate.RegularGridInterpolator(GRID, IMAGE, "cubic"),
            ValueError,
            "method='cubic'.*'linear'",
        ),
        (
            lambda: interpolate.RegularGridInterpolator(GRID, IMAGE, bounds_error=True),
            NotImplementedError,
            "bounds_error=True",
        ),
        (
            lambda: interpolate.RegularGridInterpolator(GRID[::-1], IMAGE),
            ValueError,
            r"values of shape \(5, 4\)",
        ),
        (
            lambda: interpolate.RegularGridInterpolator((GRID[0][::-1],), IMAGE),
            ValueError,
            "axis 0 of the grid do not increase",
        ),
        (
            lambda: interpolate.RegularGridInterpolator(GRID, IMAGE)(IMAGE),
            ValueError,
            r"2 axes, got points of shape \(4, 5\)",
        ),
        (lambda: cluster.vq.vq(IMAGE, IMAGE[:, :2]), ValueError, r"shapes \(4, 5\) and \(4, 2\)"),
    ],
)
def test_wrong_arguments_are_named(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_half_way_between_two_places_the_nearest_is_the_second():
    places = np.float32([0.5, 1.5, 2.5])
    wanted = scipy.ndimage.map_coordinates(np.arange(4.0), [places], order=0)
    found = ndimage.map_coordinates(jnp.arange(4.0), [places], order=0)
    np.testing.assert_array_equal(found, wanted)


def test_half_way_to_the_ends_lies_the_constant():
    places = np.array([-1.0, -0.5, 2.5, 3.0])
    wanted = scipy.ndimage.map_coordinates(np.arange(1.0, 4.0), [places], order=0, cval=-1)
    found = ndimage.map_coordinates(jnp.arange(1.0, 4.0), [places], order=0, cval=-1)
    np.testing.assert_array_equal(found, wanted)
