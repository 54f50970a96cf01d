"""Symbolic zeros and undefined primals: the two placeholders of differentiation.

``Zero`` is a tangent or cotangent known to be zero; rules skip it instead of computing with it.
``UndefinedPrimal`` marks, in a transpose rule, the arguments in which the equation is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify, register_abstractifier
from jxkernel.dtypes import DType

__all__ = [
    "UndefinedPrimal",
    "Zero",
    "constant_beside",
    "is_linear",
    "scalar_like",
    "zero_jvp",
    "zero_scalar",
]


class _Placeholder:
    """Stands for an array of which only the type is known: ``aval``."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim


class Zero(_Placeholder):
    """A tangent or cotangent that is zero; ``aval`` is its type.

    Rules of users that ask for symbolic zeros meet it as ``custom_derivatives.SymbolicZero``.
    """

    __slots__ = ()

    @staticmethod
    def tangent_of(value: Any) -> Zero:
        """Return the zero tangent of an array."""
        return Zero(abstractify(value).tangent())

    @staticmethod
    def from_primal_value(val: Any) -> Zero:
        """Return the zero tangent of an array: ``tangent_of`` by its public name."""
        return Zero.tangent_of(val)

    def __repr__(self) -> str:
        return f"Zero({self.aval.short()})"


class UndefinedPrimal(_Placeholder):
    """An argument in which an equation is to be transposed; only its type is known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.short()})"


def _refuse_value(x: UndefinedPrimal) -> ShapedArray:
    raise TypeError(
        "only a linear function has a transpose, and an operation of this one needs the value of "
        f"{x.aval.short()}, as a * a does: take its vjp at a point"
    )


register_abstractifier(UndefinedPrimal, _refuse_value)


def is_linear(x: Any) -> bool:
    """Whether an argument of a transpose rule is one to transpose with respect to."""
    return type(x) is UndefinedPrimal


def scalar_like(value: Any, scalar: complex) -> Any:
    """Return a Python number as a scalar of exactly the dtype (and weakness) of ``value``."""
    aval = abstractify(value)
    if aval.weak_type:
        kind = _python_kind(aval.dtype)
        return kind(dtypes.coerce_scalar(scalar, aval.dtype) if type(scalar) is complex else scalar)
    return typed_scalar(aval.dtype, scalar)


def constant_beside(value: Any, scalar: complex) -> Any:
    """Return a Python number as a constant of a formula that has ``value`` as its operand.

    It has the operand's dtype, and is weak only beside a weak number (rank 0): beside weak arrays
    it makes the formula's result strong.
    """
    aval = abstractify(value)
    return typed_scalar(aval.dtype, scalar) if aval.ndim else scalar_like(value, scalar)


def typed_scalar(dtype: DType, scalar: complex) -> Any:
    """Return a number as a NumPy scalar of a dtype.

    Raises:
      OverflowError: an integer does not fit the dtype.
    """
    return dtypes.host_array(scalar, dtype)[()]


def zero_scalar(aval: ShapedArray) -> Any:
    """Return the scalar zero of a type, weak or not; ``False`` where the dtype is ``float0``."""
    if aval.dtype == dtypes.float0:
        return False
    if aval.weak_type:
        zero = _python_kind(aval.dtype)(0)
        # A weak dtype may be another than that of Python numbers under the settings of now.
        if abstractify(zero).dtype == aval.dtype:
            return zero
    return typed_scalar(aval.dtype, 0)


def _python_kind(dtype: DType) -> type:
    if dtypes.issubdtype(dtype, np.complexfloating):
        return complex
    if dtypes.issubdtype(dtype, np.floating):
        return float
    return bool if dtype == np.bool_ else int


def zero_jvp(primitive: Any) -> Callable[..., Any]:
    """Return the JVP rule of a primitive whose results do not vary smoothly: zero tangents."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        if primitive.multiple_results:
            return out, [Zero.tangent_of(y) for y in out]
        return out, Zero.tangent_of(out)

    return jvp
