"""DLPack: memory shared with NumPy both ways, and what cannot be shared."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.errors import ConcretizationTypeError

DTYPES = ["bool", "int8", "int32", "uint8", "uint16", "float16", "float32", "complex64"]


def aligned(shape, dtype):
    """Return a NumPy array whose memory begins at a multiple of 64 bytes."""
    memory = np.zeros(64 + int(np.prod(shape)) * np.dtype(dtype).itemsize, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + memory.size - 64].view(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
def test_arrays_go_to_numpy_and_back(dtype, shape):
    x = jnp.ones(shape, dtype)
    seen = np.from_dlpack(x)
    assert (seen.shape, seen.dtype) == (shape, np.dtype(dtype))
    np.testing.assert_array_equal(seen, np.ones(shape, dtype))
    back = jnp.from_dlpack(seen)
    assert (back.shape, back.dtype, back.weak_type) == (shape, x.dtype, False)
    np.testing.assert_array_equal(back, x)


def test_memory_is_shared_where_it_can_be():
    x = jnp.arange(4.0)
    assert np.from_dlpack(x).ctypes.data == x.unsafe_buffer_pointer()
    owned = aligned((4,), np.float32)
    shared = jx.dlpack.from_dlpack(owned, copy=False)
    assert shared.unsafe_buffer_pointer() == owned.ctypes.data
    np.testing.assert_array_equal(jx.jit(lambda x: x + 1)(shared), np.ones(4))
    copied = jx.dlpack.from_dlpack(owned, copy=True)
    assert copied.unsafe_buffer_pointer() != owned.ctypes.data
    assert jnp.from_dlpack(x) is x
    assert jnp.from_dlpack(x, device=jx.devices()[0]).committed


@pytest.mark.parametrize(
    "value",
    [
        np.arange(10, dtype=np.int32)[::2],
        np.ones((2, 3), np.float32).T,
        np.arange(3, dtype=np.int64),
        np.arange(9, dtype=np.float32)[1:],
    ],
    ids=["strided", "transposed", "64-bit", "unaligned"],
)
def test_memory_that_cannot_be_shared_is_copied_unless_that_is_refused(value):
    found = jnp.from_dlpack(value)
    np.testing.assert_array_equal(found, value)
    assert found.dtype.itemsize == 4
    with pytest.raises(BufferError, match="copy=False forbids"):
        jnp.from_dlpack(value, copy=False)


def test_a_copy_is_memory_of_its_own():
    x = jnp.arange(4.0)
    assert np.from_dlpack(x, copy=True).ctypes.data != x.unsafe_buffer_pointer()


def test_the_device_is_named_as_dlpack_names_it():
    assert jnp.ones(2).__dlpack_device__() == (1, 0)
    assert jx.dlpack.is_supported_dtype(np.float32)
    assert jx.dlpack.is_supported_dtype(bool)
    assert not jx.dlpack.is_supported_dtype(jnp.int4)


X = jnp.ones(2)
WRONG = [
    (lambda: jnp.from_dlpack(3), TypeError, "got 3 of type int"),
    (lambda: jnp.ones(2, "int4").__dlpack__(), BufferError, "no dtype for int4"),
    (lambda: X.__dlpack__(max_version=(0, 1)), BufferError, r"oldest here is \(0, 5\)"),
    (lambda: X.__dlpack__(stream=1), BufferError, "stream=1 is for GPUs"),
    (lambda: X.__dlpack__(dl_device=(2, 0), copy=False), BufferError, "another device"),
    (lambda: X.__dlpack__(dl_device=(77, 0)), BufferError, "kind of device 77"),
    (lambda: jx.jit(lambda x: x.__dlpack__())(X), ConcretizationTypeError, "__dlpack__"),
    (lambda: jx.jit(np.from_dlpack)(X), ConcretizationTypeError, "__dlpack_"),
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_what_cannot_be_shared_says_why(call, error, words):
    with pytest.raises(error, match=words):
        call()
