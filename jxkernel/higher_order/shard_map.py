"""``shard_map_p``: a program for one device's pieces, run on every device of a mesh.

The program sees local shapes, and talks to the other devices by collectives over the mesh's axes.
In terms of whole arrays it is a function like any other, and its rules keep it one: batching adds
an axis that no device divides, the derivative program is divided as the program is, and what the
forward part leaves for the way back is stacked, a piece per device.

Transposition.  A result that does not name a mesh axis in its spec is the same on all devices of
that axis; the whole's cotangent belongs to one copy, so each device takes an equal share of it.
An argument that does not name an axis is read by all its devices, so their cotangents are summed.
With the sum over an axis its own transpose this gives the derivative of the whole.

With ``check_vma`` the types inside say along which axes a value varies, and equations say where
one value becomes a copy per device (``primitives.collective.varying``).  The program itself then
sums what belongs to one value, and this module adds neither a share nor a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import Any

from jxkernel._reprs import counted
from jxkernel.config import remove_size_one_mesh_axis_from_type
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis, extend_axes
from jxkernel.core.explicit_sharding import AS_TYPED, explicit_axes_of, explicit_sharding_of
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr, program_names
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import Zero, is_linear, scalar_like
from jxkernel.higher_order.programs import (
    cotangents,
    evaluate_compiled,
    merge,
    pick,
    split_tangents,
    vary_arguments,
)
from jxkernel.primitives.collective.psum import psum_p
from jxkernel.primitives.collective.varying import agreeing, vary
from jxkernel.primitives.elementwise.arithmetic import div
from jxkernel.primitives.shape.reshape import expand_dims, squeeze
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding.constraints import check_spmd_name
from jxkernel.sharding import NamedSharding, PartitionSpec
from jxkernel.sharding.named import shares_of
from jxkernel.sharding.spec import axes_of
from jxkernel.transforms.batching import batch_program
from jxkernel.transforms.jvp import jvp_program
from jxkernel.transforms.partial_eval import PartialTrace, partial_eval_program
from jxkernel.transforms.stage import trace_flat
from jxkernel.transforms.transpose import transpose_program

__all__ = [
    "bind_shard_map",
    "entered_devices",
    "global_aval",
    "local_aval",
    "named_axes",
    "shard_map_p",
]

Specs = tuple[PartitionSpec, ...]

shard_map_p = Primitive("shard_map", multiple_results=True).define(sharding=AS_TYPED)


def bind_shard_map(
    closed: ClosedJaxpr,
    args: Sequence[Any],
    *,
    mesh: Any,
    in_specs: Specs,
    out_specs: Specs,
    manual_axes: tuple[Any, ...],
    check_vma: bool,
) -> list[Any]:
    """Run a program for local pieces on each device of a mesh, under the current trace.

    Args:
      closed: the program, of local shapes; its constants are whole on every device.
      args: flat arguments, of global shapes.
      mesh: the mesh.
      in_specs: how each argument is divided.
      out_specs: how each result is put together.
      manual_axes: the mesh axes that the program handles; over the others XLA divides.
      check_vma: whether the program's types say along which of these axes values vary.
    """
    if not check_vma:
        args = agreeing(args)
    whole = (PartitionSpec(),) * len(closed.consts)
    params = {
        "mesh": mesh,
        "in_specs": (*whole, *in_specs),
        "out_specs": out_specs,
        "manual_axes": manual_axes,
        "check_vma": check_vma,
    }
    program = closed.hoisted()
    if check_vma:
        program = _varying_results(program, params)
    return shard_map_p.bind(*closed.consts, *args, jaxpr=program, **params)


def _varying_results(program: ClosedJaxpr, params: dict[str, Any]) -> ClosedJaxpr:
    """Return a program whose results vary over the axes that their specs name.

    A result that is the same on all devices of such an axis stands in the whole once for each of
    them: going backwards the cotangents of these copies are summed.
    """
    named = [_differing(spec, params["mesh"]) for spec in params["out_specs"]]
    pairs = zip(named, program.out_avals, strict=True)
    if all(axes <= aval.vma for axes, aval in pairs):
        return program
    with entered_devices(params):
        return program.remember(_varying, tuple(named))


def _varying(program: ClosedJaxpr, named: tuple[frozenset[Any], ...]) -> ClosedJaxpr:
    def run(*args: Any) -> list[Any]:
        outs = eval_jaxpr(program.jaxpr, program.consts, *args)
        return [vary(out, axes) for out, axes in zip(outs, named, strict=True)]

    return trace_flat(run, program.in_avals, name=program.jaxpr.name)


def entered_devices(params: dict[str, Any]) -> AbstractContextManager[None]:
    """Return the block in which programs made from the one inside are traced."""
    axes = [(name, params["mesh"].shape[name]) for name in params["manual_axes"]]
    return extend_axes(axes, manual=True, tracked=params["check_vma"])


def named_axes(spec: PartitionSpec) -> frozenset[Any]:
    """Return the mesh axes that a spec names."""
    return frozenset([name for entry in spec.partitions for name in axes_of(entry)])


def _counts(spec: PartitionSpec, mesh: Any, rank: int) -> list[int]:
    given = [prod([mesh.shape[name] for name in axes_of(entry)]) for entry in spec.partitions]
    return [*given, *[1] * (rank - len(given))]


def local_aval(
    aval: ShapedArray, spec: PartitionSpec, mesh: Any, check_vma: bool = False
) -> ShapedArray:
    """Return the type of one device's piece; sizes must divide.

    With ``check_vma`` it varies over the axes that the spec names; else it is not known.
    """
    counts = _counts(spec, mesh, aval.ndim)
    return aval.update(
        shape=tuple([s // c for s, c in zip(aval.shape, counts, strict=True)]),
        vma=aval.vma | _differing(spec, mesh) if check_vma else frozenset(),
        explicit_sharding=None
        if aval.explicit_sharding is None
        else _without_axes(aval, named_axes(spec), not check_vma),
    )


def _differing(spec: PartitionSpec, mesh: Any) -> frozenset[Any]:
    """Return the mesh axes along which pieces differ, as types say it."""
    named = named_axes(spec)
    if not remove_size_one_mesh_axis_from_type.value:
        return named
    return frozenset([name for name in named if mesh.shape[name] > 1])


def _without_axes(aval: ShapedArray, names: frozenset[Any], untracked: bool = False) -> Any:
    """Return how explicit axes but the given ones divide a value.

    Where types do not track it, they do not say either which sums are put off.
    """
    assert aval.explicit_sharding is not None, "asked of types that have one"
    left = [tuple([n for n in axes_of(entry) if n not in names]) for entry in aval.entries]
    spec = aval.explicit_sharding.spec.update(partitions=tuple(left))
    if untracked:
        spec = PartitionSpec(*left)
    return explicit_sharding_of(aval.explicit_sharding.update(spec=spec), aval.ndim)


def global_aval(aval: ShapedArray, spec: PartitionSpec, mesh: Any) -> ShapedArray:
    """Return the type of the whole whose pieces have a type."""
    counts = _counts(spec, mesh, aval.ndim)
    return aval.update(
        shape=tuple([s * c for s, c in zip(aval.shape, counts, strict=True)]),
        explicit_sharding=_joint_sharding(aval, spec, mesh),
    )


def _joint_sharding(aval: ShapedArray, spec: PartitionSpec, mesh: Any) -> Any:
    """Return how explicit axes divide the whole: those of the spec, then those of the pieces."""
    if not explicit_axes_of(mesh):
        return None
    given = [*spec.partitions, *[None] * (aval.ndim - len(spec))]
    both = [(*axes_of(a), *axes_of(b)) for a, b in zip(given, aval.entries, strict=True)]
    joint = PartitionSpec(
        *both,
        unreduced=spec.unreduced | aval.unreduced,
        reduced=spec.reduced | aval.reduced,
    )
    return explicit_sharding_of(NamedSharding(mesh, joint), aval.ndim)


@shard_map_p.def_abstract_eval
def _shard_map_abstract_eval(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, mesh: Any, out_specs: Specs, **params: Any
) -> list[ShapedArray]:
    return [
        global_aval(aval, spec, mesh) for aval, spec in zip(jaxpr.out_avals, out_specs, strict=True)
    ]


def _shard_map_varies(
    avals: Sequence[ShapedArray], outs: Sequence[ShapedArray], params: dict[str, Any]
) -> list[ShapedArray]:
    """Outside only axes of a surrounding ``shard_map`` are left."""
    if params["check_vma"]:
        return [out.update(vma=out.vma.difference(params["manual_axes"])) for out in outs]
    outer = frozenset().union(*[aval.vma for aval in avals])
    return [out.update(vma=outer) for out in outs]


shard_map_p.varies = _shard_map_varies


def _remaining_names(params: dict[str, Any]) -> frozenset[Any]:
    return program_names(params["jaxpr"]) - set(params["manual_axes"])


shard_map_p.axis_names = _remaining_names
shard_map_p.exchanges = False


def _shard_map_effects(*avals: ShapedArray, jaxpr: ClosedJaxpr, **params: Any) -> frozenset[Any]:
    return jaxpr.effects


# ---------------------------------------------------------------- lowering


def _lies(
    spec: PartitionSpec, aval: ShapedArray, *, open_axes: bool
) -> tuple[list[tuple[Any, ...]], list[Any]]:
    """Return the axes that divide each axis of a value, and those along which it is in shares.

    Where XLA divides over the axes that are left it may do so; shares lie as their type says.
    """
    sharding = aval.explicit_sharding
    if sharding is not None and aval.unreduced:
        return [axes_of(entry) for entry in aval.entries], shares_of(sharding)
    given = [axes_of(entry) for entry in spec.partitions]
    full = [*given, *[()] * (aval.ndim - len(given))]
    return [(*names, ...) for names in full] if open_axes else full, []


@shard_map_p.def_lower
def _shard_map_lower(
    context: Any,
    *values: Any,
    jaxpr: ClosedJaxpr,
    mesh: Any,
    in_specs: Specs,
    out_specs: Specs,
    manual_axes: tuple[Any, ...],
    **params: Any,
) -> Sequence[Any]:
    if mesh.size > 1 and not context.module.partitioned:
        raise ValueError(
            f"shard_map over {mesh} has no devices to run on: it is an abstract mesh, and no "
            "argument lies on a mesh with these axes; call it under `with jxkernel.set_mesh(mesh):`"
        )
    partial = set(manual_axes) != set(mesh.axis_names)
    pairs = zip((*in_specs, *out_specs), (*context.avals_in, *context.avals_out), strict=True)
    lie = [_lies(spec, aval, open_axes=partial) for spec, aval in pairs]
    count = len(in_specs)
    # XLA's partitioner forgets of an argument of the program itself that it is shares.
    said = [
        value
        if aval.explicit_sharding is None or not aval.unreduced
        else context.divided(value, aval.explicit_sharding)
        for value, aval in zip(values, context.avals_in, strict=True)
    ]
    return context.manual_computation(jaxpr, said, mesh, lie[:count], lie[count:], manual_axes)


# ---------------------------------------------------------------- derivatives


def _rebind(args: Sequence[Any], program: ClosedJaxpr, params: dict[str, Any], **new: Any) -> Any:
    return shard_map_p.bind(*args, **{**params, "jaxpr": program, **new})


@shard_map_p.def_jvp
def _shard_map_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    closed: ClosedJaxpr = params["jaxpr"]
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    nonzeros = tuple([type(t) is not Zero for t in tangents])
    with entered_devices(params):
        program, out_nonzeros = jvp_program(closed, nonzeros)
    outs = _rebind(
        [*primals, *pick(tangents, nonzeros)],
        program,
        params,
        in_specs=(*in_specs, *pick(in_specs, nonzeros)),
        out_specs=(*out_specs, *pick(out_specs, out_nonzeros)),
    )
    count = len(out_specs)
    avals = _shard_map_varies(
        [abstractify(primal) for primal in primals], _shard_map_abstract_eval(**params), params
    )
    return split_tangents(outs, count, out_nonzeros, avals)


def _stacking_residuals(known: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """Return a program whose last results have a leading axis of size 1."""

    def forward(*args: Any) -> list[Any]:
        outs = eval_jaxpr(known.jaxpr, known.consts, *args)
        split = len(outs) - count
        return [*outs[:split], *[expand_dims(out, (0,)) for out in outs[split:]]]

    return trace_flat(forward, known.in_avals, name=known.jaxpr.name)


def _unstacking_residuals(rest: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """Return a program whose first arguments have a leading axis of size 1."""

    def backward(*args: Any) -> list[Any]:
        residuals = [squeeze(arg, (0,)) for arg in args[:count]]
        return eval_jaxpr(rest.jaxpr, rest.consts, *residuals, *args[count:])

    wide = [aval.update(shape=(1, *aval.shape)) for aval in rest.in_avals[:count]]
    return trace_flat(backward, [*wide, *rest.in_avals[count:]], name=rest.jaxpr.name)


def _shard_map_partial_eval(
    trace: PartialTrace, args: Sequence[Any], params: dict[str, Any]
) -> list[Any]:
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    unknown = tuple([trace.is_unknown(arg) for arg in args])
    with entered_devices(params):
        known, rest, unknown_out, count = partial_eval_program(params["jaxpr"], unknown)
        known = known.remember(_stacking_residuals, count)
        rest = rest.remember(_unstacking_residuals, count)
    stack = tuple([_stacking(aval, params) for aval in rest.in_avals[:count]])
    known_flags = [not hidden for hidden in unknown]
    outs: list[Any] = []
    if known.out_avals:
        outs = _rebind(
            pick(args, known_flags),
            known,
            params,
            in_specs=tuple(pick(in_specs, known_flags)),
            out_specs=(*pick(out_specs, [not hidden for hidden in unknown_out]), *stack),
        )
    split = len(outs) - count
    rest_params = {
        **params,
        "jaxpr": rest,
        "in_specs": (*stack, *pick(in_specs, unknown)),
        "out_specs": tuple(pick(out_specs, unknown_out)),
    }
    staged = trace.stage(shard_map_p, [*outs[split:], *pick(args, unknown)], rest_params)
    return merge(unknown_out, staged, outs[:split])


def _stacking(residual: ShapedArray, params: dict[str, Any]) -> PartitionSpec:
    """Return how the devices' residuals are stacked: one that does not vary is one."""
    axes = params["manual_axes"]
    if not params["check_vma"]:
        return PartitionSpec(axes)
    handled = frozenset(axes)
    return PartitionSpec(
        tuple([name for name in axes if name in residual.vma]),
        unreduced=residual.unreduced & handled,
        reduced=residual.reduced & handled,
    )


