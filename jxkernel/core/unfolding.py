"""Unfolding: how an equation that holds programs runs as calls of them, one after the other.

The ``unfold`` rule of a primitive is a generator: it yields a ``Call`` for each program it runs,
is sent the call's results, and returns the results of the equation.  The search for
the first NaN and the stepper, which must see every equation with its values, drive it; ordinary
evaluation does not.  It must not know who drives.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Literal, Var
from jxkernel.records import record

__all__ = ["Call", "Unfolding", "operand_values", "unfold_call", "unfolding"]


@record(eq=False)
class Call:
    """One run of a program inside an equation.

    Attributes:
      label: what it is: a function's name, ``turn 3``, ``true branch``.
      program: the program, whose constants are its own.
      args: the values of its arguments.
      turn: which turn of a loop it is; None outside of loops.
    """

    label: str
    program: ClosedJaxpr
    args: tuple[Any, ...]
    turn: int | None = None


Unfolding = Generator[Call, Sequence[Any], Sequence[Any]]


def unfold_call(parameter: str) -> Callable[..., Unfolding]:
    """Return the ``unfold`` rule of a primitive that calls one program with its operands.

    Args:
      parameter: which of its parameters is the program.
    """

    def unfold(*args: Any, **params: Any) -> Unfolding:
        program: ClosedJaxpr = params[parameter]
        label = params.get("name") or program.jaxpr.name or parameter
        return (yield Call(str(label), program, args))

    return unfold


def unfolding(eqn: Eqn, values: Sequence[Any]) -> Unfolding | None:
    """Return an equation's run as calls of its programs, or None where it is a single step.

    Args:
      eqn: the equation.
      values: the values of its operands.
    """
    rule = eqn.primitive.unfold
    return None if rule is None else rule(*values, **eqn.params)


def operand_values(eqn: Eqn, environment: dict[Var, Any]) -> tuple[Any, ...]:
    """Return the values of an equation's operands."""
    return tuple([a.val if type(a) is Literal else environment[a] for a in eqn.invars])
