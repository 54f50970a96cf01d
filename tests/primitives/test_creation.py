"""Arrays from parameters and numbers."""

import numpy as np
import pytest

import jxkernel as jx
from jxkernel.primitives.creation import broadcasted_iota, empty, full, full_like, iota
from tests.primitives.checking import assert_close, check_all


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.float32, np.complex64])
def test_iota_counts_along_an_axis(dtype):
    assert_close(iota(dtype, 4), np.arange(4).astype(dtype))
    expected = np.broadcast_to(np.arange(3)[None, :, None], (2, 3, 4)).astype(dtype)
    assert_close(broadcasted_iota(dtype, (2, 3, 4), 1), expected)
    assert_close(jx.jit(lambda: broadcasted_iota(dtype, (2, 3, 4), -2))(), expected)


def test_iota_inside_transforms_is_a_constant():
    check_all(lambda x: full_like(iota(np.float64, 3), x), [np.float64(2)])
    assert jx.vmap(lambda x: iota(np.int32, 3), out_axes=0)(np.zeros(2)).shape == (2, 3)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (2, np.float32, np.full((2, 3), 2, np.float32)),
        (np.float64(2.5), np.int32, np.full((2, 3), 2, np.int32)),
        (True, None, np.full((2, 3), True)),
        (np.uint8(3), None, np.full((2, 3), 3, np.uint8)),
        (1e10, np.uint8, np.full((2, 3), 255, np.uint8)),
        (-np.inf, np.int8, np.full((2, 3), -128, np.int8)),
        (np.nan, np.int32, np.full((2, 3), 0, np.int32)),
    ],
)
def test_full_repeats_a_scalar(value, dtype, expected):
    assert_close(full((2, 3), value, dtype), expected)


def test_full_of_a_traced_scalar_is_linear():
    check_all(lambda x: full((2, 3), x, np.float64), [np.float64(2)])


def test_full_of_a_number_is_weak():
    assert full((2,), 1.0).weak_type
    assert not full((2,), 1.0, np.float32).weak_type


def test_full_like_takes_shape_and_dtype():
    x = np.zeros((2, 3), np.int16)
    assert_close(full_like(x, 7), np.full((2, 3), 7, np.int16))
    assert_close(full_like(x, 7, np.float32, (4,)), np.full(4, 7, np.float32))
    weak = full((2,), 1.0)
    assert full_like(weak, 2).weak_type
    assert full_like(weak, 2).dtype == np.float32
    assert_close(empty((2,), np.int8), np.zeros(2, np.int8))


def test_bad_input_is_told():
    with pytest.raises(TypeError, match="it makes numbers"):
        iota(np.bool_, 3)
    with pytest.raises(ValueError, match="sizes are not negative"):
        iota(np.int32, -1)
    with pytest.raises(ValueError, match="axes are from -1 to 0"):
        broadcasted_iota(np.int32, (3,), 1)
    with pytest.raises(TypeError, match="it is a scalar"):
        full((2,), np.ones(2))
    with pytest.raises(OverflowError, match="does not fit int8"):
        full((2,), 300, np.int8)
