"""``call_exported_p``: calling an exported program, as one primitive.

Lowering copies the program's module into the one being built, its sizes made known first.  It says
itself how its arguments and results are divided, over the devices of the program that calls it.
"""

from collections.abc import Sequence
from typing import Any

from jxkernel import hlo
from jxkernel.api.control_flow.scanning import map as map_examples
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.explicit_sharding import Entries
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.export.devices import entries_over
from jxkernel.hlo import artifacts
from jxkernel.lowering import LoweringContext
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.runtime.lapack import prepare_lapack

__all__ = ["call_exported_p", "shape_at"]

call_exported_p = Primitive("call_exported", multiple_results=True)


def shape_at(shape: Sequence[Any], values: dict[str, Any]) -> tuple[Any, ...]:
    """Return a shape for given values of its dimension variables."""
    return tuple([size.evaluate(values) if is_symbolic(size) else size for size in shape])


@call_exported_p.def_abstract_eval
def _call_exported_abstract_eval(*avals: ShapedArray, exported: Any) -> list[ShapedArray]:
    values = exported.dimension_values([aval.shape for aval in avals])
    return [aval.update(shape=shape_at(aval.shape, values)) for aval in exported.out_avals]


def _call_exported_sharding(
    outs: Sequence[ShapedArray], *avals: ShapedArray, exported: Any
) -> list[Entries]:
    """Results are divided as exported, whole where that says nothing."""
    mesh = next(aval.explicit_sharding.mesh for aval in avals if aval.explicit_sharding is not None)
    return [
        entries_over(sharding, aval.ndim, mesh)
        for sharding, aval in zip(exported.divided.outs, outs, strict=True)
    ]


call_exported_p.define(sharding=_call_exported_sharding)


@call_exported_p.def_lower
def _call_exported_lower(context: LoweringContext, *values: Any, exported: Any) -> Sequence[Any]:
    _check_devices(context, exported)
    key = ("exported", id(exported), tuple(context.avals_in))
    found = context.module.functions.get(key)
    if found is None:
        found = context.module.functions[key] = (exported, _copied(context, exported))
    given = [
        value if value.type == kind else context.value("stablehlo.convert", kind, (value,))
        for value, kind in zip(values, _input_types(context, exported), strict=True)
    ]
    return context.call(found[1], context.out_types, given)


def _check_devices(context: LoweringContext, exported: Any) -> None:
    """Check that a program is called over as many devices as it was exported for, or for one.

    Raises:
      ValueError: it is not.
    """
    manual, count = context.manual_mesh, context.module.device_count
    if exported.nr_devices == 1:
        return
    if manual is not None and manual.size > 1:
        raise ValueError(
            f"{exported.fun_name} was exported for {exported.nr_devices} devices and is called "
            "inside a shard_map, where each device runs by itself: call it outside of that"
        )
    if count != exported.nr_devices:
        raise ValueError(
            f"{exported.fun_name} was exported for {exported.nr_devices} devices and is called in "
            f"a program over {count}: put an argument on a mesh of {exported.nr_devices} devices, "
            "with jxkernel.device_put(x, exported.in_shardings_jax(mesh)[0])"
        )


def _is_known(context: LoweringContext) -> bool:
    """Whether all sizes are known where the program is called."""
    avals = (*context.avals_in, *context.avals_out)
    return not any(is_symbolic(size) for aval in avals for size in aval.shape)


def _input_types(context: LoweringContext, exported: Any) -> list[Any]:
    avals = context.avals_in if _is_known(context) else exported.in_avals
    return hlo.plain_types([hlo.tensor_type(aval.shape, aval.dtype) for aval in avals])


def _copied(context: LoweringContext, exported: Any) -> str:
    """Copy the program's module into the one being built, and return its function's name."""
    platform = context.module.platform
    artifact = exported.artifact(platform)
    if artifact is None:
        raise ValueError(
            f"{exported.fun_name} was exported for {', '.join(exported.platforms)} and is used on "
            f"{platform}: export it with platforms=(..., {platform!r})"
        )
    if b"lapack_" in artifact and platform == "cpu":
        prepare_lapack()
    module = artifacts.deserialize(artifact)
    if exported.nr_devices == 1 < context.module.device_count and _communicates(module):
        raise ValueError(
            f"{exported.fun_name} was exported for 1 device and communicates with it (a collective "
            "in a shard_map over a mesh of one device); it cannot be part of a program over "
            f"{context.module.device_count}: export it for as many"
        )
    if _is_known(context) and any(is_symbolic(s) for a in exported.in_avals for s in a.shape):
        module = artifacts.refined(module, _input_types(context, exported), context.out_types)
    return artifacts.absorb(context.module.builder, module, exported.fun_name)


def _communicates(module: Any) -> bool:
    return "replica_groups" in module.operation.get_asm(large_elements_limit=16)


@call_exported_p.def_batch
def _call_exported_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, exported: Any
) -> tuple[list[Any], list[int | None]]:
    """Run the program once per example: its shapes are what they are."""
    moved = tuple(
        [move_axis(arg, dim, 0) for arg, dim in zip(args, dims, strict=True) if dim is not None]
    )

    def one(examples: tuple[Any, ...]) -> list[Any]:
        batched = iter(examples)
        given = [arg if dim is None else next(batched) for arg, dim in zip(args, dims, strict=True)]
        return call_exported_p.bind(*given, exported=exported)

    outs = map_examples(one, moved)
    return outs, [0] * len(outs)


_NO_DERIVATIVE = Undefined(
    "an exported program has the derivative that was exported with it, in reverse only: write "
    "exported.serialize(vjp_order=1), and grad or vjp here"
)
call_exported_p.define(jvp=_NO_DERIVATIVE, transpose=_NO_DERIVATIVE)
