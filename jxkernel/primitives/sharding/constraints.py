"""Saying how a value is divided over devices: the identity, with a word to the partitioner.

Three say it::

    sharding_constraint   over axes that XLA decides about: a wish, which no type shows
    reshard               over explicit axes: the type changes, and data moves between devices
    mesh_cast             from explicit axes to XLA's care: the type forgets, and nothing moves

The transpose of ``reshard`` brings a cotangent back to the type of the operand; that of
``mesh_cast`` divides it again as the operand is.
"""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo, runtime
from jxkernel._reprs import with_type
from jxkernel.config import no_collectives
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis, manual_axes, putting_off
from jxkernel.core.explicit_sharding import (
    AS_TYPED,
    SUM_FIRST,
    explicit_axes_of,
    explicit_sharding_of,
    listed,
    require_no_exchange,
)
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.trace import place_in_source
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.errors import AxisError, NoMeshError, ShardingTypeError
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.handled_axes import manually_like
from jxkernel.runtime import ArrayLike
from jxkernel.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jxkernel.sharding.mesh import concrete_mesh, current_mesh
from jxkernel.sharding.named import is_empty
from jxkernel.sharding.spec import axes_of
from jxkernel.tree import physical

__all__ = [
    "asked_sharding",
    "beside_others",
    "bind_alike",
    "cast_like",
    "check_spmd_name",
    "closed",
    "constrain",
    "divide_anew",
    "mesh_cast",
    "mesh_cast_p",
    "puts_off_sums",
    "redivided",
    "require_reshard_allowed",
    "reshard_like",
    "reshard_p",
    "reshard_to",
    "sharding_constraint_p",
    "summed",
    "with_out_sharding",
    "with_sums_moved",
    "without_explicit_sharding",
]

sharding_constraint_p = Primitive("sharding_constraint").define(sharding=rules.same)


def constrain(x: ArrayLike, sharding: Any) -> Any:
    """Return a value that lies as a sharding says.

    Args:
      x: an array.
      sharding: a ``NamedSharding``, or that of one device, on which a program then runs.

    Raises:
      ValueError: the spec names an axis that a ``shard_map`` around handles, or the array cannot be
        divided so (inside a program a size need be no multiple of
        its number of parts), or the spec names explicit axes beside others, or
        explicit axes while no mesh is set and the value is not divided so.
      AssertionError: all axes of the mesh that is set are explicit, and the value is not divided
        so.

    The derivative is the identity, divided in the same way.
    """
    sharding = _inside_maps(sharding)
    if isinstance(sharding, NamedSharding) and explicit_axes_of(sharding.mesh):
        sharding.check_compatible_aval(shape_of(x))
        return _asserted(x, sharding)
    # Sizes of 0 have any number of parts: inside a program only the rank must do, XLA pads.
    sharding.check_compatible_aval((0,) * rank_of(x))
    return sharding_constraint_p.bind(x, sharding=sharding)


def _inside_maps(sharding: Any) -> Any:
    """Return a sharding as the program of one device may ask for it.

    Raises:
      AxisError: it names an axis that a ``shard_map`` around handles.
    """
    if not isinstance(sharding, NamedSharding):
        return sharding
    manual = manual_axes()
    taken = [
        name for entry in sharding.spec.partitions for name in axes_of(entry) if name in manual
    ]
    if taken:
        left = [name for name in sharding.mesh.axis_names if name not in manual]
        raise AxisError(
            f"{sharding.spec}",
            f"it names {', '.join(map(repr, taken))}, which the shard_map around handles: each "
            "device has its own piece along it. "
            + (f"Name axes that are left: {left}" if left else "Divide the result, outside of it"),
        )
    current, mesh = current_mesh() if sharding.mesh.manual_axes else None, sharding.mesh
    if current is not None and current.shape_tuple == mesh.shape_tuple:
        return sharding.update(mesh=current)
    return sharding


