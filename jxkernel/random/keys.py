"""Keys: what random functions take instead of hidden state.

A raw key is an array of words; a typed key (``KeyArray``) is one that also says which generator
it is for, cannot be mistaken for data, and may be one of an array of keys.  To programs
typed keys are nodes around their key data, so that every transform takes them.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NewType

import numpy as np

from jxkernel import dtypes
from jxkernel._lazy import late_function
from jxkernel.config import (
    debug_key_reuse,
    default_prng_impl,
    enable_custom_prng,
    legacy_prng_key,
    random_seed_offset,
)
from jxkernel.core.avals import kind_in_words
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.trace import Tracer
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.creation import asarray, canonical_shape
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.indexing import getitem
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.padding import pad
from jxkernel.numpy.promotion import argument_aval, cast
from jxkernel.primitives.elementwise.bits import bitwise_or
from jxkernel.primitives.key_use import key_use_p
from jxkernel.primitives.random_bits import threefry2x32
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.random.generators import GENERATORS, Generator
from jxkernel.runtime import Array, ArrayImpl, Shard
from jxkernel.tree import physical

__all__ = [
    "Key",
    "KeyArray",
    "KeyDType",
    "PRNGKey",
    "clone",
    "define_prng_impl",
    "fold_in",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "random_seed",
    "seed_with_impl",
    "split",
    "threefry_2x32",
    "wrap_key_data",
]

note_view = late_function("jxkernel.transforms.key_reuse", "note_view")


class KeyDType(dtypes.ExtendedDType):
    """The dtype of typed keys of one generator, such as ``key<fry>``."""

    __slots__ = ("generator",)

    def __init__(self, generator: Generator) -> None:
        self.generator = generator

    @property
    def type(self) -> Any:
        """The scalar type, for ``issubdtype(key.dtype, prng_key)``."""
        return dtypes.prng_key

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"key<{self.generator.tag}>"

    @property
    def itemsize(self) -> int:
        """Bytes per key."""
        return 4 * self.generator.key_shape[0]

    def scalar(self, number: Any) -> "KeyArray":
        """Return the key whose key data are all a number."""
        shape = self.generator.key_shape
        if isinstance(number, Tracer):
            return KeyArray(
                broadcast_in_dim(cast(number, np.dtype(np.uint32)), shape, ()), self.generator
            )
        return KeyArray(np.full(shape, number, np.uint32), self.generator)

    def __reduce__(self) -> tuple[Any, ...]:
        return key_dtype, (self.generator.name,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyDType) and other.generator is self.generator

    def __hash__(self) -> int:
        return hash(self.generator.name)

    def __repr__(self) -> str:
        return self.name


def _of_key_data(name: str) -> Any:
    """Return a property, or a method, that is the key data's own."""
    return property(lambda keys: getattr(keys.key_data, name))


