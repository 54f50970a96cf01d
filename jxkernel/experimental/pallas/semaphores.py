"""Semaphores: counters that parts of a kernel signal each other by.

An interpreted kernel does one thing after the other, so a semaphore is a reference to a number,
and who waits finds what was signalled before.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from jxkernel.core.filtering import filtered
from jxkernel.experimental.pallas.bodies import debug_check
from jxkernel.experimental.pallas.memory import (
    SemaphoreAval,
    SemaphoreDType,
    SemaphoreRef,
    barrier_semaphore,
    dma_semaphore,
    semaphore,
)
from jxkernel.primitives.elementwise.compare import ge
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.records import record

__all__ = [
    "SemaphoreMemory",
    "SemaphoreType",
    "semaphore_read",
    "semaphore_signal",
    "semaphore_wait",
]


_DTYPES = {
    "regular": SemaphoreDType(semaphore, "semaphore"),
    "dma": SemaphoreDType(dma_semaphore, "dma_sem"),
    "barrier": SemaphoreDType(barrier_semaphore, "barrier_semaphore"),
}


class SemaphoreType(Enum):
    """Types of semaphores, for ``scratch_shapes``; called with a shape, of arrays of them."""

    REGULAR = "regular"
    DMA = "dma"
    BARRIER = "barrier"

    def __call__(self, shape: Sequence[int]) -> SemaphoreMemory:
        """Return the type of an array of semaphores; ``ref.at[i]`` is one of them."""
        return SemaphoreMemory(tuple(shape), _DTYPES[self.value], self)

    @property
    def ref_aval(self) -> SemaphoreAval:
        """The type of a reference to one."""
        return self(()).ref_aval

    @property
    def dtype(self) -> SemaphoreDType:
        """The dtype of one."""
        return _DTYPES[self.value]


@record()
class SemaphoreMemory:
    """The type of a reference to semaphores.

    Attributes:
      shape: how many, along each axis.
      dtype: their dtype.
      memory_space: which kind they are.
    """

    shape: tuple[int, ...]
    dtype: SemaphoreDType
    memory_space: SemaphoreType

    @property
    def ref_aval(self) -> SemaphoreAval:
        """The type of the reference."""
        return SemaphoreAval(self.shape, self.dtype)


@filtered
def semaphore_signal(
    sem_or_view: SemaphoreRef,
    inc: Any = 1,
    *,
    device_id: Any = None,
    device_id_type: Any = None,
    core_index: Any = None,
) -> None:
    """Add to the count of a semaphore.

    Args:
      sem_or_view: a reference to one.
      inc: how much, an integer of rank 0.
      device_id: must be None: the kernel runs on one device.
      device_id_type: of no meaning without ``device_id``.
      core_index: must be None: it runs on one core.

    Raises:
      NotImplementedError: a device or a core is given.
    """
    if device_id is not None or core_index is not None:
        raise NotImplementedError(
            "semaphore_signal to another device or core: an interpreted kernel runs on one"
        )
    count = sem_or_view.count
    count[...] = count[...] + convert_element_type(inc, count.dtype)


@filtered
def semaphore_wait(sem_or_view: SemaphoreRef, value: Any = 1, *, decrement: bool = True) -> None:
    """Wait until a semaphore has counted to a number, and take that from its count.

    Args:
      sem_or_view: a reference to one.
      value: the number, an integer of rank 0.
      decrement: whether to take it from the count.

    Nothing else runs that could signal, so this never waits; where ``enable_debug_checks`` is set,
    a count that is less is an error.
    """
    ref = sem_or_view.count
    count, wanted = ref[...], convert_element_type(value, ref.dtype)
    debug_check(ge(count, wanted), "semaphore_wait would wait for ever: nobody signals")
    if decrement:
        ref[...] = count - wanted


@filtered
def semaphore_read(sem_or_view: SemaphoreRef) -> Any:
    """Return the count of a semaphore, an int32 of rank 0.

    Args:
      sem_or_view: a reference to one.
    """
    return convert_element_type(sem_or_view.count[...], "int32")
