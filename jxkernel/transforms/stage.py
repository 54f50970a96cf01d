"""Staging: record what a function does as a jaxpr.

``StageTrace`` records every primitive, whatever its arguments: under ``jit`` everything is
staged.  It is the hottest Python of the system when functions are traced, so ``process`` is
written flat.  It must not know of compilers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import source
from jxkernel.config import enable_x64, no_tracing
from jxkernel.core.avals import ShapedArray, abstractify, type_of
from jxkernel.core.depth import allow_depth
from jxkernel.core.jaxpr import NO_EFFECTS, Atom, ClosedJaxpr, Eqn, Jaxpr, Literal, Var
from jxkernel.core.leaks import check_leaks
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import (
    Trace,
    Tracer,
    place_in_source,
    state,
    swap_current,
    unexpected_tracer,
)
from jxkernel.core.widths import any_wide
from jxkernel.errors import UnexpectedTracerError
from jxkernel.primitives.collective.varying import agreeing

__all__ = ["StageTrace", "StageTracer", "trace_flat"]

_capture: Callable[[], Any] = source.capture
_SCALARS = (int, float, complex, bool)


class StageTracer(Tracer):
    """A value being recorded; ``variable`` is its name in the jaxpr."""

    __slots__ = ("variable",)

    def __init__(self, trace: StageTrace, var: Var) -> None:
        self.owner = trace
        self.aval = var.aval
        self.variable = var

    def _concrete(self, error: type[Exception], wanted: str | None = None) -> Any:
        trace = self.owner
        if isinstance(trace, StageTrace) and not trace.open:
            raise unexpected_tracer(self)
        return super()._concrete(error, wanted)


class StageTrace(Trace):
    """Records equations; ``arguments()`` names the invars for error messages."""

    __slots__ = (
        "arguments",
        "const_values",
        "constvars",
        "effects",
        "eqns",
        "function_name",
        "invars",
        "open",
        "recorder",
        "references",
    )

    stages = True

    def __init__(
        self,
        parent: Trace,
        function_name: str = "",
        arguments: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.parent = parent
        self.function_name = function_name
        self.arguments = arguments
        self.eqns: list[Eqn] = []
        self.invars: list[Var] = []
        self.constvars: dict[int, Var] = {}
        self.const_values: list[Any] = []
        self.effects: frozenset[Any] = NO_EFFECTS
        self.open = True
        self.references: Any = None
        self.recorder: Any = None

    def argument(self, aval: ShapedArray) -> StageTracer:
        """Add an argument of the given type and return its tracer."""
        var = Var(aval)
        self.invars.append(var)
        return StageTracer(self, var)

    def lift(self, value: Any) -> Atom:
        """Return the atom for a value that is not a tracer of this trace."""
        kind = type_of(value)
        if kind in _SCALARS:
            return Literal(value, abstractify(value))
        if issubclass(kind, np.generic) or (kind is np.ndarray and not value.ndim):
            aval = abstractify(value)
            return Literal(aval.dtype.type(value[()]), aval)
        if kind is StageTracer and not value.owner.open:
            raise unexpected_tracer(value)
        var = self.constvars.get(id(value))
        if var is None:
            var = Var(abstractify(value))
            self.constvars[id(value)] = var
            self.const_values.append(value)
        return var

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Record an equation, whatever its arguments."""
        if enable_x64.seen and not enable_x64.value and any_wide(map(abstractify, args)):
            with enable_x64(True):
                return StageTrace.process(self, primitive, args, params)
        if primitive.stage is not None:
            args, params = primitive.stage(args, params)
        if state.tracked and primitive.varies is None and state.trace is self:
            args = agreeing(args)
        invars: list[Atom] = []
        avals: list[ShapedArray] = []
        for arg in args:
            own = type(arg) is StageTracer and arg.owner is self
            atom = arg.variable if own else self.lift(arg)
            invars.append(atom)
            avals.append(atom.aval)
        return self.record(primitive, invars, tuple(avals), params)

    def record(
        self,
        primitive: Primitive,
        invars: list[Atom],
        avals: tuple[ShapedArray, ...],
        params: dict[str, Any],
    ) -> Any:
        """Append the equation and return tracers for its results."""
        if not self.open:
            raise UnexpectedTracerError(
                f"an argument of {primitive.name}", self.function_name, **place_in_source()
            )
        out = primitive.abstract(avals, params)
        effects: frozenset[Any] = NO_EFFECTS
        if primitive.effects is not None:
            effects = primitive.effects(*avals, **params)
            self.effects = self.effects | effects
        where: Any = state.replayed_source or _capture()
        if state.scope:
            where = source.scoped(where, state.scope)
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in out]
            self.eqns.append(Eqn(invars, outvars, primitive, params, effects, where))
            return [StageTracer(self, var) for var in outvars]
        var = Var(out)
        self.eqns.append(Eqn(invars, [var], primitive, params, effects, where))
        return StageTracer(self, var)

    def close(self, outs: Sequence[Any]) -> ClosedJaxpr:
        """Return the recorded program with the given results; the trace is over."""
        outvars = [
            out.variable if type(out) is StageTracer and out.owner is self else self.lift(out)
            for out in outs
        ]
        self.open = False
        jaxpr = Jaxpr(
            list(self.constvars.values()),
            self.invars,
            outvars,
            self.eqns,
            self.effects,
            self.function_name,
        )
        return ClosedJaxpr(jaxpr, self.const_values)

    def describe(self, tracer: Tracer) -> tuple[str, ...]:
        """Return the chain from a tracer back to the arguments it was computed from."""
        if not isinstance(tracer, StageTracer):
            return ()
        return _describe_origin(self, tracer.variable)

    def is_of_numbers(self, tracer: Tracer) -> bool:
        """Whether a tracer is made of arguments that are single numbers."""
        if not isinstance(tracer, StageTracer) or tracer.aval.shape:
            return False
        depends = _made_of(self, tracer.variable)
        return not any(var.aval.shape for var in self.invars if var in depends)


