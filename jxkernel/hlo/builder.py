"""Building modules: functions, operations, constants, regions, locations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DType
from jxkernel.hlo.attributes import (
    comparison_direction,
    dense_elements,
    dense_i64_array,
    enum_attr,
    i64_attr,
    string_attr,
    symbol_attr,
)
from jxkernel.hlo.context import context, ir, unknown_location
from jxkernel.hlo.types import tensor_type

__all__ = [
    "Builder",
    "Function",
    "ModuleBuilder",
    "file_location",
    "mark_value",
    "module_text",
    "set_result_attributes",
]

_create = ir.Operation.create
_MARKS = "mhlo.frontend_attributes"
_NONE: Mapping[str, str] = {}


class Builder:
    """Appends operations to a block.

    Attributes:
      ip: the insertion point, at the end of the block.
      loc: the location that new operations get.
      marks: the frontend attributes that new operations get.
    """

    __slots__ = ("_spread", "ip", "loc", "marks")

    def __init__(self, ip: Any, loc: Any = unknown_location) -> None:
        self.ip = ip
        self.loc = loc
        self.marks: Mapping[str, str] = _NONE
        self._spread: dict[Any, Any] = {}

    def op(
        self,
        name: str,
        types: Sequence[Any],
        operands: Sequence[Any],
        attributes: dict[str, Any] | None = None,
        regions: int = 0,
    ) -> Any:
        """Append the operation ``name`` and return it; its values are ``.results``."""
        made = _create(name, types, operands, attributes, regions=regions, loc=self.loc, ip=self.ip)
        if self.marks:
            _mark(made, self.marks)
        return made

    def value(
        self,
        name: str,
        kind: Any,
        operands: Sequence[Any],
        attributes: dict[str, Any] | None = None,
    ) -> Any:
        """Append an operation of one result and return that result."""
        made = _create(name, (kind,), operands, attributes, loc=self.loc, ip=self.ip)
        if self.marks:
            _mark(made, self.marks)
        return made.result

    def put_between(self, name: str, value: Any, attributes: dict[str, Any], next_op: Any) -> Any:
        """Put an operation of one operand between a value and all that uses it; return its result.

        Args:
          name: the operation's name.
          value: the operand, which has the type of the result.
          attributes: the operation's.
          next_op: the operation that stands behind the one that gives the value.
        """
        made = _create(
            name, (value.type,), (value,), attributes, loc=self.loc, ip=ir.InsertionPoint(next_op)
        )
        value.replace_all_uses_except(made.result, made)
        return made.result

    def constant(self, value: Any, dtype: DType = None) -> Any:
        """Append a constant: a NumPy array, or a number with its dtype."""
        array = np.asarray(value) if dtype is None else dtypes.host_array(value, dtype)
        elements = dense_elements(array)
        return self.value(
            "stablehlo.constant",
            tensor_type(array.shape, array.dtype),
            (),
            {"value": elements},
        )

    def splat(self, value: Any, shape: tuple[int, ...], dtype: DType) -> Any:
        """Append one number repeated over a shape."""
        # ``float0`` has no number that NumPy would convert.
        number = np.zeros((), dtype) if dtype == dtypes.float0 else value
        scalar = self.constant(number, dtype)
        return scalar if not shape else self.broadcast(scalar, (), shape, dtype)

    def broadcast(
        self, value: Any, dims: tuple[int, ...], shape: tuple[int, ...], dtype: DType
    ) -> Any:
        """Append ``broadcast_in_dim``: axis i of ``value`` becomes axis ``dims[i]``.

        It is appended once for what is asked for again, and what was broadcast before is
        broadcast at once.
        """
        key = (value, dims, shape)
        found = None if self.marks else self._spread.get(key)
        if found is not None:
            return found
        if dims and (before := _known_broadcast(value)) is not None:
            value, dims = before[0], tuple([dims[axis] for axis in before[1]])
        made = self.value(
            "stablehlo.broadcast_in_dim",
            tensor_type(shape, dtype),
            (value,),
            {"broadcast_dimensions": dense_i64_array(dims)},
        )
        if not self.marks:
            self._spread[key] = made
        return made

    def iota(self, dtype: Any, shape: tuple[int, ...], dimension: int) -> Any:
        """Append an array of the places along a dimension: 0, 1, 2 ..."""
        along = {"iota_dimension": i64_attr(dimension)}
        return self.value("stablehlo.iota", tensor_type(shape, dtype), (), along)

    def compare(
        self, left: Any, right: Any, direction: str, shape: tuple[int, ...], kind: str
    ) -> Any:
        """Append a comparison; ``kind`` is ``FLOAT TOTALORDER SIGNED UNSIGNED``."""
        return self.value(
            "stablehlo.compare",
            tensor_type(shape, np.dtype(np.bool_)),
            (left, right),
            {
                "comparison_direction": comparison_direction(direction),
                "compare_type": enum_attr("comparison_type", kind),
            },
        )

    def region(
        self,
        operation: Any,
        index: int,
        types: Sequence[Any],
        body: Callable[..., Sequence[Any]],
        *,
        end: str = "stablehlo.return",
    ) -> None:
        """Fill a region of an operation; ``body(builder, *arguments)`` gives its results."""
        block = operation.regions[index].blocks.append(*types, arg_locs=[self.loc] * len(types))
        inner = Builder(ir.InsertionPoint(block), self.loc)
        results = body(inner, *block.arguments)
        inner.op(end, (), results)

    def call(self, name: str, types: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any]:
        """Append a call of a function of the module."""
        return self.op("func.call", types, operands, {"callee": symbol_attr(name)}).results


class Function:
    """A function being built: its operation, arguments and a builder for its body."""

    __slots__ = ("arguments", "builder", "operation")

    def __init__(self, operation: Any, arguments: Sequence[Any], builder: Builder) -> None:
        self.operation = operation
        self.arguments = arguments
        self.builder = builder

    def returns(self, values: Sequence[Any]) -> None:
        """End the body with the given results."""
        self.builder.op("func.return", (), values)


class ModuleBuilder:
    """A module being built."""

    def __init__(self, name: str) -> None:
        self.module = ir.Module.create(loc=unknown_location)
        self.module.operation.attributes["sym_name"] = string_attr(name)
        self._ip = ir.InsertionPoint(self.module.body)
        self._names: set[str] = set()
        self._meshes: dict[Any, str] = {}

    @classmethod
    def around(cls, module: Any, *, taken: Iterable[str]) -> ModuleBuilder:
        """Return a builder that adds to a module whose functions have the names ``taken``."""
        builder = cls.__new__(cls)
        builder.module = module
        builder._ip = ir.InsertionPoint(module.body)
        builder._names = set(taken)
        builder._meshes = {}
        return builder

    def set_attribute(self, name: str, value: Any) -> None:
        """Set an attribute of the module itself."""
        self.module.operation.attributes[name] = value

    def declare_mesh(self, name: str, mesh: Any) -> str:
        """Declare a mesh of devices, once, before all functions, and return its symbol.

        Args:
          name: what it is to be called, if that is free.
          mesh: the mesh, an attribute.
        """
        found = self._meshes.get(mesh)
        if found is not None:
            return found
        found = self._meshes[mesh] = self.reserve(name)
        ip = ir.InsertionPoint.at_block_begin(self.module.body)
        attributes = {"sym_name": string_attr(found), "mesh": mesh}
        _create("sdy.mesh", (), (), attributes, loc=unknown_location, ip=ip)
        return found

    def function(
        self,
        name: str,
        in_types: Sequence[Any],
        out_types: Sequence[Any],
        *,
        public: bool = False,
        arg_attrs: Sequence[dict[str, Any]] | None = None,
        res_attrs: Sequence[dict[str, Any]] | None = None,
    ) -> Function:
        """Add a function; a name already taken gets a number."""
        unique = self.reserve(name)
        attributes = {
            "sym_name": string_attr(unique),
            "sym_visibility": string_attr("public" if public else "private"),
            "function_type": ir.TypeAttr.get(
                ir.FunctionType.get(in_types, out_types, context), context
            ),
        }
        if arg_attrs is not None:
            attributes["arg_attrs"] = _dict_array(arg_attrs)
        if res_attrs is not None:
            attributes["res_attrs"] = _dict_array(res_attrs)
        operation = _create(
            "func.func", (), (), attributes, regions=1, loc=unknown_location, ip=self._ip
        )
        block = operation.regions[0].blocks.append(
            *in_types, arg_locs=[unknown_location] * len(in_types)
        )
        return Function(operation, list(block.arguments), Builder(ir.InsertionPoint(block)))

    def insert(self, function: Any) -> None:
        """Add a copy of a function of another module under its own, reserved name."""
        self._ip.insert(function.clone(ip=False))

    def reserve(self, name: str) -> str:
        """Take a name for a function or mesh, with a number if it is taken, and return it."""
        unique, number = name, 0
        while unique in self._names:
            number += 1
            unique = f"{name}_{number}"
        self._names.add(unique)
        return unique


def set_result_attributes(module: Any, name: str, entries: Sequence[dict[str, Any]]) -> None:
    """Set the attributes of the results of a module's function."""
    for operation in module.body.operations:
        attributes = operation.operation.attributes
        if "function_type" in attributes and attributes["sym_name"].value == name:
            attributes["res_attrs"] = _dict_array(entries)


