"""Generators: how key data become the key data of other keys, and random bits.

Each is a set of functions of arrays of words (uint32).  ``threefry2x32`` is the standard one: it
counts, so that bits depend on the key and their position alone (the partitionable scheme).  With
``jax_threefry_partitionable`` off it mixes counters in pairs, as older programs expect.
``rbg`` makes bits by XLA's own generator, and keys by threefry; ``unsafe_rbg`` keys too.  It must
not know of typed keys.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.config import threefry_partitionable
from jxkernel.numpy.promotion import cast
from jxkernel.primitives.creation import broadcasted_iota, iota
from jxkernel.primitives.elementwise.arithmetic import add, mul
from jxkernel.primitives.elementwise.bits import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    shift_left,
    shift_right_logical,
)
from jxkernel.primitives.elementwise.compare import lt
from jxkernel.primitives.elementwise.convert import bitcast_convert_type
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.slicing import index_in_dim, pad
from jxkernel.primitives.indexing.slicing import slice as sliced
from jxkernel.primitives.random_bits import rng_bit_generator, threefry2x32
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import expand_dims, reshape
from jxkernel.records import record

__all__ = ["GENERATORS", "Generator"]

_UINT32 = np.dtype(np.uint32)


@record()
class Generator:
    """The functions of one kind of keys.

    Attributes:
      name: what users call it.
      tag: what dtypes and jaxprs call it.
      key_shape: the shape of one key's words.
      seed: from a scalar of an integer dtype to a key.
      split: from a key and a shape to keys of that shape.
      fold_in: from a key and a uint32 scalar to a key.
      bits: from a key, a number of bits (8, 16, 32, 64) and a shape to random bits.
    """

    name: str
    tag: str
    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    bits: Callable[[Any, int, tuple[int, ...]], Any]


def _word(key: Any, place: int) -> Any:
    return index_in_dim(key, place, 0, keepdims=False)


def _paired(first: Any, second: Any) -> Any:
    """Return two arrays of words side by side on a last axis."""
    last = np.ndim(first)
    return concatenate([expand_dims(first, (last,)), expand_dims(second, (last,))], last)


# ---------------------------------------------------------------- threefry


def _threefry_seed(seed: Any) -> Any:
    """Return the high and the low word of a seed; a seed of 32 bits or less has no high one."""
    dtype = dtypes.dtype(seed)
    if dtypes.itemsize_bits(dtype) == 64:
        unsigned = bitcast_convert_type(seed, np.uint64)
        high = cast(shift_right_logical(unsigned, 32), _UINT32)
        return _paired(high, cast(unsigned, _UINT32))
    return _paired(broadcast_in_dim(np.uint32(0), (), ()), cast(seed, _UINT32))


def _counters(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the position of each element of a shape as a high and a low word."""
    size = prod(shape)
    if size < 2**32:
        return np.uint32(0), reshape(iota(_UINT32, size), shape)
    return _wide_counters(shape)


