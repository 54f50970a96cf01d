"""Effects: what an equation does besides computing its results.

Effects are hashable markers collected on equations and jaxprs.  An equation with one is never
dropped as dead code.  Equations with an *ordered* effect run one after the other, in program
order, within a program and from one program to the next.  An *observing* effect only looks: it
may happen again where a value is computed again, and for examples of a batch that did not choose
the branch it stands in; any other effect must happen exactly as often as the program says.

Order is kept by data: compiled, an ordered effect takes a *token* and gives the next one
(``lowering``, ``runtime.ordering``).  This module must not know what any effect does.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from jxkernel.core.avals import ShapedArray
from jxkernel.records import record

__all__ = [
    "DEBUG",
    "IO",
    "ORDERED_DEBUG",
    "ORDERED_IO",
    "TOKEN",
    "AccumEffect",
    "DebugEffect",
    "Effect",
    "EffectTypeSet",
    "OrderedDebugEffect",
    "ReadEffect",
    "WriteEffect",
    "acting_effects",
    "effect_names",
    "has_ordered",
]


@record()
class Effect:
    """A kind of side effect, such as a callback to Python.

    Attributes:
      name: the word jaxprs print for it; where empty, the name of the class.
      ordered: whether two equations with it (or any other ordered effect) keep their order.
      observing: whether it only looks, so that happening more often does no harm.
    """

    name: str = ""
    ordered: bool = False
    observing: bool = False

    @property
    def called(self) -> str:
        """What messages call it."""
        return self.name or type(self).__name__


class DebugEffect(Effect):
    """The kind of ``DEBUG``, by which programs that read effects know it."""

    __slots__ = ()

    def __init__(self) -> None:
        Effect.__init__(self, "Debug", observing=True)


class OrderedDebugEffect(Effect):
    """The kind of ``ORDERED_DEBUG``."""

    __slots__ = ()

    def __init__(self) -> None:
        Effect.__init__(self, "OrderedDebug", ordered=True, observing=True)


@record()
class _StateEffect(Effect):
    """What is done to a reference, in programs that are looked at.

    Attributes:
      variable: the reference.
    """

    variable: Hashable = None


class ReadEffect(_StateEffect):
    """A reference that the program takes is read."""

    __slots__ = ()

    def __init__(self, variable: Hashable) -> None:
        _StateEffect.__init__(self, "Read", variable=variable)


class WriteEffect(_StateEffect):
    """A reference that the program takes is written."""

    __slots__ = ()

    def __init__(self, variable: Hashable) -> None:
        _StateEffect.__init__(self, "Write", variable=variable)


class AccumEffect(_StateEffect):
    """A reference that the program takes is added to."""

    __slots__ = ()

    def __init__(self, variable: Hashable) -> None:
        _StateEffect.__init__(self, "Accum", variable=variable)


DEBUG = DebugEffect()
"""Showing a value: ``debug.print``, ``debug.callback``."""

ORDERED_DEBUG = OrderedDebugEffect()
"""Showing values in program order."""

IO = Effect("IO")
"""Talking to the world outside: ``io_callback``."""

ORDERED_IO = Effect("OrderedIO", ordered=True)
"""Talking to the world outside, in program order."""


TOKEN = ShapedArray((), np.dtype(np.uint32))
"""The type of tokens: ordinary data, so that every compiler and device keeps their order."""


def has_ordered(effects: Iterable[Effect]) -> bool:
    """Whether any of the effects is ordered."""
    return any(effect.ordered for effect in effects)


def acting_effects(effects: Iterable[Effect]) -> list[Effect]:
    """Return the effects that do more than look."""
    return [effect for effect in effects if not effect.observing]


def effect_names(effects: Iterable[Effect]) -> str:
    """Return effects as a message names them."""
    return ", ".join(sorted(effect.called for effect in effects))


class EffectTypeSet:
    """Kinds of effects: classes, whose instances are in the set, those of subclasses too.

    Args:
      kinds: the classes.

    >>> from jxkernel.core.effects import DEBUG, Effect, EffectTypeSet
    >>> class Counted(Effect):
    ...     pass
    >>> kinds = EffectTypeSet()
    >>> kinds.add_type(Counted)
    >>> kinds.contains(Counted()), kinds.filter_not_in([Counted(), DEBUG]) == [DEBUG]
    (True, True)
    """

    def __init__(self, kinds: Iterable[type[Effect]] = ()) -> None:
        self._kinds = tuple(kinds)

    def add_type(self, effect_type: type[Effect]) -> None:
        """Put a class into the set."""
        self._kinds = (*self._kinds, effect_type)

    def contains(self, eff: Effect) -> bool:
        """Whether an effect is of a class in the set."""
        return isinstance(eff, self._kinds)

    def filter_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """Return those effects that are in the set."""
        return [effect for effect in effects if self.contains(effect)]

    def filter_not_in(self, effects: Iterable[Effect]) -> list[Effect]:
        """Return those effects that are not in the set."""
        return [effect for effect in effects if not self.contains(effect)]
