"""Keys: raw and typed, made, split, indexed, compared, and what is refused."""

import pickle
from typing import Any

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import dtypes, random


def test_typed_and_raw_keys_hold_the_same_words() -> None:
    assert (random.key_data(random.key(5)) == random.PRNGKey(5)).all()
    assert (random.key_data(random.split(random.key(5))) == random.split(random.PRNGKey(5))).all()
    wrapped = random.wrap_key_data(random.PRNGKey(5))
    assert wrapped == random.key(5)


def test_a_typed_key_names_its_generator() -> None:
    key = random.key(0, impl="rbg")
    assert (random.key_impl(key), str(key.dtype), key.shape) == ("rbg", "key<rbg>", ())
    assert jnp.issubdtype(key.dtype, dtypes.prng_key)
    assert key.dtype == random.key_dtype("rbg") != random.key_dtype()


def test_arrays_of_keys_are_indexed_and_iterated() -> None:
    keys = random.split(random.key(0), (2, 3))
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((2, 3), 2, 6, 2)
    assert keys[1, 2].shape == ()
    assert keys[..., 0].shape == (2,)
    assert [key.shape for key in keys] == [(3,), (3,)]
    assert keys.reshape(6)[4] == keys[1, 1]
    assert keys.ravel().shape == (6,)
    assert (keys == keys).all()
    assert not (keys != keys).any()


def test_keys_pass_through_transforms_and_pickles() -> None:
    key = random.key(7)
    doubled = jx.jit(lambda k: random.split(k))(key)
    assert isinstance(doubled, random.KeyArray)
    words = pickle.loads(pickle.dumps(random.key_data(key)))
    assert random.wrap_key_data(words) == key


def test_the_configured_generator_makes_keys() -> None:
    with jx.default_prng_impl("rbg"):
        assert random.PRNGKey(1).shape == (4,)
        assert random.key_impl(random.key(1)) == "rbg"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: random.PRNGKey(1.5), TypeError, "PRNGKey takes an integer as seed"),
        (lambda: random.PRNGKey(jnp.arange(2)), TypeError, "PRNGKey takes a scalar as seed"),
        (
            lambda: random.key(random.key(0)),
            TypeError,
            "random.key takes an integer as seed, got a key",
        ),
        (lambda: random.key(0, impl="dice"), ValueError, "no generator is named 'dice'"),
        (lambda: random.key(0, impl=3), TypeError, "no generator is named 3"),
        (lambda: random.uniform(5), TypeError, "takes a key, made by random.key"),
        (lambda: random.uniform(jnp.zeros(2)), TypeError, "takes a key"),
        (lambda: random.uniform(jnp.zeros(3, jnp.uint32)), TypeError, r"shape \(2,\)"),
        (lambda: random.uniform(random.split(random.key(0))), ValueError, "takes one key"),
        (lambda: random.fold_in(random.key(0), -1), OverflowError, "does not fit uint32"),
        (lambda: random.fold_in(random.key(0), 1.5), TypeError, "integer scalar"),
        (lambda: random.bits(random.key(0), (2,), np.int32), ValueError, "unsigned"),
        (lambda: random.uniform(random.key(0), (2,), int), ValueError, "floating"),
        (lambda: random.randint(random.key(0), (2,), 0, 2, float), TypeError, "integers"),
        (lambda: random.randint(random.key(0), (2,), 1j, 2), TypeError, "integer bounds"),
        (lambda: random.wrap_key_data(jnp.zeros(3, jnp.uint32)), TypeError, "last axis of size 2"),
        (lambda: random.uniform(random.key(0), (2,), minval=jnp.zeros(3)), ValueError, "broadcast"),
        (lambda: random.uniform(random.key(0), (-1,)), ValueError, "negative"),
        (lambda: hash(random.key(0)), TypeError, "unhashable"),
        (lambda: len(random.key(0)), TypeError, "single key"),
        (lambda: random.bernoulli(random.key(0), 1j), TypeError, "real probabilities"),
    ],
)
def test_what_is_no_key_is_refused(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_options_make_prngkey_typed_and_object_to_raw_keys() -> None:
    raw = random.PRNGKey(3)
    with jx.enable_custom_prng(True):
        assert jnp.issubdtype(random.PRNGKey(3).dtype, jx.dtypes.prng_key)
        assert (random.key_data(random.PRNGKey(3)) == raw).all()
    with jx.legacy_prng_key("warn"), pytest.warns(UserWarning, match="raw key"):
        random.bits(raw)
    with jx.legacy_prng_key("error"):
        random.bits(random.key(3))
        with pytest.raises(ValueError, match=r"random.bits was given a raw key.*wrap_key_data"):
            random.bits(raw)
    assert random.bits(raw).shape == ()


def test_numbers_of_numpy_are_folded_in_by_their_last_32_bits():
    key = random.key(0)
    for data, number in ((np.int8(-3), 2**32 - 3), (np.int64(2**40 + 5), 5)):
        folded, expected = (random.key_data(random.fold_in(key, x)) for x in (data, number))
        np.testing.assert_array_equal(folded, expected)


def test_other_packages_bring_generators_of_their_own():
    extend = jx.extend.random
    standard = extend.threefry_prng_impl
    made = extend.define_prng_impl(
        key_shape=standard.key_shape,
        seed=standard.seed,
        split=standard.split,
        fold_in=standard.fold_in,
        random_bits=lambda key, width, shape: jnp.full(shape, key[1], f"uint{width}"),
        name="threefry2x32",
        tag="mine",
    )
    key = random.key(3, impl=made)
    assert repr(key.dtype) == "key<mine>"
    assert random.key_impl(key) not in ("threefry2x32", "rbg")
    assert random.bits(key, (2,)).tolist() == [3, 3]
    assert random.split(key).dtype == jx.jit(lambda k: random.fold_in(k, 1))(key).dtype == key.dtype
    assert random.bits(random.key(3), (2,)).tolist() != [3, 3]


def test_seeds_make_keys_of_a_generator():
    extend = jx.extend.random
    for made in (
        extend.random_seed(3, extend.rbg_prng_impl),
        extend.seed_with_impl(extend.rbg_prng_impl, 3),
    ):
        assert (made == random.key(3, impl="rbg")).all()


@pytest.mark.parametrize(
    ("counters", "words"),
    [
        # Written by the reference implementation of the interface, for the key (7, 1).
        ([0, 1, 2], [2829024199, 1784888627, 2551768415]),
        ([0, 1, 2, 3], [2829024199, 1748152499, 2551768415, 1474552231]),
        (
            [[0, 1, 2], [3, 4, 5]],
            [[1240911808, 121800697, 4122831928], [3879496518, 2182725144, 3661364655]],
        ),
    ],
)
def test_threefry_mixes_counters_in_pairs(counters, words):
    count = jnp.asarray(np.array(counters, np.uint32))
    mixed = jx.extend.random.threefry_2x32((jnp.uint32(7), jnp.uint32(1)), count)
    assert mixed.tolist() == words
