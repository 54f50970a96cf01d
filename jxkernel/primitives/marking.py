"""Marking: what the compiler is told of a value, beside how it is computed.

``marked`` is the identity; it puts frontend attributes on the operation that gives its operand.
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
from jxkernel.primitives.elementwise.families import ANY, transpose_of_terms, unary

__all__ = ["dce_sink_p", "marked_p"]


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
