"""What functions of linear algebra do with their operands: checks, stacks, adjoints."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeError, ShapeMismatchError
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_shapes,
    broadcast_to_shape,
    cast,
    inexact_dtype,
    result_dtype,
)
from jxkernel.primitives.linalg.matrix import adjoint, matmul

__all__ = [
    "adjoint",
    "broadcast_stacks",
    "check_matrices",
    "epsilon",
    "from_lists",
    "inexact",
    "matmul",
]


def from_lists(x: Any) -> Any:
    """Return an argument, made an array if it is a list, as SciPy's functions take them."""
    return asarray(x) if isinstance(x, (list, tuple)) else x


def inexact(name: str, *args: Any) -> list[Any]:
    """Return arguments in their common dtype, floating or complex and strongly typed.

    Raises:
      TypeError: one is no array and no number.
    """
    dtype = inexact_dtype(result_dtype(name, args)[0])
    return [cast(arg, dtype) for arg in args]


def check_matrices(name: str, x: Any, *, square: bool = False, argument: str = "a") -> None:
    """Check that an argument is a stack of matrices.

    Raises:
      TypeError: it is no array and no number.
      ShapeMismatchError: it has fewer than two axes, or the matrices are not square.
    """
    shape = argument_aval(name, x).shape
    if len(shape) < 2 or (square and shape[-1] != shape[-2]):
        kind = "(..., n, n)" if square else "(..., m, n)"
        raise ShapeError(f"{name} got shape {shape}: {argument} must be of shape {kind}")


def broadcast_stacks(name: str, arrays: Sequence[Any], core: Sequence[int]) -> list[Any]:
    """Return arrays with their leading axes (all but the last ``core``) broadcast together.

    Raises:
      ShapeMismatchError: they do not broadcast.
    """
    shapes = [np.shape(x) for x in arrays]
    leads = [shape[: len(shape) - n] for shape, n in zip(shapes, core, strict=True)]
    try:
        lead = broadcast_shapes(*leads)
    except ValueError:
        raise ShapeMismatchError(name, shapes, "the leading axes broadcast") from None
    return [
        broadcast_to_shape(x, (*lead, *shape[len(shape) - n :]))
        for x, shape, n in zip(arrays, shapes, core, strict=True)
    ]


def epsilon(dtype: DTypeLike) -> float:
    """Return the distance from 1 to the next number of a dtype, as a Python number."""
    return float(dtypes.finfo(dtype).eps)
