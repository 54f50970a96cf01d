"""``shard_map`` and ``pmap``: one program on every device, each with its piece of the arguments."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial, wraps
from typing import Any

import numpy as np

from jxkernel import runtime, tree
from jxkernel._reprs import counted
from jxkernel.api.arguments import Parameters, function_name, named_like
from jxkernel.api.jit import jit_as_program
from jxkernel.api.mapped_axes import check_axes, input_axes, output_axes, parting
from jxkernel.api.traced import (
    TracedFunction,
    check_callable,
    check_function,
    leaf_avals,
    trace_function,
)
from jxkernel.api.vectorize import vmap
from jxkernel.core.avals import ShapedArray, shape_of
from jxkernel.core.axes import extend_axes, inside_shard_map, manual_axes
from jxkernel.core.explicit_sharding import explicit_axes_of
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.errors import AxisError
from jxkernel.higher_order.references import CapturedReferences, Ref, Taken, check_distinct
from jxkernel.higher_order.shard_map import (
    bind_shard_map,
    check_divides,
    check_explicit_sharding,
    local_aval,
    named_axes,
)
from jxkernel.primitives.shape.reshape import expand_dims, squeeze
from jxkernel.sharding import AbstractMesh, Mesh, PartitionSpec
from jxkernel.sharding.mesh import current_mesh, in_shard_map
from jxkernel.sharding.named import check_spec
from jxkernel.sharding.spec import axes_of
from jxkernel.tree import physical

__all__ = ["pmap", "shard_map"]


class _Infer:
    """The default of ``in_specs``: the arguments' types say how they are divided."""

    def __repr__(self) -> str:
        return "INFER"


_INFER = _Infer()


