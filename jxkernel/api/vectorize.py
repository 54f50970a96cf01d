"""``vmap``: a function of one example as a function of many."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel._reprs import with_type
from jxkernel.api.arguments import function_name, named_like
from jxkernel.api.jit import check_result
from jxkernel.api.mapped_axes import check_axes, input_axes, output_axes
from jxkernel.api.reference_arguments import Returned, has_references
from jxkernel.api.traced import check_function
from jxkernel.core.avals import abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.key_data import key_data_axes
from jxkernel.core.trace import Tracer, place_in_source, state
from jxkernel.errors import AxisError, RefError, ShardingTypeError
from jxkernel.higher_order.references import Binding, Ref, check_distinct
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.reduction.reduce import reduce_sum
from jxkernel.runtime import own_result
from jxkernel.transforms.batching import batch_flat, to_dim
from jxkernel.tree import physical

__all__ = ["vmap"]


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
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
      sum_match: whether a result that differs between examples, and for which ``out_axes`` is
        None, is summed over them.  Without it such a result is an error.

    Returns:
      the vectorized function.

    Raises:
      TypeError: ``fun`` is not callable, or ``in_axes`` is no int, None, tuple or list.
      ValueError: sizes differ, an axis is out of range, or structures do not match.

    The derivative of a vectorized function is its derivative, vectorized.

    >>> import jxkernel as jx
    >>> from jxkernel import numpy as jnp
    >>> jx.vmap(jnp.dot)(jnp.array([[1, 2], [3, 4]]), jnp.array([[5, 6], [7, 8]])).tolist()
    [17, 53]
    >>> jx.vmap(lambda x, y: x + y, in_axes=(0, None))(jnp.arange(3), 10).tolist()
    [10, 11, 12]
    """
    check_function("vmap", fun)
    _check_in_axes(in_axes)
    check_axes("vmap", "out_axes", out_axes)
    _check_name(axis_name)

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        try:
            axis = partial(Axis, name=axis_name, spmd_name=spmd_axis_name)
            apply = partial(_apply, sum_match=sum_match)
            return apply(fun, args, kwargs, in_axes, out_axes, axis, axis_size)
        except Exception as error:
            hide_internal_frames(error)
            raise

    return named_like(vectorized, fun)


def _check_in_axes(in_axes: Any) -> None:
    if isinstance(in_axes, (tuple, list, int)) or in_axes is None:
        return check_axes("vmap", "in_axes", in_axes)
    raise TypeError(
        f"vmap in_axes must be an int, None, or a tuple with an entry per positional argument; "
        f"got {with_type(in_axes)}"
    )


def _check_name(axis_name: Any) -> None:
    try:
        hash(axis_name)
    except TypeError:
        raise TypeError(
            f"vmap axis_name must be hashable, such as a string, got {with_type(axis_name)}"
        ) from None


def _apply(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    make_axis: Callable[..., Axis],
    axis_size: int | None,
    shared: Mapping[int, int | None] = MappingProxyType({}),
    *,
    sum_match: bool,
) -> Any:
    """Apply a function; ``shared`` has the mapped axis of references it may return, by ``id``."""
    leaves, structure = physical.flatten((args, kwargs))
    if Ref in map(type, leaves):
        apply = partial(_apply, sum_match=sum_match)
        return _apply_taking(apply, fun, leaves, structure, in_axes, out_axes, make_axis, axis_size)
    flat, in_tree, dims, size = input_axes("vmap", fun, args, kwargs, in_axes, axis_size)
    out_tree: Any = None
    returned: Returned | None = None

    def flat_fun(*leaves: Any) -> list[Any]:
        nonlocal out_tree, returned
        inner_args, inner_kwargs = in_tree.unflatten(leaves)
        result = fun(*inner_args, **inner_kwargs)
        outs, out_tree = physical.flatten(result)
        if has_references(outs):
            returned = Returned(result)
            outs, out_tree = physical.flatten(returned.values(result))
        return outs

    mesh, entry = _explicit_entry(flat, dims)
    mapped = make_axis(size, entry=entry, mesh=mesh)
    outs, out_dims = batch_flat(flat_fun, flat, dims, mapped)
    for index, (out, dim) in enumerate(zip(outs, out_dims, strict=True)):
        if dim is None:
            check_result(function_name(fun), out_tree, index, out)
    if returned is not None:
        _check_returned(returned, output_axes("vmap", out_axes, returned.structure), shared)
    wanted = output_axes("vmap", out_axes, out_tree)
    results = [
        _place(*each, mapped, sum_match)
        for each in zip(outs, out_dims, wanted, key_data_axes(out_tree), strict=True)
    ]
    result = out_tree.unflatten(map(own_result, results))
    return result if returned is None else returned.references(result, returned.outside)


def _check_returned(
    returned: Returned, axes: Sequence[int | None], shared: Mapping[int, int | None]
) -> None:
    """Check that references have the axes in the result that they have.

    Raises:
      AxisError: one of outside has another mapped axis; one made inside has none in ``out_axes``.
    """
    for at, ref in returned.outside.items():
        dim = shared.get(id(ref))
        if axes[at] != dim:
            raise AxisError(
                "vmap out_axes",
                f"it is {axes[at]} for a reference of type {ref.aval} that was made outside, "
                f"whose mapped axis is {dim}: give it that, or return ref[...]",
            )
    for at, aval in returned.made.items():
        if axes[at] is None:
            raise AxisError(
                "vmap out_axes",
                f"it is None for a reference of type {aval} that each example makes for itself: "
                "give it an axis, or return ref[...]",
            )


