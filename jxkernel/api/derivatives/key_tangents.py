"""Tangents of keys: to users a ``float0`` zero for each key, to traces one for each number of it.

A typed key is a tree of its key data, so a flat tangent of it is one of key data.  Tangents that a
user gives or gets go through here.  This module must not know of derivatives.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel.core.avals import ShapedArray
from jxkernel.core.key_data import ExtendedArray, key_data_axes
from jxkernel.core.zeros import Zero
from jxkernel.tree import physical

__all__ = ["per_key", "per_word", "refuse_keys"]


_WORD = np.dtype(np.uint32)


def _hold_key_data(structure: Any, avals: Sequence[ShapedArray]) -> bool:
    # Trees without an array of keys need not be searched.
    return _WORD in [aval.dtype for aval in avals] and 1 in key_data_axes(structure)


def per_key(
    structure: Any, avals: Sequence[ShapedArray], tangents: Any, *, symbolic: bool = False
) -> Any:
    """Return a tree of tangents or cotangents with one zero for each key.

    Args:
      structure: the structure of what they are tangents of.
      avals: the types of its leaves.
      tangents: a tree of that structure.
      symbolic: whether those zeros are ``SymbolicZero`` in place of arrays.
    """
    if not _hold_key_data(structure, avals):
        return tangents
    return tree.map(_symbolic_zero_of if symbolic else _zero_of, tangents)


def _is_key(x: Any) -> bool:
    return isinstance(x, ExtendedArray)


def _zero_of(x: Any) -> Any:
    return np.zeros(x.shape, dtypes.float0) if _is_key(x) else x


def _symbolic_zero_of(x: Any) -> Any:
    return Zero(ShapedArray(x.shape, dtypes.float0)) if _is_key(x) else x


def per_word(
    what: str, name: str, structure: Any, avals: Sequence[ShapedArray], tangents: Any
) -> Any:
    """Return a user's tree of tangents or cotangents with one zero for each number of key data.

    Args:
      what: ``tangent``, or what a result's is called.
      name: the function they are of, for messages.
      structure: the structure of what they are tangents of.
      avals: the types of its leaves.
      tangents: what was given; where it does not fit the structure it is left alone.

    Raises:
      TypeError: something else stands for the tangent of keys; that of a result may be keys.
      ValueError: it has another shape than the keys.
    """
    return (
        _spread(what, name, structure, avals, tangents)
        if _hold_key_data(structure, avals)
        else tangents
    )


def _spread(what: str, name: str, structure: Any, avals: Sequence[ShapedArray], given: Any) -> Any:
    node = structure.node_data()
    if node is None:
        return given
    if issubclass(node[0], ExtendedArray):
        return structure.unflatten([_zero_key_data(what, name, avals[0], given)])
    if type(given) is not node[0]:
        return given
    parts, level = physical.flatten(given, is_leaf=lambda x: x is not given)
    children = structure.children()
    if len(parts) != len(children):
        return given
    spread, first = [], 0
    for child, part in zip(children, parts, strict=True):
        last = first + child.num_leaves
        spread.append(_spread(what, name, child, avals[first:last], part))
        first = last
    return level.unflatten(spread)


def _zero_key_data(what: str, name: str, aval: ShapedArray, given: Any) -> Any:
    shape = aval.shape[:-1]
    if getattr(given, "dtype", None) != dtypes.float0 and (what == "tangent" or not _is_key(given)):
        said = "keys" if _is_key(given) else f"{given!r:.60}"
        raise TypeError(
            f"{name}: the {what} of keys of shape {shape} has dtype float0, got {said}: "
            f"write np.zeros({shape}, float0)"
        )
    if np.shape(given) != shape:
        raise ValueError(
            f"{name}: the {what} of keys of shape {shape} has their shape, got shape "
            f"{np.shape(given)}"
        )
    return np.zeros(aval.shape, dtypes.float0)


def refuse_keys(name: str, structure: Any, avals: Sequence[ShapedArray]) -> None:
    """Refuse to differentiate by keys.

    Args:
      name: the transform.
      structure: the structure of the arguments to differentiate by, or of the value.
      avals: the types of its leaves.

    Raises:
      TypeError: there are keys among them.
    """
    if _hold_key_data(structure, avals):
        raise TypeError(
            f"{name} requires real- or complex-valued inputs and results, and got keys, which "
            "have no derivative: choose the others by argnums, or return keys by has_aux"
        )
