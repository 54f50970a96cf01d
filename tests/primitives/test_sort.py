"""Sorting: order of NaN and zeros, stability, several keys, dtypes, derivatives, top k."""

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
from jxkernel.lax import approx_max_k, approx_min_k
from jxkernel.primitives.reduction.sort import sort, sort_key_val, top_k, top_k_p
from tests.primitives.checking import assert_close, check_all

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((3, 5, 2))
B = RANDOM.standard_normal((3, 5, 2))
TIED = RANDOM.integers(0, 3, (4, 6)).astype(np.float64)

DTYPES = (
    *(np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32),
    *(np.float16, ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3fn, ml_dtypes.int4),
)


def extremes(dtype, shape=(2, 40)):
    x = RANDOM.integers(-7, 7, shape).astype(dtype)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        x[:, 0], x[:, 5] = info.max, info.min
    return x


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_array_of_any_dtype(dtype):
    x = extremes(dtype)
    assert_close(sort(x), np.sort(x, -1))
    assert_close(sort(x, 0), np.sort(x, 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_of_any_dtype_are_stable(dtype):
    x = extremes(dtype)
    places = np.broadcast_to(np.arange(40, dtype=np.int32), x.shape)
    ordered, moved = sort_key_val(x, places)
    wide = x.astype(np.float64)
    assert_close(moved, np.argsort(wide, -1, kind="stable").astype(np.int32))
    assert_close(ordered, np.sort(x, -1))


SPECIAL = np.array([np.nan, 1, -0.0, np.inf, 0.0, -np.inf, -np.nan, -1, 0.0, -0.0], np.float32)


# A few elements are sorted by comparison, more by integer keys, and many by the digits of those.
COUNTS = pytest.mark.parametrize("count", [1, 9, 1700], ids=["few", "many", "by digits"])


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("shape", "axis"), [((2, 9000), 1), ((600, 30), 0)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_many_elements_of_any_dtype(dtype, shape, axis):
    x = extremes(dtype, shape)
    wide = x.astype(np.float64)
    order = np.argsort(wide, axis, kind="stable").astype(np.int32)
    places = np.broadcast_to(
        np.expand_dims(np.arange(shape[axis], dtype=np.int32), 1 - axis), shape
    )
    assert_close(sort(x, axis), np.take_along_axis(x, order, axis))
    assert_close(sort_key_val(x, places, axis)[1], order)


@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.float32])
def test_many_elements_with_all_their_bits(dtype):
    x = RANDOM.integers(0, 2**32, 20_000, np.uint32).view(dtype)
    x = np.where(np.isnan(x), dtype(0), x) if dtype == np.float32 else x
    assert_close(jx.jit(sort)(x), np.sort(x))
    places = np.arange(x.size, dtype=np.int32)
    assert_close(sort_key_val(x, places)[1], np.argsort(x, kind="stable").astype(np.int32))


def test_many_elements_are_sorted_without_comparing_them_on_cpu():
    def lowered(x):
        return jx.jit(sort).lower(x).as_text()

    assert "stablehlo.sort" not in lowered(np.zeros(20_000, np.float32))
    assert "stablehlo.sort" in lowered(np.zeros(1000, np.float32))
    with jx.enable_x64(True):
        assert "stablehlo.sort" in lowered(np.zeros(20_000))


@pytest.mark.parametrize("length", [545, 546, 547, 548])
def test_rows_of_any_length_are_moved_without_copies_of_all(length):
    x = RANDOM.standard_normal((256, length)).astype(np.float32)
    assert_close(sort(x), np.sort(x, -1))
    compiled = jx.jit(sort).lower(x).compile().as_text()
    assert f"u32[{x.size}]{{0}} copy(" not in compiled


def test_sort_by_digits_is_one_kernel_that_says_where_it_comes_from():
    compiled = jx.jit(sort).lower(np.zeros(20_000, np.float32)).compile().as_text()
    (call,) = [line for line in compiled.splitlines() if "to_apply=%sort_by_digits" in line]
    assert 'xla_cpu_small_call="true"' in call
    assert 'op_name="sort"' in call


@COUNTS
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_nan_is_last(dtype, count):
    x = np.tile(SPECIAL, count)
    ordered = np.asarray(sort(x.astype(dtype))).astype("f")
    np.testing.assert_array_equal(ordered, np.sort(x))


@COUNTS
def test_zeros_of_both_signs_and_all_nan_are_equal_keys_and_keep_their_bits(count):
    x = np.tile(SPECIAL, count)
    ordered, places = sort_key_val(x, np.arange(x.size, dtype=np.int32))
    order = np.argsort(x, kind="stable")
    assert np.asarray(places).tolist() == order.tolist()
    assert np.signbit(np.asarray(ordered)).tolist() == np.signbit(x[order]).tolist()


@COUNTS
def test_one_array_keeps_the_signs_of_its_zeros_and_nan(count):
    x = np.tile(SPECIAL, count)
    ordered = np.asarray(sort(x))
    for chosen in (lambda y: y == 0, np.isnan):
        assert np.signbit(ordered[chosen(ordered)]).sum() == np.signbit(x[chosen(x)]).sum()


@COUNTS
def test_positions_along_another_axis_are_not_those_of_the_sort(count):
    x = np.tile(RANDOM.standard_normal((4, 5)).astype("f"), (count, 1))
    rows = np.broadcast_to(np.arange(4 * count, dtype=np.int32)[:, None], x.shape)
    columns = np.broadcast_to(np.arange(5, dtype=np.int32), x.shape)
    found = jx.jit(
        lambda x: sort(
            (
                x,
                jx.lax.broadcasted_iota("int32", x.shape, 0),
                jx.lax.broadcasted_iota("int32", x.shape, 1),
            )
        )
    )(x)
    order = np.argsort(x, 1, kind="stable")
    for array, wanted in zip(found, (x, rows, columns), strict=True):
        np.testing.assert_array_equal(array, np.take_along_axis(wanted, order, 1))


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.uint64])
def test_64_bits(dtype):
    with jx.config.enable_x64(True):
        x = (RANDOM.integers(-(2**60), 2**60, (3, 50))).astype(dtype)
        x[:, 3] = x[:, 30]
        places = np.broadcast_to(np.arange(50), x.shape)
        assert_close(sort(x), np.sort(x, -1))
        assert_close(sort_key_val(x, places)[1], np.argsort(x, -1, kind="stable"))


