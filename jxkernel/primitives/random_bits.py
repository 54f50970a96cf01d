"""Random bits: the counter-based generator threefry-2x32, and XLA's own generators.

``threefry2x32`` is a function of a key and a counter, so bits can be made in any order and in
parallel; the standard generator of keys and bits is built on it in ``jxkernel.random``.  None of
these has a derivative.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011, and the constants of its reference implementation, Random123.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero
from jxkernel.dtypes import DType, DTypeLike
from jxkernel.primitives.arguments import integers
from jxkernel.primitives.indexing.concatenate import stack
from jxkernel.primitives.indexing.slicing import index_in_dim
from jxkernel.primitives.shape.broadcast import batch_to_front, broadcast_in_dim
from jxkernel.primitives.shape.structural import example_ndim, front, weak_as_operands
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.constraints import asked_sharding, reshard_to
from jxkernel.runtime import ArrayLike

__all__ = [
    "RandomAlgorithm",
    "rng_bit_generator",
    "rng_bit_generator_p",
    "rng_uniform",
    "rng_uniform_p",
    "threefry2x32",
    "threefry2x32_p",
]

_UINT32 = np.dtype(np.uint32)

# ---------------------------------------------------------------- threefry2x32

threefry2x32_p = Primitive("threefry2x32", multiple_results=True).define(sharding=rules.each_alike)

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
"""The constant of Skein's key schedule, which keeps a key of zeros from staying zeros."""


def threefry2x32(key1: Any, key2: Any, x1: Any, x2: Any) -> list[Any]:
    """Return the two words into which 20 rounds of threefry mix a key and a counter.

    Args:
      key1: the key's first words, uint32: a scalar, or of the counters' shape.
      key2: the key's second words.
      x1: the counters' first words, uint32.
      x2: the counters' second words.

    Returns:
      two arrays of the counters' shape.

    Raises:
      TypeError: an operand is not of dtype uint32, or shapes differ.

    It has no derivative.
    """
    return threefry2x32_p.bind(key1, key2, x1, x2)


@threefry2x32_p.def_abstract_eval
def _threefry2x32_abstract_eval(*avals: ShapedArray) -> list[ShapedArray]:
    if any(aval.dtype != _UINT32 for aval in avals):
        found = " ".join(aval.short() for aval in avals)
        raise TypeError(f"threefry2x32 mixes words of dtype uint32, got {found}")
    shapes = {aval.shape for aval in avals if aval.shape}
    if len(shapes) > 1:
        found = " ".join(aval.short() for aval in avals)
        raise TypeError(f"threefry2x32 needs operands of one shape, or scalars, got {found}")
    shape = shapes.pop() if shapes else ()
    return [ShapedArray(shape, _UINT32)] * 2


class _Words:
    """Appends arithmetic on words of one shape; constants are made once."""

    def __init__(self, context: Any, shape: tuple[int, ...]) -> None:
        self.context = context
        self.shape = shape
        self.kind = hlo.tensor_type(shape, _UINT32)
        self.constants: dict[int, Any] = {}

    def constant(self, number: int) -> Any:
        """Return a number repeated over the shape."""
        if number not in self.constants:
            self.constants[number] = self.context.splat(number, self.shape, _UINT32)
        return self.constants[number]

    def apply(self, operation: str, x: Any, y: Any) -> Any:
        """Append an operation on two words."""
        return self.context.value(f"stablehlo.{operation}", self.kind, (x, y))

    def rotate(self, x: Any, distance: int) -> Any:
        """Append a rotation of the bits upward."""
        high = self.apply("shift_left", x, self.constant(distance))
        low = self.apply("shift_right_logical", x, self.constant(32 - distance))
        return self.apply("or", high, low)


@threefry2x32_p.def_lower
def _threefry2x32_lower(context: Any, *values: Any) -> list[Any]:
    """Write out all rounds: a loop would keep the words from staying in registers."""
    shape = context.avals_out[0].shape
    words = _Words(context, shape)
    key1, key2, x, y = (
        value if aval.shape == shape else context.broadcast(value, (), shape, _UINT32)
        for value, aval in zip(values, context.avals_in, strict=True)
    )
    parity = words.apply("xor", words.apply("xor", key1, key2), words.constant(_PARITY))
    keys = (key1, key2, parity)
    x, y = words.apply("add", x, key1), words.apply("add", y, key2)
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x = words.apply("add", x, y)
            y = words.apply("xor", x, words.rotate(y, distance))
        x = words.apply("add", x, keys[(group + 1) % 3])
        y = words.apply("add", y, keys[(group + 2) % 3])
        y = words.apply("add", y, words.constant(group + 1))
    return [x, y]


