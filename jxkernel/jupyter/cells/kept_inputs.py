"""A cell's inputs, and the last good ones of a cell that updates its own state.

Once a NaN has come into the state of ``w = w - 0.1 * g``, each later run begins with it, and none
shows where it came from. So the inputs of the latest run whose state was finite are kept, for
``%jx nan`` to run again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.jupyter.code.static_keys import Static
from jxkernel.tree import physical

__all__ = ["Inputs", "KeptInputs", "is_finite"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """A cell's inputs: traced values and static ones, by name."""

    traced: dict[str, Any]
    static: dict[str, Static]


@dataclass(slots=True)
class KeptInputs:
    """What is kept for a version of a cell.

    Attributes:
      inputs: the inputs of the latest run that began with a finite state, or None.
      label: how the notebook names that run, ``In[3]``.
      state: the names that the cell reads and assigns.
      too_large: the bytes of inputs that were not kept, being more than the limit; 0 for none.
    """

    inputs: Inputs | None = None
    label: str = ""
    state: tuple[str, ...] = ()
    too_large: int = 0

    def keep(self, inputs: Inputs, assigned: Collection[str], label: str, limit: int) -> None:
        """Keep the inputs of a run that has ended, if its state was finite.

        Args:
          inputs: what the run began with.
          assigned: the names that the cell assigns.
          label: the run's.
          limit: inputs of more bytes are not kept.
        """
        self.state = tuple(name for name in inputs.traced if name in assigned)
        if not self.state:
            return
        size = _bytes(inputs.traced)
        self.too_large = size if size > limit else 0
        if self.too_large:
            self.inputs = None
        elif all(is_finite(inputs.traced[name]) for name in self.state):
            self.inputs, self.label = inputs, label

    def as_holder(self) -> str:
        """Say what holds the arrays, where live memory is listed."""
        return f"the inputs of {self.label}, kept for %jx nan"


def is_finite(value: Any) -> bool:
    """Whether no number in a pytree is NaN or infinite; unknown ones are taken for bad."""
    return all(map(_is_finite_leaf, physical.leaves(value)))


def _is_finite_leaf(leaf: Any) -> bool:
    dtype = getattr(leaf, "dtype", None)
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        return True
    if not getattr(leaf, "is_fully_addressable", True):
        return False
    array = np.asarray(leaf)
    with np.errstate(all="ignore"):
        # One pass without an array of truth values; a sum that overflows is looked at again.
        return bool(np.isfinite(array.sum())) or bool(np.isfinite(array).all())


def _bytes(traced: Mapping[str, Any]) -> int:
    return sum(getattr(leaf, "nbytes", 0) for leaf in physical.leaves(dict(traced)))