def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = _INFER,
    mesh: Any = None,
    axis_names: AbstractSet[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Run a function on every device of a mesh, each with its pieces of the arguments.

    Args:
      f: a function of local pieces; it may use collectives over the mesh's axes.  Without it a
        decorator is returned.
      out_specs: how the results' pieces are put together: a tree of ``PartitionSpec`` that is a
        prefix of the result.  Over mesh axes that a spec does not name the pieces must be equal.
      in_specs: how the positional arguments are divided, as a prefix of their tuple.  Where it is
        not given, and all axes that ``f`` handles are explicit, it is what their types say.
      mesh: the mesh; None for the one of ``set_mesh``.
      axis_names: the mesh axes that ``f`` handles; all by default, inside of another ``shard_map``
        all that it leaves.  Over the others XLA divides.
      check_vma: whether types say along which axes values vary (see below), and ``out_specs``
        are checked against them.

    Returns:
      a function of whole arrays.  A reference among them is divided by its spec too, and what is
      written to its pieces is written to it.

    Raises:
      ValueError: a size does not divide, a spec is too long or names no axis of the mesh, there
        is no mesh, a result varies over an axis that its spec does not name, or a ``shard_map``
        around handles the axes already.
      TypeError: ``f`` is not callable, a spec is no ``PartitionSpec``, or there are no ``in_specs``
        and types do not say them.

    The derivative is that of the function of whole arrays.  So is one taken *inside* ``f``: the
    gradient by an argument that is whole on all devices is the sum of all their shares.  With
    ``check_vma=False`` it is that of one device's program, in which the transpose of ``psum`` is
    ``psum``: sum or average gradients over the axis yourself.

    Inside, ``jxkernel.typeof(x).vma`` holds the axes along which ``x`` may differ between devices:
    those that its spec names, and those of what it was computed from.  ``psum``, ``pmax``,
    ``pmin`` and ``all_gather(..., to="invarying")`` take an axis away.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> mesh = jx.make_mesh((1,), ("x",))
    >>> total = jx.shard_map(
    ...     lambda x: jx.lax.psum(x.sum(), "x"), mesh=mesh, in_specs=jx.P("x"), out_specs=jx.P()
    ... )
    >>> total(jnp.arange(4))
    Array(6, dtype=int32)
    """
    options = {
        "out_specs": out_specs,
        "in_specs": in_specs,
        "mesh": mesh,
        "axis_names": axis_names,
        "check_vma": check_vma,
    }
    if f is None:
        return partial(shard_map, **options)
    check_callable("shard_map", "f", f)
    if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(f"shard_map needs a Mesh, got {mesh!r:.100}")

    def mapped(*args: Any) -> Any:
        try:
            names = tuple(axis_names)
            how = (_mesh(mesh), in_specs, out_specs, names, check_vma)
            if any(isinstance(leaf, Ref) for leaf in physical.leaves(args)):
                return _apply_taking(f, args, *how)
            return _apply(f, args, *how)
        except Exception as error:
            hide_internal_frames(error)
            raise

    named_like(mapped, f)
    return mapped


def _apply_taking(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    *how: Any,
) -> Any:
    """Run a function with references among its arguments: pieces go in, and come out."""
    leaves, structure = physical.flatten(args)
    refs = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, Ref)}
    values = [leaf.read() if i in refs else leaf for i, leaf in enumerate(leaves)]
    if in_specs is _INFER:
        raise TypeError("shard_map needs in_specs=(...) where an argument is a reference")
    specs = _flat_specs(in_specs, structure, "in_specs")
    paths = physical.leaf_paths(structure)
    who = f"shard_map of {function_name(f)}"
    check_distinct(who, [(f"args{tree.keystr(paths[i])}", ref) for i, ref in refs.items()])

    @wraps(f)
    def run(*pieces: Any) -> tuple[Any, list[Any]]:
        inside = [Ref(x) if i in refs else x for i, x in enumerate(structure.flatten_up_to(pieces))]
        return f(*structure.unflatten(inside)), [inside[i].read() for i in refs]

    wanted = (out_specs, [specs[i] for i in refs])
    result, after = _apply(run, structure.unflatten(values), mesh, in_specs, wanted, *how)
    for ref, value in zip(refs.values(), after, strict=True):
        ref.write(value)
    return result


def _mesh(given: Any) -> Any:
    if isinstance(given, Mesh):
        return given
    current = current_mesh()
    if current is not None and (given is None or current.abstract_mesh == given):
        return current
    if given is None:
        raise ValueError(
            "shard_map needs a mesh: pass mesh=..., or call it under "
            "`with jxkernel.set_mesh(mesh):`"
        )
    return given


def _is_spec(value: Any) -> bool:
    return isinstance(value, PartitionSpec) or value is None


def _flat_specs(specs: Any, structure: Any, what: str) -> list[PartitionSpec]:
    """Return a spec for each leaf of a tree.

    Raises:
      ValueError: the specs are no prefix of the tree.
      TypeError: one is no spec.
    """
    example = structure.unflatten([0] * structure.num_leaves)
    given = tuple(specs) if isinstance(specs, list) and isinstance(example, tuple) else specs
    try:
        full = physical.broadcast_prefix(given, example, is_leaf=_is_spec)
    except ValueError as error:
        others = "args" if what == "in_specs" else "the result"
        raise ValueError(f"shard_map {what}: {parting(error, what, others)}") from None
    flat = [
        PartitionSpec() if leaf is None else leaf
        for leaf in physical.leaves(full, is_leaf=_is_spec)
    ]
    for leaf in flat:
        if not isinstance(leaf, PartitionSpec):
            raise TypeError(f"shard_map {what} needs PartitionSpecs, got {leaf!r:.100}")
    return flat


def _typed_specs(
    avals: Sequence[ShapedArray], mesh: Any, manual: tuple[Any, ...]
) -> list[PartitionSpec]:
    """Return how types divide values over the axes that are handled.

    Raises:
      TypeError: some axis is XLA's, of which types say nothing.
    """
    free = [name for name in manual if name not in explicit_axes_of(mesh)]
    if free:
        raise TypeError(
            f"shard_map needs in_specs: the mesh axes {free} are not Explicit, so types do not say "
            "how the arguments are divided over them; write in_specs=P(...)"
        )
    handled = frozenset(manual)
    return [
        PartitionSpec(
            *[tuple([n for n in axes_of(e) if n in manual]) for e in aval.entries],
            unreduced=aval.unreduced & handled,
            reduced=aval.reduced & handled,
        )
        for aval in avals
    ]


def _checked(specs: Sequence[PartitionSpec], mesh: Any, manual: tuple[Any, ...], what: str) -> None:
    for spec in specs:
        try:
            check_spec(mesh, spec)
        except ValueError as error:
            raise ValueError(f"shard_map {what}: {error}") from None
        named = [name for entry in spec.partitions for name in axes_of(entry)]
        for name in [*named, *spec.unreduced, *spec.reduced]:
            if name not in manual:
                raise ValueError(
                    f"shard_map {what}: {spec} names {name!r}, which is not among axis_names "
                    f"{manual}"
                )


def _apply(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    mesh: Any,
    in_specs: Any,
    out_specs: Any,
    axis_names: tuple[Any, ...],
    check_vma: bool,
) -> Any:
    for name in axis_names:
        if name not in mesh.axis_names:
            raise ValueError(f"shard_map axis_names: {name!r} is no axis of {mesh}")
    manual = _handled(mesh, axis_names)
    leaves, in_tree = physical.flatten(args)
    avals = leaf_avals("shard_map", "args", leaves, in_tree)
    if in_specs is _INFER:
        specs = _typed_specs(avals, mesh, manual)
    else:
        specs = _flat_specs(in_specs, in_tree, "in_specs")
    _checked(specs, mesh, manual, "in_specs")
    for index, (aval, spec) in enumerate(zip(avals, specs, strict=True)):
        where = f"args{tree.keystr(physical.leaf_paths(in_tree)[index])} of {function_name(f)}"
        check_divides(aval.shape, spec, mesh, f"shard_map in_specs, {where}")
        check_explicit_sharding(aval, spec, mesh, manual, f"shard_map in_specs, {where}")
    pairs = zip(avals, specs, strict=True)
    local = [local_aval(aval.strip_weak_type(), spec, mesh, check_vma) for aval, spec in pairs]
    axes = [(name, mesh.shape[name]) for name in manual]
    with extend_axes(axes, manual=True, tracked=check_vma), in_shard_map(mesh, manual):
        traced = _traced(f, in_tree, local)
    results = _flat_specs(out_specs, traced.out_tree, "out_specs")
    _checked(results, mesh, manual, "out_specs")
    for index, (aval, spec) in enumerate(zip(traced.out_avals, results, strict=True)):
        where = tree.keystr(physical.leaf_paths(traced.out_tree)[index]) or "the result"
        place = f"{where} of {function_name(f)}"
        _check_out_spec(aval, spec, dict(axes), place)
        if check_vma:
            _check_sums(aval, spec, frozenset(manual), place)
    outs = bind_shard_map(
        traced.closed,
        leaves,
        mesh=mesh,
        in_specs=tuple(specs),
        out_specs=tuple(results),
        manual_axes=manual,
        check_vma=check_vma,
    )
    return traced.out_tree.unflatten(outs)


def _handled(mesh: Any, axis_names: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the axes that a function handles: those it names, or all that are left.

    Raises:
      ValueError: a ``shard_map`` around handles one of them already, or all there are.
    """
    around = manual_axes()
    left = tuple([name for name in mesh.axis_names if name not in around])
    taken = [name for name in mesh.axis_names if name in axis_names and name in around]
    if taken or not left:
        raise ValueError(
            f"shard_map inside of another handles {taken or list(mesh.axis_names)}, which that one "
            "handles already: each device has its own piece along them. "
            + (f"Name axes that are left, {left}, as axis_names" if left else "Call the function")
        )
    return tuple([name for name in left if not axis_names or name in axis_names])


def _traced(f: Callable[..., Any], in_tree: Any, local: Sequence[ShapedArray]) -> TracedFunction:
    """Trace a function on pieces; references that it only reads are constants of the trace.

    Raises:
      CapturedReferences: it writes one that it closes over.
    """
    try:
        return trace_function("shard_map", f, f, in_tree, local)
    except CapturedReferences as found:
        taken = Taken(found)
        if taken.written:
            raise

    def read(*pieces: Any) -> Any:
        return taken.look([], partial(f, *pieces))

    return trace_function("shard_map", f, read, in_tree, local, remember=False)


def _check_out_spec(
    aval: ShapedArray, spec: PartitionSpec, sizes: dict[Any, int], where: str
) -> None:
    if len(spec) > aval.ndim:
        raise ValueError(
            f"shard_map out_specs, {where}: the spec {spec} has {counted(len(spec), 'entry')} "
            f"and the result only {counted(aval.ndim, 'axis')}: return it with an axis to join "
            "along, or shorten the spec"
        )
    unnamed = aval.vma - named_axes(spec)
    differing = tuple([name for name, size in sizes.items() if name in unnamed and size > 1])
    if differing:
        axes = repr(differing[0] if len(differing) == 1 else differing)
        raise ValueError(
            f"shard_map out_specs, {where}: the spec {spec} does not name {axes}, so the result "
            f"must be the same on all devices along it, and its type {aval.short()} says that it "
            f"varies. Reduce it (jxkernel.lax.psum(x, {axes}), pmean, pmax), or name {axes} in the "
            "spec; where you know that it is the same, pass check_vma=False"
        )


def _check_sums(aval: ShapedArray, spec: PartitionSpec, manual: frozenset[Any], where: str) -> None:
    """Check that a spec says which sums are put off as the type of a result does.

    Raises:
      ValueError: it does not.
    """
    for kind, made in (
        ("unreduced", "jxkernel.lax.pcast(x, axes, to='unreduced')"),
        ("reduced", "jxkernel.lax.pcast(x, axes, to='reduced')"),
    ):
        has, said = getattr(aval, kind) & manual, getattr(spec, kind)
        if has != said:
            raise ValueError(
                f"shard_map out_specs, {where}: the spec {spec} is not what its type "
                f"{aval.short()} says of sums that are put off ({kind}): write them alike. {made} "
                "puts a value in, jxkernel.lax.psum makes the sum"
            )


# ---------------------------------------------------------------- pmap


class _Nameless:
    """The axis of a ``pmap`` that was given no name."""

    def __repr__(self) -> str:
        return "<axis of pmap>"


def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Any] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Any:
    """Run a function of one example on many devices at once, an example on each.

    Args:
      fun: a function of one example; it may use collectives over ``axis_name``.
      axis_name: a name for the mapped axis.
      in_axes: for each positional argument the axis to map over, None for no axis; a pytree of
        these may mirror (a prefix of) an argument.  Keyword arguments are mapped over axis 0.
      out_axes: the same for the results; None for one that is the same on all devices.
      static_broadcasted_argnums: positions of arguments that are constants of the trace.
      devices: the devices to use, as many as the axis is long; by default the first ones.
      backend: the platform whose devices are used.
      axis_size: the axis's size, where no argument gives it.
      donate_argnums: positions of arguments whose buffers results may reuse.

    Returns:
      the mapped function, compiled as by ``jit``.

    Raises:
      TypeError: ``fun`` is not callable.
      ValueError: sizes differ, an axis is out of range, or there are fewer devices than examples.

    The derivative of the mapped function is its derivative, mapped.  Inside another ``pmap`` or
    ``shard_map`` each device maps over all its examples itself, as by ``vmap``.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> jx.pmap(lambda x: x / jx.lax.psum(x, "i"), axis_name="i")(jnp.ones(1))
    Array([1.], dtype=float32)
    """
    check_function("pmap", fun)
    check_axes("pmap", "in_axes", in_axes)
    check_axes("pmap", "out_axes", out_axes)
    name = _Nameless() if axis_name is None else axis_name
    static = Parameters.of(fun, static_broadcasted_argnums, None, "static")
    chosen = tuple(devices) if devices is not None else None

    def mapped(*args: Any, **kwargs: Any) -> Any:
        positions = static.positions(len(args))
        given = {i: args[i] for i in positions}
        dynamic = tuple([arg for i, arg in enumerate(args) if i not in positions])
        axes = in_axes
        if isinstance(in_axes, (tuple, list)) and len(in_axes) == len(args):
            axes = tuple([axis for i, axis in enumerate(in_axes) if i not in positions])

        def one(*values: Any, **named: Any) -> Any:
            rest = iter(values)
            whole = [given[i] if i in given else next(rest) for i in range(len(args))]
            return fun(*whole, **named)

        named_like(one, fun)
        if inside_shard_map():
            return vmap(one, axes, out_axes, name, axis_size)(*dynamic, **kwargs)
        return _pmap(one, dynamic, kwargs, axes, out_axes, name, chosen, backend, axis_size)

    named_like(mapped, fun)
    return jit_as_program(mapped, tuple(static.numbers) or None, _as_tuple(donate_argnums) or None)


