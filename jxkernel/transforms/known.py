"""Computing what is known at once, inside a function that is traced.

``KnownTrace`` stands before the current trace: primitives whose operands are no tracers are
evaluated, all others go on to it.
"""

from __future__ import annotations

from typing import Any

from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import Trace, Tracer, base_trace, swap_current

__all__ = ["KnownTrace"]


class KnownTrace(Trace):
    """Evaluates primitives of known operands; the others go to the trace below."""

    __slots__ = ()

    def __init__(self, parent: Trace) -> None:
        self.parent = parent

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Evaluate a primitive, or pass it on where an operand is a tracer."""
        traced = any(isinstance(arg, Tracer) for arg in args)
        trace = self.parent if traced else base_trace()
        previous = swap_current(trace)
        try:
            return trace.process(primitive, args, params)
        finally:
            swap_current(previous)