def _asserted(x: Any, sharding: NamedSharding) -> Any:
    """Check the type of a value, which alone says how it is divided over explicit axes.

    Raises:
      ValueError: the spec names explicit axes beside others, or no mesh is set and the value is not
        divided so.
      AssertionError: all axes are explicit, those of the mesh that is set, and the value is not
        divided so.
    """
    aval, explicit = abstractify(x), explicit_axes_of(sharding.mesh)
    if len(explicit) < len(sharding.mesh.axis_names):
        named = [n for entry in sharding.spec.partitions for n in axes_of(entry) if n in explicit]
        if named:
            raise ValueError(
                f"with_sharding_constraint got {sharding.spec}, which names the explicit axes "
                f"{named}: types say how values are divided over these; write "
                "jxkernel.sharding.reshard(x, spec)"
            )
        return sharding_constraint_p.bind(x, sharding=_joined(aval.explicit_sharding, sharding))
    if aval.explicit_sharding != explicit_sharding_of(sharding, aval.ndim):
        raise (ValueError if current_mesh() is None else AssertionError)(
            f"with_sharding_constraint got {sharding.spec} for {aval.short()}: over explicit axes "
            "it only checks the type; write jxkernel.sharding.reshard(x, spec) to change it"
        )
    return x


def _joined(explicit_sharding: NamedSharding | None, sharding: NamedSharding) -> NamedSharding:
    """Return a sharding over some axes beside those that divide a value already.

    In an entry that both have these come first.
    """
    if explicit_sharding is None:
        return sharding
    given = [
        *sharding.spec.partitions,
        *[None] * (len(explicit_sharding.spec) - len(sharding.spec)),
    ]
    both = [
        more if not axes_of(own) else (*axes_of(own), *axes_of(more))
        for own, more in zip(explicit_sharding.spec.partitions, given, strict=True)
    ]
    return sharding.update(spec=explicit_sharding.spec.update(partitions=tuple(both)))


@sharding_constraint_p.def_abstract_eval
def _constraint_abstract_eval(operand: ShapedArray, *, sharding: Any) -> ShapedArray:
    return operand


def _constraint_evaluate(x: Any, *, sharding: Any) -> Any:
    sharding.check_compatible_aval(shape_of(x))
    if not isinstance(sharding, NamedSharding):
        return runtime.place(x, sharding)
    return runtime.place(x, closed(sharding))


def closed(sharding: NamedSharding) -> NamedSharding:
    """Return a sharding with axes whole that it leaves to XLA."""
    if PartitionSpec.UNCONSTRAINED not in sharding.spec.partitions:
        return sharding
    spec = sharding.spec
    entries = [None if e is PartitionSpec.UNCONSTRAINED else e for e in spec.partitions]
    return sharding.update(spec=spec.update(partitions=tuple(entries)))


@sharding_constraint_p.def_lower
def _constraint_lower(context: Any, x: Any, *, sharding: Any) -> Any:
    if not isinstance(sharding, NamedSharding) or not context.module.partitioned:
        return x
    attribute = context.module.meshes.sharding(sharding, context.avals_out[0].ndim)
    (kind,) = context.out_types
    return context.value("sdy.sharding_constraint", kind, (x,), {"sharding": attribute})


@sharding_constraint_p.def_jvp
def _constraint_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, sharding: Any
) -> tuple[Any, Any]:
    y = sharding_constraint_p.bind(*primals, sharding=sharding)
    return y, sharding_constraint_p.bind(*tangents, sharding=sharding)


@sharding_constraint_p.def_transpose
def _constraint_transpose(ct: Any, operand: UndefinedPrimal, *, sharding: Any) -> list[Any]:
    return [ct if type(ct) is Zero else sharding_constraint_p.bind(ct, sharding=sharding)]


def check_spmd_name(axis: Axis, spec: PartitionSpec, what: str) -> None:
    """Check that the mesh axis over which examples are divided divides nothing else.

    Raises:
      ValueError: the spec names it.
    """
    taken = [
        name
        for entry in spec.partitions
        for name in axes_of(entry)
        if name in axes_of(axis.spmd_name)
    ]
    if taken:
        raise ValueError(
            f"vmap(spmd_axis_name={axis.spmd_name!r}) divides the examples over {taken[0]!r}, and "
            f"{what} in the function divides each over it too, {spec}: give vmap another mesh axis"
        )


