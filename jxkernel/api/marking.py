"""What the compiler is told of operations beside what they compute: frontend attributes.

A block's attributes go into the scope of what is traced in it, as the names of ``named_scope``
do, so whatever is made of an equation keeps them.  They are part of the key of traces besides.
"""

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

from jxkernel.api.jit import jit
from jxkernel.api.traced import check_callable
from jxkernel.config import operation_attributes
from jxkernel.core.avals import shape_of
from jxkernel.core.trace import evaluating, state
from jxkernel.primitives.marking import dce_sink_p, layout_constraint_p, marked_p
from jxkernel.sharding.layout import Format, Layout, sharding_of
from jxkernel.tree import physical

__all__ = [
    "dce_sink",
    "fuse_limit",
    "must_fuse_call",
    "set_xla_metadata",
    "with_layout_constraint",
    "xla_metadata_call",
]


def set_xla_metadata(x: Any = None, /, **attributes: Any) -> Any:
    """Give frontend attributes to the operations of a block or function, or to values.

    ``with set_xla_metadata(key=value):`` gives them to what is traced in the block, and so does a
    decorator; in nested blocks the inner value of a key holds.  ``set_xla_metadata(x, key=value)``
    gives them to the operations that compute the leaves of ``x``, which keep those that they have.
    Results do not depend on them: they are for passes of the compiler that look for them.
    Operations that run eagerly have none.

    Args:
      x: a tree of arrays; left out, for a block or function.
      **attributes: the attributes.  Values become text, ``True`` as ``true``; a key whose value
        is None is left out.

    Returns:
      the tree of the same values; without ``x`` a context manager that is a decorator too.

    Raises:
      TypeError: a leaf is no array.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental.xla_metadata import set_xla_metadata
    >>> def f(x):
    ...     with set_xla_metadata(stage="first"):
    ...         return jnp.sin(x)
    >>> '{stage = "first"}' in jx.jit(f).lower(1.0).as_text()
    True
    """
    pairs = tuple((key, _text(value)) for key, value in attributes.items() if value is not None)
    if x is None:
        return _Block(pairs)
    return physical.map(lambda leaf: marked_p.bind(leaf, attributes=pairs), x)


def xla_metadata_call(f: Callable[..., Any] | None = None, /, **meta: object) -> Any:
    """Return a function whose operations are compiled with frontend attributes.

    The operations of its derivatives have them too, and those of a call outside of ``jit``.

    Args:
      f: the function, of trees of arrays; left out, for a decorator.
      **meta: the attributes: texts, booleans or numbers.

    Raises:
      TypeError: a value is none of these, or ``f`` is not callable.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental.xla_metadata import xla_metadata_call
    >>> f = xla_metadata_call(jnp.sin, tag="block")
    >>> '{tag = "block"}' in jx.jit(f).lower(1.0).as_text()
    True
    """
    for key, value in meta.items():
        if not isinstance(value, (str, bool, int, float)):
            kind = type(value).__name__
            raise TypeError(f"xla_metadata_call takes texts and numbers, got {key}={kind}")

    def decorate(f: Callable[..., Any]) -> Any:
        check_callable("xla_metadata_call", "f", f)
        return jit(set_xla_metadata(**meta)(f))

    return decorate if f is None else decorate(f)


def must_fuse_call(identifier: str) -> Any:
    """Return a decorator of functions whose operations are to be one fused operation.

    It is ``xla_metadata_call(MUST_FUSE=identifier)``; compilers that know no such mark ignore it.

    Args:
      identifier: the number of the fused operation, as text.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental.xla_metadata import must_fuse_call
    >>> float(must_fuse_call("1")(lambda x: jnp.square(x).sum())(jnp.ones(3)))
    3.0
    """
    return xla_metadata_call(MUST_FUSE=identifier)


def fuse_limit() -> Any:
    """Return a block out of which and into which no operation is to be fused.

    It is ``set_xla_metadata(FUSE_LIMIT=True)``; compilers that know no such mark ignore it.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental.xla_metadata import fuse_limit
    >>> with fuse_limit():
    ...     y = jnp.sin(0.0)
    """
    return set_xla_metadata(FUSE_LIMIT=True)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Block(ContextDecorator):
    """A block, or a function, whose operations have attributes."""

    def __init__(self, attributes: tuple[tuple[str, str], ...]) -> None:
        self._attributes = attributes
        self._previous: list[tuple[Any, Any]] = []

    def _recreate_cm(self) -> "_Block":
        # A decorated function may run in several threads at once: each call has its own stack.
        return _Block(self._attributes)

    def __enter__(self) -> None:
        inside = {**dict(operation_attributes.value), **dict(self._attributes)}
        previous = operation_attributes.swap_local(tuple(sorted(inside.items())))
        self._previous.append((state.scope, previous))
        state.scope = (*state.scope, *self._attributes)

    def __exit__(self, *exception: object) -> None:
        state.scope, previous = self._previous.pop()
        operation_attributes.set_local(previous)


def dce_sink(val: Any) -> None:
    """Count the arrays of a tree as used, so that programs keep the equations that compute them.

    Equations whose results nobody reads are dropped from a program where it is transformed.  XLA
    still leaves out of an executable what no result depends on.

    Args:
      val: a tree of arrays.

    >>> import jxkernel as jx
    >>> jx.make_jaxpr(lambda x: (jx.lax.dce_sink(x * 2.0), x)[1])(1.0).effects
    frozenset({Effect(name='Sink', ordered=False, observing=True)})
    """
    for leaf in physical.leaves(val):
        dce_sink_p.bind(leaf)


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Return a tree of arrays unchanged, that lie in memory in a given order inside a program.

    Args:
      x: a tree of arrays.
      layouts: a ``Layout``, or a tree of these that is a prefix of the structure of ``x``.

    Raises:
      ValueError: a layout is none, or has another number of axes than its array.
      NotImplementedError: outside of programs, a layout is not row-major, as all arrays are.

    Results of programs are row-major, however they were made.  The derivative is the identity, in
    the same order.  XLA ``LayoutConstraint``.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental.layout import Layout, with_layout_constraint
    >>> f = jx.jit(lambda x: with_layout_constraint(x, Layout((1, 0))) * 2.0)
    >>> f(jnp.ones((1, 2))).tolist()
    [[2.0, 2.0]]
    """
    leaves, structure = physical.flatten(x)
    given = physical.broadcast_prefix(layouts, x, is_leaf=lambda node: isinstance(node, Layout))
    return structure.unflatten(list(map(_in_order, leaves, given)))


def _in_order(leaf: Any, layout: Any) -> Any:
    if not isinstance(layout, Layout):
        raise ValueError(
            f"with_layout_constraint takes a Layout for each array, got {layout!r:.60}"
        )
    order, shape = layout.major_to_minor, shape_of(leaf)
    if len(order) != len(shape):
        raise ValueError(
            f"with_layout_constraint got major_to_minor={order} for an array of shape {shape}: "
            "name each of its axes"
        )
    if evaluating():
        sharding_of(Format(layout, leaf.sharding), "with_layout_constraint")
        return leaf
    return layout_constraint_p.bind(leaf, order=order)
