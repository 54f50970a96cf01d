"""``composite_p``: a named call of a program, which a compiler may replace by an operation.

StableHLO ``composite`` keeps the name, attributes and version beside the program that defines what
it means.  A compiler that knows the name uses its own; others inline the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.effects import effect_names
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.unfolding import unfold_call
from jxkernel.higher_order.programs import typed_by_programs

__all__ = ["bind_composite", "composite_p"]

_OPAQUE = Undefined(
    "a composite is opaque to transforms, for what replaces it has no rule: give it one with "
    "custom_vjp, custom_jvp or custom_vmap"
)

composite_p = Primitive("composite", multiple_results=True).define(sharding=AS_TYPED)
composite_p.varies = typed_by_programs


def bind_composite(
    program: ClosedJaxpr, operands: Sequence[Any], name: str, attributes: str, version: int
) -> list[Any]:
    """Call a program as a composite under the current trace; its constants become operands.

    Args:
      program: what the composite means.
      operands: its arguments.
      name: the composite's name.
      attributes: MLIR text of a dictionary.
      version: its version.

    Raises:
      TypeError: the program has effects.
    """
    if program.effects:
        raise TypeError(
            f"the composite {name} has the effect {effect_names(program.effects)}: what replaces "
            "it would not have it. Keep callbacks outside of composites"
        )
    return composite_p.bind(
        *program.consts,
        *operands,
        jaxpr=program.hoisted(),
        name=name,
        attributes=attributes,
        version=version,
    )


@composite_p.def_abstract_eval
def _composite_abstract_eval(*avals: ShapedArray, jaxpr: ClosedJaxpr, **how: Any) -> Any:
    return jaxpr.out_avals


@composite_p.def_lower
def _composite_lower(
    context: Any,
    *values: Any,
    jaxpr: ClosedJaxpr,
    name: str,
    attributes: str,
    version: int,
) -> Sequence[Any]:
    operation = context.op(
        "stablehlo.composite",
        context.out_types,
        values,
        {
            "name": hlo.string_attr(name),
            "decomposition": hlo.symbol_attr(context.program_symbol(jaxpr, name)),
            "composite_attributes": hlo.parse_attribute(attributes),
            "version": hlo.i32_attr(version),
        },
    )
    return operation.results


composite_p.define(jvp=_OPAQUE, transpose=_OPAQUE, batch=_OPAQUE, unfold=unfold_call("jaxpr"))