def test_complex_numbers_are_ordered_by_parts():
    x = (RANDOM.integers(0, 3, 20) + 1j * RANDOM.integers(0, 3, 20)).astype(np.complex64)
    assert_close(sort(x), np.sort(x))


TABLE = {
    "one": (lambda x: sort(x, 1), [A], lambda x: np.sort(x, 1)),
    "values": (
        lambda x, y: sort((x, y), 1),
        [A, B],
        lambda x, y: [np.sort(x, 1), np.take_along_axis(y, np.argsort(x, 1), 1)],
    ),
    "two_keys": (
        lambda x, y, z: sort([x, y, z], 0, num_keys=2),
        [TIED, TIED[::-1].copy(), np.arange(24.0).reshape(4, 6)],
        None,
    ),
    "empty": (lambda x: sort(x), [np.zeros((2, 0))], lambda x: x),
    "rank_one": (lambda x, y: sort((x, y)), [A[0, :, 0], B[0, :, 0]], None),
}


@pytest.mark.parametrize("name", TABLE)
def test_values_and_rules(name):
    function, args, reference = TABLE[name]
    check_all(function, args, reference=reference, derivatives="keys" not in name)


def test_keys_are_compared_one_after_the_other():
    keys = RANDOM.integers(0, 3, (3, 50)).astype(np.int32)
    places = np.arange(50, dtype=np.int32)
    out = sort((*keys, places), num_keys=3)
    assert_close(out[-1], np.lexsort(keys[::-1]).astype(np.int32))


def test_tangents_of_equal_keys_follow_their_elements():
    x, t = np.array([2.0, 1, 2, 1], np.float32), np.array([1, 2, 3, 4], np.float32)
    assert_close(jx.jvp(sort, (x,), (t,))[1], np.array([2, 4, 1, 3], np.float32))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("k", [0, 1, 2, 20, 40])
