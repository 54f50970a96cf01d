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
from jxkernel.ops.random_bits import rng_bit_generator, threefry2x32
from jxkernel.random import generators
from tests.random.bit_rows import CALLS, WIDE

TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("bits.json").read_text())

RANDOM123 = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
)
"""(key, counter, result) of threefry2x32-20, from the known answers of Random123."""


def assert_recorded(name: str, drawn: Any) -> None:
    row = TABLE[name]
    assert (drawn.dtype.name, list(drawn.shape)) == (row["dtype"], row["shape"])
    numbers = np.asarray(drawn)
    if row["dtype"] == "bfloat16":
        numbers = numbers.astype(np.float64)
    if drawn.dtype.kind == "c":
        numbers = numbers.astype(np.complex128)
    assert [str(number) for number in numbers.ravel().tolist()] == row["numbers"]


@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_the_recorded_ones(name: str) -> None:
    assert_recorded(name, CALLS[name](random, jnp))


@pytest.mark.parametrize("name", WIDE)
def test_numbers_are_the_recorded_ones_with_64_bits(name: str) -> None:
    with enable_x64(True):
        assert_recorded(f"{name} x64", CALLS[name](random, jnp))


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
        (np.zeros(3, np.uint32), np.uint32, "default", r"u32\[4\] or u64\[2\]"),
        (np.zeros(4, np.uint32), np.int32, "default", "unsigned dtype"),
        (np.zeros(4, np.uint32), np.uint32, "dice", "no algorithm 'dice'"),
    ],
)
def test_rng_bit_generator_refuses(key: Any, dtype: Any, algorithm: str, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        rng_bit_generator(key, (2,), dtype, algorithm)
