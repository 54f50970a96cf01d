"""Common divisors and multiples of integers."""

from typing import Any

from jxkernel import dtypes
from jxkernel.api.control_flow.looping import while_loop
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    promote_operands,
    promote_strongly,
)
from jxkernel.primitives.creation import full_like
from jxkernel.primitives.elementwise.arithmetic import div, mul, rem
from jxkernel.primitives.elementwise.compare import eq, ne
from jxkernel.primitives.elementwise.complex import abs as absolute_value
from jxkernel.primitives.elementwise.select import select
from jxkernel.primitives.reduction.reduce import reduce_or
from jxkernel.runtime import ArrayLike

__all__ = ["gcd", "lcm"]


def _integers(name: str, x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return two operands as integers of one dtype and shape.

    Raises:
      ValueError: they are no integers; a boolean beside an integer counts as one.
    """
    first, second = promote_operands(name, *promote_strongly(name, x1, x2))
    if argument_aval(name, first).dtype not in dtypes.INTEGRAL:
        given = [argument_aval(name, x, place).dtype.name for place, x in enumerate((x1, x2))]
        raise ValueError(
            f"{name} takes integers, got {' and '.join(given)}: convert with x.astype(int)"
        )
    shape = max(argument_aval(name, first).shape, argument_aval(name, second).shape, key=len)
    return broadcast_to_shape(first, shape), broadcast_to_shape(second, shape)


def _magnitude(x: Any) -> Any:
    return x if argument_aval("gcd", x).dtype in dtypes.UNSIGNED else absolute_value(x)


def _divisor(x1: Any, x2: Any) -> Any:
    """Return what Euclid's algorithm leaves when every remainder is 0."""

    def unfinished(pair: Any) -> Any:
        left = ne(pair[1], full_like(pair[1], 0))
        return reduce_or(left, tuple(range(left.ndim)))

    def step(pair: Any) -> Any:
        a, b = pair
        done = eq(b, full_like(b, 0))
        rest = rem(a, select(done, full_like(b, 1), b))
        return select(done, a, b), select(done, b, rest)

    return while_loop(unfinished, step, (x1, x2))[0]


@fused
def gcd(x1: ArrayLike, x2: ArrayLike) -> Any:
    """Return the greatest common divisor of integers, by Euclid's algorithm; 0 of two zeros.

    Args:
      x1: integers.
      x2: integers, which broadcast against ``x1``.

    Raises:
      ValueError: one is not of an integer dtype.

    >>> import jxkernel.numpy as jnp
    >>> jnp.gcd(jnp.array([12, 18, 0]), 8)
    Array([4, 2, 8], dtype=int32)
    """
    first, second = _integers("gcd", x1, x2)
    # The least integer has no magnitude: remainders by it, and what is left, may be negative.
    return _magnitude(_divisor(_magnitude(first), _magnitude(second)))


@fused
def lcm(x1: ArrayLike, x2: ArrayLike) -> Any:
    """Return the least common multiple of integers; 0 where one of them is 0.

    Args:
      x1: integers.
      x2: integers, which broadcast against ``x1``.

    Raises:
      ValueError: one is not of an integer dtype.

    >>> import jxkernel.numpy as jnp
    >>> jnp.lcm(jnp.array([4, 6, 0]), 6)
    Array([12,  6,  0], dtype=int32)
    """
    first, second = (_magnitude(x) for x in _integers("lcm", x1, x2))
    divisor = _divisor(first, second)
    nothing = eq(divisor, full_like(divisor, 0))
    return mul(first, div(second, select(nothing, full_like(divisor, 1), divisor)))