def _wide_counters(shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Add up position times stride, axis by axis, in two words with carry."""
    high: Any = broadcast_in_dim(np.uint32(0), shape, ())
    low = high
    for axis, size in enumerate(shape):
        stride = prod(shape[axis + 1 :])
        position = broadcasted_iota(_UINT32, shape, axis)
        high, low = _add_product(high, low, position, stride, size)
    return high, low


def _add_product(high: Any, low: Any, position: Any, stride: int, size: int) -> tuple[Any, Any]:
    """Add ``position * stride`` to a number of two words; partial products are of 16 bits."""
    for shift in range(0, max(size.bit_length(), 1), 16):
        part = bitwise_and(shift_right_logical(position, shift), 0xFFFF)
        for offset in range(0, max(stride.bit_length(), 1), 16):
            factor = (stride >> offset) & 0xFFFF
            product = mul(part, np.uint32(factor))
            places = shift + offset
            high, low = _add_shifted(high, low, product, places)
    return high, low


def _add_shifted(high: Any, low: Any, word: Any, places: int) -> tuple[Any, Any]:
    """Add a word moved up by some places to a number of two words."""
    if places >= 32:
        return add(high, shift_left(word, places - 32)), low
    moved = shift_left(word, places) if places else word
    total = add(low, moved)
    carry = cast(lt(total, moved), _UINT32)
    if places:
        carry = add(carry, shift_right_logical(word, 32 - places))
    return add(high, carry), total


def _threefry_words(key: Any, shape: tuple[int, ...]) -> list[Any]:
    high, low = _counters(shape)
    return threefry2x32(_word(key, 0), _word(key, 1), high, low)


def _words_of_pairs(key: Any, size: int) -> Any:
    """Return as many words as asked for, of counters mixed in pairs: one of each half."""
    half, odd = (size + 1) // 2, size % 2
    # The last of an odd number of counters has zero as its partner.
    counters = pad(iota(_UINT32, size), np.uint32(0), ((0, odd, 0),))
    pairs = sliced(counters, (0,), (half,)), sliced(counters, (half,), (2 * half,))
    words = concatenate(threefry2x32(_word(key, 0), _word(key, 1), *pairs), 0)
    return sliced(words, (0,), (size,))


def _threefry_split(key: Any, shape: tuple[int, ...]) -> Any:
    if not threefry_partitionable.value:
        return reshape(_words_of_pairs(key, 2 * prod(shape)), (*shape, 2))
    return _paired(*_threefry_words(key, shape))


def _threefry_fold_in(key: Any, data: Any) -> Any:
    words = threefry2x32(_word(key, 0), _word(key, 1), np.uint32(0), data)
    return _paired(*words)


def _threefry_bits(key: Any, width: int, shape: tuple[int, ...]) -> Any:
    """Join the two words of each counter: side by side for 64 bits, else by exclusive or."""
    if not threefry_partitionable.value:
        return _bits_of_pairs(key, width, shape)
    first, second = _threefry_words(key, shape)
    if width == 64:
        wide = np.dtype(np.uint64)
        return bitwise_or(shift_left(cast(first, wide), 32), cast(second, wide))
    return cast(bitwise_xor(first, second), np.dtype(f"uint{width}"))


def _bits_of_pairs(key: Any, width: int, shape: tuple[int, ...]) -> Any:
    """Return bits cut from words of counters mixed in pairs; the low bits of a word come first."""
    size, dtype = prod(shape), np.dtype(f"uint{width}")
    words = _words_of_pairs(key, -(-size * width // 32))
    if width == 64:
        high, low = (cast(sliced(words, (i,), (i + size,)), dtype) for i in (0, size))
        return reshape(bitwise_or(shift_left(high, 32), low), shape)
    parts = [cast(shift_right_logical(words, start), dtype) for start in range(0, 32, width)]
    cut = concatenate([expand_dims(part, (1,)) for part in parts], 1)
    return reshape(sliced(reshape(cut, (cut.size,)), (0,), (size,)), shape)


# ---------------------------------------------------------------- rbg


def _rbg_seed(seed: Any) -> Any:
    half = _threefry_seed(seed)
    return concatenate([half, half], 0)


def _halves(key: Any) -> list[Any]:
    return [sliced(key, (0,), (2,)), sliced(key, (2,), (4,))]


def _rbg_split(key: Any, shape: tuple[int, ...]) -> Any:
    parts = [_threefry_split(half, shape) for half in _halves(key)]
    return concatenate(parts, len(shape))


def _rbg_fold_in(key: Any, data: Any) -> Any:
    return concatenate([_threefry_fold_in(half, data) for half in _halves(key)], 0)


def _rbg_bits(key: Any, width: int, shape: tuple[int, ...]) -> Any:
    return rng_bit_generator(key, shape, np.dtype(f"uint{width}"))[1]


def _unsafe_split(key: Any, shape: tuple[int, ...]) -> Any:
    """Make keys of bits, ten rows for each, of which the first is kept."""
    count = prod(shape)
    rows = rng_bit_generator(key, (10 * count, 4), _UINT32)[1]
    return reshape(sliced(rows, (0, 0), rows.shape, (10, 1)), (*shape, 4))


def _unsafe_fold_in(key: Any, data: Any) -> Any:
    return bitwise_xor(key, rng_bit_generator(_rbg_seed(data), (10, 4), _UINT32)[1][-1])


GENERATORS: dict[str, Generator] = {
    "threefry2x32": Generator(
        "threefry2x32",
        "fry",
        (2,),
        _threefry_seed,
        _threefry_split,
        _threefry_fold_in,
        _threefry_bits,
    ),
    "rbg": Generator("rbg", "rbg", (4,), _rbg_seed, _rbg_split, _rbg_fold_in, _rbg_bits),
    "unsafe_rbg": Generator(
        "unsafe_rbg", "urbg", (4,), _rbg_seed, _unsafe_split, _unsafe_fold_in, _rbg_bits
    ),
}
"""The generators by name."""
