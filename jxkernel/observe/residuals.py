"""What a derivative keeps between the way there and the way back, and what ``checkpoint`` saves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.api.arguments import Parameters, leaf_names, split_call
from jxkernel.api.derivatives.autodiff import vjp
from jxkernel.api.derivatives.checkpoint import checkpoint, checkpoint_policies
from jxkernel.api.derivatives.residuals import Residual, residuals_of
from jxkernel.api.traced import leaf_avals
from jxkernel.core.avals import abstractify
from jxkernel.observe.costs import program_cost
from jxkernel.transforms.stage import trace_flat
from jxkernel.tree import physical

__all__ = ["KeptForBackward", "KeptValue", "Way", "residuals"]

_POLICY = "jx.checkpoint_policies.dots_saveable"


@dataclass(frozen=True, slots=True)
class KeptValue:
    """A value that is kept for the way back.

    Attributes:
      type: its type, such as ``f32[64,64]``.
      bytes: its size.
      what: an argument, a constant, a named value, or the operation that made it.
      file: where the user's line is that made it; empty for what no line made.
      line: its number, from 1.
    """

    type: str
    bytes: int
    what: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Way:
    """A way to differentiate a function.

    Attributes:
      code: what one writes for it, with ``f`` for the function.
      bytes: what is kept for the way back, the arguments aside.
      flops: the operations of both ways together.
    """

    code: str
    bytes: int
    flops: int


@dataclass(frozen=True, slots=True)
class KeptForBackward:
    """What a derivative keeps.

    Attributes:
      values: what is kept, the largest first.
      ways: the function as it is, and under ``checkpoint``, counted from their programs.
    """

    values: tuple[KeptValue, ...]
    ways: tuple[Way, ...]


def residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> KeptForBackward:
    """Return what the derivative of a call keeps for the way back; nothing is computed.

    Derivatives by all real and complex arguments are counted.

    Args:
      fun: a function of arrays, jitted or not.
      *args: its arguments, or ``ShapeDtypeStruct``s that stand for them.
      **kwargs: its arguments by name.

    Raises:
      TypeError: no argument is real or complex, so that nothing is differentiated.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> found = residuals(lambda x: jnp.sum(jnp.sin(jnp.cos(x))), jnp.ones(3))
    >>> [(one.type, one.what) for one in found.values]
    [('f32[3]', 'output of sin'), ('f32[3]', 'output of cos')]
    >>> [way.bytes for way in found.ways]
    [24, 0, 0]
    """
    leaves, structure = physical.flatten((args, kwargs))
    varied = [at for at, leaf in enumerate(leaves) if _is_differentiable(leaf)]
    if not varied:
        raise TypeError("residuals: no argument is a real or complex array to differentiate by")

    def of_varied(*values: Any) -> Any:
        filled = list(leaves)
        for at, value in zip(varied, values, strict=True):
            filled[at] = value
        positional, named = structure.unflatten(filled)
        return fun(*positional, **named)

    given = [leaves[at] for at in varied]
    ways = (
        ("f", of_varied),
        (
            f"jx.checkpoint(f, policy={_POLICY})",
            checkpoint(of_varied, policy=checkpoint_policies.dots_saveable),
        ),
        ("jx.checkpoint(f)", checkpoint(of_varied)),
    )
    kept = [residuals_of(way, *given) for _, way in ways]
    named = leaf_names(fun, split_call(args, kwargs, Parameters()))
    names = [named[at] for at in varied]
    values = [_value(one, names) for one in kept[0]]
    return KeptForBackward(
        tuple(sorted(values, key=lambda one: -one.bytes)),
        tuple(
            Way(code, sum(map(_made_bytes, found)), _flops(way, given))
            for (code, way), found in zip(ways, kept, strict=True)
        ),
    )


def _is_differentiable(leaf: Any) -> bool:
    try:
        return dtypes.issubdtype(abstractify(leaf).dtype, np.inexact)
    except TypeError:
        return False


def _value(one: Residual, names: Sequence[str]) -> KeptValue:
    what, frame, argument = one.origin
    if argument is not None:
        what = f"the argument {names[argument]}"
    place = (frame.file, frame.line) if frame else ("", 0)
    return KeptValue(one.aval.short(), _bytes(one.aval), what, *place)


def _bytes(aval: Any) -> int:
    return int(aval.size) * aval.dtype.itemsize


def _made_bytes(one: Residual) -> int:
    """The size of what is kept besides arguments, which are there in any case."""
    return _bytes(one.aval) if one.origin.argument is None else 0


def _flops(fun: Callable[..., Any], given: Sequence[Any]) -> int:
    """The operations of the way there and the way back, as traced."""

    def both(*leaves: Any) -> list[Any]:
        outs, pullback = vjp(fun, *leaves)
        return physical.leaves((outs, pullback(physical.map(_seed, outs))))

    _, structure = physical.flatten(tuple(given))
    avals = leaf_avals("residuals", "args", list(given), structure)
    return program_cost(trace_flat(both, avals, name="residuals").jaxpr).flops


def _seed(out: Any) -> Any:
    aval = abstractify(out)
    if dtypes.issubdtype(aval.dtype, np.inexact):
        return out
    return np.zeros(aval.shape, dtypes.float0)
