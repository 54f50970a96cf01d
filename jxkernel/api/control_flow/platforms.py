"""``platform_dependent``: one computation written differently for different platforms."""

from collections.abc import Callable
from typing import Any

from jxkernel.api.control_flow.branching import apply_chosen
from jxkernel.api.traced import check_callable
from jxkernel.compile import target_device
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.trace import evaluating
from jxkernel.higher_order.platforms import place_of, platform_index
from jxkernel.tree import physical

__all__ = ["platform_dependent"]

_KNOWN = ("cpu", "cuda", "gpu", "rocm", "tpu")


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Apply the function that was written for the platform that the program is compiled for.

    Args:
      *args: trees of arrays.
      default: the function for the platforms that have none of their own.
      **per_platform: functions by platform: ``cpu``, ``cuda``, ``rocm``, ``gpu`` (both of these)
        or ``tpu``; their results have one structure and the same shapes and dtypes.

    Raises:
      ValueError: there is no function, or a platform is unknown.
      NotImplementedError: no function is for the platform at hand.
      TypeError: the results' types differ.

    Only the function chosen is lowered.  The derivative is that of the function chosen.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel import lax
    >>> float(lax.platform_dependent(4.0, cpu=jnp.sqrt, default=lambda x: x**0.5))
    2.0
    """
    try:
        unknown = [name for name in per_platform if name not in _KNOWN]
        if unknown:
            raise ValueError(
                f"platform_dependent got {unknown[0]!r}: platforms are {', '.join(_KNOWN)}"
            )
        groups: list[tuple[str, ...] | None] = [(name,) for name in per_platform]
        branches = list(per_platform.values())
        if default is not None:
            groups.append(None)
            branches.append(default)
        if not branches:
            raise ValueError("platform_dependent needs a function for a platform, or default=...")
        names = [*per_platform, "default"][: len(branches)]
        for name, branch in zip(names, branches, strict=True):
            check_callable("platform_dependent", name, branch)
        if evaluating():
            device, _ = target_device(physical.leaves(args))
            return branches[place_of(device.platform, tuple(groups))](*args)
        index = platform_index(tuple(groups))
        return apply_chosen("platform_dependent", index, branches, args, names)
    except Exception as error:
        hide_internal_frames(error)
        raise
