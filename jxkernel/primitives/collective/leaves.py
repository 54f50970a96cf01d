"""Trees that collectives take: what combines numbers and what moves elements, leaf by leaf.

Keys stand in trees as arrays of key data (see ``core.key_data``).  This module must not know what
a collective does.
"""

from collections.abc import Callable
from typing import Any

from jxkernel.core.avals import rank_of
from jxkernel.core.key_data import ExtendedArray
from jxkernel.errors import KeyTypeError
from jxkernel.tree import physical

__all__ = ["map_elements", "map_numbers"]


def map_numbers(name: str, function: Callable[[Any], Any], x: Any) -> Any:
    """Return a tree with a function of each of its arrays, which combines numbers.

    Raises:
      KeyTypeError: an array holds keys, which are no numbers.
    """

    def of_numbers(leaf: Any) -> Any:
        if isinstance(leaf, ExtendedArray):
            raise KeyTypeError(name, leaf.aval.short())
        return function(leaf)

    return physical.map(of_numbers, x, is_leaf=_holds_key_data)


def map_elements(move: Callable[[Any, int], Any], x: Any) -> Any:
    """Return a tree with what a function makes of each of its arrays and of that one's rank.

    The function only moves elements.  Keys are moved as their key data, along an axis that
    the rank does not count.
    """

    def moved(leaf: Any) -> Any:
        if isinstance(leaf, ExtendedArray):
            return leaf.with_key_data(move(leaf.key_data, leaf.ndim))
        return move(leaf, rank_of(leaf))

    return physical.map(moved, x, is_leaf=_holds_key_data)


def _holds_key_data(value: Any) -> bool:
    return isinstance(value, ExtendedArray)
