"""The variables of an engine: set by all ranks alike, told apart, and given to the notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from jxkernel.cluster.exchange import (
    broadcast,
    digest,
    gathered,
    is_divided,
    packed,
    unpacked,
)
from jxkernel.cluster.saving import load_variables, savable, save_part
from jxkernel.tree import physical

__all__ = ["digests", "fetch", "load", "own_names", "receive", "refused", "save"]

Packed = tuple[bytes, list[np.ndarray]]


def own_names(shell: Any) -> list[str]:
    """Return the names that cells have given values: no modules, and none of IPython's."""
    # A copy: meanwhile each request to the engine adds names of its own, and takes them away.
    return sorted(
        name
        for name, value in shell.user_ns.copy().items()
        if not name.startswith("_")
        and name not in shell.user_ns_hidden
        and not isinstance(value, ModuleType)
    )


def receive(
    shell: Any,
    skeleton: bytes,
    layout: Sequence[tuple[tuple[int, ...], str]],
    arrays: Sequence[np.ndarray] | None,
    source: int,
) -> None:
    """Set variables to what one rank was given; its arrays come over XLA.

    Args:
      shell: the engine's shell.
      skeleton: the values by name, packed.
      layout: the shape and dtype of each array.
      arrays: the arrays, on the rank that has them.
      source: that rank.
    """
    dtypes = [np.dtype(dtype) for _, dtype in layout]
    sizes = [
        math.prod(shape) * dtype.itemsize for (shape, _), dtype in zip(layout, dtypes, strict=True)
    ]
    if arrays is None:
        whole = np.zeros(sum(sizes), np.uint8)
    else:
        flat = [np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in arrays]
        whole = np.concatenate([np.zeros(0, np.uint8), *flat])
    parts = np.split(broadcast(whole, source) if sum(sizes) else whole, np.cumsum(sizes)[:-1])
    received = [
        part.view(dtype).reshape(shape)
        for part, dtype, (shape, _) in zip(parts, dtypes, layout, strict=False)
    ]
    shell.user_ns.update(unpacked(skeleton, received))


def digests(shell: Any, names: Sequence[str] | None) -> dict[str, str]:
    """Return what tells each variable's value from other ranks'; absent ones are left out."""
    wanted = own_names(shell) if names is None else names
    return {name: digest(shell.user_ns[name]) for name in wanted if name in shell.user_ns}


def fetch(shell: Any, name: str, is_asked: bool, gather: bool) -> Packed | str | None:
    """Return a variable's value packed; None on ranks that are not asked, a reason if it cannot.

    Args:
      shell: the engine's shell.
      name: the variable.
      is_asked: whether this rank is to give it.
      gather: whether divided arrays are made whole, for which every rank is called.
    """
    value = shell.user_ns[name]
    if not gather and any(is_divided(x) for x in physical.leaves(value)):
        return "is divided over the ranks" if is_asked else None
    value = gathered(value) if gather else value
    if not is_asked:
        return None
    try:
        return packed(value)
    except Exception as error:  # pickling raises what the value's class likes
        return f"cannot be pickled: {error}"


def refused(shell: Any, names: Sequence[str] | None) -> dict[str, str]:
    """Return which variables cannot be saved, and why."""
    told = {}
    for name in own_names(shell) if names is None else names:
        known = name in shell.user_ns
        why = savable(shell.user_ns[name]) if known else "it is not defined on all ranks"
        if why:
            told[name] = why
    return told


def save(
    shell: Any,
    folder: str,
    token: str,
    rank: int,
    names: Sequence[str] | None,
    without: Sequence[str],
) -> None:
    """Write this rank's part of a save."""
    wanted = own_names(shell) if names is None else names
    values = {name: shell.user_ns[name] for name in wanted if name not in without}
    save_part(folder, token, rank, values)


def load(shell: Any, folder: str, rank: int, size: int, names: Sequence[str] | None) -> list[str]:
    """Set variables to those of the latest save, and return their names."""
    values = load_variables(folder, rank, size, names)
    shell.user_ns.update(values)
    return sorted(values)
