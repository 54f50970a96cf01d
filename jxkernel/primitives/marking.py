"""Marking: what the compiler is told of a value, beside how it is computed.

``marked`` is the identity; it puts frontend attributes on the operation that gives its operand.
``layout_constraint`` is the identity too; it says in what order elements lie in memory.
``dce_sink`` reads a value, so that what computes it is not dropped from programs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.effects import Effect
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import is_linear
from jxkernel.primitives.elementwise.families import ANY, transpose_of_terms, unary
from jxkernel.primitives.sharding import rules

__all__ = ["dce_sink_p", "layout_constraint_p", "marked_p"]


Attributes = tuple[tuple[str, str], ...]


def _marked_lower(context: Any, x: Any, *, attributes: Attributes) -> Any:
    hlo.mark_value(x, dict(attributes))
    return x


def _marked_reference(x: Any, *, attributes: Attributes) -> Any:
    return np.array(x)


def _marked_term(ct: Any, x: Any, *, attributes: Attributes) -> Any:
    return ct


marked_p: Primitive = unary(
    "xla_metadata_value",
    ANY,
    lower=_marked_lower,
    reference=_marked_reference,
    jvp=None,
    linear=True,
    transpose=transpose_of_terms(_marked_term),
)
"""The identity, whose operand's operation gets frontend attributes: (key, value) pairs."""


# ---------------------------------------------------------------- the order of elements

layout_constraint_p = Primitive("layout_constraint").define(sharding=rules.Linear(rules.same))
"""The identity, whose result lies in memory in an order: its axes from major to minor."""


@layout_constraint_p.def_abstract_eval
def _layout_constraint_abstract_eval(x: ShapedArray, *, order: tuple[int, ...]) -> ShapedArray:
    return x


@layout_constraint_p.def_lower
def _layout_constraint_lower(context: Any, x: Any, *, order: tuple[int, ...]) -> Any:
    minor_to_major = ", ".join(map(str, reversed(order)))
    layout = f"[dense<[{minor_to_major}]> : tensor<{len(order)}xindex>]"
    attributes = {
        "call_target_name": hlo.string_attr("LayoutConstraint"),
        "operand_layouts": hlo.parse_attribute(layout),
        "result_layouts": hlo.parse_attribute(layout),
    }
    return context.op("stablehlo.custom_call", context.out_types, (x,), attributes).result


@layout_constraint_p.def_jvp
def _layout_constraint_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, order: tuple[int, ...]
) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return layout_constraint_p.bind(x, order=order), layout_constraint_p.bind(t, order=order)


@layout_constraint_p.def_transpose
def _layout_constraint_transpose(ct: Any, x: Any, *, order: tuple[int, ...]) -> list[Any]:
    return [layout_constraint_p.bind(ct, order=order) if is_linear(x) else None]


@layout_constraint_p.def_batch
def _layout_constraint_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], *, order: tuple[int, ...]
) -> tuple[Any, int | None]:
    dim = dims[0]
    assert dim is not None, "an operation is batched where an operand is"
    moved = (dim, *[place + (place >= dim) for place in order])
    return layout_constraint_p.bind(args[0], order=moved), dim


# ---------------------------------------------------------------- values that count as used

_SINK = frozenset([Effect("Sink", observing=True)])

dce_sink_p = Primitive("dce_sink", multiple_results=True)
"""It has no result; its effect keeps it, and so its operand, in the program."""


@dce_sink_p.def_abstract_eval
def _dce_sink_abstract_eval(operand: ShapedArray) -> list[ShapedArray]:
    return []


def _dce_sink_effects(operand: ShapedArray) -> frozenset[Effect]:
    return _SINK


@dce_sink_p.def_lower
def _dce_sink_lower(context: Any, x: Any) -> list[Any]:
    return []


@dce_sink_p.def_jvp
def _dce_sink_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    return dce_sink_p.bind(*primals), []


@dce_sink_p.def_batch
def _dce_sink_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None]
) -> tuple[list[Any], list[Any]]:
    return dce_sink_p.bind(*args), []


dce_sink_p.define(
    effects=_dce_sink_effects,
    sharding=AS_TYPED,
    transpose=Undefined("it gives nothing that a cotangent could belong to"),
)