def _made_of(trace: StageTrace, var: Var) -> set[Var]:
    """The variables that a variable depends on, itself among them."""
    depends: set[Var] = {var}
    for eqn in reversed(trace.eqns):
        if not depends.isdisjoint(eqn.outvars):
            depends.update(atom for atom in eqn.invars if type(atom) is Var)
    return depends


def _describe_origin(trace: StageTrace, var: Var) -> tuple[str, ...]:
    """Say which equation made a variable and which arguments it depends on."""
    function = f"the function {trace.function_name!r}" if trace.function_name else "a function"
    lines: list[str] = []
    depends = _made_of(trace, var)
    for eqn in trace.eqns:
        if var in eqn.outvars:
            frame = source.user_frame(eqn.source)
            at = f" at {frame}" if frame else ""
            lines.append(f"It was made by the operation {eqn.primitive.name!r}{at}.")
    names = [
        name
        for name, argument in zip(trace.arguments(), trace.invars, strict=False)
        if argument in depends
    ]
    if names:
        plural = "s" if len(names) > 1 else ""
        lines.append(f"It depends on the traced argument{plural} {', '.join(names)} of {function}.")
    else:
        lines.append(f"It was traced while running {function}.")
    return tuple(lines)


def trace_flat(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    *,
    name: str = "",
    arguments: Callable[[], Sequence[str]] = tuple,
    of_user: bool = False,
    recorder: Callable[[StageTrace], Any] | None = None,
) -> ClosedJaxpr:
    """Return the program of a function of flat arguments that returns a flat sequence.

    Args:
      function: the function.
      avals: the types of its arguments.
      name: what to call it.
      arguments: gives the arguments' names, asked for only by error messages.
      of_user: whether the function is the user's, whose tracers are not to outlive the trace.
      recorder: gives for the trace what makes equations of the reading and writing of references.

    Raises:
      RuntimeError: ``no_tracing`` is set.
    """
    if no_tracing.value:
        raise RuntimeError(
            f"{name or 'a function'} would be traced for {', '.join(a.short() for a in avals)}, "
            "and no_tracing is set: call it once with arguments of these types before the block"
        )
    allow_depth()
    trace = StageTrace(state.trace, name, arguments)
    trace.recorder = recorder(trace) if recorder else None
    previous = swap_current(trace)
    try:
        closed = trace.close(function(*[trace.argument(aval) for aval in avals]))
    finally:
        trace.open = False
        swap_current(previous)
    if trace.references is not None:
        trace.references.check(name)
    if of_user:
        check_leaks(trace, name)
    return closed