@sharding_constraint_p.def_batch
def _constraint_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, sharding: Any
) -> tuple[Any, int]:
    """The batch axis is divided as ``spmd_axis_name`` says, or as XLA finds best."""
    (x,), (dim,) = args, dims
    if not isinstance(sharding, NamedSharding):
        return sharding_constraint_p.bind(x, sharding=sharding), dim
    rank = len(shape_of(x)) - 1
    entries = [*sharding.spec.partitions, *[None] * (rank - len(sharding.spec))]
    check_spmd_name(axis, sharding.spec, "with_sharding_constraint")
    entries.insert(dim, axis.entry or axis.spmd_name or PartitionSpec.UNCONSTRAINED)
    wider = sharding.update(spec=sharding.spec.update(partitions=tuple(entries)))
    return sharding_constraint_p.bind(x, sharding=wider), dim


sharding_constraint_p.define(evaluate=_constraint_evaluate)


# ---------------------------------------------------------------- reshard

reshard_p = Primitive("reshard").define(sharding=AS_TYPED)
reshard_p.casts = True


def reshard_to(x: Any, sharding: Any) -> Any:
    """Return a value that lies as a sharding says, of the type that says so.

    Args:
      x: an array.
      sharding: over explicit axes it changes the type; over others it is a constraint; over a
        mesh without axes it says nothing.

    Raises:
      ValueError: the array cannot be divided so, or a ``shard_map`` around handles an axis.
    """
    sharding = _inside_maps(sharding)
    if is_empty(sharding):
        return x
    if not isinstance(sharding, NamedSharding) or not explicit_axes_of(sharding.mesh):
        return constrain(x, sharding)
    sharding.check_compatible_aval(shape_of(x))
    _check_has_sums(x, sharding)
    _check_sums_left(x, sharding)
    require_reshard_allowed(x, sharding)
    return reshard_p.bind(x, sharding=sharding)


def require_reshard_allowed(x: Any, sharding: Any) -> None:
    """Refuse to divide a value anew where ``no_collectives`` forbids it.

    Raises:
      ShardingTypeError: data go along such an axis.
    """
    if no_collectives.value:
        aval = abstractify(x)
        asked = aval.update(explicit_sharding=explicit_sharding_of(sharding, aval.ndim))
        require_no_exchange("reshard", [aval], [asked], no_collectives.value, place_in_source)


def _check_sums_left(x: Any, sharding: NamedSharding) -> None:
    """Check that sums over axes which a ``shard_map`` around handles stay put off, or made.

    Raises:
      AxisError: they do not.
    """
    manual = manual_axes()
    if not manual:
        return
    aval, spec = abstractify(x), sharding.spec
    changed = (aval.unreduced ^ spec.unreduced) | (aval.reduced ^ spec.reduced)
    taken = [name for name in manual if name in changed]
    if taken:
        raise AxisError(
            f"{spec} for {aval.short()}",
            f"sums over {listed(taken)} are made and put off by collectives, for the shard_map "
            "around handles it: jxkernel.lax.psum(x, axes), or jxkernel.lax.pcast(x, axes, "
            "to='unreduced')",
        )


def _check_has_sums(x: Any, sharding: Any) -> None:
    """Check that what is to be a sum that is put off can be one.

    Raises:
      TypeError: it is an array of booleans, or of what is no number.
    """
    aval = abstractify(x)
    if puts_off_sums(sharding) and not dtypes.issubdtype(aval.dtype, np.number):
        raise TypeError(
            f"a sum that is put off, {sharding.spec}, cannot be of {aval.short()}: convert it to "
            "numbers first, x.astype('int32')"
        )


def redivided(x: Any, entries: Sequence[Any], mesh: Any) -> Any:
    """Return a value divided over explicit axes of a mesh by the given entries, else as it is."""
    aval = abstractify(x)
    if aval.entries == tuple(entries):
        return x
    sharding = aval.explicit_sharding or NamedSharding(mesh, PartitionSpec())
    return reshard_to(x, sharding.update(spec=sharding.spec.update(partitions=tuple(entries))))


def reshard_like(x: Any, aval: ShapedArray) -> Any:
    """Return a value divided over explicit axes as a type says; ``Zero`` as it is."""
    if type(x) is Zero:
        return x
    explicit_sharding = abstractify(x).explicit_sharding
    if explicit_sharding == aval.explicit_sharding:
        return x
    if manual_axes():
        x = manually_like(x, aval, manual_axes())
        explicit_sharding = abstractify(x).explicit_sharding
        if explicit_sharding == aval.explicit_sharding:
            return x
    return reshard_to(
        x, aval.explicit_sharding or NamedSharding(_mesh_of(explicit_sharding), PartitionSpec())
    )