class KeyArray(ExtendedArray, Array):
    """An array of keys.

    It takes the functions of ``jxkernel.numpy`` that move elements, and has their methods.

    Attributes:
      key_data: the uint32 numbers of the keys, on a last axis that the shape does not count.
      generator: what they are for.
    """

    __slots__ = ("generator",)
    __hash__ = None  # type: ignore[assignment]  # keys are compared element by element

    def __init__(self, key_data: Any, generator: Generator) -> None:
        self.key_data = key_data
        self.generator = generator

    @property
    def dtype(self) -> KeyDType:
        """The dtype, which names the generator."""
        return _DTYPES[self.generator.name]

    @property
    def itemsize(self) -> int:
        """Bytes per key."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all keys."""
        return self.size * self.itemsize

    def with_key_data(self, key_data: Any) -> "KeyArray":
        """Return keys of the same generator with other key data."""
        return KeyArray(key_data, self.generator)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "KeyArray is no array of numbers: jax.random.key_data(keys) gives its numbers"
        )

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single key")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise TypeError("a key has no truth value: ask len(keys), or compare keys with ==")

    def __getitem__(self, place: Any) -> "KeyArray":
        keys: Any = getitem(self, place)
        if debug_key_reuse.value:
            note_view(self.key_data, keys.key_data, str(place))
        return keys

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.generator.name, (self.key_data,))

    sharding = _of_key_data("sharding")
    is_fully_addressable = _of_key_data("is_fully_addressable")
    is_fully_replicated = _of_key_data("is_fully_replicated")
    committed = _of_key_data("committed")
    device = _of_key_data("device")
    devices = _of_key_data("devices")
    delete = _of_key_data("delete")
    is_deleted = _of_key_data("is_deleted")
    on_device_size_in_bytes = _of_key_data("on_device_size_in_bytes")
    copy_to_host_async = _of_key_data("copy_to_host_async")
    unsafe_buffer_pointer = _of_key_data("unsafe_buffer_pointer")

    @property
    def addressable_shards(self) -> list[Shard]:
        """The pieces on devices of this process; their indices are of keys."""
        return [self._shard(shard) for shard in self.key_data.addressable_shards]

    @property
    def global_shards(self) -> list[Shard]:
        """All pieces; those of other processes without data."""
        return [self._shard(shard) for shard in self.key_data.global_shards]

    def _shard(self, shard: Shard) -> Shard:
        keys = None if shard.data is None else self.with_key_data(shard.data)
        return Shard(shard.device, shard.index[:-1], shard.replica_id, keys)

    def addressable_data(self, index: int) -> "KeyArray":
        """Return the piece on the device number ``index`` of this process."""
        return self.with_key_data(self.key_data.addressable_data(index))

    def block_until_ready(self) -> "KeyArray":
        """Wait until the key data exist."""
        if isinstance(self.key_data, ArrayImpl):
            self.key_data.block_until_ready()
        return self

    def __repr__(self) -> str:
        if isinstance(self.key_data, (ArrayImpl, np.ndarray)):
            return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{self.key_data}"
        return f"KeyArray({self.shape}, dtype={self.dtype.name}, key_data={self.key_data!r})"


Key = NewType("Key", KeyArray)
Key.__doc__ = """A typed key, for annotations.

>>> from jxkernel import random
>>> def toss(key: random.Key):
...     return random.bernoulli(key)
>>> toss(random.key(0)).shape
()
"""

_DTYPES = {name: KeyDType(generator) for name, generator in GENERATORS.items()}


def _rebuilt(name: str, key_data: Sequence[Any]) -> KeyArray:
    return KeyArray(key_data[0], GENERATORS[name])


physical.register_wrapper(KeyArray, lambda keys: ((keys.key_data,), keys.generator.name), _rebuilt)


# ---------------------------------------------------------------- taking keys apart


def generator_named(impl: Any) -> Generator:
    """Return a generator by its name, its dtype or itself; the configured one for None.

    Raises:
      TypeError: it is none of these.
      ValueError: there is none of that name.
    """
    if impl is None:
        impl = default_prng_impl.value
    if isinstance(impl, KeyDType):
        return impl.generator
    if isinstance(impl, Generator):
        return impl
    if not isinstance(impl, str) or impl not in GENERATORS:
        error = ValueError if isinstance(impl, str) else TypeError
        raise error(f"no generator is named {impl!r}: there are {', '.join(GENERATORS)}")
    return GENERATORS[impl]


def checked_key_data(name: str, key: Any, *, uses: bool = True) -> tuple[Any, Generator]:
    """Return the key data of one key, and its generator.

    Args:
      name: the function that takes it.
      key: the key.
      uses: whether the function uses it itself; else others do, which it calls.

    Raises:
      TypeError: it is no key.
      ValueError: it is an array of keys.
    """
    if isinstance(key, KeyArray):
        key_data, generator = key.key_data, key.generator
    else:
        key_data, generator = _raw(name, key), generator_named(None)
    if np.shape(key_data) != generator.key_shape:
        if len(np.shape(key_data)) > 1 and np.shape(key_data)[-1:] == generator.key_shape:
            raise ValueError(
                f"random.{name} takes one key, got keys of shape {np.shape(key_data)[:-1]}: use "
                f"vmap over them, or a single one: keys[0]"
            )
        raise TypeError(
            f"random.{name} takes a key of {generator.name}, uint32 words of shape "
            f"{generator.key_shape}, got shape {np.shape(key_data)}"
        )
    return (_used(name, key_data) if uses else key_data), generator


