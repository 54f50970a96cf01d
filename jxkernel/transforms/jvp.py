"""Forward differentiation: each value travels with its tangent (a Jacobian-vector product).

``JvpTrace`` pairs every value with a tangent and applies primitives' ``jvp`` rules; tangents
known to be zero stay symbolic (``Zero``) and cost nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from jxkernel.config import enable_x64
from jxkernel.core.avals import abstractify
from jxkernel.core.jaxpr import ClosedJaxpr, eval_jaxpr
from jxkernel.core.leaks import check_leaks
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import (
    Trace,
    Tracer,
    is_unknown,
    place_in_source,
    state,
    swap_current,
)
from jxkernel.core.widths import any_wide
from jxkernel.core.zeros import Zero
from jxkernel.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from jxkernel.primitives.collective.varying import vary_like
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.primitives.sharding.constraints import reshard_like
from jxkernel.transforms.stage import trace_flat

__all__ = ["JvpTrace", "JvpTracer", "jvp_flat", "jvp_program"]


class JvpTracer(Tracer):
    """A value with its tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: JvpTrace, primal: Any, tangent: Any) -> None:
        self.owner = trace
        self.aval = abstractify(primal)
        self.primal = primal
        self.tangent = tangent

    @property
    def is_known(self) -> bool:
        """Whether the primal's value can be had now."""
        return not is_unknown(self.primal)

    def to_concrete_value(self) -> Any:
        """Return the primal's value; None where it is not known."""
        if isinstance(self.primal, Tracer):
            return self.primal.to_concrete_value()
        return self.primal

    def _concrete(self, error: Any, wanted: str | None = None) -> Any:
        """Give a known value to a condition and to ``int``, which have no derivative to lose."""
        if isinstance(self.primal, Tracer):
            return self.primal._concrete(error, wanted)
        if error is TracerBoolConversionError:
            return bool(self.primal)
        if wanted == "int()":
            return int(self.primal)
        if error is TracerIntegerConversionError:
            return operator.index(self.primal)
        raise _lost_derivative(self, error, wanted)


