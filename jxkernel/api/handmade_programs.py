"""Equations and variables that are made by hand, by what interprets programs and writes others.

Public as ``jxkernel.extend.core`` and ``jxkernel.extend.source_info_util``.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import axis_environment
from jxkernel.core.jaxpr import Atom, ClosedJaxpr, Eqn, Jaxpr, Var
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import current_trace, state
from jxkernel.core.zeros import Zero
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.source import NameStack, SourceInfo, capture, scoped, user_frames

__all__ = [
    "array_types",
    "axis_names",
    "close_jaxpr",
    "convert_constvars_jaxpr",
    "current",
    "current_name_stack",
    "gensym",
    "has_axis_names",
    "inside_jit",
    "inside_vmap",
    "new_jaxpr_eqn",
    "new_name_stack",
    "new_source_info",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "user_context",
    "zeros_like_aval",
]

array_types: set[type] = {np.ndarray, *[dtype.type for dtype in dtypes.ALL]}
"""The classes of NumPy whose instances are values, as arrays are."""


def gensym() -> Callable[[ShapedArray], Var]:
    """Return a function that makes a variable of a type, a new one each time.

    >>> import jxkernel as jx
    >>> from jxkernel.extend import core
    >>> newvar = core.gensym()
    >>> newvar(jx.typeof(1.0)) is newvar(jx.typeof(1.0))
    False
    """
    return Var


def new_jaxpr_eqn(
    invars: list[Atom],
    outvars: list[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any = frozenset(),
    source_info: SourceInfo | None = None,
    ctx: Any = None,
) -> Eqn:
    """Return an equation.

    Args:
      invars: the operands, variables and literals.
      outvars: the variables of the results.
      primitive: the operation.
      params: its parameters.
      effects: its effects.
      source_info: where it comes from, as ``equation.source_info``.
      ctx: accepted; equations do not remember settings.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.extend import core
    >>> [sin] = jx.make_jaxpr(jnp.sin)(1.0).eqns
    >>> cos = core.new_jaxpr_eqn(sin.invars, sin.outvars, jx.lax.cos_p, sin.params)
    >>> cos.primitive
    cos
    """
    return Eqn(
        list(invars), list(outvars), primitive, params, frozenset(effects), _raw(source_info)
    )


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Return a program without constants as one with their values, which are none.

    Raises:
      ValueError: it has constants.
    """
    if jaxpr.constvars:
        raise ValueError(
            f"close_jaxpr got a program with {len(jaxpr.constvars)} constants: make arguments of "
            "them first, convert_constvars_jaxpr, or give their values, ClosedJaxpr(jaxpr, consts)"
        )
    return ClosedJaxpr(jaxpr)


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program whose first arguments are the constants of another."""
    return jaxpr.replace(constvars=[], invars=jaxpr.all_invars)


def zeros_like_aval(aval: ShapedArray) -> Any:
    """Return zeros of a type.

    >>> import jxkernel as jx
    >>> from jxkernel.interpreters import ad
    >>> ad.zeros_like_aval(jx.typeof(1.5)).item()
    0.0
    """
    return instantiate(Zero(aval))


def _raw(info: SourceInfo | None) -> Any:
    """Return a place as equations keep it."""
    if info is None or info.traceback is None:
        return None
    return scoped(info.traceback, info.name_stack.stack) if info.name_stack else info.traceback


# ---------------------------------------------------------------- what is traced


def _around(mark: str) -> bool:
    trace = current_trace()
    while True:
        if getattr(trace, mark):
            return True
        if trace.parent is trace or trace is state.base:
            return False
        trace = trace.parent


def inside_jit() -> bool:
    """Whether a function is traced now that runs as a program later.

    >>> import jxkernel as jx
    >>> from jxkernel.extend import core
    >>> jx.eval_shape(lambda: print(core.unsafe_am_i_under_a_jit_DO_NOT_USE()))
    True
    """
    return _around("stages")


def inside_vmap() -> bool:
    """Whether what runs now is done for many examples at once."""
    return _around("maps")


def axis_names() -> list[Any]:
    """Return the names of axes that collectives may use now."""
    return [name for name, _ in axis_environment()[0]]


def has_axis_names() -> bool:
    """Whether there are names of axes that collectives may use now."""
    return bool(axis_environment()[0])


# ---------------------------------------------------------------- where equations come from


def current() -> SourceInfo:
    """Return where the code is that runs now, and under which names."""
    return SourceInfo(state.replayed_source or capture(), current_name_stack())


def new_source_info() -> SourceInfo:
    """Return that it is not known where something comes from."""
    return SourceInfo(None, NameStack())


def summarize(source_info: SourceInfo, num_frames: int = 1) -> str:
    """Return the user's lines that something comes from: ``model.py:40 (loss)``, innermost first.

    Args:
      source_info: where it comes from.
      num_frames: how many lines, at most.
    """
    frames = user_frames(source_info.traceback)[:num_frames]
    return "\n".join(map(str, frames)) or "unknown"


def current_name_stack() -> NameStack:
    """Return the names that operations have now: those of ``named_scope``, outermost first."""
    return NameStack(tuple([entry for entry in state.scope if type(entry) is str]))


def new_name_stack(name: str = "") -> NameStack:
    """Return a stack of one name, or of none."""
    return NameStack((name,) if name else ())


@contextmanager
def set_name_stack(name_stack: NameStack) -> Generator[None]:
    """Give operations in a block the names of a stack, and no others."""
    outer = state.scope
    state.scope = name_stack.stack
    try:
        yield
    finally:
        state.scope = outer


def reset_name_stack() -> Any:
    """Give operations in a block no names but those of the block."""
    return set_name_stack(NameStack())


@contextmanager
def user_context(traceback: Any, *, name_stack: NameStack | None = None) -> Generator[None]:
    """Let operations in a block come from another place.

    Args:
      traceback: the place, as ``equation.source_info.traceback``; None for the block's own.
      name_stack: the names that they have; those of the block where None.
    """
    outer = state.replayed_source
    state.replayed_source = traceback or outer
    try:
        with set_name_stack(NameStack(state.scope) if name_stack is None else name_stack):
            yield
    finally:
        state.replayed_source = outer
