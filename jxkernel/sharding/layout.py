"""Layouts: in what order the elements of an array lie in memory.

Arrays are row-major here, and programs take and give such arrays; inside a program XLA orders
elements as it likes.  A ``Format`` is a layout with a sharding, and stands where a sharding may.
"""

from typing import Any

from jxkernel._jaxlib import Sharding
from jxkernel._reprs import with_type
from jxkernel.records import record

__all__ = ["Format", "Layout", "layout_of", "sharding_of"]


class _Auto:
    """A layout that XLA chooses: row-major."""

    def __repr__(self) -> str:
        return "AutoLayout"


@record()
class Layout:
    """In what order the elements of an array lie in memory.

    Attributes:
      major_to_minor: the axes, that along which elements lie furthest apart first.
      tiling: the sizes of tiles, where the device orders elements in tiles.
      sub_byte_element_size_in_bits: the size of an element that is smaller than a byte, else 0.

    ``Layout.AUTO`` leaves it to XLA.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> jnp.zeros((2, 3)).format.layout.major_to_minor
    (0, 1)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    AUTO = _Auto()

    def __post_init__(self) -> None:
        try:
            order = tuple([int(axis) for axis in self.major_to_minor])
        except TypeError:
            raise TypeError(
                f"Layout needs a sequence of axes as major_to_minor, got {self.major_to_minor!r}"
            ) from None
        if sorted(order) != list(range(len(order))):
            raise ValueError(
                f"Layout needs each axis once as major_to_minor, got {order}: "
                f"{tuple(range(len(order)))} is row-major"
            )
        object.__setattr__(self, "major_to_minor", order)


@record()
class Format:
    """A layout and a sharding: how an array lies in memory, and on which devices.

    Attributes:
      layout: a ``Layout``, ``Layout.AUTO``, or None where that is open.
      sharding: a sharding, or None where that is open.

    Raises:
      TypeError: either is of another type.
      ValueError: a layout is given and no sharding.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> from jxkernel.experimental.layout import Format
    >>> x = jnp.arange(6.0).reshape(2, 3)
    >>> jx.device_put(x, Format(sharding=x.sharding)).format == x.format
    True
    """

    layout: Any = None
    sharding: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.layout, (Layout, _Auto, type(None))):
            raise TypeError(
                f"Format needs a Layout, Layout.AUTO or None as layout, got "
                f"{with_type(self.layout)}"
            )
        if not isinstance(self.sharding, (Sharding, type(None))):
            raise TypeError(
                f"Format needs a sharding or None as sharding, got {with_type(self.sharding)}"
            )
        if isinstance(self.layout, Layout) and self.sharding is None:
            raise ValueError(
                f"Format got {self.layout} and no sharding: say where the array lies, as by "
                "NamedSharding or SingleDeviceSharding"
            )


def sharding_of(format: Format, who: str) -> Any:
    """Return the sharding of a format that is asked for; None where that is open.

    Raises:
      NotImplementedError: its layout is not row-major.
    """
    layout = format.layout
    if isinstance(layout, Layout):
        order = layout.major_to_minor
        if order != tuple(range(len(order))):
            raise NotImplementedError(
                f"{who} got a layout with major_to_minor={order}: arrays are row-major here "
                f"({tuple(range(len(order)))}). Inside a jitted function XLA orders elements as "
                "suits it best; for another order in memory, transpose the array"
            )
    return format.sharding


def layout_of(layout: Any) -> Layout:
    """Return what jaxlib's layout says."""
    known = layout._xla_layout()
    tiling = tuple([tuple(tile) for tile in known.tiling()])
    return Layout(tuple(known.minor_to_major())[::-1], tiling, known.element_size_in_bits())
