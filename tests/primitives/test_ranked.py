"""Elements by rank: a search and a sort give the same, of every kind of number and every axis."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
from jxkernel import numpy as jnp
from jxkernel._jaxlib import version
from jxkernel.primitives.reduction.ranked import ranked

MAKES_ONE_KERNEL = version >= (0, 11, 2)
ROWS, COLUMNS = 17, 1024
_SPECIAL = [0, -0.0, 1, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 3, 3, 3, -1]


def _rows(kind: str) -> Any:
    rows = np.random.default_rng(0).normal(0, 50, (ROWS, COLUMNS)).astype(np.float32)
    if kind == "special":
        return np.resize(np.array(_SPECIAL, np.float32), rows.shape)
    return np.where(rows > 60, np.nan, rows) if kind == "missing" else rows


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "int8", "uint32"])
@pytest.mark.parametrize("kind", ["plain", "special"])
def test_ranked_elements_are_those_of_the_sorted_axis(dtype: str, kind: str) -> None:
    x = jnp.asarray(np.nan_to_num(_rows(kind)) if "int" in dtype else _rows(kind)).astype(dtype)
    ranks = np.random.default_rng(1).integers(0, COLUMNS, (ROWS, 3)).astype(np.int32)
    ranks[0] = (0, COLUMNS - 2, COLUMNS - 1)
    ordered = np.asarray(jnp.sort(x, axis=-1)).astype(np.float64)
    wanted = [np.take_along_axis(ordered, np.minimum(ranks + n, COLUMNS - 1), -1) for n in (0, 1)]
    found = jx.jit(ranked)(x, ranks)
    assert ("stablehlo.sort" in jx.jit(ranked).lower(x, ranks).as_text()) is not MAKES_ONE_KERNEL
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(one).astype(np.float64), other)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def test_ranked_of_many_or_on_another_platform_sorts() -> None:
    x, ranks = _rows("plain"), np.zeros((ROWS, 1), np.int32)
    traced = jx.jit(ranked).trace(x, ranks)
    assert ("stablehlo.sort" in traced.lower().as_text()) is not MAKES_ONE_KERNEL
    assert "stablehlo.sort" in traced.lower(lowering_platforms=("cuda",)).as_text()
    few = jx.jit(ranked).trace(x[:2, :9], ranks[:2]).lower().as_text()
    many = jx.jit(ranked).trace(x, np.repeat(ranks, 5, 1)).lower().as_text()
    assert "stablehlo.sort" in few
    sort = "sort_by_digits" if MAKES_ONE_KERNEL else "stablehlo.sort"
    assert sort in many


_METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "hazen", "inverted_cdf")
_PARTS = np.array([0.0, 0.3, 1.0], np.float32)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["plain", "missing"])
@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_medians_of_large_arrays(name: str, axis: int | None, kind: str) -> None:
    x = _rows(kind)
    found = jx.jit(lambda x: getattr(jnp, name)(x, axis))(x)
    np.testing.assert_allclose(found, getattr(np, name)(x, axis), rtol=1e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["plain", "missing"])
@pytest.mark.parametrize("method", _METHODS)
def test_quantiles_of_large_arrays(method: Any, kind: str) -> None:
    x = _rows(kind)
    found = jx.jit(lambda x: jnp.quantile(x, _PARTS, axis=1, method=method))(x)
    np.testing.assert_allclose(found, np.quantile(x, _PARTS, axis=1, method=method), rtol=1e-4)


def test_derivative_goes_to_the_elements_chosen() -> None:
    x = jnp.asarray(_rows("plain"))
    slope = np.asarray(jx.grad(lambda x: jnp.median(x, 1).sum())(x))
    assert (slope.sum(1) == 1).all()
    assert ((slope == 0.5).sum(1) == 2).all()
    chosen = np.sort(np.asarray(x)[slope == 0.5].reshape(ROWS, 2), 1)
    middle = np.sort(np.asarray(x), 1)[:, COLUMNS // 2 - 1 : COLUMNS // 2 + 1]
    np.testing.assert_array_equal(chosen, middle)


def test_errors_name_what_was_given() -> None:
    x = jnp.ones((2, 3))
    with pytest.raises(TypeError, match="real numbers, and ranks of dtype int32"):
        ranked(x, jnp.zeros((2, 1)))
    with pytest.raises(ValueError, match="all axes but the last"):
        ranked(x, jnp.zeros((3, 1), np.int32))
