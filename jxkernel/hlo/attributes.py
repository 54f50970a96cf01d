"""MLIR attributes, made once each where they are small."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from jxkernel.core.dimensions import is_symbolic
from jxkernel.hlo.context import context, ir
from jxkernel.hlo.types import tensor_type
from jxkernel.records import record

__all__ = [
    "SymbolicArray",
    "bool_attr",
    "comparison_direction",
    "dense_bool_array",
    "dense_elements",
    "dense_i64_array",
    "dot_dimension_numbers",
    "enum_attr",
    "i32_attr",
    "i64_attr",
    "parse_attribute",
    "precision_config",
    "string_attr",
    "symbol_attr",
]


@lru_cache(maxsize=8192)
def parse_attribute(text: str) -> Any:
    """Return the MLIR attribute written as ``text``."""
    return ir.Attribute.parse(text, context)


def bool_attr(value: bool) -> Any:
    """Return a boolean attribute."""
    return parse_attribute("true" if value else "false")


def i64_attr(i: int) -> Any:
    """Return a 64-bit integer attribute."""
    return parse_attribute(f"{i} : i64")


def i32_attr(i: int) -> Any:
    """Return a 32-bit integer attribute."""
    return parse_attribute(f"{i} : i32")


def string_attr(value: str) -> Any:
    """Return a string attribute."""
    return ir.StringAttr.get(value, context)


def symbol_attr(name: str) -> Any:
    """Return a reference to the function ``name`` of the module."""
    return ir.FlatSymbolRefAttr.get(name, context)


@record()
class SymbolicArray:
    """The attribute ``array<i64: ...>`` of numbers of which some are symbolic."""

    values: tuple[Any, ...]


@lru_cache(maxsize=8192)
def dense_i64_array(values: tuple[int, ...]) -> Any:
    """Return ``array<i64: ...>``: permutations, offsets, sizes; symbolic ones as they are."""
    if any(map(is_symbolic, values)):
        return SymbolicArray(values)
    return ir.DenseI64ArrayAttr.get(values, context)


@lru_cache(maxsize=1024)
def dense_bool_array(values: tuple[bool, ...]) -> Any:
    """Return ``array<i1: ...>``."""
    return ir.DenseBoolArrayAttr.get(values, context)


def enum_attr(kind: str, value: str) -> Any:
    """Return a StableHLO enum attribute, such as ``#stablehlo<precision HIGHEST>``."""
    return parse_attribute(f"#stablehlo<{kind} {value}>")


def comparison_direction(direction: str) -> Any:
    """Return the attribute of a comparison: ``EQ NE GE GT LE LT``."""
    return enum_attr("comparison_direction", direction)


def precision_config(precisions: tuple[str, str]) -> Any:
    """Return the operand precisions of a contraction: ``DEFAULT HIGH HIGHEST`` each."""
    first, second = (f"#stablehlo<precision {name}>" for name in precisions)
    return parse_attribute(f"[{first}, {second}]")


@lru_cache(maxsize=4096)
def dot_dimension_numbers(
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
    batching: tuple[tuple[int, ...], tuple[int, ...]],
) -> Any:
    """Return the ``#stablehlo.dot`` attribute of a general contraction."""
    parts: list[str] = []
    if batching[0]:
        parts.append(f"lhs_batching_dimensions = {list(batching[0])}")
        parts.append(f"rhs_batching_dimensions = {list(batching[1])}")
    parts.append(f"lhs_contracting_dimensions = {list(contracting[0])}")
    parts.append(f"rhs_contracting_dimensions = {list(contracting[1])}")
    return parse_attribute(f"#stablehlo.dot<{', '.join(parts)}>")


def dense_elements(value: np.ndarray[Any, Any]) -> Any:
    """Return the elements attribute of a NumPy array of any XLA dtype.

    A value repeated over a whole array is written once (a splat).
    """
    shape, dtype = value.shape, value.dtype
    if dtype.names == ("float0",):
        value, dtype = np.zeros(shape, np.bool_), np.dtype(np.bool_)
    if dtype.name in ("int4", "uint4", "int2", "uint2"):
        return _narrow_elements(value, tensor_type(shape, dtype))
    data = _in_memory_order(value)
    return ir.DenseElementsAttr.get(data, type=tensor_type(shape, dtype), context=context)


def _in_memory_order(value: np.ndarray[Any, Any]) -> Any:
    data = np.ascontiguousarray(value)
    return data.view(np.uint8) if data.dtype == np.bool_ else data  # one byte per boolean


def _narrow_elements(value: np.ndarray[Any, Any], kind: Any) -> Any:
    """Return the elements of an array of integers narrower than a byte, by way of text."""
    flat = np.asarray(value, np.int64).tolist()
    return parse_attribute(f"dense<{flat}> : {kind}".replace("'", ""))
