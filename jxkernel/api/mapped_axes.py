"""The axes that ``vmap`` and ``pmap`` map over: of each leaf of the arguments and results."""

from collections.abc import Callable, Sequence
from operator import index as as_index
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel._reprs import counted, with_type
from jxkernel.api.arguments import function_name
from jxkernel.core.avals import abstractify
from jxkernel.core.dimensions import sizes as sizes_of
from jxkernel.core.key_data import key_data_axes
from jxkernel.errors import ArgumentTypeError, AxisError, ByteOrderError
from jxkernel.tree import physical

__all__ = [
    "check_axes",
    "input_axes",
    "is_mapped_otherwise",
    "output_axes",
    "parting",
    "register_vmappable",
    "unregister_vmappable",
]

_mapped_otherwise: set[type] = set()


def register_vmappable(data_type: type, *how: Any) -> None:
    """Note that a kind of node is mapped in a way of its own, which ``vmap`` then refuses to do.

    Libraries register such kinds when they are imported, for other devices than those here.

    Args:
      data_type: the kind.
      *how: the types of axes and sizes, and the functions that take nodes apart.
    """
    _mapped_otherwise.add(data_type)


def unregister_vmappable(data_type: type) -> None:
    """Let all leaves of a kind of node be mapped again."""
    _mapped_otherwise.remove(data_type)


def is_mapped_otherwise(node: Any) -> bool:
    """Whether a node is of a kind that is mapped in a way of its own."""
    return type(node) in _mapped_otherwise


def _refuse_mapped_otherwise(who: str, args: Any) -> None:
    for node in physical.leaves(args, is_leaf=is_mapped_otherwise):
        if is_mapped_otherwise(node):
            raise NotImplementedError(
                f"{who} maps all leaves of a node over axes that in_axes names, and "
                f"{type(node).__name__} was registered (register_vmappable) as a kind that is "
                "mapped in a way of its own"
            )


def _is_none(value: Any) -> bool:
    return value is None


def check_axes(who: str, parameter: str, axes: Any) -> None:
    """Check that a tree of axes holds numbers, and None where nothing is mapped.

    Raises:
      TypeError: it holds anything else.
    """
    for axis in physical.leaves(axes):
        if isinstance(axis, bool) or not isinstance(axis, int):
            raise TypeError(f"{who} {parameter} must hold ints and None, got {with_type(axis)}")


def input_axes(
    who: str,
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    axis_size: int | None,
) -> tuple[list[Any], Any, list[int | None], int]:
    """Take a call apart.

    Args:
      who: the transform, for messages.
      fun: the mapped function.
      args: its positional arguments.
      kwargs: its keyword arguments, mapped over axis 0.
      in_axes: the axes given by the user.
      axis_size: the size given by the user, or None.

    Returns:
      the leaves of ``(args, kwargs)``, their structure, the mapped axis of each leaf (None for
      none), and the size of the mapped axis.

    Raises:
      AxisError: axes or sizes do not fit.
      TypeError: an axis is no int.
    """
    if _mapped_otherwise:
        _refuse_mapped_otherwise(who, (args, kwargs))
    flat, in_tree = physical.flatten((args, kwargs))
    axes = _leaf_axes(who, fun, in_axes, args, kwargs)
    key_axes = key_data_axes(in_tree)
    dims = [
        _normal(who, axis, leaf, key_axes[i], in_tree, i)
        for i, (axis, leaf) in enumerate(zip(axes, flat, strict=True))
    ]
    return flat, in_tree, dims, _axis_size(who, fun, flat, dims, axis_size, in_tree)


