"""What a kernel is called with: its grid, the blocks of its arrays and its scratch memory.

These say what the user wants; ``blocks`` checks it against the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray
from jxkernel.higher_order.references import AbstractRef
from jxkernel.records import record
from jxkernel.sharding.space import Space

__all__ = [
    "ANY",
    "HOST",
    "BlockDim",
    "BlockSpec",
    "Blocked",
    "BoundedSlice",
    "Buffered",
    "CallableSpace",
    "CompilerParams",
    "Element",
    "GridSpec",
    "Indirect",
    "MemoryRef",
    "MemorySpace",
    "PrefetchScalarGridSpec",
    "RevisitMode",
    "Squeezed",
    "no_block_spec",
    "squeezed",
]


# ---------------------------------------------------------------- memory


class CallableSpace:
    """A kind of memory that, called, gives a type of reference."""

    def __call__(self, shape: Sequence[int], dtype: Any) -> MemoryRef:
        """Return the type of a reference in this memory."""
        return MemoryRef(ShapedArray(tuple(shape), dtypes.canonicalize_dtype(dtype)), self)


class MemorySpace(CallableSpace, Enum):
    """Kinds of memory that a kernel's references may be in; called, one is a type of scratch.

    All are the same memory where a kernel is interpreted.

    >>> from jxkernel.experimental import pallas as pl
    >>> pl.MemorySpace.ANY((8, 128), "float32").shape
    (8, 128)
    """

    ANY = "any"
    DEFAULT = "default"
    ERROR = "error"
    INDEX = "index"
    KEY = "key"


ANY = MemorySpace.ANY
"""Memory of any kind: of a ``BlockSpec``, that the kernel gets the whole array."""

HOST = Space.Host
"""The host's memory."""


@record()
class MemoryRef:
    """The type of a reference: that of its array, and the memory that it is in.

    Attributes:
      inner_aval: the type of the array.
      memory_space: the memory, which changes nothing where a kernel is interpreted.
    """

    inner_aval: ShapedArray
    memory_space: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the array."""
        return self.inner_aval.dtype

    @property
    def ref_aval(self) -> AbstractRef:
        """The type of the reference."""
        return AbstractRef(self.inner_aval)


# ---------------------------------------------------------------- axes of blocks


@record()
class Blocked:
    """An axis of a block that the index map places in units of its size: what an int means.

    Attributes:
      block_size: the size.
    """

    block_size: int


@record()
class Element:
    """An axis of a block that the index map places by the number of its first element.

    Attributes:
      block_size: the size.
      padding: how many undefined elements to put before and after the array along this axis; the
        first of them is element 0 then.
    """

    block_size: int
    padding: tuple[int, int] = (0, 0)


@record()
class Squeezed:
    """An axis of a block of one element, which the kernel does not see: what None means."""


squeezed = Squeezed()
"""An axis of one element that the kernel does not see."""


@record()
class BoundedSlice:
    """An axis of a block that the index map places, and sizes, by a slice: ``pl.ds(start, size)``.

    Attributes:
      block_size: the greatest size.  The kernel sees as many elements; those beyond the slice are
        undefined where they are read, and go nowhere where they are written.
    """

    block_size: int


@record()
class Indirect:
    """An axis of a block that holds the elements whose numbers the index map gives, as a vector.

    Attributes:
      block_size: how many they are.  Of arguments they are gathered, of results scattered; a number
        that is out of range reads what is undefined, and writes nothing.
    """

    block_size: int


BlockDim = Blocked | Element | Squeezed | BoundedSlice | Indirect
"""What an axis of a block may be, besides an int or None."""


class RevisitMode(Enum):
    """What becomes of a buffer whose block comes again at once."""

    ANY = "any"
    IMMEDIATE = "immediate"


@record()
class Buffered:
    """How many buffers hold the blocks to come; an interpreted kernel needs none.

    Attributes:
      buffer_count: how many.
      use_lookahead: whether to fetch ahead of the next change of blocks.
      revisit: what becomes of a block that comes again.
      prefetched_count: how many blocks are there already.
    """

    buffer_count: int | tuple[int, int]
    use_lookahead: bool = False
    revisit: RevisitMode | None = None
    prefetched_count: int = 0


# ---------------------------------------------------------------- specs


class CompilerParams(Protocol):
    """What settings of an accelerator's compiler are; an interpreter reads none of them."""


class _NoBlockSpec:
    """What stands for a ``BlockSpec`` that is not given."""

    def __repr__(self) -> str:
        return "NoBlockSpec"


no_block_spec = _NoBlockSpec()
"""Stands for a ``BlockSpec`` that is not given: the kernel gets the whole array."""


@record()
class BlockSpec:
    """Which part of an array a kernel gets at each step of its grid.

    Attributes:
      block_shape: the size of the part along each axis: an int; None for one element, along an axis
        that the kernel does not see; or ``Element``, ``Blocked``, ``Squeezed``, ``BoundedSlice``,
        ``Indirect``.  None for the whole array.
      index_map: from the indices of the grid to the place of the part: an integer for each axis, in
        units of the part's size (of ``Element``, of elements); of ``BoundedSlice`` a slice, of
        ``Indirect`` a vector.  None for the first part.
      pipeline_mode: how parts are fetched ahead; changes nothing where a kernel is interpreted.
      memory_space: where the part is; changes nothing where a kernel is interpreted.

    Elements of a part that lie beyond the array are undefined where they are read (here NaN, the
    least integer or False) and go nowhere where they are written.

    >>> from jxkernel.experimental import pallas as pl
    >>> pl.BlockSpec((8, None), lambda i, j: (i, j)).block_shape
    (8, None)
    """

    block_shape: Sequence[BlockDim | int | None] | None = None
    index_map: Callable[..., Any] | None = None
    pipeline_mode: Buffered | None = None
    memory_space: Any = None

    def replace(self, **changes: Any) -> BlockSpec:
        """Return one with other attributes."""
        kept = {name: getattr(self, name) for name in self.__match_args__}
        return BlockSpec(**{**kept, **changes})


@record()
class GridSpec:
    """A kernel's grid and the blocks of its arrays, together.

    Attributes:
      grid: the sizes of the grid's axes.
      in_specs: the blocks of the arguments, as ``pallas_call`` takes them.
      out_specs: the blocks of the results.
      scratch_shapes: the types of the scratch memory.
    """

    grid: Any = ()
    in_specs: Any = no_block_spec
    out_specs: Any = no_block_spec
    scratch_shapes: Any = ()

    num_scalar_prefetch = 0
    """How many leading arguments index maps get too, whole."""


@record()
class PrefetchScalarGridSpec:
    """A kernel's grid and blocks, where the first arguments decide which blocks are taken.

    Attributes:
      num_scalar_prefetch: how many arguments the kernel gets first, and whole; index maps get
        references to them after the indices of the grid.
      grid: the sizes of the grid's axes.
      in_specs: the blocks of the other arguments.
      out_specs: the blocks of the results.
      scratch_shapes: the types of the scratch memory.
    """

    num_scalar_prefetch: int
    grid: Any = ()
    in_specs: Any = no_block_spec
    out_specs: Any = no_block_spec
    scratch_shapes: Any = ()
