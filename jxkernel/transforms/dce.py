"""Dead-code elimination: drop equations whose results nobody reads and that have no effect."""

from __future__ import annotations

from collections.abc import Sequence

from jxkernel.core.jaxpr import Eqn, Jaxpr, Var

__all__ = ["dce_jaxpr"]


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], *, keep_invars: bool = False
) -> tuple[Jaxpr, list[bool]]:
    """Return the program for the used results, and which constvars and invars it reads.

    Args:
      jaxpr: the program.
      used_outputs: for each result, whether it is wanted.
      keep_invars: whether unread arguments stay (constvars always stay).
    """
    outvars = [v for v, used in zip(jaxpr.outvars, used_outputs, strict=True) if used]
    live: set[Var] = {atom for atom in outvars if type(atom) is Var}
    eqns: list[Eqn] = []
    for eqn in reversed(jaxpr.eqns):
        kept = _prune(eqn, live)
        if kept is not None:
            live.update(atom for atom in kept.invars if type(atom) is Var)
            eqns.append(kept)
    eqns.reverse()
    used = [var in live for var in [*jaxpr.constvars, *jaxpr.invars]]
    used_args = used[len(jaxpr.constvars) :]
    invars = [v for v, u in zip(jaxpr.invars, used_args, strict=True) if u or keep_invars]
    return jaxpr.replace(invars=invars, outvars=outvars, eqns=eqns), used


def _prune(eqn: Eqn, live: set[Var]) -> Eqn | None:
    """Return the part of an equation that is needed, or None."""
    used = [var in live for var in eqn.outvars]
    if not any(used) and not eqn.effects:
        return None
    if eqn.primitive.dce is None or all(used):
        return eqn
    return eqn.primitive.dce(used, eqn)
