"""Random keys that are made from keys: stored, not computed anew where they are read.

XLA's CPU compiler computes what is cheap for each element in every loop that reads it, and the
twenty rounds of a hash count as cheap.  So numbers drawn by a key that was split from another, and
that from a third, were drawn by a loop that held all three hashes: n draws from a key that is split
n times, as in a network with n layers of dropout, were n * n hashes to compile.

A single number is drawn where the hash is: to start a loop takes longer than one hash more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Jaxpr, Var, subjaxprs
from jxkernel.lowering.chains import CALLS

__all__ = ["made_keys"]

_HASH = "threefry2x32"

_MOVES = frozenset(
    ("broadcast_in_dim", "dynamic_slice", "reshape", "slice", "squeeze", "transpose")
)
"""Primitives by which key data are taken from an array of keys."""

_NONE: frozenset[Var] = frozenset()


def made_keys(jaxpr: Jaxpr) -> frozenset[Var]:
    """Return the arrays of keys that equations of a program make, and others hash with."""
    read = list(_keys_read(jaxpr))
    if not read:
        return _NONE
    makers = _makers(jaxpr)
    origins = [_origin(var, makers) for var in read]
    return frozenset([var for var in origins if var in makers])


def _keys_read(jaxpr: Jaxpr) -> Iterator[Var]:
    """Yield what hashes of arrays take for keys, also those in programs that are called."""
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        if name == _HASH:
            if eqn.outvars[0].aval.shape:
                yield from [atom for atom in eqn.invars[:2] if type(atom) is Var]
        elif name in CALLS:
            places = next(subjaxprs(eqn.params)).remember(_arguments_read_as_keys)
            yield from [atom for place in places if type(atom := eqn.invars[place]) is Var]


def _arguments_read_as_keys(closed: ClosedJaxpr) -> tuple[int, ...]:
    jaxpr = closed.jaxpr
    makers = _makers(jaxpr)
    origins = {_origin(var, makers) for var in _keys_read(jaxpr)}
    return tuple([place for place, var in enumerate(jaxpr.invars) if var in origins])


def _makers(jaxpr: Jaxpr) -> dict[Var, Eqn]:
    return {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}


def _origin(var: Var, makers: Mapping[Var, Eqn]) -> Var:
    """Return the array of keys that key data were taken from."""
    while (maker := makers.get(var)) is not None and maker.primitive.name in _MOVES:
        source = maker.invars[0]
        if type(source) is not Var:
            break
        var = source
    return var
