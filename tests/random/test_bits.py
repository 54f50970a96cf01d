"""Random bits: the standard's for the same key and shape, however they are asked for."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import random
from jxkernel.config import enable_x64
from jxkernel.primitives.random_bits import (
    RandomAlgorithm,
    rng_bit_generator,
    rng_uniform,
    threefry2x32,
)
from jxkernel.random import generators
from tests.random.bit_rows import CALLS, PAIRED, WIDE, WIDE_PAIRED

TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("bits.json").read_text())

RANDOM123 = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
)
"""(key, counter, result) of threefry2x32-20, from the known answers of Random123."""


ROUNDED = 8
"""In units of the dtype's precision: how far logarithms and powers of other processors may be."""


def assert_recorded(name: str, drawn: Any) -> None:
    """Compare what was drawn with the table: bits exactly, what functions make of them closely.

    The reference implementation itself draws, on another processor, other last digits of gamma
    numbers: its compiler has kernels of several widths.
    """
    row = TABLE[name]
    assert (drawn.dtype.name, list(drawn.shape)) == (row["dtype"], row["shape"])
    numbers = np.asarray(drawn)
    if row["dtype"] == "bfloat16":
        numbers = numbers.astype(np.float64)
    if drawn.dtype.kind == "c":
        numbers = numbers.astype(np.complex128)
    found, recorded = numbers.ravel().tolist(), row["numbers"]
    if drawn.dtype.kind in "biu" or name.startswith("uniform"):
        assert [str(number) for number in found] == recorded
    else:
        rtol = ROUNDED * float(jnp.finfo(drawn.dtype).eps)
        np.testing.assert_allclose(found, [complex(one) for one in recorded], rtol=rtol, atol=0)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_the_recorded_ones(name: str) -> None:
    assert_recorded(name, CALLS[name](random, jnp))


@pytest.mark.parametrize("name", WIDE)
def test_numbers_are_the_recorded_ones_with_64_bits(name: str) -> None:
    with enable_x64(True):
        assert_recorded(f"{name} x64", CALLS[name](random, jnp))


@pytest.mark.parametrize("name", PAIRED)
def test_numbers_of_paired_counters_are_the_recorded_ones(name: str) -> None:
    with jx.threefry_partitionable(False):
        assert_recorded(f"{name} paired", PAIRED[name](random, jnp))


@pytest.mark.parametrize("name", WIDE_PAIRED)
def test_numbers_of_paired_counters_are_the_recorded_ones_with_64_bits(name: str) -> None:
    with enable_x64(True), jx.threefry_partitionable(False):
        assert_recorded(f"{name} paired x64", WIDE_PAIRED[name](random, jnp))


@pytest.mark.parametrize(("key", "counter", "result"), RANDOM123)
def test_threefry_gives_the_known_answers(key: Any, counter: Any, result: Any) -> None:
    words = [np.uint32(word) for word in (*key, *counter)]
    assert tuple(int(word) for word in threefry2x32(*words)) == result


def test_threefry_batches_any_of_its_operands() -> None:
    keys = np.arange(6, dtype=np.uint32).reshape(3, 2)
    counter = np.arange(4, dtype=np.uint32)

    def mixed(key: Any, x: Any) -> Any:
        return threefry2x32(key[0], key[1], x, np.uint32(7))

    both = jx.vmap(mixed, (0, None))(jnp.asarray(keys), jnp.asarray(counter))
    for i, key in enumerate(keys):
        for found, one in zip(both, mixed(jnp.asarray(key), jnp.asarray(counter)), strict=True):
            assert (found[i] == one).all()
    each = jx.vmap(mixed, (None, 0))(jnp.asarray(keys[0]), jnp.asarray(counter))
    assert [part.shape for part in each] == [(4,), (4,)]


def test_threefry_refuses_other_dtypes_and_shapes() -> None:
    with pytest.raises(TypeError, match="uint32, got i32"):
        threefry2x32(np.int32(0), np.uint32(0), np.uint32(0), np.uint32(0))
    with pytest.raises(TypeError, match="one shape"):
        threefry2x32(np.uint32(0), np.uint32(0), np.zeros(2, np.uint32), np.zeros(3, np.uint32))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_bits_are_the_same_eagerly_and_traced(impl: str) -> None:
    key = random.key(3, impl=impl)
    eager = random.bits(key, (7,))
    assert (jx.jit(lambda k: random.bits(k, (7,)))(key) == eager).all()
    assert (jx.jit(lambda: random.bits(key, (7,)))() == eager).all()


def test_bits_under_vmap_are_those_of_each_key() -> None:
    keys = random.split(random.key(0), 3)
    batched = jx.vmap(lambda key: random.normal(key, (2,)))(keys)
    for i in range(3):
        assert (batched[i] == random.normal(keys[i], (2,))).all()


