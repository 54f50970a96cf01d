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
      goal: the ratio to reach (or, where ``absolute``, jxkernel's own figure), or None.
      show: writes one figure with its unit.
      ours: jxkernel's figures, one per round.
      theirs: jax's figures from the same rounds.
      counts: by kind, what was counted exactly: jxkernel's figure and jax's.
      absolute: whether the goal is for jxkernel's figure, not for the ratio.
      error: the last line of what went wrong, or nothing.
    """

    name: str
    goal: float | None
    show: Callable[[float], str]
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    counts: dict[str, tuple[float, float]] = field(default_factory=dict)
    absolute: bool = False
    error: str = ""

    def add(self, ours: float, theirs: float) -> None:
        """Add one round's figures."""
        self.ours.append(ours)
        self.theirs.append(theirs)

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
        return (median(self.ours) if self.absolute else self.ratio) <= self.goal


@dataclass
class Section:
    """A titled table of rows.

    Attributes:
      title: the heading.
      note: a sentence on what the figures are.
      rows: the rows, in order.
      heads: what the two figures of a row are.
      text: a table that is written already, in place of rows.
    """

    title: str
    note: str
    rows: Sequence[Row]
    heads: tuple[str, str] = ("jxkernel", "jax")
    text: str = ""