def _mesh_of(explicit_sharding: NamedSharding | None) -> Any:
    assert explicit_sharding is not None, "the two differ"
    return explicit_sharding.mesh


def cast_like(ct: Any, aval: ShapedArray) -> Any:
    """Return a cotangent divided as a type says, or without a word where it says nothing."""
    if type(ct) is Zero:
        return Zero(aval)
    if aval.explicit_sharding is None:
        return mesh_cast(summed(ct))
    return reshard_like(ct, aval)


def bind_alike(
    primitive: Primitive,
    operands: Sequence[Any],
    *,
    before: Sequence[Any] = (),
    after: Sequence[Any] = (),
    **params: Any,
) -> Any:
    """Bind an operation that is linear in operands together, of which some may be put-off sums.

    What is the same on all devices becomes one device's share then, which takes no communication.

    Args:
      primitive: the operation.
      operands: those that it is linear in.
      before: what comes before them.
      after: what comes after them.
      **params: its parameters.
    """
    try:
        return primitive.bind(*before, *operands, *after, **params)
    except ShardingTypeError:
        avals = [abstractify(operand) for operand in operands]
        sums = next((aval.explicit_sharding for aval in avals if aval.unreduced), None)
        if sums is None or all(aval.unreduced for aval in avals):
            raise
    shares = [
        operand if aval.unreduced else _as_share(operand, aval, sums)
        for operand, aval in zip(operands, avals, strict=True)
    ]
    return primitive.bind(*before, *shares, *after, **params)


def _as_share(operand: Any, aval: ShapedArray, sums: NamedSharding) -> Any:
    spec = PartitionSpec(*aval.entries, unreduced=sums.spec.unreduced)
    return reshard_like(operand, aval.update(explicit_sharding=sums.update(spec=spec)))


def summed(x: Any) -> Any:
    """Return a value with the sums made that give it."""
    aval = abstractify(x)
    if not aval.unreduced:
        return x
    assert aval.explicit_sharding is not None, "it names the mesh axes"
    made = aval.explicit_sharding.update(
        spec=aval.explicit_sharding.spec.update(unreduced=frozenset(), unreduced_kind=None)
    )
    return reshard_like(x, aval.update(explicit_sharding=explicit_sharding_of(made, aval.ndim)))


@reshard_p.def_abstract_eval
def _reshard_abstract_eval(operand: ShapedArray, *, sharding: NamedSharding) -> ShapedArray:
    return operand.update(explicit_sharding=explicit_sharding_of(sharding, operand.ndim))


def _reshard_evaluate(x: Any, *, sharding: NamedSharding) -> Any:
    own = getattr(x, "sharding", None)
    if puts_off_sums(own) or puts_off_sums(sharding):
        return with_sums_moved(x, sharding)
    if not isinstance(sharding.mesh, Mesh):
        mesh = own.mesh if isinstance(own, NamedSharding) else concrete_mesh(sharding.mesh)
        if mesh is None:
            return x
        explicit = explicit_axes_of(sharding.mesh)
        sharding = sharding.update(
            mesh=mesh.update_axis_types(dict.fromkeys(explicit, AxisType.Explicit))
        )
    return _constraint_evaluate(x, sharding=beside_others(own, sharding))


def puts_off_sums(sharding: Any) -> bool:
    """Whether what devices hold under a sharding are shares of sums."""
    return isinstance(sharding, NamedSharding) and bool(sharding.spec.unreduced)


