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

from jxkernel import runtime, tree
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis, manual_axes
from jxkernel.core.explicit_sharding import AS_TYPED, explicit_axes_of, explicit_sharding_of
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.errors import AxisError, NoMeshError
from jxkernel.primitives.sharding import rules
from jxkernel.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jxkernel.sharding.mesh import concrete_mesh, current_mesh
from jxkernel.sharding.named import is_empty
from jxkernel.sharding.spec import axes_of

__all__ = [
    "asked_sharding",
    "beside_others",
    "cast_like",
    "check_spmd_name",
    "closed",
    "constrain",
    "mesh_cast",
    "mesh_cast_p",
    "reshard_like",
    "reshard_p",
    "reshard_to",
    "sharding_constraint_p",
    "with_out_sharding",
    "without_explicit_sharding",
]

sharding_constraint_p = Primitive("sharding_constraint").define(sharding=rules.same)


def constrain(x: Any, sharding: Any) -> Any:
    """Return a value that lies as a sharding says.

    Args:
      x: an array.
      sharding: a ``NamedSharding``, or that of one device (which says nothing inside a trace).

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
    taken = [name for entry in sharding.spec for name in axes_of(entry) if name in manual]
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
        named = [name for entry in sharding.spec for name in axes_of(entry) if name in explicit]
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
    given = [*sharding.spec, *[None] * (len(explicit_sharding.spec) - len(sharding.spec))]
    both = [
        more if not axes_of(own) else (*axes_of(own), *axes_of(more))
        for own, more in zip(explicit_sharding.spec, given, strict=True)
    ]
    return sharding.update(spec=PartitionSpec(*both))


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
    entries = [None if entry is PartitionSpec.UNCONSTRAINED else entry for entry in sharding.spec]
    return sharding.update(spec=PartitionSpec(*entries))


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
    taken = [name for entry in spec for name in axes_of(entry) if name in axes_of(axis.spmd_name)]
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
    entries = [*sharding.spec, *[None] * (rank - len(sharding.spec))]
    check_spmd_name(axis, sharding.spec, "with_sharding_constraint")
    entries.insert(dim, axis.entry or axis.spmd_name or PartitionSpec.UNCONSTRAINED)
    wider = sharding.update(spec=PartitionSpec(*entries))
    return sharding_constraint_p.bind(x, sharding=wider), dim


sharding_constraint_p.define(evaluate=_constraint_evaluate)


# ---------------------------------------------------------------- reshard

reshard_p = Primitive("reshard").define(sharding=AS_TYPED)


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
    return reshard_p.bind(x, sharding=sharding)


def reshard_like(x: Any, aval: ShapedArray) -> Any:
    """Return a value divided over explicit axes as a type says; ``Zero`` as it is."""
    if type(x) is Zero:
        return x
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
    return mesh_cast(ct) if aval.explicit_sharding is None else reshard_like(ct, aval)


@reshard_p.def_abstract_eval
def _reshard_abstract_eval(operand: ShapedArray, *, sharding: NamedSharding) -> ShapedArray:
    return operand.update(explicit_sharding=explicit_sharding_of(sharding, operand.ndim))


def _reshard_evaluate(x: Any, *, sharding: NamedSharding) -> Any:
    own = getattr(x, "sharding", None)
    if not isinstance(sharding.mesh, Mesh):
        mesh = own.mesh if isinstance(own, NamedSharding) else concrete_mesh(sharding.mesh)
        if mesh is None:
            return x
        explicit = explicit_axes_of(sharding.mesh)
        sharding = sharding.update(
            mesh=mesh.update_axis_types(dict.fromkeys(explicit, AxisType.Explicit))
        )
    return _constraint_evaluate(x, sharding=beside_others(own, sharding))


def beside_others(own: Any, sharding: NamedSharding) -> NamedSharding:
    """Return a sharding that lets lie what it says nothing of: axes that XLA decides about.

    Args:
      own: how the value is divided now.
      sharding: how it shall be divided over explicit axes; over a mesh that has none it says all.
    """
    mesh = sharding.mesh
    named = {name for entry in sharding.spec for name in axes_of(entry)}
    free = [name for name in mesh.auto_axes if name not in named]
    if not free or not explicit_axes_of(mesh) or not _same_devices(own, sharding):
        return sharding
    kept = [tuple([name for name in axes_of(entry) if name in free]) for entry in own.spec]
    given = [*sharding.spec, *[None] * (len(kept) - len(sharding.spec))]
    kept += [()] * (len(given) - len(kept))
    both = [(*axes_of(entry), *more) for entry, more in zip(given, kept, strict=True)]
    return sharding.update(spec=PartitionSpec(*both))


def _same_devices(one: Any, other: NamedSharding) -> bool:
    if not isinstance(one, NamedSharding) or not isinstance(other.mesh, Mesh):
        return False
    return one.mesh.device_tuple == other.mesh.device_tuple


@reshard_p.def_lower
def _reshard_lower(context: Any, x: Any, *, sharding: NamedSharding) -> Any:
    if not context.module.partitioned:
        return x
    attribute = context.module.meshes.explicit_sharding(sharding, context.avals_out[0].ndim)
    (kind,) = context.out_types
    return context.value("sdy.sharding_constraint", kind, (x,), {"sharding": attribute})


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
    return [cast_like(ct, operand.aval)]


@reshard_p.def_batch
def _reshard_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, sharding: NamedSharding
) -> tuple[Any, int]:
    (x,), (dim,) = args, dims
    entries = [*sharding.spec, *[None] * (rank_of(x) - 1 - len(sharding.spec))]
    entries.insert(dim, axis.entry or axis.spmd_name)
    return reshard_p.bind(x, sharding=sharding.update(spec=PartitionSpec(*entries))), dim


reshard_p.define(evaluate=_reshard_evaluate)

# ---------------------------------------------------------------- mesh_cast

mesh_cast_p = Primitive("mesh_cast").define(sharding=AS_TYPED)


def mesh_cast(x: Any, axes: Sequence[Hashable] | None = None) -> Any:
    """Return a value whose type says nothing of explicit axes: XLA decides about them from here.

    Args:
      x: an array.
      axes: the axes; None for all.
    """
    explicit_sharding = abstractify(x).explicit_sharding
    if explicit_sharding is None:
        return x
    named = [name for entry in explicit_sharding.spec for name in axes_of(entry)]
    given = tuple([name for name in named if axes is None or name in axes])
    return mesh_cast_p.bind(x, axes=given) if given else x


def without_explicit_sharding(x: Any) -> Any:
    """Return an argument of a rule whose type says nothing of explicit axes, placeholders too."""
    if isinstance(x, (Zero, UndefinedPrimal)):
        return type(x)(x.aval.update(explicit_sharding=None))
    return mesh_cast(x)


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
    out = function(*tree.map(mesh_cast, tuple(operands)), *args, **params)
    return tree.map(partial(reshard_to, sharding=sharding), out)


def asked_sharding(name: str, out_sharding: Any, operands: Sequence[Any] = ()) -> NamedSharding:
    """Return a sharding for what a user gives the function ``name`` as ``out_sharding``.

    Arguments and errors are those of ``with_out_sharding``.
    """
    if isinstance(out_sharding, NamedSharding):
        return out_sharding
    if not isinstance(out_sharding, PartitionSpec):
        raise TypeError(
            f"{name} got out_sharding={out_sharding!r:.100} of type "
            f"{type(out_sharding).__name__}: give a NamedSharding, or under set_mesh a "
            "PartitionSpec"
        )
    found = [abstractify(operand).explicit_sharding for operand in tree.leaves(tuple(operands))]
    mesh = current_mesh() or next((each.mesh for each in found if each is not None), None)
    if mesh is None:
        raise NoMeshError(f"{name} out_sharding", repr(out_sharding))
    return NamedSharding(mesh, out_sharding)


@mesh_cast_p.def_abstract_eval
def _mesh_cast_abstract_eval(operand: ShapedArray, *, axes: tuple[Hashable, ...]) -> ShapedArray:
    explicit_sharding = operand.explicit_sharding
    if explicit_sharding is None:
        return operand
    left = [
        tuple([name for name in axes_of(e) if name not in axes]) for e in explicit_sharding.spec
    ]
    kept = explicit_sharding.update(spec=PartitionSpec(*left))
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
    return [cast_like(ct, operand.aval)]


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
    return runtime.place(x, sharding.update(mesh=mesh))


mesh_cast_p.define(evaluate=_mesh_cast_evaluate)
