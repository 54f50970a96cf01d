"""Collectives of which the start and the end are written apart.

XLA decides when data moves and what is computed meanwhile, so nothing is left to start by hand:
what is started is the result already, and ``done`` gives it.
"""

from typing import Any

from jxkernel import tree
from jxkernel.primitives.collective.all_gather import psum_scatter
from jxkernel.primitives.collective.psum import AxisNames
from jxkernel.tree import physical

__all__ = ["Future", "psum_scatter_start"]


class Future:
    """What a started collective will give: a pytree of that one array.

    Args:
      value: the array.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def done(self) -> Any:
        """Return the result of the collective."""
        return self._value


tree.register_pytree_node(
    Future, lambda future: ((future.done(),), None), lambda _, parts: Future(*parts)
)


def psum_scatter_start(
    x: Any,
    axis_name: AxisNames,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Start ``psum_scatter``, whose arguments and errors it has; ``done`` of its results ends it.

    Args:
      x: an array or a tree of them.
      axis_name: a name or a tuple of names.
      scatter_dimension: the axis that is divided among the members.
      axis_index_groups: lists of indices, all of one size, that sum apart.
      tiled: whether a member gets a block of the axis instead of one place of it.

    Returns:
      a tree like ``x`` of futures, each with a method ``done()`` that returns an array.

    Linear.  XLA schedules the collective, here and there.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> def f(x):
    ...     begun = jx.lax.psum_scatter_start(x, "i", tiled=True)
    ...     return jnp.sin(x), begun.done()
    >>> jx.vmap(f, axis_name="i")(jnp.ones((2, 2)))[1].tolist()
    [[2.0], [2.0]]
    """
    parts = psum_scatter(
        x,
        axis_name,
        scatter_dimension=scatter_dimension,
        axis_index_groups=axis_index_groups,
        tiled=tiled,
    )
    return physical.map(Future, parts)
