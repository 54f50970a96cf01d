"""MLIR types for NumPy dtypes and shapes, made once each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from jxkernel.core.dimensions import is_symbolic
from jxkernel.dtypes import DType
from jxkernel.errors import ShapeError
from jxkernel.hlo.context import context, ir, unknown_location
from jxkernel.records import record

if TYPE_CHECKING:
    Value = ir.Value[Any]
else:  # older wheels have no parameter
    Value = ir.Value
"""What operations take and give."""

__all__ = [
    "SymbolicType",
    "Value",
    "element_type",
    "parse_type",
    "plain_types",
    "tensor_type",
    "token_type",
]

_NAMES = {
    "bool": "i1",
    "int2": "i2",
    "int4": "i4",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint2": "ui2",
    "uint4": "ui4",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint32": "ui32",
    "uint64": "ui64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fnuz": "f8E4M3FNUZ",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
    "float8_e3m4": "f8E3M4",
    "float8_e4m3": "f8E4M3",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float4_e2m1fn": "f4E2M1FN",
}


@cache
def parse_type(text: str) -> Any:
    """Return the MLIR type written as ``text``."""
    return ir.Type.parse(text, context)


@cache
def element_type(dtype: DType) -> Any:
    """Return the MLIR element type of a NumPy dtype; ``float0`` has that of ``bool``.

    Raises:
      TypeError: XLA has no such element type.
    """
    if dtype.names == ("float0",):
        return parse_type("i1")
    try:
        return parse_type(_NAMES[dtype.name])
    except KeyError:
        raise TypeError(f"dtype {dtype} has no element type in StableHLO") from None


@record()
class SymbolicType:
    """A tensor type of symbolic shape, which MLIR does not know the symbols of.

    Attributes:
      shape: the sizes of the axes, symbolic dimensions among them.
      dtype: the element type.
    """

    shape: tuple[Any, ...]
    dtype: Any

    @property
    def plain(self) -> Any:
        """The MLIR type, in which a symbolic size is ``?``."""
        sizes = [_UNKNOWN_SIZE if is_symbolic(size) else size for size in self.shape]
        return ir.RankedTensorType.get(sizes, element_type(self.dtype), loc=unknown_location)


_UNKNOWN_SIZE = ir.ShapedType.get_dynamic_size()


def plain_types(types: Iterable[Any]) -> list[Any]:
    """Return MLIR types, those of symbolic shape without their symbols."""
    return [kind.plain if isinstance(kind, SymbolicType) else kind for kind in types]


@lru_cache(maxsize=8192)
def tensor_type(shape: tuple[int, ...], dtype: DType) -> Any:
    """Return the ranked tensor type of a shape and dtype, a ``SymbolicType`` if it is symbolic."""
    if any(map(is_symbolic, shape)):
        return SymbolicType(shape, dtype)
    if prod(shape) >= 2**62:
        raise ShapeError(f"an array of shape {shape} has more elements than memory has addresses")
    return ir.RankedTensorType.get(shape, element_type(dtype), loc=unknown_location)


def token_type() -> Any:
    """Return the type of ordering tokens."""
    return parse_type("!stablehlo.token")