def _turned(specs: Sequence[PartitionSpec]) -> Specs:
    """Return the specs of cotangents of what lies as specs say."""
    return tuple(
        [
            spec.update(unreduced=spec.reduced, reduced=spec.unreduced, unreduced_kind=None)
            if spec.puts_off
            else spec
            for spec in specs
        ]
    )


def _unnamed(spec: PartitionSpec, manual_axes: tuple[Any, ...]) -> tuple[Any, ...]:
    named = named_axes(spec)
    return tuple([name for name in manual_axes if name not in named])


@shard_map_p.def_transpose
def _shard_map_transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    closed: ClosedJaxpr = params["jaxpr"]
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    linear = tuple([is_linear(arg) for arg in args])
    nonzero = tuple([type(ct) is not Zero for ct in cts])
    known_flags = [not flag for flag in linear]
    with entered_devices(params):
        program, produced = transpose_program(closed, linear, nonzero)
    known_specs = tuple(pick(in_specs, known_flags))
    if not params["check_vma"] and any(spec.puts_off for spec in (*in_specs, *out_specs)):
        raise NotImplementedError(
            "a shard_map with check_vma=False whose specs put off sums has no derivative "
            "backwards: its types do not say what is a share. Leave check_vma=True, and say so "
            "inside, by jxkernel.lax.pcast(x, axes, to='unreduced')"
        )
    ct_specs = _turned(pick(out_specs, nonzero))
    result_specs = _turned(pick(pick(in_specs, linear), produced))
    whole = program
    if not params["check_vma"]:
        mesh, manual = params["mesh"], params["manual_axes"]
        whole = program.remember(_shared, known_specs, ct_specs, result_specs, mesh, manual)
    outs = _rebind(
        [*pick(args, known_flags), *pick(cts, nonzero)],
        whole,
        params,
        in_specs=(*known_specs, *ct_specs),
        out_specs=result_specs,
    )
    return cotangents(args, produced, outs)


