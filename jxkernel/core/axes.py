"""Named and batched axes: what ``vmap`` tells its rules."""

from typing import Any

from jxkernel.records import record

__all__ = ["Axis"]


@record()
class Axis:
    """The axis a ``vmap`` adds: its size, and the name collectives may use for it.

    Attributes:
      size: the number of elements along the axis.
      name: the name given by ``axis_name``, or None.
      spmd_name: the mesh axis given by ``spmd_axis_name``, or None.
    """

    size: int
    name: Any = None
    spmd_name: Any = None