def _leaf_axes(
    who: str, fun: Callable[..., Any], in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[int | None]:
    """Return the mapped axis of each leaf."""
    per_argument = in_axes
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise AxisError(
                f"{who} in_axes",
                f"it has {counted(len(in_axes), 'entry')} and {function_name(fun)} was "
                f"called with {counted(len(args), 'positional argument')}: give one entry per "
                "argument",
            )
        per_argument = tuple(in_axes)
    try:
        positional = physical.broadcast_prefix(per_argument, args, is_leaf=_is_none)
    except ValueError as error:
        raise AxisError(f"{who} in_axes", parting(error, "in_axes", "args")) from None
    axes = physical.leaves(positional, is_leaf=_is_none)
    return [*axes, *([0] * len(physical.leaves(kwargs)))] if kwargs else axes


def parting(error: ValueError, prefix: str, whole: str) -> str:
    """Return where a prefix and a tree part, with what the user calls the two.

    Args:
      error: what ``tree`` says.
      prefix: the parameter that is the prefix: ``in_axes``.
      whole: what it is a prefix of: ``args``.
    """
    text = str(error).replace("the prefix", prefix).replace("the full tree", whole)
    text = text.replace(" Unexpected: ", f" {prefix} lacks ").replace(
        "; unexpected:", f"; {prefix} lacks"
    )
    text = text.replace(" Missing: ", f" Only {prefix} has ")
    return f"{text} One entry may stand for a whole part of {whole}."


def _leaf_path(in_tree: Any, index: int) -> str:
    _, entry, *rest = physical.leaf_paths(in_tree)[index]
    root = f"args[{entry.idx}]" if hasattr(entry, "idx") else str(entry.key)
    return root + tree.keystr(tuple(rest))


def _normal(
    who: str, axis: int | None, leaf: Any, key_axes: int, in_tree: Any, index: int
) -> int | None:
    if axis is None:
        return None
    try:
        rank = abstractify(leaf).ndim - key_axes
    except ByteOrderError:
        raise
    except TypeError:
        raise ArgumentTypeError(
            who,
            _leaf_path(in_tree, index),
            f"{with_type(leaf)}",
            instead=("give the function what is no array by a closure or functools.partial",),
        ) from None
    if not -rank <= axis < rank:
        raise AxisError(
            f"{who} in_axes",
            f"axis {axis} is out of range for {_leaf_path(in_tree, index)}, an array of shape "
            f"{np.shape(leaf)[:rank]}: use an axis from {-rank} to {rank - 1}, or None"
            if rank
            else f"{_leaf_path(in_tree, index)} is a scalar and has no axis {axis} to map over: "
            "use None",
        )
    return axis % rank


def _axis_size(
    who: str,
    fun: Callable[..., Any],
    flat: Sequence[Any],
    dims: Sequence[int | None],
    given: int | None,
    in_tree: Any,
) -> int:
    sizes = {
        i: np.shape(leaf)[dim]
        for i, (leaf, dim) in enumerate(zip(flat, dims, strict=True))
        if dim is not None
    }
    distinct = {*sizes.values(), *_given_size(who, given)}
    if len(distinct) > 1:
        listed = ", ".join(f"{_leaf_path(in_tree, i)} has {size}" for i, size in sizes.items())
        asked = f", axis_size is {given}" if given is not None else ""
        raise AxisError(
            who,
            f"{function_name(fun)} got inconsistent sizes for the mapped axis: {listed}{asked}",
        )
    if not distinct:
        raise AxisError(
            f"{who} in_axes",
            f"no argument of {function_name(fun)} has a mapped axis: map at least one, or give "
            "axis_size",
        )
    return sizes_of(distinct)[0]


def _given_size(who: str, axis_size: Any) -> list[int]:
    try:
        return [] if axis_size is None else [as_index(axis_size)]
    except TypeError:
        raise TypeError(f"{who} axis_size must be an int, got {with_type(axis_size)}") from None


def output_axes(who: str, out_axes: Any, out_tree: Any) -> list[int | None]:
    """Return the axis of each leaf of a result.

    Raises:
      AxisError: ``out_axes`` is no prefix of it.
    """
    example = out_tree.unflatten([0] * out_tree.num_leaves)
    try:
        full = physical.broadcast_prefix(out_axes, example, is_leaf=_is_none)
    except ValueError as error:
        raise AxisError(f"{who} out_axes", parting(error, "out_axes", "the result")) from None
    return physical.leaves(full, is_leaf=_is_none)
