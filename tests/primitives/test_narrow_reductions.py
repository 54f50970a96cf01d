"""Sums and extremes of narrow arrays: which are lowered how, and that values and slopes stay."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.core.avals import ShapedArray
from jxkernel.lowering import lower_program
from jxkernel.primitives.shape.short_rows import are_short_rows

ROWS = np.random.default_rng(0).integers(-64, 64, (70_000, 3)).astype(np.float32)
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
REDUCTIONS = {"sum": lax.reduce_sum, "max": lax.reduce_max, "min": lax.reduce_min}
NAMES = {"sum": "stablehlo.add", "max": "stablehlo.maximum", "min": "stablehlo.minimum"}


def text(fun, *args, platform="cpu"):
    return lower_program(jx.make_jaxpr(fun)(*args), name="f", platform=platform).text()


def short(shape, dtype: Any = np.float32, axes=(-1,), operation="sum"):
    aval = ShapedArray(shape, np.dtype(dtype))
    return are_short_rows(aval, [axis % len(shape) for axis in axes], NAMES[operation])


def test_what_goes_by_columns():
    assert short((70_000, 3))
    assert short((100, 700, 2))
    assert short((50_000, 2, 2), axes=(-2, -1))
    assert short((200_000, 3), np.int8, operation="max")
    assert not short((1000, 3))
    assert not short((70_000, 30))
    assert not short((140_000, 1))
    assert not short((3, 70_000), axes=(0,))
    assert not short((350, 200, 3), axes=(0, 2))
    assert not short((140_000, 2), np.int32)
    assert not short((140_000, 2), np.int8)
    assert not short((140_000, 2), np.complex64)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_values_are_those_of_numpy(name, dtype):
    with jx.enable_x64(True):
        x = ROWS.astype(dtype)
        found = jx.jit(lambda x: REDUCTIONS[name](x, (1,)))(x)
    assert found.dtype == dtype
    np.testing.assert_array_equal(
        np.asarray(found).astype(np.float64), getattr(ROWS.astype(np.float64), name)(1)
    )


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_bytes_are_compared(name, dtype):
    x = np.resize(np.arange(256, dtype=np.uint8).astype(dtype), (70_000, 3))
    found = jx.jit(lambda x: REDUCTIONS[name](x, (1,)))(x)
    np.testing.assert_array_equal(found, getattr(x, name)(1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize("place", range(3))
def test_a_nan_is_kept_and_infinities_are_as_ever(name, dtype, place):
    x = ROWS.astype(dtype)
    x[5, place] = np.nan
    x[6] = np.inf
    x[7] = -np.inf
    found = jx.jit(lambda x: REDUCTIONS[name](x, (1,)))(x)
    wanted = getattr(x.astype(np.float32), name)(1)
    np.testing.assert_array_equal(np.asarray(found).astype(np.float32), wanted)


def test_a_sum_of_zeros_is_the_zero_that_few_give():
    x = np.full((70_000, 2), -0.0, np.float32)
    many, few = (jx.jit(lambda x: lax.reduce_sum(x, (1,)))(x[:count]) for count in (70_000, 2))
    assert not np.signbit(few).any()
    assert not np.signbit(many).any()


COLUMNS = {
    "of points": ((70_000, 3), (0,)),
    "of a prime number of eleven rows": ((11 * 9091, 2), (0,)),
    "of a prime number": ((100_003, 2), (0,)),
    "of stacks": ((50, 1024, 3), (1,)),
    "over two axes": ((300, 160, 3), (0, 1)),
    "beside two axes": ((50_000, 2, 2), (0,)),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", COLUMNS)
def test_columns_are_reduced_as_by_numpy(case, dtype, name):
    shape, axes = COLUMNS[case]
    exact = np.resize(ROWS[:5, 0] // 8, shape).astype(np.float64)
    exact[3] = exact[-1] = -9
    exact[7] = 9
    with jx.enable_x64(True):
        found = jx.jit(lambda x: REDUCTIONS[name](x, axes))(exact.astype(dtype))
    wanted = getattr(exact, name)(axes).astype(dtype)
    np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("name", ["max", "min"])
def test_a_nan_in_a_column_is_kept(name):
    x = ROWS.copy()
    x[5, 1] = np.nan
    found = jx.jit(lambda x: REDUCTIONS[name](x, (0,)))(x)
    np.testing.assert_array_equal(found, getattr(x, name)(0))


def test_slopes_down_columns_are_those_of_numpy():
    x = ROWS.astype(np.float32)

    def spread(x):
        return jnp.sum(jnp.var(x, 0))

    slopes = jx.jit(jx.grad(spread))(x)
    np.testing.assert_allclose(slopes, 2 * (x - x.mean(0)) / len(x), rtol=1e-3, atol=1e-6)


def test_wide_rows_are_made_of_few_columns_alone():
    def total(x):
        return x.sum(0)

    assert text(total, ROWS).count("stablehlo.reduce(") == 2
    for x in (ROWS[:1000], ROWS.T, ROWS.astype(np.int32), np.zeros((9000, 20), np.float32)):
        assert text(total, x).count("stablehlo.reduce(") == 1
    assert text(total, ROWS, platform="cuda").count("stablehlo.reduce(") == 1


def test_several_axes_and_a_batch():
    x = ROWS[:60_000].reshape(1000, 60, 3)
    found = jx.jit(jx.vmap(lambda x: x.sum((-2, -1))))(x.reshape(1000, 15, 4, 3)[:, :, :2])
    assert found.shape == (1000, 15)
    np.testing.assert_array_equal(jx.jit(lambda x: x.max(-1))(x), x.max(-1))
    wide = np.resize(ROWS, (40_000, 2, 2))
    np.testing.assert_array_equal(jx.jit(lambda x: x.sum((1, 2)))(wide), wide.sum((1, 2)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_products_of_many_short_vectors(dtype):
    with jx.enable_x64(True):
        x = (ROWS // 8).astype(dtype)
        found = jx.jit(lambda x, y: jnp.einsum("ij,ij->i", x, y))(x, x + dtype(1))
        assert found.dtype == dtype
    wide = ROWS.astype(np.float64) // 8
    exact = (wide * (wide + 1)).sum(1).astype(dtype)
    np.testing.assert_array_equal(np.asarray(found), exact)


def test_products_of_vectors_are_sums_of_columns_where_both_are_short_rows():
    def products(x):
        return jnp.einsum("...j,...j->...", x, x)

    assert "dot_general" not in text(products, ROWS)
    assert "dot_general" in text(products, ROWS[:1000])
    assert "dot_general" in text(lambda x: jnp.einsum("ij,ik->ijk", x, x), ROWS)
    assert "dot_general" in text(lambda x: jnp.einsum("ij,ji->i", x, x.T), ROWS)
    slopes = jx.grad(lambda x: jnp.sum(products(x)))(ROWS)
    np.testing.assert_array_equal(slopes, 2 * ROWS)


def lengths(x):
    return jnp.sqrt(jnp.sum(x * x, -1) + 1)


def classes(x):
    return jnp.log(jx.nn.softmax(x)[..., 0] + 1)


@pytest.mark.parametrize("fun", [lengths, classes, lambda x: x.max(1) - x.min(1)])
def test_slopes_are_those_of_few_rows(fun):
    x = ROWS / 16

    def slopes(x):
        return jx.value_and_grad(lambda x: jnp.sum(fun(x)))(x)[1]

    many = jx.jit(slopes)(x)
    few = jx.jit(slopes)(x[:1000])
    np.testing.assert_allclose(many[:1000], few, rtol=1e-5, atol=1e-6)


def test_other_platforms_and_meshes_keep_the_reduction():
    def total(x):
        return x.sum(1)

    assert "stablehlo.reduce" not in text(total, ROWS)
    assert "stablehlo.reduce" in text(total, ROWS, platform="cuda")
    mesh = jx.make_mesh((1,), ("i",))
    placed = jx.device_put(ROWS, jx.NamedSharding(mesh, jx.P("i")))
    assert "stablehlo.reduce" in jx.jit(total).lower(placed).as_text()


def test_the_jaxpr_has_the_reduction():
    closed = jx.make_jaxpr(lambda x: x.sum(1))(ROWS)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["reduce_sum"]
