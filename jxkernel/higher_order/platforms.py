"""``platform_index_p``: which of several groups of platforms a program is lowered for.

Its value is a constant of the module, so a ``cond`` that chooses by it lowers the one branch that
runs: branches for other platforms need not be possible on this one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray
from jxkernel.core.primitive import Primitive, Undefined

__all__ = ["place_of", "platform_index", "platform_index_p"]

Platforms = tuple[tuple[str, ...] | None, ...]

_NO_OPERANDS = Undefined("platform_index has no operands")
_GROUPS = {"gpu": ("cuda", "rocm")}

platform_index_p = Primitive("platform_index")


def platform_index(platforms: Platforms) -> Any:
    """Return the place of the group that the platform belongs to, as int32.

    Args:
      platforms: groups of platforms' names; None at the end stands for all others.
    """
    return platform_index_p.bind(platforms=platforms)


def place_of(name: str, platforms: Platforms) -> int:
    """Return the place of the group that a platform belongs to.

    Raises:
      NotImplementedError: it belongs to none.
    """
    for place, group in enumerate(platforms):
        if group is None or any(name in _GROUPS.get(one, (one,)) for one in group):
            return place
    known = ", ".join(one for group in platforms for one in group or ())
    raise NotImplementedError(
        f"platform_dependent has no branch for {name!r}, only for {known}: give default=..."
    )


@platform_index_p.def_abstract_eval
def _platform_index_abstract_eval(*, platforms: Platforms) -> ShapedArray:
    return ShapedArray((), np.dtype(np.int32))


@platform_index_p.def_lower
def _platform_index_lower(context: Any, *, platforms: Platforms) -> Any:
    return context.constant(np.int32(place_of(context.module.platform, platforms)))


platform_index_p.define(jvp=_NO_OPERANDS, transpose=_NO_OPERANDS, batch=_NO_OPERANDS)
