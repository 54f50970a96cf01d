"""Which device holds which part of an array, drawn: as text, and as HTML.

It reads shapes and shardings, never an array's data.
"""

import html
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from jxkernel.primitives.inspecting import inspect_sharding_p
from jxkernel.sharding.named import positions_of

__all__ = [
    "ShardingView",
    "inspect_array_sharding",
    "visualize_array_sharding",
    "visualize_sharding",
]

_HUES = 360


class ShardingView:
    """The pieces of an array of some shape under a sharding; shows itself as text or HTML.

    Args:
      shape: the array's shape.
      sharding: how it is divided.

    Raises:
      ValueError: an array of that shape cannot be divided so.

    >>> import jxkernel as jx
    >>> rows = jx.NamedSharding(jx.make_mesh((1,), ("x",)), jx.P("x"))
    >>> print(jx.debug.ShardingView((4, 2), rows))
    [4, 2], 1 piece of 4x2
    +-------+
    | CPU 0 |
    +-------+
    """

    def __init__(self, shape: Sequence[int], sharding: Any) -> None:
        self.shape = tuple(shape)
        self.sharding = sharding
        self.piece = tuple(sharding.shard_shape(self.shape))
        self.counts = tuple(
            [size // part if part else 1 for size, part in zip(self.shape, self.piece, strict=True)]
        )
        places = positions_of(sharding, len(self.shape))
        self.holders: dict[tuple[int, ...], list[Any]] = {}
        for device, place in zip(sharding._internal_device_list, places, strict=True):
            self.holders.setdefault(place, []).append(device)

    def _title(self) -> str:
        count = prod(self.counts)
        size = "x".join(map(str, self.piece)) or "one number"
        pieces = "1 piece" if count == 1 else f"{count} pieces"
        return f"{list(self.shape)}, {pieces} of {size}"

    def _label(self, place: tuple[int, ...]) -> str:
        devices = self.holders[place]
        numbers = ",".join(str(device.id) for device in devices)
        return f"{devices[0].platform.upper()} {numbers}"

    def grids(self) -> list[tuple[str, list[list[tuple[int, ...]]]]]:
        """Return, for each place along the leading axes, its name and the rows of its cells."""
        rank = len(self.counts)
        leading = self.counts[: max(rank - 2, 0)]
        rows, columns = ((1, 1), (1, *self.counts), self.counts[-2:])[min(rank, 2)]
        found: list[tuple[str, list[list[tuple[int, ...]]]]] = []
        for outer in _places(leading):
            cells = [[_cell(rank, outer, r, c) for c in range(columns)] for r in range(rows)]
            name = "".join(
                [
                    f"{at * part}:{(at + 1) * part}, "
                    for at, part in zip(outer, self.piece, strict=False)
                ]
            )
            found.append((f"[{name}:, :]" if outer else "", cells))
        return found

    def text(self) -> str:
        """Return the drawing as text."""
        blocks = [self._title()]
        for name, rows in self.grids():
            labels = [[self._label(place) for place in row] for row in rows]
            width = max(len(label) for row in labels for label in row)
            rule = "+" + "+".join(["-" * (width + 2)] * len(labels[0])) + "+"
            lines = [name] if name else []
            for row in labels:
                lines += [rule, "|" + "|".join(f" {label:^{width}} " for label in row) + "|"]
            blocks.append("\n".join([*lines, rule]))
        return "\n".join(blocks)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        parts = [f"<div>{html.escape(self._title())}</div>"]
        total = max(len(self.holders), 1)
        hue = {place: n * _HUES // total for n, place in enumerate(sorted(self.holders))}
        for name, rows in self.grids():
            lines: list[str] = []
            for row in rows:
                cells = "".join(
                    [
                        f'<td style="background:hsl({hue[place]} 70% 50% / .25);border:1px solid '
                        f'currentColor;padding:.4em .8em;text-align:center">'
                        f"{html.escape(self._label(place))}</td>"
                        for place in row
                    ]
                )
                lines.append(f"<tr>{cells}</tr>")
            caption = f"<caption>{html.escape(name)}</caption>" if name else ""
            parts.append(
                '<table style="border-collapse:collapse;display:inline-table;margin:.3em">'
                f"{caption}{''.join(lines)}</table>"
            )
        return f"<div>{''.join(parts)}</div>"


def _places(counts: Sequence[int]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for count in counts:
        places = [(*place, at) for place in places for at in range(count)]
    return places


def _cell(rank: int, outer: tuple[int, ...], row: int, column: int) -> tuple[int, ...]:
    return () if rank == 0 else (column,) if rank == 1 else (*outer, row, column)


def visualize_sharding(
    shape: Sequence[int],
    sharding: Any,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Print which device holds which part of an array of some shape.

    Args:
      shape: the shape.
      sharding: how it is divided.
      use_color: accepted; text has no colours here, the HTML of ``ShardingView`` has.
      scale: accepted.
      min_width: accepted.
      max_width: accepted.
      color_map: accepted.

    Raises:
      ValueError: an array of that shape cannot be divided so.

    >>> import jxkernel as jx
    >>> whole = jx.NamedSharding(jx.make_mesh((1,), ("x",)), jx.P())
    >>> jx.debug.visualize_sharding((2,), whole)
    [2], 1 piece of 2
    +-------+
    | CPU 0 |
    +-------+
    """
    print(ShardingView(shape, sharding).text())  # noqa: T201 - printing is what it is for


def inspect_array_sharding(value: Any, *, callback: Callable[[Any], None]) -> None:
    """Call a function with the sharding of an array, or with what the compiler made it.

    Inside a jitted function this tells how XLA divides the value: when the program is compiled,
    once for each executable.  It tells nothing inside ``shard_map``, whose values are pieces.

    Args:
      value: an array, or a traced value.
      callback: is given the sharding; None for one that the mesh has no words for.

    Raises:
      TypeError: it is no array.

    >>> import jxkernel as jx
    >>> def f(x):
    ...     jx.debug.inspect_array_sharding(x * 2, callback=lambda s: print(s.num_devices))
    ...     return x
    >>> jx.jit(f)(1.0).item()
    1
    1.0
    """
    inspect_sharding_p.bind(value, callback=callback)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print which device holds which part of an array.

    Args:
      arr: an array, or a traced value: see ``inspect_array_sharding``.
      **kwargs: those of ``visualize_sharding``.

    Raises:
      TypeError: it is no array.

    >>> import jxkernel as jx
    >>> jx.debug.visualize_array_sharding(jx.numpy.zeros(3))
    [3], 1 piece of 3
    +-------+
    | CPU 0 |
    +-------+
    """
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding, **kwargs)
    )
