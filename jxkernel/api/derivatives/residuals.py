"""What differentiation keeps for the way back: ``saved_residuals``, ``print_saved_residuals``."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from jxkernel.api.arguments import Parameters, function_name, leaf_names, split_call
from jxkernel.api.traced import check_callable, leaf_avals
from jxkernel.core.avals import ShapedArray
from jxkernel.core.filtering import filtered, hide_internal_frames
from jxkernel.core.jaxpr import Atom, Eqn, Jaxpr
from jxkernel.higher_order.checkpoint import checkpoint_p, name_p
from jxkernel.higher_order.jit import jit_p
from jxkernel.source import Frame, user_frame
from jxkernel.transforms.dce import dce_jaxpr
from jxkernel.transforms.linearize import linearize_flat
from jxkernel.transforms.stage import trace_flat
from jxkernel.tree import physical

__all__ = ["Residual", "print_saved_residuals", "residuals_of", "saved_residuals"]


class Origin(NamedTuple):
    """What a value is: its words, and the user's line that made it or the argument that it is."""

    what: str
    frame: Frame | None = None
    argument: int | None = None

    def __str__(self) -> str:
        return f"{self.what} from {self.frame}" if self.frame else self.what


class Residual(NamedTuple):
    """A value that is kept for the way back: its type, and where it comes from."""

    aval: ShapedArray
    origin: Origin


_CONSTANT = Origin("from a constant")


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """Return what is kept on the way there for the way back through a function.

    Args:
      f: a function of arrays and pytrees of them.
      *args: its arguments, or anything with their shapes and dtypes.
      **kwargs: its keyword arguments.

    Returns:
      for each array kept, its type and a line that says what it is: an argument, a constant, a
      value named by ``checkpoint_name``, or the result of an operation, with its place in the
      source. Arguments come first, in their order, then constants, and then what is made, in the
      order of the program.

    Raises:
      TypeError: ``f`` is not callable, or an argument is no array.

    Derivatives by all real and complex arguments are taken.  Nothing is computed.
    """
    check_callable("saved_residuals", "f", f)
    return [(one.aval, str(one.origin)) for one in residuals_of(f, *args, **kwargs)]


def residuals_of(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Residual]:
    """Return the same as ``saved_residuals``, in parts."""
    try:
        call = split_call(args, kwargs, Parameters())
        avals = leaf_avals("saved_residuals", "args", call.flat, call.in_tree)
        names = leaf_names(f, call)

        def flat(*leaves: Any) -> list[Any]:
            positional, named = call.in_tree.unflatten(leaves)
            return physical.leaves(f(*positional, **named))

        def residuals(*leaves: Any) -> list[Any]:
            program = linearize_flat(flat, leaves).program
            jaxpr = program.jaxpr
            _, used = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
            return [const for const, read in zip(program.consts, used, strict=False) if read]

        jaxpr = trace_flat(residuals, avals, name=function_name(f)).jaxpr
    except Exception as error:
        hide_internal_frames(error)
        raise
    return _described(jaxpr, names)


def _described(jaxpr: Jaxpr, names: list[str]) -> list[Residual]:
    arguments = [Origin(f"from the argument {name}", argument=at) for at, name in enumerate(names)]
    origins = dict(zip(jaxpr.outvars, _origins(jaxpr, arguments), strict=True))
    made = [var for eqn in jaxpr.eqns for var in eqn.outvars]
    return [
        Residual(var.aval, origins[var])
        for var in [*jaxpr.invars, *jaxpr.constvars, *made]
        if var in origins
    ]


def _origins(jaxpr: Jaxpr, arguments: list[Origin]) -> list[Origin]:
    """Return where each result of a program comes from, looking into the programs it calls."""
    known: dict[Atom, Origin] = dict(zip(jaxpr.invars, arguments, strict=True))
    for eqn in jaxpr.eqns:
        if eqn.primitive in (jit_p, checkpoint_p):
            given = [known.get(atom, _CONSTANT) for atom in eqn.invars]
            known.update(zip(eqn.outvars, _origins(eqn.params["jaxpr"].jaxpr, given), strict=True))
        else:
            known.update(dict.fromkeys(eqn.outvars, _made_by(eqn)))
    return [known.get(atom, _CONSTANT) for atom in jaxpr.outvars]


def _made_by(eqn: Eqn) -> Origin:
    if eqn.primitive is name_p:
        return Origin(f"named {eqn.params['name']!r}", user_frame(eqn.source))
    return Origin(f"output of {eqn.primitive.name}", user_frame(eqn.source))


@filtered
def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print what is kept on the way there for the way back through a function, a line for each.

    Args and errors are those of ``saved_residuals``.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.ad_checkpoint import print_saved_residuals
    >>> print_saved_residuals(jx.checkpoint(lambda x: jnp.sin(jnp.cos(x))), jnp.ones(3))
    f32[3] from the argument x
    """
    for aval, text in saved_residuals(f, *args, **kwargs):
        sys.stdout.write(f"{aval.short()} {text}\n")
