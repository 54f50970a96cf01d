"""Matrix arithmetic on the last two axes, as the rules of ``linalg`` write it."""

from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import abstractify, rank_of, shape_of
from jxkernel.core.zeros import scalar_like, typed_scalar
from jxkernel.primitives.contraction.dot_general import dot_general
from jxkernel.primitives.contraction.precision import Precision
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.elementwise.arithmetic import add, mul
from jxkernel.primitives.elementwise.compare import eq, ge
from jxkernel.primitives.elementwise.complex import conj, real
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.shape.broadcast import broadcast_in_dim, filled, reduce_sum
from jxkernel.primitives.shape.transpose import transpose

__all__ = [
    "adjoint",
    "along_columns",
    "along_rows",
    "diagonal",
    "identity_like",
    "is_complex",
    "lower_half",
    "lower_part",
    "matmul",
    "on_diagonal",
    "over_stack",
    "places",
    "real_part",
    "scaled_columns",
    "scaled_rows",
    "swapped",
    "upper_part",
    "where",
]


def is_complex(x: Any) -> bool:
    """Whether an array is of a complex dtype."""
    return dtypes.issubdtype(abstractify(x).dtype, np.complexfloating)


def real_part(x: Any) -> Any:
    """Return the real part of an array; a real array as it is."""
    return real(x) if is_complex(x) else x


def swapped(x: Any) -> Any:
    """Return the transposes of a stack of matrices."""
    rank = rank_of(x)
    return transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def adjoint(x: Any) -> Any:
    """Return the conjugate transposes of a stack of matrices."""
    return conj(swapped(x)) if is_complex(x) else swapped(x)


def matmul(a: Any, b: Any) -> Any:
    """Return the products of two stacks of matrices, in full precision."""
    rank = rank_of(a)
    batch = tuple(range(rank - 2))
    numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    return dot_general(a, b, numbers, precision=Precision.HIGHEST)


def places(x: Any) -> tuple[Any, Any]:
    """Return the row and the column of each element of one matrix of a stack."""
    shape = shape_of(x)[-2:]
    return broadcasted_iota(np.int32, shape, 0), broadcasted_iota(np.int32, shape, 1)


def where(mask: Any, x: Any) -> Any:
    """Return ``x`` where a mask over its last two axes holds, else zero."""
    return select_n(over_stack(mask, x), scalar_like(x, 0), x)


def over_stack(matrix: Any, x: Any) -> Any:
    """Return one matrix repeated over the stack of matrices ``x``."""
    shape = shape_of(x)
    return broadcast_in_dim(matrix, shape, (len(shape) - 2, len(shape) - 1))


def lower_part(x: Any, offset: int = 0) -> Any:
    """Return matrices with zeros above the diagonal ``offset`` places right of the main one."""
    rows, columns = places(x)
    return where(ge(add(rows, np.int32(offset)), columns), x)


def lower_half(x: Any) -> Any:
    """Return the lower parts of matrices, with half the diagonal."""
    half = mul(x, typed_scalar(abstractify(x).dtype, 0.5))
    return select_n(over_stack(on_diagonal(x), x), lower_part(x), half)


def upper_part(x: Any, offset: int = 0) -> Any:
    """Return matrices with zeros below the diagonal ``offset`` places right of the main one."""
    rows, columns = places(x)
    return where(ge(columns, add(rows, np.int32(offset))), x)


def on_diagonal(x: Any) -> Any:
    """Return, over one matrix of a stack, where the main diagonal is."""
    return eq(*places(x))


def identity_like(x: Any, size: int) -> Any:
    """Return identity matrices of the dtype and stack shape of ``x``."""
    shape = (*shape_of(x)[:-2], size, size)
    ones = filled(shape, typed_scalar(abstractify(x).dtype, 1))
    return where(on_diagonal(ones), ones)


def diagonal(x: Any) -> Any:
    """Return the main diagonals of a stack of square matrices."""
    return reduce_sum(where(on_diagonal(x), x), (rank_of(x) - 2,))


def scaled_columns(x: Any, factors: Any) -> Any:
    """Return matrices with each column multiplied by a factor of its own."""
    return mul(x, along_columns(factors, shape_of(x)))


def scaled_rows(x: Any, factors: Any) -> Any:
    """Return matrices with each row multiplied by a factor of its own."""
    return mul(x, along_rows(factors, shape_of(x)))


def along_columns(values: Any, shape: tuple[int, ...]) -> Any:
    """Return one value per column, repeated down the rows of matrices of a shape."""
    rank = len(shape)
    return broadcast_in_dim(values, shape, (*range(rank - 2), rank - 1))


def along_rows(values: Any, shape: tuple[int, ...]) -> Any:
    """Return one value per row, repeated along the columns of matrices of a shape."""
    return broadcast_in_dim(values, shape, tuple(range(len(shape) - 1)))