class JvpTrace(Trace):
    """Processes primitives on (primal, tangent) pairs."""

    __slots__ = ()

    def __init__(self, parent: Trace) -> None:
        self.parent = parent

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply the JVP rule, or pass work without tangents to the trace below."""
        if enable_x64.seen and not enable_x64.value and any_wide(map(abstractify, args)):
            with enable_x64(True):
                return self.process(primitive, args, params)
        primals: list[Any] = []
        tangents: list[Any] = []
        active = False
        for arg in args:
            if type(arg) is JvpTracer and arg.owner is self:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                active = active or type(arg.tangent) is not Zero
            else:
                primals.append(arg)
                tangents.append(None)
        previous = swap_current(self.parent)
        try:
            if not active:
                return self.parent.process(primitive, tuple(primals), params)
            full = [
                Zero.tangent_of(primal) if tangent is None else tangent
                for primal, tangent in zip(primals, tangents, strict=True)
            ]
            out, tangent_out = primitive.rule("jvp")(primals, full, **params)
            if state.tracked:
                tangent_out = _varying_alike(primitive, out, tangent_out)
        finally:
            swap_current(previous)
        if primitive.multiple_results:
            return [self.pair(y, t) for y, t in zip(out, tangent_out, strict=True)]
        return self.pair(out, tangent_out)

    def pair(self, primal: Any, tangent: Any) -> Any:
        """Return a value with its tangent as a tracer, or the value where that is zero."""
        if type(tangent) is Zero:
            return primal
        tracer = JvpTracer(self, primal, tangent)
        if tracer.aval.explicit_sharding is not None:
            previous = swap_current(self.parent)
            try:
                tracer.tangent = reshard_like(tangent, tracer.aval)
            finally:
                swap_current(previous)
        return tracer

    def describe(self, tracer: Tracer) -> tuple[str, ...]:
        """Describe the value that the tracer stands for in the trace below."""
        primal = getattr(tracer, "primal", None)
        return primal.owner.describe(primal) if isinstance(primal, Tracer) else ()


def _varying_alike(primitive: Primitive, out: Any, tangent: Any) -> Any:
    """Return tangents that vary over the mesh axes that their values vary over."""
    if not primitive.multiple_results:
        return vary_like(tangent, abstractify(out))
    return [vary_like(t, abstractify(y)) for y, t in zip(out, tangent, strict=True)]


def _lost_derivative(tracer: JvpTracer, error: Any, wanted: str | None) -> Exception:
    """Return the error of a differentiated value that would become a number or a NumPy array."""
    value = f"a differentiated value of type {tracer.aval.short(weak=True)}"
    parts: dict[str, Any] = {"origin": tracer.owner.describe(tracer), **place_in_source()}
    if error is TracerArrayConversionError:
        return TracerArrayConversionError(
            value,
            why=f"NumPy asked for the data of {value}; its derivative would be lost in NumPy.",
            instead=(
                "use the function of the same name from jxkernel.numpy (jnp) instead of numpy (np)",
                "for the value without its derivative: np.asarray(lax.stop_gradient(x))",
            ),
            **parts,
        )
    return ConcretizationTypeError(
        value,
        wanted or "",
        why=f"{wanted} was asked of {value}; its derivative would be lost in Python.",
        instead=(
            "keep it an array, and use functions of jxkernel.numpy (jnp) instead of math",
            f"for the value without its derivative, apply {wanted} to lax.stop_gradient(x)",
        ),
        **parts,
    )


def jvp_flat(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Apply a function of flat arguments to primals and tangents; ``Zero`` tangents stay zero."""
    trace = JvpTrace(state.trace)
    args = [trace.pair(p, t) for p, t in zip(primals, tangents, strict=True)]
    previous = swap_current(trace)
    try:
        outs = function(*args)
    finally:
        swap_current(previous)
    split = [
        (out.primal, out.tangent)
        if type(out) is JvpTracer and out.owner is trace
        else (out, Zero.tangent_of(out))
        for out in outs
    ]
    outs = args = ()
    check_leaks(trace)
    return [p for p, _ in split], [t for _, t in split]


def jvp_program(
    closed: ClosedJaxpr,
    nonzeros: tuple[bool, ...],
    instantiate_out: bool | tuple[bool, ...] = False,
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Return the derivative program: (primals, nonzero tangents) to (results, nonzero tangents).

    Args:
      closed: the program.
      nonzeros: for each argument, whether it has a tangent.
      instantiate_out: whether (or for which results) zero tangents are made explicit.

    Returns:
      the program, and for each result whether it has a tangent.
    """
    return closed.remember(_make_jvp_program, nonzeros, instantiate_out)


def _make_jvp_program(
    closed: ClosedJaxpr, nonzeros: tuple[bool, ...], instantiate_out: bool | tuple[bool, ...]
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    jaxpr = closed.jaxpr
    count = len(jaxpr.outvars)
    explicit = (instantiate_out,) * count if isinstance(instantiate_out, bool) else instantiate_out
    avals = jaxpr.in_avals
    tangent_avals = [a.tangent() for a, nonzero in zip(avals, nonzeros, strict=True) if nonzero]
    out_nonzeros: list[bool] = []

    def derivative(*args: Any) -> list[Any]:
        given = iter(args[len(avals) :])
        tangents = [
            next(given) if nonzero else Zero(aval.tangent())
            for aval, nonzero in zip(avals, nonzeros, strict=True)
        ]
        outs, out_tangents = jvp_flat(
            lambda *xs: eval_jaxpr(jaxpr, closed.consts, *xs), args[: len(avals)], tangents
        )
        out_nonzeros[:] = [
            type(t) is not Zero or make for t, make in zip(out_tangents, explicit, strict=True)
        ]
        kept = [
            instantiate(t) for t, nonzero in zip(out_tangents, out_nonzeros, strict=True) if nonzero
        ]
        return [*outs, *kept]

    program = trace_flat(derivative, [*avals, *tangent_avals], name=f"jvp_{jaxpr.name}")
    return program, tuple(out_nonzeros)