@threefry2x32_p.def_jvp
def _threefry2x32_jvp(
    primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    out = threefry2x32_p.bind(*primals)
    return out, [Zero.tangent_of(word) for word in out]


@threefry2x32_p.def_batch
def _threefry2x32_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[list[Any], list[int]]:
    rank = max(example_ndim(arg, dim) for arg, dim in zip(args, dims, strict=True))
    aligned: list[Any] = []
    for arg, dim in zip(args, dims, strict=True):
        if dim is None and rank_of(arg) == 0:
            aligned.append(arg)
            continue
        moved = batch_to_front(arg, dim, axis.size)
        if rank_of(moved) <= rank:
            shape = (axis.size, *_example_shape(args, dims, rank))
            moved = broadcast_in_dim(moved, shape, (0,))
        aligned.append(moved)
    return threefry2x32_p.bind(*aligned), [0, 0]


def _example_shape(args: Sequence[Any], dims: Sequence[int | None], rank: int) -> tuple[int, ...]:
    """Return the shape that one example's words have together."""
    for arg, dim in zip(args, dims, strict=True):
        if example_ndim(arg, dim) == rank:
            own = shape_of(arg)
            return own if dim is None else own[:dim] + own[dim + 1 :]
    raise AssertionError("one operand has the greatest rank")


threefry2x32_p.define(transpose=Undefined("it is not linear in any operand"))

# ---------------------------------------------------------------- rng_bit_generator

rng_bit_generator_p = Primitive("rng_bit_generator", multiple_results=True).define(
    sharding=rules.whole
)


class RandomAlgorithm(IntEnum):
    """Which algorithm of XLA's makes random bits.

    Attributes:
      RNG_DEFAULT: the platform's choice.
      RNG_THREE_FRY: threefry, by XLA.
      RNG_PHILOX: philox 4x32.
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


def rng_bit_generator(
    key: Any,
    shape: Sequence[int],
    dtype: DTypeLike = np.uint32,
    algorithm: RandomAlgorithm | int = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Any = None,
) -> list[Any]:
    """Return the next state of a generator of XLA's, and random bits.

    Args:
      key: the state: uint32 of shape (4,), or uint64 of shape (2,).
      shape: the shape of the bits.
      dtype: an unsigned dtype.
      algorithm: a ``RandomAlgorithm``, or its number.
      out_sharding: how the bits are divided over explicit mesh axes.

    Returns:
      the new state and the bits.

    Raises:
      TypeError: the state or the dtype is of another kind.
      ValueError: there is no such algorithm.

    Which bits come depends on the platform for ``RNG_DEFAULT``.  It has no derivative.  StableHLO
    ``rng_bit_generator``.

    >>> import jxkernel.numpy as jnp
    >>> state = jnp.arange(4, dtype=jnp.uint32)
    >>> state, bits = rng_bit_generator(state, (3,), algorithm=RandomAlgorithm.RNG_PHILOX)
    >>> bits.shape
    (3,)
    """
    state, bits = rng_bit_generator_p.bind(
        key,
        shape=integers("rng_bit_generator", "shape", shape),
        dtype=dtypes.check_and_canonicalize_user_dtype(dtype, "rng_bit_generator"),
        algorithm=_algorithm(algorithm),
    )
    if out_sharding is not None:
        bits = reshard_to(bits, asked_sharding("rng_bit_generator", out_sharding))
    return [state, bits]


def _algorithm(algorithm: RandomAlgorithm | int) -> RandomAlgorithm:
    try:
        return RandomAlgorithm(algorithm)
    except ValueError:
        known = ", ".join(f"RandomAlgorithm.{one.name}" for one in RandomAlgorithm)
        raise ValueError(
            f"rng_bit_generator knows no algorithm {algorithm!r}: there are {known}"
        ) from None


@rng_bit_generator_p.def_abstract_eval
def _rng_bit_generator_abstract_eval(
    key: ShapedArray, *, shape: tuple[int, ...], dtype: DType, algorithm: RandomAlgorithm
) -> list[ShapedArray]:
    if (key.shape, key.dtype.name) not in (((4,), "uint32"), ((2,), "uint64")):
        raise TypeError(f"rng_bit_generator's state is u32[4] or u64[2], got {key.short()}")
    if dtype not in dtypes.UNSIGNED:
        raise TypeError(f"rng_bit_generator makes bits of an unsigned dtype, got {dtype.name}")
    return [key, ShapedArray(shape, dtype)]


@rng_bit_generator_p.def_lower
def _rng_bit_generator_lower(
    context: Any, key: Any, *, shape: tuple[int, ...], dtype: DType, algorithm: RandomAlgorithm
) -> list[Any]:
    """Keep the state in 64-bit words and make bits of 32 or 64, which XLA supports everywhere."""
    aval = context.avals_in[0]
    wide = np.dtype(np.uint64)
    state_type = hlo.tensor_type((2,), wide)
    if aval.dtype != wide:
        key = context.value("stablehlo.reshape", hlo.tensor_type((2, 2), _UINT32), (key,))
        key = context.value("stablehlo.bitcast_convert", state_type, (key,))
    made = dtype if dtypes.itemsize_bits(dtype) >= 32 else _UINT32
    attribute = hlo.enum_attr("rng_algorithm", algorithm.name.removeprefix("RNG_"))
    state, bits = context.op(
        "stablehlo.rng_bit_generator",
        (state_type, hlo.tensor_type(shape, made)),
        (key,),
        {"rng_algorithm": attribute},
    ).results
    if made != dtype:
        bits = context.value("stablehlo.convert", hlo.tensor_type(shape, dtype), (bits,))
    if aval.dtype != wide:
        state = context.value(
            "stablehlo.bitcast_convert", hlo.tensor_type((2, 2), _UINT32), (state,)
        )
        state = context.value("stablehlo.reshape", hlo.tensor_type((4,), _UINT32), (state,))
    return [state, bits]


@rng_bit_generator_p.def_jvp
def _rng_bit_generator_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    out = rng_bit_generator_p.bind(*primals, **params)
    return out, [Zero.tangent_of(part) for part in out]


@rng_bit_generator_p.def_batch
def _rng_bit_generator_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int]]:
    """Run the generator once per example: its state is one, not an array of them."""
    (keys,) = front(args, dims, axis.size)
    each = [
        rng_bit_generator_p.bind(index_in_dim(keys, i, 0, False), **params)
        for i in range(axis.size)
    ]
    return [stack([pair[i] for pair in each], 0) for i in range(2)], [0, 0]


rng_bit_generator_p.define(transpose=Undefined("it is not linear in any operand"))

# ---------------------------------------------------------------- rng_uniform

rng_uniform_p = Primitive("rng_uniform").define(sharding=rules.whole)


def rng_uniform(a: Any, b: ArrayLike, shape: Sequence[int]) -> Any:
    """Return numbers drawn evenly from ``[a, b)`` by XLA's generator, whose state is hidden.

    Each call, and each run of a compiled one, draws anew, and nothing can repeat a draw:
    ``jxkernel.random.uniform`` has a key, and is what programs should use.

    Args:
      a: the least value: a scalar of a floating or an integer dtype.
      b: the bound above all values: a scalar of the same dtype.
      shape: the shape of the result.

    Returns:
      an array of that shape and of the bounds' dtype.

    Raises:
      TypeError: the dtype is neither floating nor integer.
      ValueError: the bounds' dtypes differ, or one is no scalar.

    It has no derivative.  StableHLO ``rng``.

    >>> x = rng_uniform(2.0, 3.0, (4,))
    >>> bool((x >= 2).all() and (x <= 3).all())
    True
    """
    return rng_uniform_p.bind(a, b, shape=integers("rng_uniform", "shape", shape))


@rng_uniform_p.def_abstract_eval
@weak_as_operands
def _rng_uniform_abstract_eval(
    a: ShapedArray, b: ShapedArray, *, shape: tuple[int, ...]
) -> ShapedArray:
    if a.shape or b.shape:
        raise ValueError(f"rng_uniform's bounds are scalars, got {a.short()} and {b.short()}")
    if a.dtype != b.dtype:
        raise ValueError(
            f"rng_uniform's bounds are of one dtype, got {a.dtype.name} and {b.dtype.name}"
        )
    if not (dtypes.issubdtype(a.dtype, np.floating) or dtypes.issubdtype(a.dtype, np.integer)):
        raise TypeError(f"rng_uniform draws floats or integers, got bounds of {a.dtype.name}")
    return ShapedArray(shape, a.dtype)


@rng_uniform_p.def_lower
def _rng_uniform_lower(context: Any, a: Any, b: Any, *, shape: tuple[int, ...]) -> Any:
    """Draw at least 32 bits: XLA's compiler ends the process where integers are narrower."""
    dtype = context.avals_in[0].dtype
    made = dtype
    if dtypes.itemsize_bits(dtype) < 32:
        made = np.dtype(np.float32 if dtypes.issubdtype(dtype, np.floating) else np.int32)
    scalar, drawn = hlo.tensor_type((), made), hlo.tensor_type(shape, made)
    if made != dtype:
        a, b = (context.value("stablehlo.convert", scalar, (bound,)) for bound in (a, b))
    sizes = context.constant(np.array(shape, np.int64))
    distribution = {"rng_distribution": hlo.enum_attr("rng_distribution", "UNIFORM")}
    out = context.value("stablehlo.rng", drawn, (a, b, sizes), distribution)
    return (
        out if made == dtype else context.value("stablehlo.convert", context.out_types[0], (out,))
    )


@rng_uniform_p.def_batch
def _rng_uniform_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int]:
    """Draw once per example: bounds are scalars, not arrays of them."""
    first, second = front(args, dims, axis.size)
    each = [
        rng_uniform_p.bind(
            index_in_dim(first, i, 0, False), index_in_dim(second, i, 0, False), **params
        )
        for i in range(axis.size)
    ]
    return stack(each, 0), 0


_NO_DERIVATIVE = Undefined(
    "XLA's generator tells nothing of how a draw depends on its bounds: draw between 0 and 1 by "
    "random.uniform, and scale the draw"
)

rng_uniform_p.define(jvp=_NO_DERIVATIVE, transpose=_NO_DERIVATIVE)
