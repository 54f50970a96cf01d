"""Memory of a kernel that is no array: semaphores, which are counters with a dtype of their own.

A kernel sees that dtype, ``ref.dtype``; what there is is a number.
"""

from __future__ import annotations

from typing import Any

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray
from jxkernel.higher_order.references import AbstractRef, Ref

__all__ = [
    "KeysAval",
    "SemaphoreAval",
    "SemaphoreDType",
    "SemaphoreRef",
    "argument",
    "as_memory",
    "barrier_semaphore",
    "dma_semaphore",
    "reference",
    "semaphore",
    "semaphore_dtype",
]

_COUNT = "uint32"
"""The dtype of a count; memory of it begins as the least integer, which is 0."""


class semaphore_dtype(dtypes.extended):
    """The kind of all dtypes of semaphores."""


class semaphore(semaphore_dtype):
    """The dtype of semaphores that a kernel signals: ``issubdtype(ref.dtype, pl.semaphore)``.

    It is never instantiated.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import pallas as pl
    >>> from jxkernel.experimental.pallas import tpu as pltpu
    >>> jnp.issubdtype(pltpu.SemaphoreType.REGULAR((2,)).dtype, pl.semaphore)
    True
    """


class dma_semaphore(semaphore_dtype):
    """The dtype of semaphores that copies signal; it is never instantiated."""


class barrier_semaphore(semaphore_dtype):
    """The dtype of semaphores that cores meet at; it is never instantiated."""


class SemaphoreDType(dtypes.ExtendedDType):
    """A dtype of semaphores, as a value.

    Args:
      kind: which kind.
      name: what messages call it.
    """

    __slots__ = ("_kind", "_name")

    def __init__(self, kind: type[semaphore_dtype], name: str) -> None:
        self._kind = kind
        self._name = name

    @property
    def type(self) -> type[semaphore_dtype]:
        """The kind of semaphore."""
        return self._kind

    @property
    def name(self) -> str:
        """The name in messages."""
        return self._name

    @property
    def itemsize(self) -> int:
        """Bytes of the count."""
        return 4

    def __repr__(self) -> str:
        return self._name


class SemaphoreAval(AbstractRef):
    """The type of a reference to semaphores.

    Args:
      shape: how many, along each axis.
      kind: their dtype.
    """

    def __init__(self, shape: tuple[int, ...], kind: SemaphoreDType) -> None:
        super().__init__(ShapedArray(shape, _COUNT))
        self.dtype = kind

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, SemaphoreAval) and self.dtype is other.dtype
        return same and AbstractRef.__eq__(self, other)

    def __hash__(self) -> int:
        return hash((SemaphoreAval, self.shape, self.dtype))


class SemaphoreRef:
    """A reference to semaphores: a reference to their counts, which kernels see as semaphores.

    Args:
      count: the reference to the counts.
      dtype: the dtype that is seen.
    """

    __slots__ = ("count", "dtype")

    def __init__(self, count: Ref, dtype: SemaphoreDType) -> None:
        self.count = count
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are, along each axis."""
        return self.count.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def at(self) -> _Parts:
        """References to parts: ``ref.at[i]`` is one of the semaphores."""
        return _Parts(self)

    def __repr__(self) -> str:
        sizes = ",".join(map(str, self.shape))
        return f"Ref<{self.dtype}[{sizes}]>"


class _Parts:
    """What ``at`` of a reference to semaphores is."""

    __slots__ = ("_ref",)

    def __init__(self, ref: SemaphoreRef) -> None:
        self._ref = ref

    def __getitem__(self, index: Any) -> SemaphoreRef:
        return SemaphoreRef(self._ref.count.at[index], self._ref.dtype)


class KeysAval(AbstractRef):
    """The type of a reference to random keys.

    Args:
      inner_aval: the type of the keys.
      numbers: the type of the words that they are made of.
      structure: how they are made of these.
    """

    def __init__(self, inner_aval: ShapedArray, numbers: ShapedArray, structure: Any) -> None:
        super().__init__(inner_aval, [numbers])
        self.structure = structure


def reference(aval: AbstractRef, value: Any) -> Ref:
    """Return a reference to a value, for a program that takes one of a type.

    Args:
      aval: the type.
      value: an array; of random keys, their words.
    """
    return Ref(aval.structure.unflatten([value]) if isinstance(aval, KeysAval) else value)


def _plain(aval: AbstractRef) -> AbstractRef:
    """Return the type of the reference that there is, to an array."""
    return AbstractRef(aval.inner_aval) if isinstance(aval, SemaphoreAval) else aval


def as_memory(aval: AbstractRef, ref: Ref) -> Any:
    """Return a reference to memory of a type as a kernel sees it."""
    return SemaphoreRef(ref, aval.dtype) if isinstance(aval, SemaphoreAval) else ref


def argument(recorder: Any, aval: AbstractRef, variable: Any) -> Any:
    """Return what a kernel gets for an argument of its program.

    Args:
      recorder: that of the program.
      aval: the type of the argument.
      variable: the argument.
    """
    if isinstance(aval, KeysAval):
        return recorder.parameter(aval, variable, aval.structure)
    return as_memory(aval, recorder.parameter(_plain(aval), variable))
