"""Operations of ``lax`` as users call them: a Python number has a dtype of its own there.

The operations themselves let a Python number take the dtype of the operand beside it, for the rules
of derivatives are written with them (``sub(n, 1)``).  ``lax`` does not promote: of these functions
all operands have one dtype, and that of ``1`` is the default integer, of ``1.0`` the default float,
of ``1j`` the default complex one.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from jxkernel.dtypes import ExtendedDType, issubdtype, short_name
from jxkernel.primitives.arguments import operand_aval
from jxkernel.primitives.elementwise import arithmetic, bits, compare, exponential, incomplete
from jxkernel.primitives.elementwise import complex as complex_parts
from jxkernel.primitives.elementwise import select as selecting
from jxkernel.primitives.elementwise.families import PYTHON_NUMBERS
from jxkernel.primitives.elementwise.rounding import nextafter as nextafter_of_any
from jxkernel.primitives.elementwise.special import polygamma as polygamma_of_any
from jxkernel.primitives.elementwise.special import zeta as zeta_of_any
from jxkernel.primitives.elementwise.trigonometric import atan2 as atan2_of_any
from jxkernel.primitives.indexing.slicing import pad as pad_of_any

__all__ = [
    "add",
    "atan2",
    "betainc",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "clamp",
    "complex",
    "div",
    "eq",
    "ge",
    "gt",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "le",
    "lt",
    "max",
    "min",
    "mul",
    "mulhi",
    "ne",
    "nextafter",
    "pad",
    "polygamma",
    "pow",
    "random_gamma_grad",
    "rem",
    "select",
    "select_n",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sub",
    "zeta",
]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
_NUMBERS = frozenset(PYTHON_NUMBERS)


def _of_one_dtype(
    function: FunctionT,
    first: int = 0,
    last: int | None = None,
    agree: Callable[[Sequence[Any]], bool] = lambda kinds: len(set(kinds)) < 2,
) -> FunctionT:
    """Return an operation that refuses Python numbers whose dtype is not that of the others.

    Args:
      function: the operation.
      first: its first operand whose dtype counts.
      last: the end of those; all that follow where not given.
      agree: whether operands of some dtypes may stand beside each other.
    """
    code: Any = function.__code__
    names = code.co_varnames[: code.co_argcount][first:last]

    @wraps(function)
    def strict(*args: Any, **kwargs: Any) -> Any:
        given = args
        if kwargs:
            given = (*args, *kwargs.values())
        for value in given:
            if type(value) in _NUMBERS and kwargs.get("out_dtype") is None:
                named = [kwargs[name] for name in names if name in kwargs]
                _check(function.__name__, [*args[first:last], *named], agree)
                break
        return function(*args, **kwargs)

    strict.__module__ = "jxkernel.lax"
    return cast("FunctionT", strict)


def _check(name: str, operands: Sequence[Any], agree: Callable[[Sequence[Any]], bool]) -> None:
    kinds = [operand_aval(name, operand).dtype for operand in operands]
    if agree(kinds) or any(isinstance(kind, ExtendedDType) for kind in kinds):
        return
    told = " and ".join(
        [
            f"the Python number {operand!r} ({short_name(kind)})"
            if type(operand) in _NUMBERS
            else short_name(kind)
            for operand, kind in zip(operands, kinds, strict=True)
        ]
    )
    raise TypeError(
        f"{name} needs operands of one dtype, got {told}: convert with x.astype(...) or write the "
        "number in that dtype, or use the function of jxkernel.numpy, which promotes"
    )


def _base_and_exponent(kinds: Sequence[Any]) -> bool:
    """Whether a power is of one dtype, or has an exponent of integers."""
    return kinds[0] == kinds[-1] or issubdtype(kinds[-1], np.integer)


add = _of_one_dtype(arithmetic.add)
atan2 = _of_one_dtype(atan2_of_any)
betainc = _of_one_dtype(incomplete.betainc)
bitwise_and = _of_one_dtype(bits.bitwise_and)
bitwise_or = _of_one_dtype(bits.bitwise_or)
bitwise_xor = _of_one_dtype(bits.bitwise_xor)
clamp = _of_one_dtype(arithmetic.clamp)
complex = _of_one_dtype(complex_parts.complex)
div = _of_one_dtype(arithmetic.div)
eq = _of_one_dtype(compare.eq)
ge = _of_one_dtype(compare.ge)
gt = _of_one_dtype(compare.gt)
igamma = _of_one_dtype(incomplete.igamma)
igamma_grad_a = _of_one_dtype(incomplete.igamma_grad_a)
igammac = _of_one_dtype(incomplete.igammac)
le = _of_one_dtype(compare.le)
lt = _of_one_dtype(compare.lt)
max = _of_one_dtype(arithmetic.max)
min = _of_one_dtype(arithmetic.min)
mul = _of_one_dtype(arithmetic.mul, last=2)
mulhi = _of_one_dtype(arithmetic.mulhi)
ne = _of_one_dtype(compare.ne)
nextafter = _of_one_dtype(nextafter_of_any)
pad = _of_one_dtype(pad_of_any, last=2)
polygamma = _of_one_dtype(polygamma_of_any)
pow = _of_one_dtype(exponential.pow, agree=_base_and_exponent)
random_gamma_grad = _of_one_dtype(incomplete.random_gamma_grad)
rem = _of_one_dtype(arithmetic.rem)
select = _of_one_dtype(selecting.select, 1)
select_n = _of_one_dtype(selecting.select_n, 1)
shift_left = _of_one_dtype(bits.shift_left)
shift_right_arithmetic = _of_one_dtype(bits.shift_right_arithmetic)
shift_right_logical = _of_one_dtype(bits.shift_right_logical)
sub = _of_one_dtype(arithmetic.sub)
zeta = _of_one_dtype(zeta_of_any)