def _shared(
    program: ClosedJaxpr,
    known_specs: Specs,
    ct_specs: Specs,
    result_specs: Specs,
    mesh: Any,
    manual: tuple[Any, ...],
) -> ClosedJaxpr:
    """Return a transposed program that shares out cotangents and sums them where copies are."""

    def run(*args: Any) -> list[Any]:
        count = len(known_specs)
        shares: list[Any] = []
        for ct, spec in zip(args[count:], ct_specs, strict=True):
            copies = prod([mesh.shape[name] for name in _unnamed(spec, manual)])
            shares.append(ct if copies == 1 else div(ct, scalar_like(ct, copies)))
        outs = eval_jaxpr(program.jaxpr, program.consts, *args[:count], *shares)
        summed: list[Any] = []
        for out, spec in zip(outs, result_specs, strict=True):
            names = _unnamed(spec, manual)
            if names:
                out = psum_p.bind(out, axes=names, axis_index_groups=None)
            summed.append(out)
        return summed

    return trace_flat(run, program.in_avals, name=program.jaxpr.name)


# ---------------------------------------------------------------- batching


def _widened(spec: PartitionSpec, batched: bool, entry: Any) -> PartitionSpec:
    return spec.update(partitions=(entry, *spec.partitions)) if batched else spec