@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k_of_any_dtype(dtype, k):
    x = extremes(dtype)
    order = np.argsort(-x.astype(np.float64), -1, kind="stable")[:, :k]
    expected = np.take_along_axis(x, order, -1), order.astype(np.int32)
    assert_close(top_k(x, k), expected)
    assert_close(jx.jit(lambda x: top_k(x, k))(x), expected)


def test_top_k_takes_nan_first():
    x = np.array([1, np.nan, 3, -np.nan, np.inf] + [0] * 60, np.float32)
    for k in (3, 30):
        assert np.asarray(top_k(x, k)[1])[:3].tolist() == [1, 3, 4]


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int16, np.bool_])
def test_few_of_many_are_the_elements_at_their_places(dtype, least):
    x = np.concatenate([SPECIAL, np.tile(np.array([-0.0, 0.0], np.float32), 45)])
    x = (np.nan_to_num(x, posinf=9, neginf=-9) if dtype in (np.int16, np.bool_) else x).astype(
        dtype
    )
    values, places = map(np.asarray, top_k_p.bind(x, k=12, least=least))
    assert values.dtype == x.dtype
    found, expected = values.astype("f"), x[places].astype("f")
    np.testing.assert_array_equal(found, expected)
    zeros = found == 0
    assert zeros.any()
    assert np.signbit(found[zeros]).tolist() == np.signbit(expected[zeros]).tolist()


UNEVEN = np.zeros((2, 500, 540))
UNEVEN[0, 5, 3], UNEVEN[0, 2, 1] = 9, 8
UNEVEN[0, [5, 2], 10:20] = 7
UNEVEN[1] = -UNEVEN[0]
"""Rows whose extremes come in another order than equal elements of theirs."""

MANY = {
    "uneven": UNEVEN.reshape(2, -1),
    "random": RANDOM.standard_normal((2, 270_000)),
    "ties": RANDOM.integers(-3, 3, (2, 270_000)) * RANDOM.choice([-1, 1], (2, 270_000)),
    "no positive": -np.abs(RANDOM.integers(0, 2, (2, 270_000))) * RANDOM.choice([0.0, 1], 270_000),
    "sorted": np.arange(540_000).reshape(2, -1),
    "alike": np.full((1, 300_000), -np.inf),
}


@pytest.mark.parametrize("least", [False, True])
@pytest.mark.parametrize("name", MANY)
def test_few_of_very_many_are_found_by_rows(name, least):
    x = MANY[name].astype(np.float32)
    beside_nan = x.copy()
    beside_nan[:, [5, 700, -1]] = np.nan, -np.nan, np.inf
    for y in (x, beside_nan):
        with jx.enable_x64(True):  # 64 bits are sorted
            values, places = top_k_p.bind(y.astype(np.float64), k=10, least=least)
        found = top_k_p.bind(y, k=10, least=least)
        np.testing.assert_array_equal(found[1], places)
        np.testing.assert_array_equal(found[0], np.asarray(values).astype(np.float32))
        numbers = ~np.isnan(values)
        signs = np.signbit(found[0])[numbers]
        np.testing.assert_array_equal(signs, np.signbit(values)[numbers])


def test_transformations_of_few_of_very_many():
    x = MANY["random"].astype(np.float32)
    order = np.argsort(-x, -1, kind="stable")[:, :3]
    np.testing.assert_array_equal(jx.vmap(lambda x: top_k(x, 3)[1])(x), order)
    gradient = np.asarray(jx.grad(lambda x: top_k(x, 3)[0].sum())(x))
    expected = np.zeros_like(x)
    np.put_along_axis(expected, order, 1, -1)
    np.testing.assert_array_equal(gradient, expected)


def test_top_k_rules():
    def greatest(x):
        return top_k(x, 2, axis=1)

    check_all(
        greatest,
        [A],
        reference=lambda x: [
            -np.sort(-x, 1)[:, :2],
            np.argsort(-x, 1)[:, :2].astype(np.int32),
        ],
    )