def _used(name: str, key_data: Any) -> Any:
    """Mark a key as used, where reuse is looked for; ``fold_in`` may take a key many times."""
    if not debug_key_reuse.value or name == "fold_in":
        return key_data
    return key_use_p.bind(key_data, by=name)


def _raw(name: str, key: Any) -> Any:
    if not isinstance(key, (ArrayImpl, Tracer, np.ndarray)) or key.dtype != np.uint32:
        raise TypeError(
            f"random.{name} takes a key, made by random.key(seed), got {kind_in_words(key)}"
        )
    if legacy_prng_key.value != "allow":
        _object_to_raw(name)
    return key


def _object_to_raw(name: str) -> None:
    """Warn of a raw key, or refuse it, as the option says."""
    message = (
        f"random.{name} was given a raw key, an array of uint32, and jax_legacy_prng_key is "
        f"{legacy_prng_key.value!r}: make keys with random.key(seed), or wrap this one with "
        "random.wrap_key_data(key)"
    )
    if legacy_prng_key.value == "error":
        raise ValueError(message)
    warnings.warn(message, UserWarning, stacklevel=4)


def _wrapped_like(key: Any, key_data: Any, generator: Generator) -> Any:
    return KeyArray(key_data, generator) if isinstance(key, KeyArray) else key_data


# ---------------------------------------------------------------- making keys


@fused(static=("name",), name="random_seed")
def _seeded(seed: Any, name: str) -> Any:
    return GENERATORS[name].seed(seed)


def _seeded_key_data(name: str, seed: Any, generator: Generator) -> Any:
    if isinstance(seed, KeyArray):
        raise TypeError(f"random.{name} takes an integer as seed, got a key")
    if random_seed_offset.value:
        seed = seed + random_seed_offset.value
    if isinstance(seed, (bool, int, np.integer)):
        bits = 64 if dtypes.default_int_dtype() == np.int64 else 32
        if not -(2**63) <= int(seed) < 2**63:
            raise OverflowError(f"a seed is an integer of 64 bits with a sign, got {int(seed)}")
        wrapped = int(seed) & (2**bits - 1)
        return _seeded(np.uint64(wrapped) if bits == 64 else np.uint32(wrapped), generator.name)
    aval = argument_aval(f"random.{name}", seed)
    if aval.dtype not in dtypes.INTEGRAL and aval.dtype not in dtypes.BOOLEAN:
        raise TypeError(
            f"random.{name} takes an integer as seed, got {seed!r:.60} of dtype {aval.dtype.name}"
        )
    if aval.shape:
        raise TypeError(
            f"random.{name} takes a scalar as seed, got an array of shape {aval.shape}: use vmap"
        )
    return _seeded(seed, generator.name)


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """Return a raw key, an array of uint32 words, from a seed.

    Args:
      seed: an integer; with x64 off its low 32 bits count.
      impl: the generator, ``"threefry2x32"``, ``"rbg"`` or ``"unsafe_rbg"``; the configured one
        where not given.

    Raises:
      TypeError: the seed is no integer scalar.
      ValueError: no generator has that name.

    >>> from jxkernel import random
    >>> random.PRNGKey(0)
    Array([0, 0], dtype=uint32)
    """
    if enable_custom_prng.value:
        return key(seed, impl=impl)
    return _seeded_key_data("PRNGKey", seed, generator_named(impl))


def _generator_of(name: str, impl: Any, dtype: Any) -> Generator:
    """Return the generator named by ``impl`` or by the dtype of keys, of which one is given."""
    if impl is not None and dtype is not None:
        raise ValueError(f"random.{name} takes impl or dtype, not both: they name one generator")
    return generator_named(dtype if impl is None else impl)


