"""Checking jaxprs: single assignment, bound variables, and types that the rules agree with.

The tests switch it on for every trace (``jax_enable_checks``); users may too.
"""

from __future__ import annotations

from typing import Any

from jxkernel.config import enable_checks
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Literal, Var, subjaxprs
from jxkernel.errors import JaxprTypeError

__all__ = ["check_if_enabled", "check_jaxpr"]


def check_if_enabled(closed: ClosedJaxpr) -> None:
    """Check a program if ``jax_enable_checks`` is on."""
    if enable_checks.value:
        check_jaxpr(closed.jaxpr)


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Check a program and the programs inside it.

    Raises:
      JaxprTypeError: a variable is unbound or bound twice, or an equation's types are not what
        its primitive's rule gives.
    """
    bound: set[Var] = set()
    for var in [*jaxpr.constvars, *jaxpr.invars]:
        _bind(var, bound, None)
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            _check_bound(atom, bound, eqn)
        _check_types(eqn)
        for closed in subjaxprs(eqn.params):
            check_jaxpr(closed.jaxpr)
        for var in eqn.outvars:
            _bind(var, bound, eqn)
    for atom in jaxpr.outvars:
        _check_bound(atom, bound, None)


def _bind(var: Var, bound: set[Var], eqn: Eqn | None) -> None:
    if var in bound:
        raise JaxprTypeError(f"{var!r} is bound twice", _text(eqn))
    bound.add(var)


def _check_bound(atom: Any, bound: set[Var], eqn: Eqn | None) -> None:
    if type(atom) is not Literal and atom not in bound:
        raise JaxprTypeError(f"{atom!r} is used and never bound", _text(eqn))


def _check_types(eqn: Eqn) -> None:
    out = eqn.primitive.abstract(tuple(atom.aval for atom in eqn.invars), eqn.params)
    expected = list(out) if eqn.primitive.multiple_results else [out]
    found = [var.aval for var in eqn.outvars]
    if [_type(aval) for aval in expected] != [_type(aval) for aval in found]:
        raise JaxprTypeError(
            f"{eqn.primitive.name} gives {[aval.short() for aval in expected]} and the equation "
            f"says {[aval.short() for aval in found]}",
            _text(eqn),
        )


def _type(aval: Any) -> tuple[Any, ...]:
    return aval.shape, aval.dtype


def _text(eqn: Eqn | None) -> str:
    return "" if eqn is None else repr(eqn)
