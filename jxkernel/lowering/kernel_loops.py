"""Loops of which XLA makes one kernel, so that they run on one core, though their arrays are large.

On CPU, XLA compiles a loop of small arrays to one function of machine code, which saves it a tenth
of a microsecond in each turn.  It misjudges how much a loop reads, and does so whatever the size
of its arrays, unless there is something inside that only a library does.  What is in such a
function is not divided among cores.  XLA can be kept from it in a program as a whole only, and
then takes up to a tenth of a second longer to compile it; so it is where a run gains notably.

The times below are those of an AMD EPYC; only what they are to each other counts.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, subjaxprs
from jxkernel.lowering.dividing import ALONE, division, turns_of
from jxkernel.lowering.unrolling import HOLDERS, IN_LIBRARY, LIBRARY_FROM, LONG_FORMULAS, LOOPS

__all__ = ["has_kernel_loops"]

_NOTABLE = 1e6
"""What a run must gain, in nanoseconds."""

_TURN = 200
"""What a turn takes longer where its operations are kernels of their own."""

_HANDING_OVER = 8_000
"""What it takes to have the cores share a loop over an array, and to wait for the last of them."""

_PLAIN, _LONG = 0.05, 0.5
"""What an element takes in an operation, and in one of a long formula."""

_IN_LIBRARIES = frozenset(
    (
        *("cholesky", "conv_general_dilated", "debug_callback", "eig", "eigh", "ffi_call", "fft"),
        *("geqrf", "hessenberg", "io_callback", "lu", "ormqr", "pure_callback", "qr", "scatter"),
        *(
            "scatter_add",
            "scatter_max",
            "scatter_min",
            "scatter_mul",
            "scatter_sub",
            "schur",
            "sort",
        ),
        *("svd", "top_k", "triangular_solve", "tridiagonal", "tridiagonal_solve"),
    )
)
_REDUCTIONS = frozenset({"reduce_max", "reduce_min", "reduce_sum"})


class _Effects(NamedTuple):
    """What is in a program that may be the body of a loop.

    Attributes:
      gained: nanoseconds that its own operations take less where the cores share them.
      inside: nanoseconds that the loops in it gain, as often as they are run.
      has_library: whether something in it is done by a library, so that no loop around is a kernel.
    """

    gained: float
    inside: float
    has_library: bool


def has_kernel_loops(jaxpr: Jaxpr, cores: int) -> bool:
    """Return whether XLA may make one kernel of each loop of a program.

    Args:
      jaxpr: the program.
      cores: how many threads XLA has.
    """
    if cores < 2 or not any(eqn.primitive.name in HOLDERS for eqn in jaxpr.eqns):
        return True
    return _effects(jaxpr, cores).inside < _NOTABLE


def _effects(jaxpr: Jaxpr, cores: int) -> _Effects:
    gained = inside = 0.0
    has_library = False
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name in HOLDERS:
            for closed in subjaxprs(eqn.params):
                found = closed.remember(_effects_of_program, cores)
                has_library = has_library or found.has_library
                if name in LOOPS:
                    inside += turns_of(eqn) * (
                        found.inside + _gained_by_a_turn(closed, found, cores)
                    )
                else:
                    gained, inside = gained + found.gained, inside + found.inside
        elif _is_in_library(eqn):
            has_library = True
        else:
            gained += sum(_gained(name, var.aval.shape, cores) for var in eqn.outvars[:1])
    return _Effects(gained, inside, has_library)


def _effects_of_program(closed: ClosedJaxpr, cores: int) -> _Effects:
    return _effects(closed.jaxpr, cores)


def _gained_by_a_turn(closed: ClosedJaxpr, body: _Effects, cores: int) -> float:
    """Return how much sooner a turn is over that is not part of a kernel; less than 0 if later."""
    if body.has_library:
        return 0.0
    shared = sum(division(aval.shape, cores) is not None for aval in closed.out_avals)
    return body.gained - _HANDING_OVER * shared - _TURN


def _gained(name: str, shape: tuple[int, ...], cores: int) -> float:
    found = division(shape, cores)
    if found is None:
        return 0.0
    time = ALONE.get(name, _LONG if name in LONG_FORMULAS else _PLAIN)
    return found.elements * time * (1 - 1 / found.pieces)


def _is_in_library(eqn: Eqn) -> bool:
    name = eqn.primitive.name
    if name not in _REDUCTIONS:
        return name in _IN_LIBRARIES
    aval = eqn.invars[0].aval
    if any(map(is_symbolic, aval.shape)):
        return False
    return aval.dtype in IN_LIBRARY and prod(aval.shape) >= LIBRARY_FROM
