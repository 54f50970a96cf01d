"""Attributes of the ``sdy`` dialect: meshes, and how values are divided over them.

The dialect is loaded when the first sharding is written: it brings its generated Python classes,
which cost as much as a quarter of the import of jxkernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from jxkernel._lazy import late_module
from jxkernel.hlo.attributes import parse_attribute
from jxkernel.hlo.context import context

__all__ = [
    "Inspection",
    "know_shardings",
    "manual_axes",
    "mesh_attribute",
    "sharding_attribute",
    "sharding_per_value",
]


@cache
def know_shardings() -> None:
    """Load the dialect: modules that hold any of it can be read from now on."""
    late_module("jaxlib.mlir._mlir_libs._sdy").register_dialect(context)


def axis_text(name: Any) -> str:
    """Return an axis name as the dialect writes it."""
    text = str(name).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def mesh_attribute(axes: Sequence[tuple[Any, int]], device_ids: Sequence[int] | None = None) -> Any:
    """Return a mesh: named axes with sizes, over devices in order unless ids say otherwise."""
    know_shardings()
    inside = ", ".join(f"{axis_text(name)}={size}" for name, size in axes)
    ids = "" if device_ids is None else f", device_ids={list(device_ids)}"
    return parse_attribute(f"#sdy.mesh<[{inside}]{ids}>")


def sharding_text(
    mesh: str,
    entries: Sequence[Sequence[Any] | None],
    whole: Sequence[Any] = (),
    unreduced: Sequence[Any] = (),
) -> str:
    """Return how a value is divided, without the attribute's name.

    Args:
      mesh: the mesh's symbol.
      entries: for each axis of the value, names of mesh axes; an ellipsis last, or None alone,
        where XLA may divide further.
      whole: mesh axes, in the order of the mesh, over which XLA may not.
      unreduced: mesh axes, in that order, along which devices hold shares of a sum.
    """
    parts = [
        "{" + ", ".join(["?" if name is ... else axis_text(name) for name in names or (...,)]) + "}"
        if names is None or names
        else "{}"
        for names in entries
    ]
    repeated = f", replicated={{{', '.join(map(axis_text, whole))}}}" if whole else ""
    shares = f", unreduced={{{', '.join(map(axis_text, unreduced))}}}" if unreduced else ""
    return f"<@{mesh}, [{', '.join(parts)}]{repeated}{shares}>"


def sharding_attribute(
    mesh: str,
    entries: Sequence[Sequence[Any] | None],
    whole: Sequence[Any] = (),
    unreduced: Sequence[Any] = (),
) -> Any:
    """Return how one value is divided over a mesh; arguments are those of ``sharding_text``."""
    know_shardings()
    return parse_attribute(f"#sdy.sharding{sharding_text(mesh, entries, whole, unreduced)}")


def sharding_per_value(
    mesh: str, values: Sequence[tuple[Sequence[Sequence[Any] | None], Sequence[Any]]]
) -> Any:
    """Return how several values are divided over a mesh.

    Args:
      mesh: the mesh's symbol.
      values: for each its entries, and the mesh axes along which devices hold shares of it.
    """
    know_shardings()
    inside = ", ".join(sharding_text(mesh, entries, (), shares) for entries, shares in values)
    return parse_attribute(f"#sdy.sharding_per_value<[{inside}]>")


def manual_axes(names: Sequence[Any]) -> Any:
    """Return the mesh axes that a manual computation handles itself."""
    know_shardings()
    return parse_attribute(f"#sdy<manual_axes{{{', '.join(map(axis_text, names))}}}>")


class Inspection:
    """A value of a module that somebody wants to know the sharding of.

    Attributes:
      callback: is given the sharding.
      rank: the rank of the value.
      name: from what XLA says of the value, its sharding; set by who compiles the module.
    """

    __slots__ = ("callback", "name", "rank")

    def __init__(self, callback: Callable[[Any], None], rank: int) -> None:
        self.callback = callback
        self.rank = rank
        self.name: Callable[[Any, int], Any] | None = None

    def __call__(self, given: Any) -> None:
        """Tell the callback what XLA says."""
        assert self.name is not None, "set before the module is compiled"
        self.callback(self.name(given, self.rank))
