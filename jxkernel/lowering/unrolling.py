"""Loops that LLVM leaves as they are, where unrolling them costs more than it gains.

On CPU, LLVM writes small sums and extremes out, element by element: those of 16 rows of 32 take it
longer than all else that XLA does for a small program, and run no faster.  It does the same to
short rows of an elementwise operation, which it then cannot compute by vectors.  XLA can keep LLVM
from unrolling in a program as a whole only.  Some loops would then run two to four times as long:
sums of a few elements, products of tiny matrices, copies that turn rows to columns, searches.  So
LLVM is kept from it in programs that gain by it, and have none of the loops that need unrolling.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from math import prod
from typing import NamedTuple

import numpy as np

from jxkernel import dtypes
from jxkernel._lazy import late_function
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, subjaxprs

__all__ = [
    "HOLDERS",
    "IN_LIBRARY",
    "LIBRARY_FROM",
    "LONG_FORMULAS",
    "LOOPS",
    "is_unrolled",
]

window_of = late_function("jxkernel.primitives.conv.reduce_window", "window_of")

LIBRARY_FROM = 4096
"""From so many elements on XLA has a library reduce floats, and LLVM sees no loop."""

IN_LIBRARY = (np.dtype(np.float32), np.dtype(dtypes.bfloat16))
"""What the library sums, in rows of any length."""

_SHORT = 16
"""Reductions of fewer elements run faster written out."""

_SHORT_IN_LOOPS = 8
"""The same along the last axis, where compiled code runs a loop."""

_TINY = 16
"""Products of a stack of matrices that sum fewer products run faster written out."""

_UNIMPORTANT = 8192
"""Up to so many elements, to start an operation takes longer than its loop may lose."""

_UNIMPORTANT_IN_LOOPS = 32
"""The same where compiled code starts it, and often."""

_MANY = 2**17
"""From so many elements on, exponentials take a tenth longer."""

_SHORT_ROWS = range(9, 33)
"""Rows of an elementwise operation that LLVM would write out, element by element."""

_SHORTEST_ROWS = frozenset((*range(2, 8), *range(9, 16)))
"""Rows of which half and more may be left over by vectors of eight: they run faster written out."""

LONG_FORMULAS = frozenset(
    (
        *("acosh", "atan", "atanh", "cosh", "exp", "exp2", "expm1", "log", "log1p", "logistic"),
        *("rsqrt", "sign", "tanh"),
    )
)
"""Functions of which LLVM sees the whole formula: to write out a row of them takes it long."""

_REDUCTIONS = frozenset({"reduce_max", "reduce_min", "reduce_prod", "reduce_sum"})
LOOPS = frozenset({"scan", "while"})
HOLDERS = LOOPS | {"checkpoint", "cond", "custom_jvp_call", "custom_vjp_call", "jit"}
"""Primitives whose programs consist of equations like any other."""

_JUDGED = _REDUCTIONS | LONG_FORMULAS | {"concatenate", "dot_general", "pad", "transpose"}
_WINDOWED = {
    **dict.fromkeys(("reduce_window_max", "reduce_window_min", "reduce_window_sum"), 0),
    **dict.fromkeys(("select_and_gather_add", "select_and_scatter_add"), 1),
}
"""Primitives of windows, and which operand has them."""

_SEARCHES = frozenset({"ranked"})
"""Primitives of which every loop gains."""

_AS_FAST = _SEARCHES | frozenset(
    (
        *("cholesky", "conv_general_dilated", "dynamic_update_slice", "fft", "gather"),
        *("optimization_barrier", "scatter", "scatter_add", "threefry2x32", "triangular_solve"),
    )
)
"""Primitives besides elementwise ones that always run as fast."""


class _Effects(NamedTuple):
    """What leaving loops as they are does to a program.

    Attributes:
      gains: whether it compiles or runs notably faster.
      loses: whether it runs notably slower; then ``gains`` may not be known.
    """

    gains: bool
    loses: bool


def is_unrolled(jaxpr: Jaxpr) -> bool:
    """Return whether LLVM is to unroll the loops of a program."""
    effects = _effects(jaxpr, False)
    return effects.loses or not effects.gains


def _effects(jaxpr: Jaxpr, in_loop: bool) -> _Effects:
    gains = False
    multiplied: Set[object] | None = None
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in HOLDERS:
            inside = in_loop or name in LOOPS
            for closed in subjaxprs(eqn.params):
                inner = closed.remember(_effects_of_program, inside)
                if inner.loses:
                    return inner
                gains = gains or inner.gains
        elif name in _JUDGED:
            if multiplied is None:
                multiplied = _multiplied(jaxpr)
            if _loses(eqn, in_loop, multiplied):
                return _Effects(gains, True)
            gains = gains or _is_written_out(eqn)
        elif name in _WINDOWED:
            if _matters(eqn, in_loop) and not _is_by_rows(eqn):
                return _Effects(gains, True)
            gains = True
        elif not eqn.primitive.element_work and name not in _AS_FAST and _matters(eqn, in_loop):
            return _Effects(gains, True)
        else:
            gains = gains or name in _SEARCHES
    return _Effects(gains, False)


def _effects_of_program(closed: ClosedJaxpr, in_loop: bool) -> _Effects:
    return _effects(closed.jaxpr, in_loop)


def _multiplied(jaxpr: Jaxpr) -> Set[object]:
    """Return operands and results of products, which XLA gives another order of axes for free."""
    products = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "dot_general"]
    return {atom for eqn in products for atom in (*eqn.invars, *eqn.outvars)}


def _matters(eqn: Eqn, in_loop: bool) -> bool:
    sizes = [prod(atom.aval.shape) for atom in (*eqn.invars, *eqn.outvars)]
    return max(sizes, default=0) > (_UNIMPORTANT_IN_LOOPS if in_loop else _UNIMPORTANT)


def _loses(eqn: Eqn, in_loop: bool, multiplied: Set[object]) -> bool:
    """Whether the loop of an equation runs notably slower where it is left as it is."""
    name = eqn.primitive.name
    if not _matters(eqn, in_loop):
        return False
    if name in _REDUCTIONS:
        return _reduction_loses(eqn, in_loop)
    shape = eqn.outvars[0].aval.shape
    if name in LONG_FORMULAS:
        many = name == "exp" and prod(shape) > _MANY
        return many or (not in_loop and _row(shape) in _SHORTEST_ROWS)
    if name == "dot_general":
        (contracted, _), (batch, _) = eqn.params["dimension_numbers"]
        left = eqn.invars[0].aval.shape
        return bool(batch) and prod([left[axis] for axis in contracted]) < _TINY
    if name == "concatenate":
        return in_loop and eqn.outvars[0] not in multiplied
    if name == "pad":
        return not in_loop
    keeps_rows = eqn.params["permutation"][-1] == len(shape) - 1
    free = eqn.outvars[0] in multiplied or eqn.invars[0] in multiplied
    return not (in_loop or keeps_rows or free)


def _reduction_loses(eqn: Eqn, in_loop: bool) -> bool:
    operand = eqn.invars[0].aval
    if not dtypes.issubdtype(operand.dtype, np.floating):
        return True
    if not in_loop:
        return _reduced(eqn) < _SHORT and not _is_summed_by_library(eqn)
    # LLVM sees all of it there, and what is left of rows of odd lengths costs most.
    last = operand.shape[-1]
    along_rows = len(operand.shape) - 1 in eqn.params["axes"]
    return not along_rows or last < _SHORT_IN_LOOPS or last & (last - 1) != 0


def _is_by_rows(eqn: Eqn) -> bool:
    """Whether windows are computed tap by tap, and along none of the taps' own rows."""
    aval = eqn.invars[_WINDOWED[eqn.primitive.name]].aval
    return window_of(eqn.params).are_taken_by_rows(aval)


def _is_summed_by_library(eqn: Eqn) -> bool:
    operand = eqn.invars[0].aval
    large = prod(operand.shape) >= LIBRARY_FROM
    return large and eqn.primitive.name == "reduce_sum" and operand.dtype in IN_LIBRARY


def _is_written_out(eqn: Eqn) -> bool:
    """Whether LLVM would write a reduction, or rows of a long function, out at length."""
    shape = eqn.invars[0].aval.shape
    name = eqn.primitive.name
    if name in _REDUCTIONS:
        return prod(shape) < LIBRARY_FROM and _reduced(eqn) >= _SHORT
    return name in LONG_FORMULAS and _row(shape) in _SHORT_ROWS


def _row(shape: Sequence[int]) -> int:
    """Return how long the rows of a matrix, or a stack of them, are; 0 where there are none."""
    return shape[-1] if len(shape) > 1 else 0


def _reduced(eqn: Eqn) -> int:
    """Return of how many elements a reduction makes one."""
    shape = eqn.invars[0].aval.shape
    return prod([shape[axis] for axis in eqn.params["axes"]])
