"""Pairs of measurements, and what they say: the median ratio and its spread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

__all__ = ["Row", "Section"]


@dataclass
class Row:
    """One metric, measured in pairs.

    Attributes:
      name: what is measured.
      goal: the ratio to reach, or None.
      show: writes one figure with its unit.
      ours: jxkernel's figures, one per round.
      theirs: jax's figures from the same rounds.
      our_calls: function calls of jxkernel, where they are counted.
      their_calls: function calls of jax.
      error: the last line of what went wrong, or nothing.
    """

    name: str
    goal: float | None
    show: Callable[[float], str]
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    our_calls: float | None = None
    their_calls: float | None = None
    error: str = ""

    @property
    def ratios(self) -> list[float]:
        """The ratio jxkernel / jax of each round, in increasing order."""
        return sorted(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def ratio(self) -> float | None:
        """The median ratio, or None where nothing could be measured."""
        return median(self.ratios) if self.ratios else None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached, or None where there is none."""
        if self.goal is None or self.ratio is None:
            return None
        return self.ratio <= self.goal


@dataclass
class Section:
    """A titled table of rows.

    Attributes:
      title: the heading.
      note: a sentence on what the figures are.
      rows: the rows, in order.
    """

    title: str
    note: str
    rows: Sequence[Row]
