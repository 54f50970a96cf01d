"""Eager evaluation: one C++ callable per (primitive, parameters).

``EvalTrace`` is the base trace.  It runs a primitive by the same road as a jitted function: a
C++ callable whose cache is keyed by the arguments' types, so a repeated operation does not
enter Python beyond ``bind``.
"""

from __future__ import annotations

from typing import Any

from jxkernel.compile.dispatch import make_callable
from jxkernel.core.avals import ShapedArray
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import Trace, state
from jxkernel.transforms.stage import trace_flat

__all__ = ["EvalTrace", "eager_callable"]

_LIMIT = 4096
_NO_PARAMS: tuple[Any, ...] = ()


class EvalTrace(Trace):
    """Evaluates primitives on arrays."""

    __slots__ = ()

    def __init__(self) -> None:
        self.parent = self

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run a primitive by its C++ callable, or by its own ``evaluate`` rule."""
        if primitive.evaluate is not None:
            return primitive.evaluate(*args, **params)
        key = tuple(params.items()) if params else _NO_PARAMS
        function = primitive.eager_cache.get(key)
        if function is None:
            function = eager_callable(primitive, key)
        return function(*args)


def eager_callable(primitive: Primitive, key: tuple[Any, ...]) -> Any:
    """Make and remember the C++ callable of a primitive with given parameters."""
    params = dict(key)
    programs: dict[tuple[ShapedArray, ...], ClosedJaxpr] = {}

    def apply(*args: Any) -> list[Any]:
        out = primitive.bind(*args, **params)
        return list(out) if primitive.multiple_results else [out]

    def program_for(avals: tuple[ShapedArray, ...]) -> ClosedJaxpr:
        found = programs.get(avals)
        if found is None:
            # It serves in whatever scope it runs later.
            scope, state.scope = state.scope, ()
            try:
                found = programs[avals] = trace_flat(apply, avals, name=primitive.name)
            finally:
                state.scope = scope
        return found

    function = make_callable(
        primitive.name, program_for, as_list=primitive.multiple_results, depth=1
    )
    if len(primitive.eager_cache) >= _LIMIT:
        primitive.eager_cache.clear()
    primitive.eager_cache[key] = function
    return function