def key(seed: Any, *, impl: Any = None, dtype: DTypeLike = None) -> KeyArray:
    """Return a typed key from a seed.

    Args:
      seed: an integer; with x64 off its low 32 bits count.
      impl: the generator, as for ``PRNGKey``.
      dtype: the dtype of keys of the generator, in place of ``impl``.

    Raises:
      TypeError: the seed is no integer scalar.
      ValueError: no generator has that name, or both are given.

    >>> from jxkernel import random
    >>> random.key(0).dtype
    key<fry>
    """
    generator = _generator_of("key", impl, dtype)
    return KeyArray(_seeded_key_data("key", seed, generator), generator)


@fused(static=("name", "shape"), name="random_split")
def _split(key_data: Any, name: str, shape: tuple[int, ...]) -> Any:
    return GENERATORS[name].split(key_data, shape)


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """Return new keys made from a key, which is not to be used again.

    Args:
      key: a key.
      num: how many, or the shape of the array of them.

    Returns:
      an array of keys of the same kind (raw or typed).

    Raises:
      TypeError: ``key`` is no key.
      ValueError: it is an array of keys.

    >>> from jxkernel import random
    >>> random.split(random.key(0), 3).shape
    (3,)
    >>> first, second = random.split(random.key(0))
    """
    key_data, generator = checked_key_data("split", key)
    shape = canonical_shape(num, "random.split", "num")
    return _wrapped_like(key, _split(key_data, generator.name, shape), generator)


@fused(static=("name",), name="random_fold_in")
def _folded(key_data: Any, data: Any, name: str) -> Any:
    return GENERATORS[name].fold_in(key_data, cast(data, np.dtype(np.uint32)))


def fold_in(key: Any, data: Any) -> Any:
    """Return a new key made from a key and a number.

    Args:
      key: a key.
      data: an integer from 0 to 2³² - 1, or a scalar array of integers, of which the last 32 bits
        count.

    Raises:
      TypeError: ``key`` is no key, or ``data`` no integer scalar.
      OverflowError: a Python integer is out of range.

    >>> from jxkernel import random
    >>> keys = [random.fold_in(random.key(0), step) for step in range(3)]
    >>> len({random.bits(key).item() for key in keys})
    3
    """
    key_data, generator = checked_key_data("fold_in", key)
    if isinstance(data, np.integer):
        data = data.astype(np.uint32)
    elif isinstance(data, int):
        data = dtypes.coerce_scalar(int(data), np.uint32)[()]
    aval = argument_aval("random.fold_in", data, 1)
    if aval.shape or aval.dtype not in dtypes.INTEGRAL:
        raise TypeError(f"random.fold_in takes an integer scalar, got {aval.short()}")
    return _wrapped_like(key, _folded(key_data, data, generator.name), generator)


def clone(key: Any) -> Any:
    """Return a copy of a key that may be used once more for the same bits, on purpose.

    >>> from jxkernel import random
    >>> key = random.key(3)
    >>> random.normal(key).item() == random.normal(random.clone(key)).item()
    True
    """
    key_data, generator = _any_key_data("clone", key)
    if debug_key_reuse.value:
        key_data = bitwise_or(key_data, np.uint32(0))
    return _wrapped_like(key, key_data, generator)


def _any_key_data(name: str, keys: Any) -> tuple[Any, Generator]:
    """Return the key data of a key or of an array of keys."""
    if isinstance(keys, KeyArray):
        return keys.key_data, keys.generator
    return _raw(name, keys), generator_named(None)


