"""The warning about donated arguments whose memory a program cannot use.

It must not know how a program is lowered: the lowered program tells which arguments these are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from jxkernel.core.avals import ShapedArray
from jxkernel.lowering import LoweredProgram
from jxkernel.source import current_user_frame

__all__ = ["warn_of_unusable"]


def warn_of_unusable(
    lowered: LoweredProgram,
    avals: Sequence[ShapedArray],
    names: Callable[[], Sequence[str]] | None,
) -> None:
    """Warn of donated arguments in whose buffers no result of a lowered program fits.

    Args:
      lowered: the program.
      avals: the types of its arguments.
      names: a function that returns a name for each argument, where there is one.
    """
    if not lowered.unusable:
        return
    known = names() if names else [f"argument {index}" for index in range(len(avals))]
    listed = ", ".join(
        f"{known[index]} of type {avals[index].short()}" for index in lowered.unusable
    )
    frame = current_user_frame()
    message = (
        f"Some donated buffers were not usable: {listed}. No result of {lowered.name} that is "
        "still without a buffer has as many bytes, so nothing is saved and these arguments are "
        "kept: leave them out of donate_argnums and donate_argnames, or return a result of their "
        "shape and dtype."
    )
    warnings.warn_explicit(
        message,
        UserWarning,
        frame.file if frame else __file__,
        frame.line if frame else 0,
    )
