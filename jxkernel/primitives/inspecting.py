"""Inspecting: telling Python how the compiler divided a value over devices.

The function is told while a program is compiled, once for each executable; nothing happens when
it runs.  The partitioner of XLA has a custom call for it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel import hlo
from jxkernel._jaxlib import inspection_key
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.effects import DEBUG
from jxkernel.core.primitive import Primitive
from jxkernel.hlo import Inspection
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import as_device_array

__all__ = ["inspect_sharding_p"]

inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True).define(
    sharding=rules.gathered
)

_EFFECTS = frozenset([DEBUG])


@inspect_sharding_p.def_abstract_eval
def _inspect_abstract_eval(x: ShapedArray, *, callback: Callable[[Any], None]) -> list[ShapedArray]:
    return []


def _inspect_effects(x: ShapedArray, *, callback: Callable[[Any], None]) -> frozenset[Any]:
    return _EFFECTS


def _inspect_evaluate(x: Any, *, callback: Callable[[Any], None]) -> list[Any]:
    callback(as_device_array(x).sharding)
    return []


@inspect_sharding_p.def_lower
def _inspect_lower(context: Any, x: Any, *, callback: Callable[[Any], None]) -> list[Any]:
    inspection = Inspection(callback, context.avals_in[0].ndim)
    context.module.callbacks.append(inspection)
    if context.module.device_count > 1 and context.manual_mesh is None:
        context.op(
            "stablehlo.custom_call",
            (x.type,),
            (x,),
            {
                "call_target_name": hlo.string_attr("InspectSharding"),
                "has_side_effect": hlo.bool_attr(True),
                "api_version": hlo.i32_attr(1),
                "backend_config": hlo.string_attr(inspection_key(inspection)),
            },
        )
    return []


@inspect_sharding_p.def_jvp
def _inspect_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[list[Any], list[Any]]:
    return inspect_sharding_p.bind(*primals, **params), []


@inspect_sharding_p.def_transpose
def _inspect_transpose(cts: Sequence[Any], x: Any, **params: Any) -> list[None]:
    """Tell nothing: a tangent does not exist on the way back."""
    return [None]


@inspect_sharding_p.def_batch
def _inspect_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[list[Any], list[int]]:
    return inspect_sharding_p.bind(*args, **params), []


inspect_sharding_p.define(effects=_inspect_effects, evaluate=_inspect_evaluate)
