"""What the table is made of: the primitives of the package, dtypes, operands, references."""

import importlib
import pkgutil
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.special

import jxkernel.higher_order
import jxkernel.primitives
from jxkernel import dtypes
from jxkernel.core.primitive import Primitive
from tests.table.cases import REFERENCES
from tests.table.rows import Case, Operand
from tests.tolerances import widened

FEW = ("bool", "uint8", "int32", "bfloat16", "float32", "complex64")
"""The dtypes that every run tries."""

MANY = (
    *("int8", "int16", "int64", "uint16", "uint32", "uint64"),
    *("float16", "float64", "complex128", "float8_e4m3fn", "float8_e5m2"),
)
"""The rest, which the exhaustive run tries."""

EXACT = (
    *("bitcast_convert_type", "convert_element_type", "eq_to", "le_to", "lt_to", "nextafter"),
    *("optimization_barrier", "reduce_precision"),
)
"""The primitives whose reference depends on the dtype, so that it must not be widened."""


@cache
def primitives() -> dict[str, Primitive]:
    """Return every primitive that a module of the package defines, by name."""
    for package in (jxkernel.primitives, jxkernel.higher_order):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    defined = {
        name: primitive
        for name, primitive in Primitive.registry.items()
        if str(getattr(primitive.abstract_eval, "__module__", "")).startswith("jxkernel.")
    }
    return dict(sorted(defined.items()))


def dtypes_of(case: Case, among: Sequence[str]) -> list[Any]:
    """Return the dtypes among those named that a case takes; one if its operands fix theirs."""
    fixed = [operand.dtype for operand in case.operands]
    if all(dtype is not None for dtype in fixed):
        return (fixed or [np.dtype(np.int32)])[:1] if among is FEW else []
    every = [np.dtype(dtypes.as_dtype(name)) for name in among]
    return [d for d in every if any(dtypes.issubdtype(d, kind) for kind in case.accepts)]


def make(operand: Operand, dtype: Any, seed: str, shape: tuple[int, ...] | None = None) -> Any:
    """Return an array for an operand: random in its range, the extremes of integers included."""
    dtype = operand.dtype or dtype
    shape = operand.shape if shape is None else shape
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    if dtype in dtypes.BOOLEAN:
        return random.integers(0, 2, shape).astype(bool)
    if dtype in dtypes.INTEGRAL:
        return _integers(operand, dtype, random, shape)
    x = random.uniform(operand.low, operand.high, shape)
    if dtype in dtypes.COMPLEX:
        x = x + 1j * random.uniform(operand.low, operand.high, shape)
    return np.asarray(x).astype(dtype)


def _integers(operand: Operand, dtype: Any, random: Any, shape: tuple[int, ...]) -> Any:
    info = dtypes.iinfo(dtype)
    least, most = operand.integers or (int(info.min), int(info.max))
    least, most = max(least, int(info.min)), min(most, int(info.max))
    extremes = [value for value in (least, most, 0, 1, -1, 2) if least <= value <= most]
    values = random.integers(least, most, shape, dtype=np.dtype(dtype), endpoint=True).ravel()
    values[1 : 1 + len(extremes)] = np.array(extremes, dtype)[: max(len(values) - 1, 0)]
    return values.reshape(shape)


def operands(case: Case, dtype: Any, seed: str = "") -> list[Any]:
    """Return arrays for all operands of a case."""
    return [make(op, dtype, f"{seed}{place}") for place, op in enumerate(case.operands)]


def reference(primitive: Primitive, case: Case) -> Any:
    """Return the function that defines the values, on arrays of the primitive's own dtypes."""
    function = case.reference or REFERENCES.get(primitive.name) or primitive.reference
    assert function is not None, f"{primitive.name} has no reference"
    if isinstance(function, str):
        function = getattr(scipy.special, function.removeprefix("scipy.special."))
    exact = primitive.name in EXACT

    def apply(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            given = args if exact else [widened(x) for x in args]
            return function(*given, **case.params)

    return apply


def results(out: Any) -> list[Any]:
    """Return the results of a primitive as NumPy arrays, one or several."""
    return [np.asarray(y) for y in (out if isinstance(out, (list, tuple)) else [out])]