@shard_map_p.def_batch
def _shard_map_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int | None]]:
    """The batch axis is whole on each device, or divided over the axis ``spmd_axis_name``."""
    mesh, entry = params["mesh"], axis.spmd_name or axis.entry
    for spec in (*params["in_specs"], *params["out_specs"]):
        check_spmd_name(axis, spec, "shard_map")
    if entry is not None and entry in params["manual_axes"]:
        local = Axis(axis.size // mesh.shape[entry], axis.name, entry)
    else:
        local, entry = axis, None
    batched = tuple([dim is not None for dim in dims])
    with entered_devices(params):
        closed: ClosedJaxpr = params["jaxpr"]
        if entry is not None and params["check_vma"]:
            closed = vary_arguments(closed, frozenset([entry]), batched)
        program, out_batched = batch_program(closed, local, batched, False)
    moved = [
        arg if dim is None else move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True)
    ]
    pairs = zip(params["in_specs"], batched, strict=True)
    out_pairs = zip(params["out_specs"], out_batched, strict=True)
    outs = _rebind(
        moved,
        program,
        params,
        in_specs=tuple([_widened(spec, has, entry) for spec, has in pairs]),
        out_specs=tuple([_widened(spec, has, entry) for spec, has in out_pairs]),
    )
    return outs, [0 if has else None for has in out_batched]


