"""What the special functions share: promotion, precision, and sums of Chebyshev polynomials."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import dtypes, tree
from jxkernel.numpy.promotion import (
    cast,
    dtype_of,
    inexact_dtype,
    promote_operands,
    refuse_complex,
    result_dtype,
)
from jxkernel.numpy.ufuncs import unary_function as made

__all__ = ["chebyshev", "computed", "epsilon", "polynomial", "strongly", "unary_function"]

unary_function = partial(made, module="jxkernel.scipy.special", by_name=True)


def computed(
    name: str,
    compute: Callable[..., Any],
    *args: Any,
    complex_too: bool = False,
    weakly: bool | tuple[int, ...] = False,
) -> Any:
    """Return a function of operands in one floating dtype and shape.

    Floats narrower than 32 bits are computed in float32 and rounded once.

    Args:
      name: the function's name, for messages.
      compute: from arrays of one dtype and shape to an array or several.
      *args: arrays and numbers.
      complex_too: whether complex operands are taken.
      weakly: whether results of weakly typed operands are weakly typed, as those of a formula; or
        the operands that must be numbers (of rank 0) for that, because the formula's constants
        are typed as they are: weak beside a number, strong beside an array.

    Raises:
      TypeError: an operand is no array and no number, or complex.
      ShapeMismatchError: the shapes do not broadcast.
    """
    operands = promote_operands(name, *args, rule=inexact_dtype)
    dtype = dtype_of(operands[0])
    if not complex_too:
        refuse_complex(name, dtype)
    narrow = dtypes.itemsize_bits(dtype) < 32
    wide = np.dtype(np.float32) if narrow else dtype
    arrays = jnp.broadcast_arrays(*[jnp.asarray(cast(x, wide)) for x in operands])
    result = compute(*arrays)
    numbers = () if isinstance(weakly, bool) else weakly
    weak = bool(weakly) and not any(np.ndim(args[i]) for i in numbers)
    weak = weak and result_dtype(name, args)[1]
    return tree.map(lambda y: cast(y, dtype, weak), result) if narrow or weak else result


def strongly(x: Any) -> Any:
    """Return an array or number as an array of its dtype, strongly typed."""
    return jnp.asarray(cast(x, dtype_of(x)))


def chebyshev(x: Any, low: float, high: float, coefficients: Sequence[float]) -> Any:
    """Return c₀/2 + Σ cₖ Tₖ(u), by Clenshaw's recurrence, of x moved from [low, high] to u.

    Terms that float32 cannot tell are left out for it.
    """
    u = (2 * x - (low + high)) / (high - low)
    if x.dtype == np.float32:
        coefficients = [c for c in coefficients if abs(c) > 1e-9 * abs(coefficients[0])]
    after = current = jnp.zeros_like(u)
    for coefficient in reversed(coefficients[1:]):
        after, current = current, 2 * u * current - after + coefficient
    return u * current - after + 0.5 * coefficients[0]


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Return c₀ + c₁ x + c₂ x² + ... by Horner's scheme."""
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def epsilon(x: Any) -> float:
    """Return the spacing of the floats of an array's dtype at 1."""
    return float(dtypes.finfo(x.dtype).eps)