def _as_tuple(numbers: int | Iterable[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(numbers)


def _pmap(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_axes: Any,
    out_axes: Any,
    name: Any,
    devices: tuple[Any, ...] | None,
    backend: str | None,
    axis_size: int | None,
) -> Any:
    leaves, in_tree, dims, size = input_axes("pmap", fun, args, kwargs, in_axes, axis_size)
    mesh = _pmap_mesh(fun, name, size, devices, backend)
    outer: list[Any] = []

    def local(*pieces: Any) -> list[Any]:
        examples = [
            piece if dim is None else squeeze(piece, (dim,))
            for piece, dim in zip(pieces, dims, strict=True)
        ]
        inner_args, inner_kwargs = in_tree.unflatten(examples)
        outs, out_tree = physical.flatten(fun(*inner_args, **inner_kwargs))
        wanted = output_axes("pmap", out_axes, out_tree)
        outer[:] = [out_tree, wanted]
        return [
            out if axis is None else expand_dims(out, (_out_axis(out, axis),))
            for out, axis in zip(outs, wanted, strict=True)
        ]

    avals = leaf_avals("pmap", "args", leaves, in_tree)
    specs = tuple([_along(dim, name) for dim in dims])
    shapes = [local_aval(a, s, mesh) for a, s in zip(avals, specs, strict=True)]
    flat_tree = physical.structure(tuple(leaves))
    with extend_axes([(name, size)], manual=True):
        traced = trace_function("pmap", local, local, flat_tree, shapes)
    out_tree, wanted = outer
    out_specs = tuple(
        [
            PartitionSpec() if axis is None else _along(axis % aval.ndim, name)
            for axis, aval in zip(wanted, traced.out_avals, strict=True)
        ]
    )
    outs = bind_shard_map(
        traced.closed,
        leaves,
        mesh=mesh,
        in_specs=specs,
        out_specs=out_specs,
        manual_axes=(name,),
        check_vma=False,
    )
    return out_tree.unflatten(outs)


def _along(dim: int | None, name: Any) -> PartitionSpec:
    return PartitionSpec() if dim is None else PartitionSpec(*[None] * dim, name)


def _out_axis(out: Any, axis: int) -> int:
    rank = len(shape_of(out)) + 1
    if not -rank <= axis < rank:
        raise AxisError("pmap out_axes", f"axis {axis} is out of range for a result of rank {rank}")
    return axis % rank


def _pmap_mesh(
    fun: Callable[..., Any],
    name: Any,
    size: int,
    devices: tuple[Any, ...] | None,
    backend: str | None,
) -> Mesh:
    available = runtime.devices(backend) if devices is None else list(devices)
    if size > len(available) or (devices is not None and size != len(available)):
        raise ValueError(
            f"pmap of {function_name(fun)} maps over an axis of size {size}, which needs as many "
            f"devices, and got {len(available)}: map over fewer examples with vmap inside, or ask "
            f"for more with jxkernel.config.update('jax_num_cpu_devices', {size})"
        )
    chosen = np.empty(size, dtype=object)
    chosen[:] = available[:size]
    return Mesh(chosen, (name,))