def _dict_array(entries: Sequence[dict[str, Any]]) -> Any:
    return ir.ArrayAttr.get([ir.DictAttr.get(entry, context) for entry in entries], context)


@lru_cache(maxsize=8192)
def file_location(file: str, line: int, column: int, name: str) -> Any:
    """Return the location ``name`` at a place in a source file."""
    place = ir.Location.file(_utf8(file), line, column, context)
    return ir.Location.name(_utf8(name), place, context)


def _utf8(text: str) -> str:
    """Return a text without lone surrogates, which names of files and of scopes may hold."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def known_integer(value: Any) -> int | None:
    """Return a scalar that is a constant of the module; None for any other value."""
    operation = _operation(value)
    if operation is None or operation.name != "stablehlo.constant":
        return None
    elements = np.asarray(operation.attributes["value"])
    return int(elements) if not elements.shape else None


def known_slice(value: Any) -> tuple[Any, tuple[int, ...], tuple[int, ...]] | None:
    """Return of what array a value is a slice without strides, and its bounds; else None."""
    operation = _operation(value)
    if operation is None or operation.name != "stablehlo.slice":
        return None
    attributes: Any = operation.attributes
    if any(stride != 1 for stride in attributes["strides"]):
        return None
    start, limit = (tuple(attributes[f"{name}_indices"]) for name in ("start", "limit"))
    return operation.operands[0], start, limit


def _known_broadcast(value: Any) -> tuple[Any, tuple[int, ...]] | None:
    """Return of what array a value is a broadcast, and which axes that has in it; else None."""
    operation = _operation(value)
    if operation is None or operation.name != "stablehlo.broadcast_in_dim":
        return None
    return operation.operands[0], tuple(operation.attributes["broadcast_dimensions"])


def is_transposed(value: Any) -> bool:
    """Return whether a value is a transposed array, or such an array reshaped."""
    operation = _operation(value)
    while operation is not None and operation.name == "stablehlo.reshape":
        operation = _operation(operation.operands[0])
    return operation is not None and operation.name == "stablehlo.transpose"


def _operation(value: Any) -> Any:
    """Return the operation that computes a value; None for an argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def _mark(operation: Any, attributes: Mapping[str, str]) -> None:
    """Give an operation frontend attributes; it keeps those that it has."""
    own, given = operation.attributes, dict[str, Any]()
    if _MARKS in own:
        given = {entry.name: entry.attr for entry in own[_MARKS]}
    added = {key: string_attr(text) for key, text in attributes.items() if key not in given}
    own[_MARKS] = ir.DictAttr.get({**given, **added}, context)


def mark_value(value: Any, attributes: Mapping[str, str]) -> None:
    """Give frontend attributes to the operation that computes a value, if one does."""
    owner = value.owner
    if attributes and not isinstance(owner, ir.Block):
        _mark(owner, attributes)


def module_text(module: Any, *, locations: bool = False) -> str:
    """Return a module as MLIR text."""
    return module.operation.get_asm(enable_debug_info=locations)
