"""Arrays whose elements are several words, such as random keys.

Such an array holds its words on a last axis that its shape does not count.  To the tracing of
programs it is a pytree of its words; to an operation it is an array with a dtype of its own, which
only operations that move elements take (see ``ops.moving``).  This module must not know what the
words mean.
"""

from __future__ import annotations

from math import prod
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify, register_abstractifier, shape_of

__all__ = ["WordArray", "word_axes"]


class WordArray:
    """The base of arrays made of words.

    Attributes:
      words: an array with one axis more.
    """

    __slots__ = ("words",)
    words: Any

    @property
    def dtype(self) -> Any:
        """The extended dtype, which names the kind of element."""
        raise NotImplementedError

    def with_words(self, words: Any) -> WordArray:
        """Return an array of the same kind with other words."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return shape_of(self.words)[:-1]

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
        """The type, in which elements are elements, not words."""
        return abstractify(self.words).update(shape=self.shape, dtype=self.dtype)


def word_axes(structure: Any) -> list[int]:
    """Return, for each leaf of a tree, how many of its last axes hold words: one or none.

    Whoever counts the axes of leaves for a user, as ``vmap`` does, does not count those.
    """
    node = structure.node_data()
    if node is None:
        return [0]
    if issubclass(node[0], WordArray):
        return [1]
    return [count for child in structure.children() for count in word_axes(child)]


def _aval_of(array: WordArray) -> ShapedArray:
    return array.aval


register_abstractifier(WordArray, _aval_of)