def test_approximate_search_is_exact():
    x = RANDOM.standard_normal((4, 50)).astype(np.float32)
    assert_close(approx_max_k(x, 3)[0], -np.sort(-x, -1)[:, :3])
    assert_close(approx_min_k(x, 3, 0)[1], np.argsort(x, 0)[:3].astype(np.int32))


@pytest.mark.parametrize("k", [1, 4, 30])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float16])
def test_approximate_search_for_the_least_takes_nan_last(dtype, k):
    x = RANDOM.standard_normal((4, 70)).astype(np.float32)
    x[:, ::3], x[:, 1], x[:, 5], x[3, 7:] = np.nan, np.inf, -np.inf, -np.nan
    x = x.astype(dtype)
    order = np.argsort(x.astype(np.float32), -1, kind="stable")[:, :k]
    values, places = approx_min_k(x, k)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(
        np.asarray(values, np.float32), np.take_along_axis(x, order, -1).astype(np.float32)
    )
    greatest = np.asarray(approx_max_k(x, k)[0], np.float32)
    assert np.isnan(greatest[:, : min(k, 20)]).all()


def test_approximate_search_rules():
    def least(x):
        return approx_min_k(x, 2, 0)

    check_all(
        least,
        [A],
        reference=lambda x: [np.sort(x, 0)[:2], np.argsort(x, 0)[:2].astype(np.int32)],
    )


# The counts are those that real JAX gives.
PARTIAL = [
    (5, 2, 0.95, -1, 5),
    (5, 0, 0.95, -1, 0),
    (2000, 1, 0.5, -1, 1024),
    (5000, 3, 1.0, -1, 5000),
    (20000, 10, 0.95, -1, 2048),
    (20000, 10, 0.5, 100_000, 1024),
]


@pytest.mark.parametrize(("size", "k", "target", "meant", "count"), PARTIAL)
@pytest.mark.parametrize("search", [approx_max_k, approx_min_k])
def test_partial_search_gives_more_elements_in_order(search, size, k, target, meant, count):
    x = RANDOM.standard_normal(size).astype(np.float32)
    values, places = search(
        x, k, recall_target=target, reduction_input_size_override=meant, aggregate_to_topk=False
    )
    order = np.sort(x) if search is approx_min_k else -np.sort(-x)
    np.testing.assert_array_equal(values, order[:count])
    np.testing.assert_array_equal(x[places], values)
    assert values.shape == (count,)


BAD = {
    "axis": (lambda: sort(A, 3), ValueError, "axes are from -3 to 2"),
    "none": (lambda: sort(()), ValueError, "at least one array"),
    "shapes": (lambda: sort((A, A[0])), TypeError, "all must be equal"),
    "keys": (lambda: sort((A, A), num_keys=3), ValueError, "num_keys=3 for 2 arrays"),
    "k": (lambda: top_k(A, 3), ValueError, "from 0 to all elements"),
    "complex": (lambda: top_k(A + 1j, 1), TypeError, "no order"),
    "integer": (lambda: approx_max_k(np.arange(3), 1), TypeError, "floating dtypes"),
    "recall": (lambda: approx_max_k(A, 1, recall_target=0.0), ValueError, "share in"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told(name):
    function, error, message = BAD[name]
    with pytest.raises(error, match=message):
        function()


def test_many_elements_are_exported_without_digits_and_batched_and_looped():
    x = RANDOM.standard_normal((2, 20_000)).astype(np.float32)
    exported = jx.export.export(jx.jit(sort))(jx.ShapeDtypeStruct(x.shape, x.dtype))
    assert "xla_cpu_small_call" not in exported.mlir_module(), "older versions of XLA refuse it"
    again = jx.export.deserialize(exported.serialize())
    assert_close(again.call(x), np.sort(x, -1))
    assert_close(jx.vmap(sort, 1, 1)(x.T), np.sort(x, -1).T)
    turned = jx.lax.fori_loop(0, 3, lambda _, y: -sort(y), x)
    assert_close(turned, -np.sort(x, -1))