def with_sums_moved(x: Any, sharding: Any) -> Any:
    """Return an array that lies as a sharding says, where that or its own puts off sums.

    Args:
      x: the array.
      sharding: where it goes; to other devices it goes summed.

    Raises:
      TypeError: it cannot be a sum.
    """
    _check_has_sums(x, sharding)
    own: Any = getattr(x, "sharding", None)
    if isinstance(sharding, NamedSharding) and not isinstance(sharding.mesh, Mesh):
        mesh = own.mesh if isinstance(own, NamedSharding) else concrete_mesh(sharding.mesh)
        sharding = sharding.update(mesh=mesh or sharding.mesh)
    stays = isinstance(sharding, NamedSharding) and _same_devices(own, sharding)
    if puts_off_sums(own) and not (stays and explicit_axes_of(sharding.mesh) >= own.spec.unreduced):
        x = shares_p.impl(x, sharding=own.update(spec=PartitionSpec(*own.spec.partitions)))
        own = x.sharding
    if not puts_off_sums(own) and not puts_off_sums(sharding):
        return runtime.place(x, sharding)
    if not _same_devices(own, sharding):
        x = runtime.place(x, sharding.update(spec=PartitionSpec()))
    return shares_p.impl(x, sharding=sharding)


def beside_others(own: Any, sharding: NamedSharding) -> NamedSharding:
    """Return a sharding that lets lie what it says nothing of: axes that XLA decides about.

    Args:
      own: how the value is divided now.
      sharding: how it shall be divided over explicit axes; over a mesh that has none it says all.
    """
    mesh = sharding.mesh
    named = {name for entry in sharding.spec.partitions for name in axes_of(entry)}
    free = [name for name in mesh.auto_axes if name not in named]
    if not free or not explicit_axes_of(mesh) or not _same_devices(own, sharding):
        return sharding
    kept = [
        tuple([name for name in axes_of(entry) if name in free]) for entry in own.spec.partitions
    ]
    given = [*sharding.spec.partitions, *[None] * (len(kept) - len(sharding.spec))]
    kept += [()] * (len(given) - len(kept))
    both = [(*axes_of(entry), *more) for entry, more in zip(given, kept, strict=True)]
    return sharding.update(spec=sharding.spec.update(partitions=tuple(both)))


def _same_devices(one: Any, other: NamedSharding) -> bool:
    if not isinstance(one, NamedSharding) or not isinstance(other.mesh, Mesh):
        return False
    return one.mesh.device_tuple == other.mesh.device_tuple


@reshard_p.def_lower
def _reshard_lower(context: Any, x: Any, *, sharding: NamedSharding) -> Any:
    if not context.module.partitioned:
        return x
    return divide_anew(context, x, context.avals_in[0], sharding)


def divide_anew(context: Any, x: Any, aval: ShapedArray, sharding: NamedSharding) -> Any:
    """Append what brings a value of a type to lie as a sharding over explicit axes says."""
    steps = [*_steps(aval, sharding), sharding]
    if len(steps) == 1 or not dtypes.is_complex(aval.dtype):
        return _divided(context, x, steps)
    # XLA's partitioner makes no shares of complex numbers: it ends the process.
    kind = hlo.tensor_type(aval.shape, dtypes.finfo(aval.dtype).dtype)
    parts = [
        _divided(context, context.value(f"stablehlo.{part}", kind, (x,)), steps)
        for part in ("real", "imag")
    ]
    return context.value("stablehlo.complex", x.type, parts)


def _divided(context: Any, x: Any, steps: Sequence[NamedSharding]) -> Any:
    for step in steps:
        x = context.divided(x, step)
    return x


def _steps(aval: ShapedArray, sharding: NamedSharding) -> list[NamedSharding]:
    """Return the shardings by which a value comes to one that puts off sums over more axes.

    First what is summed is summed, and the value is said to be what it is: else the partitioner
    would take the result for what the operation before gives, on every device again.
    """
    new = sharding.spec.unreduced - aval.unreduced
    if not new:
        return []
    kept = aval.unreduced & sharding.spec.unreduced
    own = aval.entries if new <= {n for e in aval.entries for n in axes_of(e)} else None
    entries = sharding.spec.partitions if own is None else own
    return [sharding.update(spec=PartitionSpec(*entries, unreduced=kept))]


@reshard_p.def_jvp
def _reshard_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, sharding: NamedSharding
) -> tuple[Any, Any]:
    return (
        reshard_p.bind(*primals, sharding=sharding),
        reshard_p.bind(*tangents, sharding=sharding),
    )


@reshard_p.def_transpose
def _reshard_transpose(ct: Any, operand: UndefinedPrimal, *, sharding: NamedSharding) -> list[Any]:
    return [cast_like(ct, operand.aval.cotangent())]


