"""``composite``: a function under a name that a compiler may replace by an operation of its own."""

from collections.abc import Callable
from functools import update_wrapper
from operator import index
from typing import Any

from jxkernel.api.traced import check_callable, leaf_avals, trace_function
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.trace import evaluating
from jxkernel.higher_order.composite import bind_composite
from jxkernel.higher_order.foreign import attribute_text
from jxkernel.tree import physical

__all__ = ["composite"]


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """Return a function whose call stays one named operation in the compiled program.

    Args:
      decomposition: what the operation means: a function of trees of arrays (positional) and of
        attributes (by keyword), numbers, strings and sequences of numbers.  Outside of programs
        attributes may be functions too.
      name: the operation's name with its namespace, such as ``"my.softmax"``.
      version: the version of its meaning.

    Returns:
      a function with the same arguments and results.

    Raises:
      TypeError: ``decomposition`` is not callable, or has effects.
      ValueError: the name is not one for operations.

    A compiler that does not know the name inlines the decomposition.  Transforms do not look
    inside: differentiating or batching raises.  StableHLO ``composite``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import lax
    >>> scale = lax.composite(lambda x, factor: x * factor, "my.scale")
    >>> scale(jnp.arange(3.0), factor=2.0)
    Array([0., 2., 4.], dtype=float32)
    """
    check_callable("composite", "decomposition", decomposition)
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"composite got the name {name!r}: write it like 'namespace.operation'")
    number = index(version)

    def composed(*args: Any, **attributes: Any) -> Any:
        try:
            flat, in_tree = physical.flatten(args)
            avals = leaf_avals("composite", "args", flat, in_tree)
            if evaluating() and any(map(callable, attributes.values())):
                # No operation has a function as an attribute, and here none need be made.
                return decomposition(*args, **attributes)
            text = attribute_text(attributes)

            def call(*operands: Any) -> Any:
                return decomposition(*operands, **attributes)

            traced = trace_function("composite", decomposition, call, in_tree, avals, key=text)
            outs = bind_composite(traced.closed, flat, name, text, number)
            return traced.out_tree.unflatten(outs)
        except Exception as error:
            hide_internal_frames(error)
            raise

    return update_wrapper(composed, decomposition)
