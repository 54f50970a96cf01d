"""StableHLO over jaxlib's MLIR bindings: types, attributes, operations, modules.

The thinnest layer that spares everyone else the bindings: one MLIR context for the process,
cached types and attributes, and ``Builder.op``, which creates any operation by name.  It must
not know of avals, primitives or jaxprs.
"""

from __future__ import annotations

from jxkernel.hlo.attributes import (
    SymbolicArray,
    bool_attr,
    comparison_direction,
    dense_bool_array,
    dense_elements,
    dense_i64_array,
    dot_dimension_numbers,
    enum_attr,
    i32_attr,
    i64_attr,
    parse_attribute,
    precision_config,
    string_attr,
    symbol_attr,
)
from jxkernel.hlo.builder import (
    Builder,
    Function,
    ModuleBuilder,
    file_location,
    is_transposed,
    known_integer,
    known_slice,
    mark_value,
    module_text,
    set_result_attributes,
)
from jxkernel.hlo.context import JaxIrContext, context, ir, unknown_location, upstream_dialects
from jxkernel.hlo.shardings import (
    Inspection,
    manual_axes,
    mesh_attribute,
    sharding_attribute,
    sharding_per_value,
)
from jxkernel.hlo.types import (
    SymbolicType,
    Value,
    element_type,
    parse_type,
    plain_types,
    tensor_type,
    token_type,
)

__all__ = [
    "Builder",
    "Function",
    "Inspection",
    "JaxIrContext",
    "ModuleBuilder",
    "SymbolicArray",
    "SymbolicType",
    "Value",
    "bool_attr",
    "comparison_direction",
    "context",
    "dense_bool_array",
    "dense_elements",
    "dense_i64_array",
    "dot_dimension_numbers",
    "element_type",
    "enum_attr",
    "file_location",
    "i32_attr",
    "i64_attr",
    "ir",
    "is_transposed",
    "known_integer",
    "known_slice",
    "manual_axes",
    "mark_value",
    "mesh_attribute",
    "module_text",
    "parse_attribute",
    "parse_type",
    "plain_types",
    "precision_config",
    "set_result_attributes",
    "sharding_attribute",
    "sharding_per_value",
    "string_attr",
    "symbol_attr",
    "tensor_type",
    "token_type",
    "unknown_location",
    "upstream_dialects",
]