@reshard_p.def_batch
def _reshard_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, sharding: NamedSharding
) -> tuple[Any, int]:
    (x,), (dim,) = args, dims
    spec = sharding.spec
    entries = [*spec.partitions, *[None] * (rank_of(x) - 1 - len(spec))]
    entries.insert(dim, axis.entry or axis.spmd_name)
    wider = sharding.update(spec=spec.update(partitions=tuple(entries)))
    return reshard_p.bind(x, sharding=wider), dim


reshard_p.define(evaluate=_reshard_evaluate)

_EVALUATED = Undefined("it is evaluated alone, for arrays; programs hold reshard")
shares_p = Primitive("reshard_sums").define(
    sharding=AS_TYPED,
    abstract_eval=_reshard_abstract_eval,
    lower=_reshard_lower,
    jvp=_EVALUATED,
    transpose=_EVALUATED,
    batch=_EVALUATED,
)
"""``reshard`` of arrays that are sums which are put off, or become such: by a program."""

# ---------------------------------------------------------------- mesh_cast

mesh_cast_p = Primitive("mesh_cast").define(sharding=AS_TYPED)
mesh_cast_p.casts = True


def mesh_cast(x: ArrayLike, axes: Sequence[Hashable] | None = None) -> Any:
    """Return a value whose type says nothing of explicit axes: XLA decides about them from here.

    Args:
      x: an array.
      axes: the axes; None for all.
    """
    aval = abstractify(x)
    if aval.explicit_sharding is None:
        return x
    if aval.unreduced and (axes is None or aval.unreduced.intersection(axes)):
        raise ShardingTypeError(
            "mesh_cast",
            aval.short(),
            "which XLA cannot be left: it is a sum that is put off",
            instead=(SUM_FIRST,),
            **place_in_source(),
        )
    named = [name for entry in aval.entries for name in axes_of(entry)]
    named += sorted(aval.reduced, key=str)
    given = tuple([name for name in named if axes is None or name in axes])
    if no_collectives.value:
        cast = _mesh_cast_abstract_eval(aval, axes=given)
        require_no_exchange("mesh_cast", [aval], [cast], no_collectives.value, place_in_source)
    return mesh_cast_p.bind(x, axes=given) if given else x


def without_explicit_sharding(x: Any) -> Any:
    """Return an argument of a rule whose type says nothing of explicit axes, placeholders too."""
    if isinstance(x, (Zero, UndefinedPrimal)):
        return type(x)(x.aval.update(explicit_sharding=None))
    return mesh_cast(summed(x))


def _require_kept(name: str, operands: Sequence[Any], sharding: NamedSharding) -> None:
    """Refuse a result that is divided as asked by sending data along forbidden mesh axes.

    Raises:
      ShardingTypeError: that is so.
    """
    avals = [abstractify(operand) for operand in physical.leaves(tuple(operands))]
    entries = sharding.spec.partitions
    asked = ShapedArray((1,) * len(entries), np.dtype(np.float32), sharding=sharding)
    require_no_exchange(name, avals, [asked], no_collectives.value, place_in_source)


def with_out_sharding(
    function: Any, operands: Sequence[Any], out_sharding: Any, *args: Any, **params: Any
) -> Any:
    """Return what a function of arrays gives, its result divided as asked: ``out_sharding=``.

    XLA decides what happens between, as it does where nothing is explicit.

    Args:
      function: the function.
      operands: its arrays, or trees of them, which come first.
      out_sharding: a sharding, or a spec for the mesh of ``set_mesh`` or of an operand.
      *args: its other arguments.
      **params: its keyword arguments.

    Raises:
      TypeError: it is no sharding.
      ValueError: the result cannot be divided so.
      RuntimeError: a spec is given and there is no mesh that it refers to.
    """
    name = getattr(function, "__name__", "")
    sharding = asked_sharding(name, out_sharding, operands)
    if no_collectives.value:
        _require_kept(name, operands, sharding)
        with no_collectives(frozenset()):
            return with_out_sharding(function, operands, sharding, *args, **params)
    if sharding.spec.unreduced and operands:
        with putting_off(sharding.spec.unreduced):
            out = function(*operands, *args, **params)
        _check_put_off(name, operands, out, sharding.spec)
    else:
        out = function(*physical.map(mesh_cast, tuple(operands)), *args, **params)
    return physical.map(partial(reshard_to, sharding=sharding), out)