def test_bits_depend_on_position_alone() -> None:
    key = random.key(1)
    assert (random.bits(key, (6,))[:3] == random.bits(key, (3,))).all()
    assert (random.bits(key, (2, 3)).ravel() == random.bits(key, (6,))).all()


def test_counters_past_32_bits_carry() -> None:
    whole = 2**32 + 3
    shape = (whole, 1)
    found = jx.eval_shape(lambda key: random.bits(key, shape), random.key(0))
    assert found.shape == shape
    high, low = _wide_counters_at(5 * 2**31 + 7)
    assert (high, low) == (2, 2**31 + 7)


def _wide_counters_at(position: int) -> tuple[int, int]:
    """Return the words of one position by the arithmetic that large shapes use."""
    from_parts = jnp.zeros((), jnp.uint32)
    high, low = generators._add_product(from_parts, from_parts, jnp.uint32(5), position // 5, 6)
    high, low = generators._add_product(high, low, jnp.uint32(1), position % 5, 2)
    return int(high), int(low)


def test_rng_bit_generator_moves_its_state_on() -> None:
    state = jnp.arange(4, dtype=jnp.uint32)
    after, bits = rng_bit_generator(state, (3,), np.uint16)
    assert bits.dtype == np.uint16
    assert not (after == state).all()
    again = rng_bit_generator(state, (3,), np.uint16)[1]
    assert (again == bits).all()
    batched = jx.vmap(lambda s: rng_bit_generator(s, (3,))[1])(jnp.stack([state, state + 1]))
    assert (batched[1] == rng_bit_generator(state + 1, (3,))[1]).all()


@pytest.mark.parametrize(
    ("key", "dtype", "algorithm", "message"),
    [
        (np.zeros(3, np.uint32), np.uint32, 0, r"u32\[4\] or u64\[2\]"),
        (np.zeros(4, np.uint32), np.int32, 0, "unsigned dtype"),
        (np.zeros(4, np.uint32), np.uint32, "dice", "no algorithm 'dice'"),
    ],
)
def test_rng_bit_generator_refuses(key: Any, dtype: Any, algorithm: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        rng_bit_generator(key, (2,), dtype, algorithm)


def test_rng_bit_generator_takes_algorithms_of_the_enumeration() -> None:
    state = jnp.arange(4, dtype=jnp.uint32)
    drawn = {one: rng_bit_generator(state, (3,), algorithm=one) for one in RandomAlgorithm}
    three_fry, philox = drawn[RandomAlgorithm.RNG_THREE_FRY], drawn[RandomAlgorithm.RNG_PHILOX]
    np.testing.assert_array_equal(three_fry[0], [0, 1, 4, 3])
    np.testing.assert_array_equal(three_fry[1], [2689575991, 2205648888, 150810639])
    np.testing.assert_array_equal(philox[0], [0, 1, 3, 3])
    np.testing.assert_array_equal(philox[1], [895509795, 3230209149, 3834998268])
    assert (rng_bit_generator(state, (3,), algorithm=2)[1] == philox[1]).all()
    jaxpr = str(jx.make_jaxpr(lambda s: rng_bit_generator(s, (3,)))(state))
    assert "algorithm=RNG_DEFAULT" in jaxpr


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "int32", "uint32", "int8", "uint16"]
)
def test_rng_uniform_draws_between_its_bounds(dtype: str) -> None:
    draw = jx.jit(lambda a, b: rng_uniform(a, b, (64,)))
    low, high = jnp.array(3, dtype), jnp.array(9, dtype)
    x = draw(low, high)
    assert (x.shape, x.dtype) == ((64,), jnp.dtype(dtype))
    assert ((x >= low) & (x <= high)).all()
    assert len(np.unique(np.asarray(x))) > 3
    assert not (draw(low, high) == x).all(), "every run draws anew"


def test_rng_uniform_of_batched_bounds_draws_for_each() -> None:
    x = jx.vmap(lambda a: rng_uniform(a, np.float32(9), (5,)))(jnp.array([0.0, 8.0]))
    assert x.shape == (2, 5)
    assert (x[1] >= 8).all()
    assert (x[0] < 8).any()


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.float32(0), np.int32(1), "one dtype, got float32 and int32"),
        (np.zeros(2, np.float32), np.float32(1), r"scalars, got f32\[2\]"),
        (np.complex64(0), np.complex64(1), "floats or integers, got bounds of complex64"),
    ],
)
def test_rng_uniform_refuses(a: Any, b: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        rng_uniform(a, b, (2,))


def test_rng_uniform_has_no_derivative() -> None:
    with pytest.raises(Exception, match="draw between 0 and 1"):
        jx.grad(lambda a: rng_uniform(a, 1.0, ()))(0.0)