shard_map_p.define(
    effects=_shard_map_effects,
    evaluate=evaluate_compiled(shard_map_p),
    partial_eval=_shard_map_partial_eval,
)


def check_divides(shape: tuple[int, ...], spec: PartitionSpec, mesh: Any, what: str) -> None:
    """Check that an array can be divided as a spec says.

    Raises:
      ValueError: its rank is too low, or a size is no multiple of the number of pieces.
    """
    if len(spec) > len(shape):
        raise ValueError(
            f"{what}: the spec {spec} has {counted(len(spec), 'entry')} and the array "
            f"only {counted(len(shape), 'axis')} (shape {shape}): shorten the spec"
        )
    for axis, (size, count) in enumerate(zip(shape, _counts(spec, mesh, len(shape)), strict=True)):
        if size % count:
            raise ValueError(
                f"{what}: axis {axis} of shape {shape} is divided over {spec.partitions[axis]!r}, "
                f"which has {count} devices, and {size} is no multiple of {count}"
            )


def check_explicit_sharding(
    aval: ShapedArray, spec: PartitionSpec, mesh: Any, manual: Sequence[Any], what: str
) -> None:
    """Check that a spec divides an array as its type says: entering moves no data.

    Raises:
      ValueError: the type has it divided over explicit axes in another way.
    """
    if aval.explicit_sharding is None and not spec.puts_off:
        return
    given = explicit_sharding_of(NamedSharding(mesh, spec), aval.ndim)
    if aval.explicit_sharding is None or given != _over(aval, set(manual)):
        raise ValueError(
            f"{what}: the spec {spec} is not how {aval.short()} is divided: give in_specs that "
            f"are, or divide it so first, jxkernel.sharding.reshard(x, {spec})"
        )


def _over(aval: ShapedArray, manual: set[Any]) -> Any:
    """Return how a value is divided over the axes that are handled, and which sums are put off."""
    assert aval.explicit_sharding is not None, "asked of types that have one"
    left = [tuple([n for n in axes_of(entry) if n in manual]) for entry in aval.entries]
    spec = PartitionSpec(*left, unreduced=aval.unreduced & manual, reduced=aval.reduced & manual)
    return explicit_sharding_of(aval.explicit_sharding.update(spec=spec), aval.ndim)
