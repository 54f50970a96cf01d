"""Segment reductions, reached as ``jxkernel.ops.segment_sum``: values, derivatives, errors."""

from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.config import enable_x64
from jxkernel.errors import ConcretizationTypeError, ShapeMismatchError, UndefinedRuleError
from tests.primitives.checking import assert_close, check_derivatives, check_vmap

IDS = np.array([0, 2, 0, -1, 7, 2], np.int32)
COMBINED: dict[str, Any] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def segment(kind: str) -> Any:
    return getattr(jx.ops, f"segment_{kind}")


def reference(kind: str, data: Any, ids: Any, count: int) -> Any:
    smooth = data.dtype.kind in "fc"
    limits = None if smooth or data.dtype == bool else np.iinfo(data.dtype)
    least = -np.inf if smooth else False if limits is None else limits.min
    most = np.inf if smooth else True if limits is None else limits.max
    start = {"sum": 0, "prod": 1, "max": least, "min": most}[kind]
    out = np.full((count, *data.shape[ids.ndim :]), start, data.dtype)
    for place in np.ndindex(ids.shape):
        if 0 <= ids[place] < count:
            out[ids[place]] = COMBINED[kind](out[ids[place]], data[place])
    return out


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", COMBINED)
@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "float32", "bool"])
@pytest.mark.parametrize("shape", [(6,), (6, 2)])
def test_values(kind: str, dtype: str, shape: tuple[int, ...]) -> None:
    if dtype == "bool" and kind in ("sum", "prod"):
        return  # Refused: see below.
    data = np.arange(1, 1 + np.prod(shape)).reshape(shape) % 5
    data = data.astype(dtype)
    wanted = reference(kind, data, IDS, 4)
    assert_close(segment(kind)(data, IDS, 4), wanted)
    assert_close(jx.jit(lambda d, i: segment(kind)(d, i, num_segments=4))(data, IDS), wanted)
    assert_close(segment(kind)(data, IDS, 4, bucket_size=4), wanted)
    assert_close(segment(kind)(data, IDS), reference(kind, data, IDS, 8))


@pytest.mark.parametrize("kind", COMBINED)
def test_ids_of_rank_two_name_several_segments_for_each_row(kind: str) -> None:
    data, ids = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([[0, 1, 1], [3, 0, 9]])
    wanted = reference(kind, np.stack([data, data]), ids, 4)
    assert_close(segment(kind)(data, ids, 4), wanted)
    assert_close(segment(kind)(data, ids, 4, bucket_size=1), wanted)


@pytest.mark.parametrize("kind", COMBINED)
def test_one_row_stands_for_equal_rows(kind: str) -> None:
    wanted = reference(kind, np.full(3, 2, np.float32), np.array([0, 2, 0]), 3)
    assert_close(segment(kind)(np.float32([2]), np.array([0, 2, 0])), wanted)
    assert_close(segment(kind)(np.float32(2), np.array([0, 2, 0])), wanted)
    assert segment(kind)(np.float32(2), np.int32(1), 2)[1] == 2


def test_ids_out_of_range_are_dropped_or_clipped() -> None:
    data, ids = jnp.arange(1.0, 4.0), jnp.array([-1, 0, 5])
    assert_close(jx.ops.segment_sum(data, ids, 2), np.float32([2, 0]))
    assert_close(jx.ops.segment_sum(data, ids, 2, mode="clip"), np.float32([3, 3]))


def test_no_rows() -> None:
    empty = np.zeros((0, 2), np.float32)
    for size in (None, 2):
        found = jx.ops.segment_max(empty, np.zeros(0, int), 1, bucket_size=size)
        assert_close(found, np.float32([[-np.inf] * 2]))


@pytest.mark.parametrize("kind", COMBINED)
def test_derivatives_and_batching(kind: str) -> None:
    data, ids = np.random.default_rng(0).normal(size=(6, 2)), np.array([0, 2, 1, 5, 3, 4])
    if kind != "prod":
        ids = np.array([0, 2, 0, -1, 1, 7])
    with enable_x64(True):
        check_derivatives(
            lambda d: segment(kind)(d, ids, 6, unique_indices=kind == "prod")[:3], [data]
        )
        check_vmap(lambda d, i: segment(kind)(d, i, 6), [data, ids])


def test_product_of_repeated_ids_has_no_derivative_and_says_so() -> None:
    with pytest.raises(UndefinedRuleError, match="unique_indices=True"):
        jx.grad(lambda d: jx.ops.segment_prod(d, np.array([0, 0]), 1).sum())(jnp.ones(2))


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        (([1.0], np.array([0])), {}, TypeError, "segment_sum takes arrays"),
        ((np.ones(2), np.ones(2)), {}, TypeError, "integer segment_ids"),
        ((np.ones(2, bool), np.zeros(2, int)), {}, TypeError, "does not accept dtype bool"),
        ((np.ones(3), np.zeros(2, int)), {}, ShapeMismatchError, "an id for each"),
        ((np.ones(2), np.zeros(2, int), -1), {}, ValueError, "num_segments=-1"),
        ((np.ones(2), np.zeros(2, int)), {"bucket_size": 0}, ValueError, "bucket_size=0"),
        (
            (np.ones(2), np.zeros(2, int)),
            {"bucket_size": 2.0},
            TypeError,
            "bucket_size=2.0 of type",
        ),
        ((np.ones(2), np.zeros(2, int), 2.5), {}, TypeError, "num_segments=2.5 of type float"),
        ((np.ones((2, 3, 2)), np.zeros((2, 3), int)), {}, ShapeMismatchError, r"ids.ravel\(\)"),
        ((np.ones(2), np.zeros((), int)), {}, ShapeMismatchError, "an id for each row"),
        ((np.ones(2), np.zeros(2, int)), {"mode": "wrap"}, ValueError, "unknown indexing mode"),
        ((np.zeros(0), np.zeros(0, int)), {}, ValueError, "give num_segments"),
    ],
)
def test_bad_arguments(args: Any, kwargs: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        jx.ops.segment_sum(*args, **kwargs)


def test_traced_ids_need_a_number_of_segments() -> None:
    with pytest.raises(ConcretizationTypeError, match="num_segments=n"):
        jx.jit(jx.ops.segment_sum)(jnp.ones(2), jnp.zeros(2, int))


def test_complex_extremes_at_indices_are_lexicographic() -> None:
    x, ids = jnp.array([2j, 3j, 1 - 1j, 1 - 2j]), jnp.array([0, 0, 1, 1])
    assert jx.ops.segment_max(x, ids).tolist() == [3j, 1 - 1j]
    assert jx.ops.segment_min(x, ids).tolist() == [2j, 1 - 2j]
    assert jnp.zeros(2, "complex64").at[ids].max(x).tolist() == [3j, 1 - 1j]
    found = jx.vmap(lambda row: jnp.zeros(2, "complex64").at[ids].min(row))(jnp.stack([x, -x]))
    np.testing.assert_array_equal(found, [[0, 0], [-3j, -1 + 1j]])
