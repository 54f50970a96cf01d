"""The first NaN or infinity of a call: which equation made it, of which operands, on which line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jxkernel.api.arguments import leaf_names
from jxkernel.api.jit import jit, jit_state
from jxkernel.compile import execute
from jxkernel.compile.nonfinite import nonfinite_error
from jxkernel.errors import NonFiniteError

__all__ = ["find_nonfinite"]


def find_nonfinite(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> NonFiniteError | None:
    """Return what first made a result of ``fun(*args, **kwargs)`` NaN or infinite, or None.

    The call is traced and run; if a result is bad it runs again equation by equation, into loops,
    branches and the backward pass.  The equation found is the one from which the bad value leads to
    the result: what a ``where`` drops is not blamed.  Arguments that the function donates are kept;
    callbacks run again.  A NaN is looked for first, then an infinity.

    Args:
      fun: a function of arrays, jitted or not; ``grad(f)`` to look at a backward pass.
      *args: its arguments.
      **kwargs: its arguments by name.

    Returns:
      the error that ``debug_nans`` would raise, not raised: its attributes ``kind``, ``equation``,
      ``details``, ``where``, ``code`` and ``underline``, and its text, say what was found.

    Raises:
      ConcretizationTypeError: ``fun`` cannot be traced for these arguments.

    >>> from jxkernel import numpy as jnp
    >>> found = find_nonfinite(lambda x: jnp.log(x) * 0.0, jnp.array([1.0, 0.0]))
    >>> found.kind, found.equation
    ('nan', 'b:f32[2] = mul a 0.0:f32[]')
    >>> print(found.details[2][:48])
    The infinity came out of: b:f32[2] = log a (<doc
    """
    state = jit_state(fun) or jit_state(jit(fun))
    assert state is not None
    call, entry = state.trace_call(args, kwargs)
    outs = execute(entry.closed, call.flat, name=state.name)
    return nonfinite_error(
        entry.closed,
        call.flat,
        outs,
        ("nan", "inf"),
        name=state.name,
        execute=execute,
        arguments=leaf_names(state.fun, call),
    )
