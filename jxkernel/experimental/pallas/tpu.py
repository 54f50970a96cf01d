"""Names of kernels for TPUs that mean something where a kernel is interpreted.

All memories are one here, the steps of a grid and the cores of a device are taken one after the
other, and a copy is done where it is started.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from jxkernel._lazy import lazy_names
from jxkernel.core.filtering import filtered
from jxkernel.experimental.pallas.semaphores import SemaphoreType
from jxkernel.experimental.pallas.specs import CallableSpace, PrefetchScalarGridSpec
from jxkernel.higher_order.references import Ref
from jxkernel.records import record

__all__ = [
    "ARBITRARY",
    "HBM",
    "PARALLEL",
    "SMEM",
    "VMEM",
    "CompilerParams",
    "GridDimensionSemantics",
    "InterpretParams",
    "MemorySpace",
    "PrefetchScalarGridSpec",
    "SemaphoreType",
    "TensorCoreMesh",
    "async_copy",
    "make_async_copy",
    "sync_copy",
]

__getattr__, __dir__ = lazy_names(__name__)


class MemorySpace(CallableSpace, Enum):
    """The memories of a TPU; called, one is a type of scratch, ``VMEM((8, 128), jnp.float32)``."""

    HBM = "hbm"
    VMEM = "vmem"
    SMEM = "smem"


HBM, VMEM, SMEM = MemorySpace.HBM, MemorySpace.VMEM, MemorySpace.SMEM


class GridDimensionSemantics(Enum):
    """Whether the steps along an axis of a grid may be taken at once; here none are."""

    PARALLEL = "parallel"
    ARBITRARY = "arbitrary"


PARALLEL, ARBITRARY = GridDimensionSemantics.PARALLEL, GridDimensionSemantics.ARBITRARY


class _Given:
    """Settings as they were given."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def __repr__(self) -> str:
        given = ", ".join([f"{name}={value!r}" for name, value in vars(self).items()])
        return f"{type(self).__name__}({given})"


class CompilerParams(_Given):
    """How the compiler for TPUs treats a kernel: kept, and not used by an interpreter.

    Args:
      **settings: such as ``dimension_semantics``.
    """


class InterpretParams(_Given):
    """How a TPU is simulated: kept, and not used: there is one way to interpret a kernel here.

    Args:
      **settings: such as ``dma_execution_mode``.
    """


@record(kw_only=True)
class TensorCoreMesh:
    """The tensor cores of a TPU, for ``pl.kernel``; here they are taken one after the other.

    Attributes:
      axis_name: the name of the axis along which they are.
      num_cores: how many.
    """

    axis_name: str
    num_cores: int = 1

    @property
    def shape(self) -> dict[str, int]:
        """The sizes of the axes, by their names."""
        return {self.axis_name: self.num_cores}


@record(eq=False)
class _Copy:
    """A copy from one reference to another.

    Attributes:
      source: what is copied.
      target: where it goes.
    """

    source: Ref
    target: Ref

    def start(self) -> None:
        """Copy."""
        self.target[...] = self.source[...]

    def wait(self) -> None:
        """Return: what was started is done."""


@filtered
def make_async_copy(src_ref: Ref, dst_ref: Ref, sem: Any) -> _Copy:
    """Return a copy between references: ``start()`` copies, ``wait()`` has nothing to wait for.

    Args:
      src_ref: the reference, or a part ``ref.at[...]``, to copy from.
      dst_ref: the one of the same shape and dtype to copy to.
      sem: the semaphore that a device would signal; it stays as it is.

    On a device, what is copied is there after ``wait()`` only.
    """
    return _Copy(src_ref, dst_ref)


@filtered
def async_copy(src_ref: Ref, dst_ref: Ref, sem: Any) -> _Copy:
    """Start a copy between references, and return it; see ``make_async_copy``.

    Args:
      src_ref: the reference to copy from.
      dst_ref: the one to copy to.
      sem: the semaphore that a device would signal.
    """
    copy = make_async_copy(src_ref, dst_ref, sem)
    copy.start()
    return copy


@filtered
def sync_copy(src_ref: Ref, dst_ref: Ref) -> None:
    """Copy from one reference to another of the same shape and dtype.

    Args:
      src_ref: the reference, or a part ``ref.at[...]``, to copy from.
      dst_ref: the one to copy to.
    """
    make_async_copy(src_ref, dst_ref, None).start()