def _check_put_off(name: str, operands: Sequence[Any], out: Any, spec: PartitionSpec) -> None:
    """Check that a function puts off the sums that it was asked to put off.

    Raises:
      ShardingTypeError: it sums over no axis that these mesh axes divide.
    """
    for leaf in physical.leaves(out):
        missing = spec.unreduced - abstractify(leaf).unreduced
        if missing:
            found = [abstractify(operand).short() for operand in physical.leaves(tuple(operands))]
            raise ShardingTypeError(
                name,
                ", ".join(found),
                f"and out_sharding={spec}, but it sums over no axis that {listed(missing)} divides",
                instead=(
                    "divide what is summed: jxkernel.sharding.reshard(x, P(...))",
                    f"or put off what is no sum here: jxkernel.sharding.reshard(result, {spec})",
                ),
                **place_in_source(),
            )


def asked_sharding(name: str, out_sharding: Any, operands: Sequence[Any] = ()) -> NamedSharding:
    """Return a sharding for what a user gives the function ``name`` as ``out_sharding``.

    Arguments and errors are those of ``with_out_sharding``.
    """
    if isinstance(out_sharding, NamedSharding):
        return out_sharding
    if not isinstance(out_sharding, PartitionSpec):
        raise TypeError(
            f"{name} got out_sharding={with_type(out_sharding)}: give a NamedSharding, or under "
            f"set_mesh a "
            "PartitionSpec"
        )
    found = [abstractify(operand).explicit_sharding for operand in physical.leaves(tuple(operands))]
    mesh = current_mesh() or next((each.mesh for each in found if each is not None), None)
    if mesh is None:
        raise NoMeshError(f"{name} out_sharding", repr(out_sharding))
    return NamedSharding(mesh, out_sharding)


@mesh_cast_p.def_abstract_eval
def _mesh_cast_abstract_eval(operand: ShapedArray, *, axes: tuple[Hashable, ...]) -> ShapedArray:
    explicit_sharding = operand.explicit_sharding
    if explicit_sharding is None:
        return operand
    spec = explicit_sharding.spec
    left = [tuple([name for name in axes_of(e) if name not in axes]) for e in spec.partitions]
    kept = explicit_sharding.update(
        spec=spec.update(partitions=tuple(left), reduced=spec.reduced.difference(axes))
    )
    return operand.update(explicit_sharding=explicit_sharding_of(kept, operand.ndim))


@mesh_cast_p.def_lower
def _mesh_cast_lower(context: Any, x: Any, *, axes: tuple[Hashable, ...]) -> Any:
    return x


@mesh_cast_p.def_jvp
def _mesh_cast_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple[Hashable, ...]
) -> tuple[Any, Any]:
    return mesh_cast_p.bind(*primals, axes=axes), mesh_cast_p.bind(*tangents, axes=axes)


@mesh_cast_p.def_transpose
def _mesh_cast_transpose(
    ct: Any, operand: UndefinedPrimal, *, axes: tuple[Hashable, ...]
) -> list[Any]:
    return [cast_like(ct, operand.aval.cotangent())]


@mesh_cast_p.def_batch
def _mesh_cast_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, axes: tuple[Hashable, ...]
) -> tuple[Any, int]:
    kept = tuple([name for name in axes if name not in axes_of(axis.entry)])
    return mesh_cast_p.bind(*args, axes=kept), dims[0]


def _mesh_cast_evaluate(x: Any, *, axes: tuple[Hashable, ...]) -> Any:
    """Return the array with its pieces where they are, over a mesh whose axes are XLA's."""
    sharding = x.sharding
    mesh = sharding.mesh.update_axis_types(dict.fromkeys(axes, AxisType.Auto))
    spec = sharding.spec.update(reduced=sharding.spec.reduced.difference(axes))
    return runtime.place(x, NamedSharding(mesh, spec, memory_kind=sharding.memory_kind))


mesh_cast_p.define(evaluate=_mesh_cast_evaluate)
