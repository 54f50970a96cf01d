"""Arrays whose elements are several words, such as random keys, in functions that move elements.

Such an array holds its words on a last axis that its shape does not count.  A function that only
moves elements moves each word alike, so it is mapped over the axis of words.  This module must not
know what the words mean.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from jxkernel import tree
from jxkernel.api import vmap
from jxkernel.runtime import Array

__all__ = ["WordArray", "moves_elements"]


class WordArray(Array):
    """The base of arrays made of words.

    Attributes:
      words: an array with one axis more.
    """

    __slots__ = ("words",)
    words: Any

    def with_words(self, words: Any) -> "WordArray":
        """Return an array of the same kind with other words."""
        raise NotImplementedError

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{type(self).__name__} is no array of numbers: jax.random.key_data(keys) gives its "
            "words"
        )


def moves_elements(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that only moves elements take arrays made of words.

    Arrays of numbers go straight to the function; only where it refuses its arguments are they
    looked at.
    """

    @wraps(function)
    def moving(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError):
            leaves, structure = tree.flatten((args, kwargs), is_leaf=_is_worded)
            if not any(map(_is_worded, leaves)):
                raise
        return _moved(function, leaves, structure)

    return moving


def _is_worded(value: Any) -> bool:
    return isinstance(value, WordArray)


def _moved(function: Callable[..., Any], leaves: list[Any], structure: Any) -> Any:
    """Apply a function to each word; other arguments are those of every word."""
    places = [place for place, leaf in enumerate(leaves) if _is_worded(leaf)]
    first = leaves[places[0]]
    for place in places:
        if leaves[place].dtype != first.dtype:
            raise TypeError(
                f"{function.__name__} got elements of dtypes {first.dtype} and "
                f"{leaves[place].dtype}: they are of one kind"
            )

    def of_word(words: list[Any]) -> Any:
        given = list(leaves)
        for place, word in zip(places, words, strict=True):
            given[place] = word
        args, kwargs = structure.unflatten(given)
        return function(*args, **kwargs)

    mapped = vmap(of_word, in_axes=-1, out_axes=-1)([leaves[place].words for place in places])
    return tree.map(first.with_words, mapped)
