"""A generator that counts its draws: each is made with a key of its own.

It holds a key and a reference to a count; the key of a draw is the key with the count folded in.
So programs that draw read and write a reference, and give the same numbers whether they are
compiled or not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.api.references import new_ref
from jxkernel.core.avals import shape_of
from jxkernel.core.trace import evaluating
from jxkernel.dtypes import DTypeLike
from jxkernel.higher_order.references import Ref
from jxkernel.numpy.creation import zeros
from jxkernel.random.continuous import normal
from jxkernel.random.discrete import randint
from jxkernel.random.drawing import uniform
from jxkernel.random.keys import KeyArray, fold_in, split
from jxkernel.random.keys import key as key_of

__all__ = ["StatefulPRNG", "stateful_rng"]

Size = int | Sequence[int] | None


class StatefulPRNG:
    """A generator of random numbers that counts its draws, as ``stateful_rng`` makes it.

    It is a pytree of its key and the reference to its count.  Functions take it along, closed over
    or as an argument, as they do references (``new_ref``), and cannot return it.  It is known by
    itself: two generators are never equal.
    """

    __slots__ = ("__weakref__", "_base_key", "_counter")

    _base_key: KeyArray
    _counter: Ref

    def __init__(self, _base_key: KeyArray, _counter: Ref) -> None:
        if not isinstance(_base_key, KeyArray):
            raise ValueError(
                f"StatefulPRNG takes a typed key, got {_base_key!r:.60}: stateful_rng(seed) makes "
                "a generator of an integer"
            )
        self._base_key = _base_key
        self._counter = _counter

    def __repr__(self) -> str:
        return f"StatefulPRNG(_base_key={self._base_key!r}, _counter={self._counter!r})"

    def key(self, shape: int | Sequence[int] = ()) -> Any:
        """Return a new key, and count it as a draw.

        Args:
          shape: the shape of an array of keys; ``()`` for a single one.

        Raises:
          ValueError: the generator is several, made by ``split``.

        >>> from jxkernel import random
        >>> from jxkernel.experimental.random import stateful_rng
        >>> rng = stateful_rng(0)
        >>> random.key_data(rng.key()).tolist(), random.key_data(rng.key()).tolist()
        ([1797259609, 2579123966], [928981903, 3453687069])
        """
        if self._base_key.shape:
            raise ValueError(
                f"a generator that was split into {self._base_key.shape} draws inside vmap alone: "
                "vmap(lambda rng: rng.uniform())(rng)"
            )
        made = fold_in(self._base_key, self._counter[...])
        self._counter[...] += 1
        sizes = _sizes(shape)
        return split(made, sizes) if sizes else made

    def random(self, size: Size = None, dtype: DTypeLike = float) -> Any:
        """Return random floats, uniform in [0, 1).

        Args:
          size: the result's shape, or the length of a vector; a scalar where not given.
          dtype: a floating dtype.
        """
        return uniform(self.key(), _sizes(size), dtype)

    def uniform(
        self, low: Any = 0, high: Any = 1, size: Size = None, *, dtype: DTypeLike = float
    ) -> Any:
        """Return random floats, uniform in [low, high).

        Args:
          low: the least value, a number or an array.
          high: the bound, likewise.
          size: the result's shape; that to which the bounds broadcast where not given.
          dtype: a floating dtype.
        """
        return uniform(self.key(), _sizes(size, low, high), dtype, low, high)

    def normal(
        self, loc: Any = 0, scale: Any = 1, size: Size = None, *, dtype: DTypeLike = float
    ) -> Any:
        """Return random floats of the normal distribution.

        Args:
          loc: the mean, a number or an array.
          scale: the standard deviation, likewise.
          size: the result's shape; that to which the others broadcast where not given.
          dtype: a floating dtype.
        """
        return loc + scale * normal(self.key(), _sizes(size, loc, scale), dtype)

    def integers(
        self, low: Any, high: Any = None, size: Size = None, *, dtype: DTypeLike = int
    ) -> Any:
        """Return random integers, uniform from ``low`` up to, not including, ``high``.

        Args:
          low: the least, an integer or an array; the bound where ``high`` is not given.
          high: the bound, likewise.
          size: the result's shape; that to which the bounds broadcast where not given.
          dtype: an integer dtype.
        """
        low, high = (0, low) if high is None else (low, high)
        return randint(self.key(), _sizes(size, low, high), low, high, dtype)

    def split(self, num: int | Sequence[int]) -> "StatefulPRNG":
        """Return independent generators as one, which ``vmap`` takes apart; a draw is counted.

        Args:
          num: how many, or the shape of their array.

        Raises:
          ValueError: the generator is several already.

        >>> import jxkernel as jx
        >>> from jxkernel.experimental.random import stateful_rng
        >>> jx.vmap(lambda rng: rng.uniform())(stateful_rng(0).split(3)).shape
        (3,)
        """
        return StatefulPRNG(self.key(num), new_ref(zeros(_sizes(num), int)))

    def spawn(self, n_children: int) -> "list[StatefulPRNG]":
        """Return a list of independent generators; a draw is counted.

        Args:
          n_children: how many, 0 or more.

        Raises:
          ValueError: the number is negative, or the generator is several, made by ``split``.
        """
        if n_children < 0:
            raise ValueError(f"spawn makes 0 or more generators, got n_children={n_children}")
        return [StatefulPRNG(made, new_ref(0)) for made in self.key(n_children)]


def _flatten(rng: StatefulPRNG) -> tuple[tuple[tuple[Any, Any], ...], None]:
    base_key, counter = tree.GetAttrKey("_base_key"), tree.GetAttrKey("_counter")
    return ((base_key, rng._base_key), (counter, rng._counter)), None


def _unflatten(_: None, children: Sequence[Any]) -> StatefulPRNG:
    made = object.__new__(StatefulPRNG)
    made._base_key, made._counter = children
    return made


tree.register_pytree_with_keys(StatefulPRNG, _flatten, _unflatten)


def _sizes(size: Size, *parameters: Any) -> tuple[int, ...]:
    if size is None:
        return np.broadcast_shapes(*map(shape_of, parameters))
    return tuple(size) if isinstance(size, Sequence) else (size,)


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """Return a generator of random numbers that counts its draws, after NumPy's ``default_rng``.

    Args:
      seed: an integer; taken from the operating system where not given.
      impl: the kind of keys, such as ``"threefry2x32"``; the configured one where not given.

    Raises:
      TypeError: the seed is no integer, or none is given inside a function that is traced.

    >>> import jxkernel as jx
    >>> from jxkernel.experimental.random import stateful_rng
    >>> rng = stateful_rng(42)
    >>> print(rng.uniform(), jx.jit(rng.uniform)())
    0.5302608 0.72766423
    """
    if seed is None:
        if not evaluating():
            raise TypeError(
                "stateful_rng() inside a function that is traced would draw the same numbers at "
                "each call: give it a seed, or make the generator outside"
            )
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    return StatefulPRNG(key_of(seed, impl=impl), new_ref(0))