def key_data(keys: Any) -> Any:
    """Return the key data of keys as an array of uint32.

    >>> from jxkernel import random
    >>> random.key_data(random.key(7)).tolist()
    [0, 7]
    """
    return _any_key_data("key_data", keys)[0]


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: DTypeLike = None) -> KeyArray:
    """Return typed keys of an array of key data.

    Args:
      key_bits_array: uint32 words, those of one key on the last axis.
      impl: the generator they are for; the configured one where not given.
      dtype: the dtype of keys of the generator, in place of ``impl``.

    Raises:
      ValueError: both are given, or there is no such generator.
      TypeError: the dtype is not uint32, or the last axis is of another size.

    >>> from jxkernel import random, numpy as jnp
    >>> key = random.wrap_key_data(jnp.array([0, 7], "uint32"), impl="threefry2x32")
    >>> bool(key == random.key(7))
    True
    """
    generator = _generator_of("wrap_key_data", impl, dtype)
    key_data = asarray(key_bits_array)
    if key_data.dtype != np.uint32 or key_data.shape[-1:] != generator.key_shape:
        raise TypeError(
            f"keys of {generator.name} are uint32 words with a last axis of size "
            f"{generator.key_shape[0]}, got {key_data.aval.short()}"
        )
    return KeyArray(key_data, generator)


def key_impl(keys: Any) -> str:
    """Return the name of the generator that keys are for.

    >>> from jxkernel import random
    >>> random.key_impl(random.key(0))
    'threefry2x32'
    """
    return _any_key_data("key_impl", keys)[1].name


def key_dtype(impl_spec: Any = None) -> KeyDType:
    """Return the dtype of the typed keys of a generator.

    >>> from jxkernel import random
    >>> random.key_dtype("threefry2x32") == random.key(0).dtype
    True
    """
    return _DTYPES[generator_named(impl_spec).name]


# ---------------------------------------------------------------- generators of other packages


def define_prng_impl(
    *,
    key_shape: tuple[int, ...],
    seed: Callable[[Any], Any],
    split: Callable[[Any, tuple[int, ...]], Any],
    random_bits: Callable[[Any, int, tuple[int, ...]], Any],
    fold_in: Callable[[Any, Any], Any],
    name: str = "unnamed",
    tag: str = "?",
) -> Generator:
    """Return a new generator, which ``key(seed, impl=...)`` takes.

    Args:
      key_shape: the shape of one key's words, which are uint32.
      seed: from a scalar of an integer dtype to a key.
      split: from a key and a shape to keys of that shape.
      random_bits: from a key, a number of bits (8, 16, 32, 64) and a shape to random bits.
      fold_in: from a key and a uint32 scalar to a key.
      name: what users call it; a number is added where the name is taken.
      tag: what dtypes and jaxprs call it.
    """
    unique = name if name not in GENERATORS else f"{name}#{len(GENERATORS)}"
    made = Generator(unique, tag, tuple(key_shape), seed, split, fold_in, random_bits)
    GENERATORS[unique] = made
    _DTYPES[unique] = KeyDType(made)
    return made


def random_seed(seeds: Any, impl: Any) -> KeyArray:
    """Return a typed key of a generator from a seed, as ``key(seed, impl=...)`` does."""
    return key(seeds, impl=impl)


def seed_with_impl(impl: Any, seed: Any) -> KeyArray:
    """Return a typed key of a generator from a seed: ``random_seed`` with its arguments swapped.

    >>> from jxkernel.extend import random
    >>> random.seed_with_impl(random.threefry_prng_impl, 3).dtype
    key<fry>
    """
    return key(seed, impl=impl)


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """Return the words into which threefry mixes a key of two words and an array of counters.

    Args:
      keypair: two uint32 words, as a pair or an array.
      count: uint32 counters: those of the first half are paired with those of the second.

    Raises:
      TypeError: the words or the counters are not of dtype uint32.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.extend import random
    >>> random.threefry_2x32((jnp.uint32(0), jnp.uint32(1)), jnp.arange(2, dtype="uint32")).shape
    (2,)
    """
    counters = asarray(count)
    flat = counters.reshape(-1)
    odd = flat.size % 2
    padded = pad(flat, (0, odd))
    half = padded.size // 2
    words = concatenate(threefry2x32(keypair[0], keypair[1], padded[:half], padded[half:]))
    return words[: flat.size].reshape(counters.shape)
