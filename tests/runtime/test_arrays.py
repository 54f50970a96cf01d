"""Device arrays: properties, conversions, copies, deletion, and what they refuse."""

import copy
import gc
import pickle

import ml_dtypes
import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.errors import DeletedArrayError
from jxkernel.runtime import clear_backends

DTYPES = [
    np.bool_,
    np.int8,
    np.uint16,
    np.int32,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.complex64,
    ml_dtypes.float8_e4m3fn,
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_data_survives_the_round_trip(dtype, shape):
    value = np.ones(shape, dtype)
    array = jx.device_put(value)
    assert (array.shape, array.dtype, array.ndim, array.size) == (
        shape,
        np.dtype(dtype),
        len(shape),
        value.size,
    )
    back = np.asarray(array)
    assert back.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(back, value)


def test_sixty_four_bits_become_thirty_two_unless_enabled():
    assert jx.device_put(np.zeros(2)).dtype == np.float32
    with jx.config.enable_x64(True):
        assert jx.device_put(np.zeros(2)).dtype == np.float64


def test_the_host_array_may_change_afterwards():
    value = np.zeros(4, np.float32)
    array = jx.device_put(value)
    value[:] = 1
    np.testing.assert_array_equal(array, np.zeros(4))


def test_the_host_view_is_read_only_and_shares_memory():
    array = jx.device_put(np.arange(3.0))
    view = np.asarray(array)
    assert np.shares_memory(view, np.asarray(array))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_scalars_convert():
    x = jx.device_put(np.float32(2.5))
    assert (float(x), int(x), complex(x), bool(x), x.item()) == (2.5, 2, 2.5 + 0j, True, 2.5)
    assert [10, 20, 30][jx.device_put(1)] == 20
    assert f"{x:.2f}" == "2.50"


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (lambda x: bool(x), ValueError, r"3 elements is ambiguous.*\.any\(\)"),
        (lambda x: float(x), TypeError, r"float\(\) needs an array of rank 0, got shape \(3,\)"),
        (lambda x: float(x[0] + 1j), TypeError, r"float\(\) needs a real number, got c64\[\]"),
        (lambda x: int(x[0] + 1j), TypeError, r"int\(\) needs a real number, got c64\[\]"),
        (lambda x: [1, 2][x], TypeError, "only integer arrays of rank 0"),
        (lambda x: hash(x), TypeError, "unhashable"),
        (lambda x: jx.Array(), TypeError, "cannot be made directly"),
        (lambda x: np.array(x, copy=False, dtype=np.int32), ValueError, "copy"),
    ],
)
def test_what_makes_no_sense_is_refused(use, error, message):
    with pytest.raises(error, match=message):
        use(jx.device_put(np.arange(3, dtype=np.float32)))


def test_isinstance_covers_arrays_and_tracers():
    seen = []
    jx.jit(lambda x: (seen.append(isinstance(x, jx.Array)), x)[1])(1.0)
    assert seen == [True]
    assert isinstance(jx.device_put(1.0), jx.Array)
    assert not isinstance(np.zeros(2), jx.Array)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_equal_and_independent(duplicate):
    array = jx.device_put(np.arange(3, dtype=ml_dtypes.bfloat16))
    twin = duplicate(array)
    assert twin is not array
    array.delete()
    np.testing.assert_array_equal(np.asarray(twin), np.arange(3, dtype=ml_dtypes.bfloat16))


def test_a_deleted_array_says_so():
    array = jx.device_put(np.arange(3.0))
    array.delete()
    assert array.is_deleted()
    assert "deleted" in repr(array)
    with pytest.raises(DeletedArrayError, match=r"f32\[3\]"):
        np.asarray(array)


def test_repr_shows_data_dtype_and_weakness_and_never_floods():
    assert repr(jx.device_put(np.arange(3, dtype=np.int32))) == "Array([0, 1, 2], dtype=int32)"
    assert repr(jx.jit(lambda x: x)(1.5)) == "Array(1.5, dtype=float32, weak_type=True)"
    assert len(repr(jx.device_put(np.zeros((500, 500), np.float32)))) < 2000
    assert str(jx.device_put(np.arange(2))) == "[0 1]"


def test_device_and_committedness():
    device = jx.devices()[0]
    free, bound = jx.device_put(1.0), jx.device_put(1.0, device)
    assert (free.committed, bound.committed) == (False, True)
    assert bound.devices() == {device}
    assert bound.device == device
    assert jx.jit(lambda x: x)(bound).committed


def test_numpy_functions_take_arrays():
    array = jx.device_put(np.arange(3, dtype=np.float32))
    assert np.sum(array) == 3
    assert np.linalg.norm(array) == pytest.approx(5**0.5)


def test_device_get_turns_trees_into_numpy():
    out = jx.device_get({"a": jx.device_put(1.0), "b": "text"})
    assert isinstance(out["a"], np.ndarray)
    assert out["b"] == "text"


def test_long_rows_wrap():
    text = repr(jx.device_put(np.arange(40, dtype=np.float32)))
    assert max(map(len, text.splitlines())) <= 80
    assert text.endswith("dtype=float32)")


def test_array_of_a_dropped_client_is_used_on_the_next():
    x = jx.device_put(np.arange(3, dtype=np.float32))
    key = jx.random.key(7)
    clear_backends()
    np.testing.assert_array_equal(jx.jit(lambda x: x + 1)(x), [1, 2, 3])
    np.testing.assert_array_equal(x * 2, [0, 2, 4])
    assert jx.random.permutation(key, 10).tolist() == [9, 4, 2, 3, 5, 0, 7, 6, 1, 8]


@pytest.mark.parametrize(
    "read",
    [
        lambda x: bool(x.any()),
        lambda x: int(x[0] + 1),
        lambda x: np.asarray(x + 1),
        lambda x: (x + 1).tolist(),
        lambda x: repr(x + 1),
        lambda x: pickle.dumps(x + 1),
        lambda x: np.asarray((x + 1).astype("bfloat16")),
        lambda x: memoryview(x + 1).nbytes,
    ],
    ids=["bool", "int", "asarray", "tolist", "repr", "pickle", "bfloat16", "memoryview"],
)
def test_what_was_read_is_freed(read):
    x = jnp.arange(3)
    read(x)
    gc.collect()
    before = len(jx.live_arrays())
    for _ in range(5):
        read(x)
    gc.collect()
    assert len(jx.live_arrays()) == before


def test_an_array_that_was_read_can_be_donated():
    x = jnp.arange(4.0) * 2
    assert x.tolist() == [0, 2, 4, 6]
    y = jx.jit(lambda v: v + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    assert y.tolist() == [1, 3, 5, 7]
