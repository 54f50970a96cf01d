"""Operands in groups, such as constants, carry and scanned arrays; and flags of them that grow.

A primitive takes its operands one after the other.  Its rules name the groups: they ask for them
by ``split`` and put them in another order by ``interleaved``, and count nothing themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeVar

from jxkernel.records import record

__all__ = ["Flags", "Groups", "grown_to_fixpoint"]

Flags = tuple[bool, ...]
"""Of each operand or result, whether something holds."""

Found = TypeVar("Found")


@record()
class Groups:
    """Groups that follow each other, by their sizes."""

    sizes: tuple[int, ...]

    @staticmethod
    def of(*groups: Sequence[Any]) -> Groups:
        """Return the groups of the sizes that these have."""
        return Groups(tuple(map(len, groups)))

    @staticmethod
    def marked(*flags: Flags) -> Groups:
        """Return groups as large as the marked parts of these."""
        return Groups(tuple(map(sum, flags)))

    def _bounds(self) -> Iterator[tuple[int, int]]:
        ends = list(accumulate(self.sizes))
        return zip([0, *ends[:-1]], ends, strict=True)

    def split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
        """Return the groups of values, or of flags or atoms that stand for them."""
        assert len(values) == sum(self.sizes), "each value is in one group"
        return tuple([tuple(values[start:end]) for start, end in self._bounds()])

    def interleaved(self, more: Groups) -> tuple[int, ...]:
        """Return the order that puts each group of ``more`` behind the group with its number here.

        Args:
          more: the groups that follow, as many as these.
        """
        total = sum(self.sizes)
        pairs = zip(self._bounds(), more._bounds(), strict=True)
        return tuple(
            [i for a, b in pairs for i in (*range(*a), *range(total + b[0], total + b[1]))]
        )


def grown_to_fixpoint(
    flags: Sequence[bool], step: Callable[[Flags], tuple[Sequence[bool], Found]]
) -> tuple[Flags, Found]:
    """Return the least flags, at or above the first, that a step adds nothing to.

    What holds of a part of a carry at one turn may hold of another part at the next.

    Args:
      flags: the first flags.
      step: from flags at the beginning of a turn to those at its end, and what else it finds.

    Returns:
      the flags, and what the last step found.
    """
    flags = tuple(flags)
    while True:
        out, found = step(flags)
        grown = tuple([a or b for a, b in zip(flags, out, strict=True)])
        if grown == flags:
            return flags, found
        flags = grown
