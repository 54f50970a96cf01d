"""Functions by pieces: of several functions, the one whose condition an element meets."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel.api.control_flow.branching import switch
from jxkernel.api.vectorize import vmap
from jxkernel.core.filtering import filtered
from jxkernel.core.trace import Tracer
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.promotion import broadcast_to_shape, cast
from jxkernel.numpy.selection import where
from jxkernel.numpy.shapes import ravel
from jxkernel.runtime import ArrayImpl

__all__ = ["piecewise"]

_ARRAYS = (ArrayImpl, Tracer, np.ndarray)


@filtered
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Return, for each element, what the function of the last condition that holds gives.

    Args:
      x: an array.
      condlist: boolean arrays that broadcast to ``x``, or an array of them along its first axis.
        Where there are not as many functions, an array is one condition.
      funclist: a function of one element, or a number, for each condition; one more is for
        elements where none holds, which are 0 otherwise.
      *args: further arguments of the functions.
      **kw: further arguments of the functions.

    Raises:
      ValueError: the lists' lengths do not fit.

    Every function is given every element, one at a time under ``vmap``: what it makes of those
    not its own takes no part, neither in the values nor in derivatives.

    >>> x = jnp.array([-2.0, 0.5, 3.0])
    >>> jnp.piecewise(x, [x < 0, x > 1], [lambda x: -x, 1.0, lambda x: x**2])
    Array([2.  , 0.25, 1.  ], dtype=float32)
    """
    x = asarray(x)
    rank = getattr(condlist, "ndim", int(not isinstance(condlist, bool)))
    conditions = list(condlist) if rank else [condlist]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        conditions = [condlist] if isinstance(condlist, _ARRAYS) else conditions
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ValueError(
            f"piecewise got {len(funclist)} functions for {len(conditions)} conditions: as many, "
            "or one more"
        )
    otherwise = funclist[-1] if len(funclist) > len(conditions) else 0
    which: Any = np.int32(0)
    for place, condition in enumerate(conditions, 1):
        which = where(asarray(condition), np.int32(place), which)

    def branch(function: Any) -> Callable[[Any], Any]:
        def piece(element: Any) -> Any:
            value = function(element, *args, **kw) if callable(function) else function
            return cast(asarray(value), x.dtype)

        return piece

    branches = [branch(function) for function in (otherwise, *funclist[: len(conditions)])]
    # A branch that is not chosen takes no part in derivatives: not so the operands of a select.
    pieces = vmap(lambda i, element: switch(i, branches, element))
    return pieces(ravel(broadcast_to_shape(which, x.shape)), ravel(x)).reshape(x.shape)
