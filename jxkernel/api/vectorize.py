"""``vmap``: a function of one example as a function of many."""

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.api.arguments import function_name
from jxkernel.core.axes import Axis
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.errors import AxisError
from jxkernel.transforms.batching import batch_flat, to_dim

__all__ = ["vmap"]


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """Vectorize a function over an axis of its arguments.

    Args:
      fun: a function of one example.
      in_axes: for each positional argument the axis to map over, None for no axis; a pytree of
        these may mirror (a prefix of) an argument.  Negative axes count from the end.
        Keyword arguments are always mapped over axis 0.
      out_axes: the same for the results.
      axis_name: a name by which collectives in ``fun`` mean the mapped axis.
      axis_size: the axis's size, where no argument gives it.
      spmd_axis_name: the mesh axis that the mapped axis is sharded over.

    Returns:
      the vectorized function.

    Raises:
      TypeError: ``fun`` is not callable, or ``in_axes`` is no int, None, tuple or list.
      ValueError: sizes differ, an axis is out of range, or structures do not match.

    The derivative of a vectorized function is its derivative, vectorized.
    """
    if not callable(fun):
        raise TypeError(f"vmap needs a callable, got {fun!r:.100}")
    _check_axes_type(in_axes)

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        try:
            axis = partial(Axis, name=axis_name, spmd_name=spmd_axis_name)
            return _apply(fun, args, kwargs, in_axes, out_axes, axis, axis_size)
        except Exception as error:
            hide_internal_frames(error)
            raise

    update_wrapper(vectorized, fun)
    return vectorized


def _check_axes_type(in_axes: Any) -> None:
    if isinstance(in_axes, (tuple, list)) or in_axes is None or isinstance(in_axes, int):
        return
    raise TypeError(
        f"vmap in_axes must be an int, None, or a tuple with an entry per positional argument; "
        f"got {in_axes!r:.100} of type {type(in_axes).__name__}"
    )


def _is_none(value: Any) -> bool:
    return value is None


def _apply(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    make_axis: Callable[[int], Axis],
    axis_size: int | None,
) -> Any:
    flat, in_tree = tree.flatten((args, kwargs))
    axes = _input_axes(fun, in_axes, args, kwargs)
    dims = [
        _normal(axis, leaf, in_tree, i)
        for i, (axis, leaf) in enumerate(zip(axes, flat, strict=True))
    ]
    size = _axis_size(fun, flat, dims, axis_size, in_tree)
    out_tree: Any = None

    def flat_fun(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        inner_args, inner_kwargs = in_tree.unflatten(leaves)
        outs, out_tree = tree.flatten(fun(*inner_args, **inner_kwargs))
        return outs

    outs, out_dims = batch_flat(flat_fun, flat, dims, make_axis(size))
    wanted = _output_axes(out_axes, out_tree)
    results = [
        _place(out, dim, axis, size) for out, dim, axis in zip(outs, out_dims, wanted, strict=True)
    ]
    return out_tree.unflatten(results)


def _input_axes(
    fun: Callable[..., Any], in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[int | None]:
    """Return the mapped axis of each leaf."""
    per_argument = in_axes
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise AxisError(
                "vmap in_axes",
                f"it has {len(in_axes)} entries and {function_name(fun)} was called with "
                f"{len(args)} positional arguments: give one entry per argument",
            )
        per_argument = tuple(in_axes)
    try:
        positional = tree.tree_broadcast_prefix(per_argument, args, is_leaf=_is_none)
    except ValueError as error:
        raise AxisError(
            "vmap in_axes", f"its structure is no prefix of the arguments': {error}"
        ) from None
    axes = tree.leaves(positional, is_leaf=_is_none)
    for axis in axes:
        if axis is not None and not isinstance(axis, (int, np.integer)):
            raise TypeError(
                f"vmap in_axes must hold ints and None, got {axis!r:.100} of type "
                f"{type(axis).__name__}"
            )
    return [*axes, *([0] * len(tree.leaves(kwargs)))]


def _leaf_path(in_tree: Any, index: int) -> str:
    _, entry, *rest = tree.leaf_paths(in_tree)[index]
    root = f"args[{entry.idx}]" if hasattr(entry, "idx") else str(entry.key)
    return root + tree.keystr(tuple(rest))


def _normal(axis: int | None, leaf: Any, in_tree: Any, index: int) -> int | None:
    if axis is None:
        return None
    rank = np.ndim(leaf)
    if not -rank <= axis < rank:
        raise AxisError(
            "vmap in_axes",
            f"axis {axis} is out of range for {_leaf_path(in_tree, index)}, an array of shape "
            f"{np.shape(leaf)}: use an axis from {-rank} to {rank - 1}, or None"
            if rank
            else f"{_leaf_path(in_tree, index)} is a scalar and has no axis {axis} to map over: "
            "use None",
        )
    return axis % rank


def _axis_size(
    fun: Callable[..., Any],
    flat: Sequence[Any],
    dims: Sequence[int | None],
    given: int | None,
    in_tree: Any,
) -> int:
    sizes = {
        _leaf_path(in_tree, i): np.shape(leaf)[dim]
        for i, (leaf, dim) in enumerate(zip(flat, dims, strict=True))
        if dim is not None
    }
    distinct = set(sizes.values()) | ({given} if given is not None else set())
    if len(distinct) > 1:
        listed = ", ".join(f"{path} has {size}" for path, size in sizes.items())
        asked = f", axis_size is {given}" if given is not None else ""
        raise AxisError(
            "vmap",
            f"{function_name(fun)} got inconsistent sizes for the mapped axis: {listed}{asked}",
        )
    if not distinct:
        raise AxisError(
            "vmap in_axes",
            f"no argument of {function_name(fun)} has a mapped axis: map at least one, or give "
            "axis_size",
        )
    return int(distinct.pop())


def _output_axes(out_axes: Any, out_tree: Any) -> list[int | None]:
    example = out_tree.unflatten([0] * out_tree.num_leaves)
    axes = tuple(out_axes) if isinstance(out_axes, list) else out_axes
    try:
        full = tree.tree_broadcast_prefix(axes, example, is_leaf=_is_none)
    except ValueError as error:
        raise AxisError(
            "vmap out_axes", f"its structure is no prefix of the result's: {error}"
        ) from None
    return tree.leaves(full, is_leaf=_is_none)


def _place(out: Any, dim: int | None, axis: int | None, size: int) -> Any:
    if axis is None:
        if dim is not None:
            raise AxisError(
                "vmap out_axes",
                "it is None for a result that differs between examples: give it an axis, or "
                "reduce over the mapped axis first",
            )
        return out
    rank = np.ndim(out) + (dim is None)
    if not -rank <= axis < rank:
        raise AxisError("vmap out_axes", f"axis {axis} is out of range for a result of rank {rank}")
    return to_dim(out, dim, axis % rank, size)