def _apply_taking(
    apply: Callable[..., Any],
    fun: Callable[..., Any],
    leaves: Sequence[Any],
    structure: Any,
    in_axes: Any,
    out_axes: Any,
    make_axis: Callable[..., Axis],
    axis_size: int | None,
) -> Any:
    """Apply a function with references among its arguments: their values go in and come out."""
    refs = {i: leaf for i, leaf in enumerate(leaves) if type(leaf) is Ref}
    values = [leaf.read() if i in refs else leaf for i, leaf in enumerate(leaves)]
    paths = physical.leaf_paths(structure)
    who = f"vmap of {function_name(fun)}"
    check_distinct(who, [(_argument(paths[i]), ref) for i, ref in refs.items()])
    args, kwargs = structure.unflatten(values)
    dims = input_axes("vmap", fun, args, kwargs, in_axes, axis_size)[2]
    inside: dict[int, Binding] = {}

    @wraps(fun)
    def run(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        flat = physical.leaves((args, kwargs))
        lent = {i: Ref(flat[i]) for i in refs}
        inside.update({i: ref.binding() for i, ref in lent.items()})
        given, named = structure.unflatten([lent.get(i, leaf) for i, leaf in enumerate(flat)])
        result = fun(*given, **named)
        for i, ref in lent.items():
            _check_shared(ref, inside[i], dims[i])
        own = {id(ref): refs[i] for i, ref in lent.items()}
        result = physical.map(lambda leaf: own.get(id(leaf), leaf), result)
        return result, [inside[i].value for i in refs]

    wanted = (out_axes, [dims[i] for i in refs])
    shared = {id(ref): dims[i] for i, ref in refs.items()}
    result, after = apply(run, args, kwargs, in_axes, wanted, make_axis, axis_size, shared)
    for i, value in zip(refs, after, strict=True):
        if inside[i].is_written:
            refs[i].write(value)
    return result


def _argument(path: Any) -> str:
    """Return what messages call an argument: ``args[0]['w']``."""
    positional, *rest = path
    return f"{'kwargs' if positional.idx else 'args'}{tree.keystr(tuple(rest))}"


def _check_shared(ref: Ref, binding: Binding, dim: int | None) -> None:
    """Check that a reference without a mapped axis was not given what differs between examples.

    Raises:
      RefError: it was.
    """
    value = binding.value
    if dim is None and isinstance(value, Tracer) and value.owner is state.trace:
        raise RefError(
            f"a reference of type {ref.aval} that all examples share was given a value that "
            "differs between them.",
            instead=("give it an axis of its own, in in_axes", "write what is the same for all"),
            **place_in_source(),
        )


def _explicit_entry(flat: Sequence[Any], dims: Sequence[int | None]) -> tuple[Any, Any]:
    """Return the explicit mesh axis that divides the mapped axis of arguments, after its mesh.

    Raises:
      ShardingTypeError: two arguments are divided differently along it.
    """
    mesh, entry, first = None, None, ""
    for arg, dim in zip(flat, dims, strict=True):
        if dim is None:
            continue
        aval = abstractify(arg)
        if aval.entries[dim] is None:
            continue
        assert aval.explicit_sharding is not None, "it has entries"
        if entry is not None and entry != aval.entries[dim]:
            raise ShardingTypeError(
                "vmap",
                f"{first}, {aval.short()}",
                "whose mapped axes are divided differently",
                instead=("divide one of them anew: jxkernel.sharding.reshard(x, P(...))",),
                **place_in_source(),
            )
        mesh, entry, first = aval.explicit_sharding.mesh, aval.entries[dim], aval.short()
    return mesh, entry


def _place(
    out: Any, dim: int | None, wanted: int | None, key_axes: int, axis: Axis, sum_match: bool
) -> Any:
    if wanted is None:
        if dim is not None and sum_match and not key_axes:
            return _summed(out, dim)
        if dim is not None:
            raise AxisError(
                "vmap out_axes",
                "it is None for a result that differs between examples: give it an axis, or "
                "reduce over the mapped axis first",
            )
        return out
    rank = np.ndim(out) + (dim is None) - key_axes
    if not -rank <= wanted < rank:
        text = f"axis {wanted} is out of range for a result of rank {rank}"
        raise AxisError("vmap out_axes", text)
    return to_dim(out, dim, wanted % rank, axis)


def _summed(out: Any, dim: int) -> Any:
    """Return the sum over an axis; integers and booleans are summed in the default width."""
    dtype = abstractify(out).dtype
    if dtype not in dtypes.INEXACT:
        unsigned = dtype in dtypes.UNSIGNED
        wide = dtypes.default_uint_dtype() if unsigned else dtypes.default_int_dtype()
        out = convert_element_type(out, wide) if dtype.itemsize < wide.itemsize else out
    return reduce_sum(out, (dim,))
