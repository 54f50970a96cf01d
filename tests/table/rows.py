"""The rows of the table: a case is a way of applying a primitive, an operand one of its arrays."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHAPE = (3, 4)


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a case.

    Attributes:
      low, high: between which its floats (real and imaginary parts) lie, well inside the domain.
      shape: its shape.
      dtype: its dtype; None for that of the row.
      integers: between which its integers lie, ends included; None for the whole range.
    """

    low: float = -2.0
    high: float = 2.0
    shape: tuple[int, ...] = SHAPE
    dtype: Any = None
    integers: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One way of applying a primitive.

    Attributes:
      operands: the operands.
      params: the parameters.
      accepts: the NumPy scalar kinds that the operands' common dtype may be of.
      reference: the function in NumPy; None for the primitive's own.
      label: what tells the case from others of the primitive.
      smooth: the kinds of dtype in which the derivative is compared with differences.
      elementwise: whether other shapes (scalars, empty ones) may be tried as well.
    """

    operands: tuple[Operand, ...]
    params: dict[str, Any] = field(default_factory=dict)
    accepts: tuple[type, ...] = (np.number, np.bool_)
    reference: Callable[..., Any] | None = None
    label: str = ""
    smooth: tuple[type, ...] = (np.inexact,)
    elementwise: bool = False
