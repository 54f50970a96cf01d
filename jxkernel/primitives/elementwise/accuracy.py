"""How exact a function must be: what operations take as ``accuracy=``.

XLA may have several implementations of a function; an accuracy chooses among them.  It is a
parameter of the primitive, which no rule but the lowering reads.  Without one the parameter is
absent, so that it costs nothing.
"""

import enum
from typing import Any, TypeAlias

from jxkernel import hlo
from jxkernel.core.primitive import Primitive
from jxkernel.records import record

__all__ = ["Accuracy", "AccuracyMode", "Tolerance", "accuracy_attributes", "bind_accurate"]


class AccuracyMode(enum.Enum):
    """An accuracy by name: the most exact implementation, or the usual one."""

    HIGHEST = 1
    DEFAULT = 2


@record()
class Tolerance:
    """The greatest error allowed; an implementation within any one of the bounds will do.

    Attributes:
      atol: the absolute error.
      rtol: the relative error.
      ulps: the error in units in the last place.

    Raises:
      ValueError: a bound is negative, or all are zero.
    """

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0

    def __post_init__(self) -> None:
        bounds = (self.atol, self.rtol, self.ulps)
        if min(bounds) < 0 or max(bounds) == 0:
            raise ValueError(
                f"Tolerance needs at least one positive bound and no negative one, got {self}"
            )


Accuracy: TypeAlias = Tolerance | AccuracyMode | None


def accuracy_attributes(accuracy: Accuracy) -> dict[str, Any] | None:
    """Return the StableHLO attributes of an operation with an accuracy; None without one."""
    if accuracy is None:
        return None
    if isinstance(accuracy, AccuracyMode):
        text = f"mode = #stablehlo.result_accuracy_mode<{accuracy.name}>"
    else:
        text = (
            f"atol = {accuracy.atol:e}, rtol = {accuracy.rtol:e}, ulps = {accuracy.ulps}, "
            "mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
        )
    return {"result_accuracy": hlo.parse_attribute(f"#stablehlo.result_accuracy<{text}>")}


def bind_accurate(primitive: Primitive, x: Any, accuracy: Any) -> Any:
    """Bind one operand, with the accuracy as a parameter if there is one.

    Raises:
      TypeError: the accuracy is neither a ``Tolerance`` nor an ``AccuracyMode``.
    """
    if accuracy is None:
        return primitive.bind(x)
    if not isinstance(accuracy, Tolerance | AccuracyMode):
        raise TypeError(
            f"{primitive.name} got accuracy {accuracy!r}: give a lax.Tolerance or a "
            "lax.AccuracyMode"
        )
    return primitive.bind(x, accuracy=accuracy)
