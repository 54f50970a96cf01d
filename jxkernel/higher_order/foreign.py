"""Calls of foreign functions: StableHLO's ``custom_call``, to a target registered by name.

Attributes of a call are kept as MLIR text, which is hashable and needs no MLIR until lowering.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel._reprs import with_type
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.effects import Effect
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.dtypes import DType
from jxkernel.higher_order.programs import merge, pick
from jxkernel.higher_order.scan import bind_scan
from jxkernel.primitives.shape.broadcast import batch_to_front
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.records import record
from jxkernel.transforms.stage import trace_flat

__all__ = [
    "VMAP_METHODS",
    "CallOptions",
    "append_custom_call",
    "attribute_text",
    "ffi_call_p",
    "foreign_effect",
]

ffi_call_p = Primitive("ffi_call", multiple_results=True)

foreign_effect = Effect("foreign")
"""The effect of a call that is made for more than its results."""

VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)
"""How ``vmap`` treats a call: one call per example, or one with a leading axis more."""

Layouts = tuple[tuple[int, ...] | None, ...]


@record()
class CallOptions:
    """How a foreign function is called.

    Attributes:
      target: the name it was registered by.
      attributes: MLIR text of a dictionary, or of a string for the older interfaces.
      api_version: XLA's number for the interface; 4 is the FFI.
      has_side_effect: whether the call must not be dropped.
      aliases: which (operand, result) pairs share a buffer.
      operand_layouts: for each operand its axes from the slowest to the fastest; None for the
        order they have.
      result_layouts: the same for results.
    """

    target: str
    attributes: str
    api_version: int
    has_side_effect: bool
    aliases: tuple[tuple[int, int], ...]
    operand_layouts: Layouts
    result_layouts: Layouts


def attribute_text(value: Any) -> str:
    """Return a value as the MLIR attribute that FFI handlers decode.

    Args:
      value: a boolean, a number (Python integers are 64 bits wide, Python floats too), a string,
        a NumPy array of one axis, a sequence of numbers, or a mapping from names to these.

    Raises:
      TypeError: it is something else.

    >>> attribute_text(np.int32(3))
    '3 : i32'
    """
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, Mapping):
        return _dictionary(value)
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim > 1:
        raise TypeError(
            f"an attribute of a foreign function is a number, a string, a sequence of numbers or "
            f"a dictionary of these; got {with_type(value)}"
        )
    kind = _element_text(array.dtype)
    if array.ndim:
        listed = ", ".join(_number_text(x) for x in array)
        return f"array<{kind}{': ' if listed else ''}{listed}>"
    return f"{_number_text(array[()])} : {kind}"


def _dictionary(values: Mapping[str, Any]) -> str:
    items = ", ".join(f"{name} = {attribute_text(value)}" for name, value in values.items())
    return f"{{{items}}}"


def _element_text(dtype: DType) -> str:
    if dtype == np.bool_:
        return "i1"
    if dtype.kind == "f":
        return f"f{8 * dtype.itemsize}"
    return f"{'u' if dtype.kind == 'u' else ''}i{8 * dtype.itemsize}"


def _number_text(value: Any) -> str:
    """Return a number as MLIR; a float by its bits, so that none is rounded."""
    if isinstance(value, np.bool_):
        return "true" if value else "false"
    if isinstance(value, np.floating):
        bits = value.view(f"u{value.dtype.itemsize}")
        return f"0x{int(bits):0{2 * value.dtype.itemsize}X}"
    return str(int(value))


def _layouts(layouts: Layouts, avals: Sequence[ShapedArray]) -> str:
    """Return layouts as XLA has them: axes from the fastest to the slowest."""
    orders = [
        list(reversed(range(aval.ndim) if layout is None else layout))
        for layout, aval in zip(layouts, avals, strict=True)
    ]
    bodies = [f"dense<{order}> : tensor<{len(order)}xindex>" for order in orders]
    return f"[{', '.join(bodies)}]"


def _alias_text(aliases: Sequence[tuple[int, int]], count: int) -> str:
    parts = [
        "#stablehlo.output_operand_alias<output_tuple_indices = "
        f"{[result] if count > 1 else []}, operand_index = {operand}, operand_tuple_indices = []>"
        for operand, result in aliases
    ]
    return f"[{', '.join(parts)}]"


def append_custom_call(context: Any, values: Sequence[Any], options: CallOptions) -> Any:
    """Append the call of a foreign function and return the operation."""
    attributes = {
        "call_target_name": hlo.string_attr(options.target),
        "has_side_effect": hlo.bool_attr(options.has_side_effect),
        "api_version": hlo.i32_attr(options.api_version),
        "backend_config": hlo.parse_attribute(options.attributes),
        "operand_layouts": hlo.parse_attribute(_layouts(options.operand_layouts, context.avals_in)),
        "result_layouts": hlo.parse_attribute(_layouts(options.result_layouts, context.avals_out)),
        "output_operand_aliases": hlo.parse_attribute(
            _alias_text(options.aliases, len(context.avals_out))
        ),
    }
    return context.op("stablehlo.custom_call", context.out_types, values, attributes)


@ffi_call_p.def_abstract_eval
def _ffi_abstract_eval(
    *avals: ShapedArray, out_avals: tuple[ShapedArray, ...], **params: Any
) -> list[ShapedArray]:
    return list(out_avals)


def _ffi_effects(*avals: ShapedArray, options: CallOptions, **params: Any) -> frozenset[Any]:
    return frozenset([foreign_effect]) if options.has_side_effect else frozenset()


@ffi_call_p.def_lower
def _ffi_lower(context: Any, *values: Any, options: CallOptions, **params: Any) -> list[Any]:
    return list(append_custom_call(context, values, options).results)


# ---------------------------------------------------------------- batching


@ffi_call_p.def_batch
def _ffi_batch(
    axis: Axis,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    out_avals: tuple[ShapedArray, ...],
    options: CallOptions,
    vmap_method: str | None,
) -> tuple[list[Any], list[int | None]]:
    if vmap_method is None:
        raise NotImplementedError(
            f"the foreign function {options.target!r} does not say how it works on a batch: give "
            f"ffi_call a vmap_method, one of {', '.join(VMAP_METHODS)}"
        )
    params = {"out_avals": out_avals, "options": options, "vmap_method": vmap_method}
    if vmap_method.startswith("sequential"):
        unroll = axis.size if vmap_method == "sequential_unrolled" else 1
        outs = _one_by_one(args, dims, axis.size, max(unroll, 1), params)
    else:
        outs = _at_once(args, dims, axis.size, params)
    return outs, [0] * len(outs)


def _one_by_one(
    args: Sequence[Any],
    dims: Sequence[int | None],
    size: int,
    unroll: int,
    params: dict[str, Any],
) -> list[Any]:
    """Call for one example after the other."""
    has = [dim is not None for dim in dims]
    shared = pick(args, has, wanted=False)
    rows = [move_axis(a, dim, 0) for a, dim in zip(args, dims, strict=True) if dim is not None]
    avals = [abstractify(arg) for arg in shared]
    row_avals = [abstractify(row) for row in rows]
    element_avals = [aval.update(shape=aval.shape[1:]) for aval in row_avals]

    def body(*flat: Any) -> list[Any]:
        count = len(shared)
        return ffi_call_p.bind(*merge(has, flat[count:], flat[:count]), **params)

    program = trace_flat(body, [*avals, *element_avals], name=params["options"].target)
    return bind_scan(program, shared, (), rows, length=size, unroll=unroll)


def _at_once(
    args: Sequence[Any], dims: Sequence[int | None], size: int, params: dict[str, Any]
) -> list[Any]:
    """Call once, with a leading axis more."""
    method, options = params["vmap_method"], params["options"]
    operands: list[Any] = []
    layouts: list[tuple[int, ...] | None] = []
    for arg, dim, layout in zip(args, dims, options.operand_layouts, strict=True):
        if dim is None and method == "legacy_vectorized":
            operands.append(arg)
            layouts.append(layout)
            continue
        operands.append(batch_to_front(arg, dim, 1 if method == "expand_dims" else size))
        layouts.append(_deeper(layout))
    return ffi_call_p.bind(
        *operands,
        out_avals=tuple([a.update(shape=(size, *a.shape)) for a in params["out_avals"]]),
        options=replace(
            options,
            operand_layouts=tuple(layouts),
            result_layouts=tuple([_deeper(layout) for layout in options.result_layouts]),
        ),
        vmap_method=method,
    )


def _deeper(layout: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the layout of an array with one more axis, the slowest."""
    return None if layout is None else (0, *[axis + 1 for axis in layout])


_NO_DERIVATIVE = Undefined(
    "what a foreign function computes is not known here: give the function that calls it a "
    "derivative with custom_jvp or custom_vjp"
)

ffi_call_p.define(effects=_ffi_effects, jvp=_NO_DERIVATIVE, transpose=_NO_DERIVATIVE)
