"""A function with some arguments given, which is itself a pytree of those arguments.

So a closure's data can cross ``jit`` as traced values, with the function as structure.  This
module must not know of ``jit`` or of any other transform.
"""

import functools
from collections.abc import Callable, Hashable
from typing import Any, Self

from jxkernel.tree.nodes import GetAttrKey, register_pytree_with_keys

__all__ = ["Partial"]


class _Opaque:
    """A ``functools.partial`` seen as a plain callable, compared by identity.

    ``functools.partial`` merges a partial function given to it into itself, which would turn the
    inner one's arguments, static until then, into leaves.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opaque) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial):
    """``functools.partial`` as a pytree: its arguments are leaves, its function is structure.

    Args:
      func: a callable, hashable.  One that is itself a partial function stays whole: its own
        arguments are structure.
      *args: the first positional arguments, any pytrees.
      **kw: keyword arguments, any pytrees.

    >>> from jxkernel import tree, tree_util
    >>> double = tree_util.Partial(lambda scale, x: scale * x, 2.0)
    >>> double(5.0), tree.leaves(double)
    (10.0, [2.0])
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Self:
        """Return the partial function; see the class."""
        if isinstance(func, functools.partial):
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **kw)


def _flatten(partial: Partial) -> tuple[Any, Hashable]:
    children = ((GetAttrKey("args"), partial.args), (GetAttrKey("keywords"), partial.keywords))
    return children, partial.func


def _unflatten(func: Any, children: Any) -> Partial:
    args, keywords = children
    return Partial(func, *args, **keywords)


register_pytree_with_keys(Partial, _flatten, _unflatten)
