"""Permutations and choices: orders drawn by sorting by random words.

None of the results has a derivative with respect to the key; a permuted array is linear in the
array.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel.dtypes import ExtendedDType
from jxkernel.numpy.creation import asarray, canonical_shape, placed
from jxkernel.numpy.cumulative import cumsum
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.mathematics import log
from jxkernel.numpy.promotion import argument_aval, promote_inexact
from jxkernel.numpy.ranges import arange
from jxkernel.numpy.sorting import searchsorted
from jxkernel.numpy.taking import take, take_along_axis
from jxkernel.primitives.arguments import canonical_axis, whole_number
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.reduction.sort import sort_key_val
from jxkernel.random.continuous import gumbel
from jxkernel.random.discrete import randint
from jxkernel.random.drawing import random_bits, uniform
from jxkernel.random.generators import GENERATORS
from jxkernel.random.keys import checked_key_data
from jxkernel.runtime import ArrayLike

__all__ = ["choice", "permutation"]

_LARGEST_WORD = 2**32 - 1


def _rounds(size: int) -> int:
    """Return how many sorts make ties of 32-bit words in every round improbable.

    Equal words keep their order, which is not random.  With r rounds two elements stay tied with
    probability 2**(-32 r); 2**(32 r) of at least the cube of the size leaves less than 1/size of
    bias.
    """
    return math.ceil(3 * math.log(max(1, size)) / math.log(_LARGEST_WORD))


@fused(static=("name", "axis"), name="shuffle")
def _shuffled(key_data: Any, x: Any, name: str, axis: int) -> Any:
    for _ in range(_rounds(x.size)):
        pair = GENERATORS[name].split(key_data, (2,))
        key_data = pair[0]
        x = sort_key_val(random_bits(pair[1], name, 32, x.shape), x, axis)[1]
    return x


def permutation(
    key: Any, x: ArrayLike, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """Return the elements of an array, or the integers below a number, in random order.

    Args:
      key: a key.
      x: an array, or an integer n for ``arange(n)``.
      axis: the axis to permute along.
      independent: whether each vector along the axis gets an order of its own.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      ValueError: the axis is out of range; a number stands for an array of one axis.

    Linear in ``x``.

    >>> import jxkernel as jx
    >>> sorted(jx.random.permutation(jx.random.key(0), 4).tolist())
    [0, 1, 2, 3]
    """
    key_data, generator = checked_key_data("permutation", key)
    aval = argument_aval("random.permutation", x)
    rank = aval.ndim
    axis = canonical_axis("random.permutation", axis, max(rank, 1))
    if not rank:
        return placed(
            "random.permutation",
            _shuffled(
                key_data, arange(whole_number("random.permutation", "x", x)), generator.name, 0
            ),
            None,
            out_sharding,
        )
    if isinstance(aval.dtype, ExtendedDType) and (independent or rank == 1):
        places = broadcasted_iota(np.int32, aval.shape, axis)
        order = _shuffled(key_data, places, generator.name, axis)
        return placed("random.permutation", take_along_axis(x, order, axis), None, out_sharding)
    if independent or rank == 1:
        return placed(
            "random.permutation", _shuffled(key_data, x, generator.name, axis), None, out_sharding
        )
    order = _shuffled(key_data, arange(np.shape(x)[axis]), generator.name, 0)
    return placed("random.permutation", take(x, order, axis), None, out_sharding)


def choice(
    key: Any,
    a: Any,
    shape: int | Sequence[int] = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Return elements of an array drawn at random, each draw alike.

    Args:
      key: a key.
      a: an array, or an integer n for ``arange(n)``.
      shape: how many to draw.
      replace: whether an element may be drawn twice.
      p: the elements' probabilities, summing to 1; equal ones by default.
      axis: the axis of ``a`` to draw along.
      mode: how finely the noise of a draw without replacement is resolved; see ``gumbel``.

    Raises:
      ValueError: there is nothing to draw from, too few elements to draw without replacement, or
        ``p`` has another shape.

    Linear in ``a``; no derivative with respect to ``p``.

    >>> from jxkernel import random, numpy as jnp
    >>> picked = random.choice(random.key(0), jnp.array([10, 20, 30]), (2,), replace=False)
    >>> len(set(picked.tolist()) & {10, 20, 30})
    2
    """
    checked_key_data("choice", key, uses=False)
    counts = canonical_shape(shape, "random.choice")
    number = int(np.prod(counts))
    shape_of_a = np.shape(a)
    size = (
        shape_of_a[canonical_axis("random.choice", axis, np.ndim(a))]
        if shape_of_a
        else whole_number("random.choice", "a", a)
    )
    if number and size < 1:
        raise ValueError("random.choice needs at least one element to draw from")
    if not replace and number > size:
        raise ValueError(
            f"random.choice cannot draw {number} of {size} elements without replacement"
        )
    if p is not None:
        (p,) = promote_inexact("random.choice", asarray(p))
        if p.shape != (size,):
            raise ValueError(f"random.choice needs p of shape {(size,)}, got {p.shape}")
    indices = _drawn_indices(key, size, counts, number, replace, p, mode)
    return indices if np.ndim(a) == 0 else take(a, indices, axis)


def _drawn_indices(
    key: Any,
    size: int,
    counts: tuple[int, ...],
    number: int,
    replace: bool,
    p: Any,
    mode: str | None,
) -> Any:
    """Return the positions drawn, of shape ``counts``."""
    if p is None:
        if replace:
            return randint(key, counts, 0, size)
        return permutation(key, size)[:number].reshape(counts)
    if replace:
        cumulative = cumsum(p)
        drawn = cumulative[-1] * (1 - uniform(key, counts, dtype=cumulative.dtype))
        return searchsorted(cumulative, drawn)
    # The largest of log p + Gumbel noise are a draw without replacement (Gumbel's trick).
    scores = -gumbel(key, (size,), p.dtype, mode) - log(p)
    return scores.argsort()[:number].reshape(counts)
