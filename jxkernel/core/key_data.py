"""Arrays of an extended dtype, such as random keys: an element is several numbers, its key data.

The key data stands on a last axis that the array's shape does not count.  To users such an array
is a leaf, and to the tracing of programs a node around its key data (see ``tree.physical``).  To an
operation it is an array with a dtype of its own, which only operations that move elements take (see
``primitives.shape.transpose``).  This module must not know what the numbers mean.
"""

from __future__ import annotations

from math import prod
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify, register_abstractifier, shape_of

__all__ = ["ExtendedArray", "key_data_axes", "numbers_of"]


class ExtendedArray:
    """The base of arrays of an extended dtype.

    Attributes:
      key_data: an array of numbers, with one axis more.
    """

    __slots__ = ("key_data",)
    key_data: Any

    @property
    def dtype(self) -> Any:
        """The extended dtype, which names the kind of element."""
        raise NotImplementedError

    def with_key_data(self, key_data: Any) -> ExtendedArray:
        """Return an array of the same kind with other key data."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return shape_of(self.key_data)[:-1]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def aval(self) -> ShapedArray:
        """The type, in which an element counts once."""
        return abstractify(self.key_data).update(shape=self.shape, dtype=self.dtype)


def numbers_of(x: Any) -> Any:
    """Return the key data of an array of an extended dtype, and any other value as it is."""
    return x.key_data if isinstance(x, ExtendedArray) else x


def key_data_axes(structure: Any) -> list[int]:
    """Return, for each leaf of a tree, how many of its last axes hold key data: one or none.

    ``vmap`` does not count those among a user's axes.
    """
    node = structure.node_data()
    if node is None:
        return [0]
    if issubclass(node[0], ExtendedArray):
        return [1]
    return [count for child in structure.children() for count in key_data_axes(child)]


def _aval_of(array: ExtendedArray) -> ShapedArray:
    return array.aval


register_abstractifier(ExtendedArray, _aval_of)
