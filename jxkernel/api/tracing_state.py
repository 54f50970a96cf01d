"""What packages that extend the system ask of traces, types and programs.

Public as ``jxkernel.extend.core``.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn
from weakref import ref

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.jaxpr import ClosedJaxpr, Jaxpr
from jxkernel.core.trace import (
    Trace,
    base_trace,
    current_trace,
    is_unknown,
    place_in_source,
    set_current,
)
from jxkernel.errors import ConcretizationTypeError

__all__ = [
    "AbsentPrimitive",
    "DropVar",
    "OpaqueTraceState",
    "TraceTag",
    "call_p",
    "closed_call_p",
    "concrete_or_error",
    "find_top_trace",
    "get_opaque_trace_state",
    "jaxprs_in_params",
    "mapped_aval",
    "primal_dtype_to_tangent_dtype",
    "set_current_trace",
    "shaped_abstractify",
    "subjaxprs",
    "take_current_trace",
    "unmapped_aval",
    "valid_jaxtype",
]


def shaped_abstractify(x: Any) -> ShapedArray:
    """Return the type of an array, of a number, or of what has a shape and a dtype.

    Args:
      x: the value; a type is returned as it is.

    Raises:
      TypeError: it is no array.

    >>> from jxkernel import api_util
    >>> api_util.shaped_abstractify(3.0)
    ShapedArray(float32[], weak_type=True)
    """
    return x if isinstance(x, ShapedArray) else abstractify(x)


class DropVar:
    """The kind of a variable that nothing reads: none here is, for each result has a variable."""

    __slots__ = ()


class TraceTag:
    """A mark by which an interpreter tells its own tracers from others."""

    __slots__ = ()


class AbsentPrimitive:
    """A kind of equation that no program here has: a key of tables of rules, and no more.

    Attributes:
      name: what such equations are called elsewhere.
      instead: what there is in its place.
    """

    __slots__ = ("instead", "name")

    def __init__(self, name: str, instead: str) -> None:
        self.name = name
        self.instead = instead

    def __repr__(self) -> str:
        return self.name

    def bind(self, *_: Any, **__: Any) -> NoReturn:
        """Raise: nothing can be done with it."""
        raise NotImplementedError(f"no program here has equations of {self.name!r}: {self.instead}")


call_p = AbsentPrimitive("call", "calls of programs are equations of 'jit'")
closed_call_p = AbsentPrimitive("closed_call", call_p.instead)


@dataclass(frozen=True, slots=True)
class OpaqueTraceState:
    """Which trace was current: equal to another of the same trace, and to nothing else."""

    trace: Any


def get_opaque_trace_state(convention: str | None = None) -> OpaqueTraceState:
    """Return what tells whether two places are traced by the same trace.

    Args:
      convention: the name of the package that asks; it changes nothing.

    >>> import jxkernel as jx
    >>> from jxkernel.extend import core
    >>> outside = core.get_opaque_trace_state()
    >>> outside == core.get_opaque_trace_state()
    True
    >>> same = []
    >>> _ = jx.make_jaxpr(lambda x: same.append(core.get_opaque_trace_state() == outside))(1.0)
    >>> same
    [False]
    """
    return OpaqueTraceState(ref(current_trace()))


def find_top_trace(_: Any) -> Trace:
    """Return the current trace; its argument, values being traced, changes nothing.

    >>> from jxkernel.extend import core
    >>> type(core.find_top_trace([])).__name__
    'EvalTrace'
    """
    return current_trace()


@contextmanager
def take_current_trace() -> Generator[Trace]:
    """Give a block the current trace, and let what it does itself be evaluated.

    >>> from jxkernel.extend import core
    >>> with core.take_current_trace() as trace:
    ...     print(type(trace).__name__)
    EvalTrace
    """
    trace = current_trace()
    with set_current(base_trace()):
        yield trace


@contextmanager
def set_current_trace(trace: Trace | None, check_leaks: bool = False) -> Generator[None]:
    """Make a trace current for the length of a block.

    Args:
      trace: the trace; None for the one that evaluates.
      check_leaks: accepted; ``jxkernel.checking_leaks`` looks for leaks.

    >>> from jxkernel.extend import core
    >>> with core.set_current_trace(None):
    ...     pass
    """
    with set_current(base_trace() if trace is None else trace):
        yield


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """Return the type of one element along an axis.

    Args:
      size: the axis's size.
      axis: the axis; None where there is none, so that the type stays.
      aval: a type.

    >>> import jxkernel as jx
    >>> from jxkernel.extend import core
    >>> core.mapped_aval(3, 0, jx.core.ShapedArray((3, 4), jx.numpy.dtype("float32")))
    ShapedArray(float32[4])
    """
    if axis is None:
        return aval
    assert aval.shape[axis] == size, "an axis of another size"
    axis %= len(aval.shape)
    return aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1 :]))


def unmapped_aval(
    size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: None = None
) -> ShapedArray:
    """Return the type with an axis added: the inverse of ``mapped_aval``.

    >>> import jxkernel as jx
    >>> from jxkernel.extend import core
    >>> core.unmapped_aval(3, 0, jx.core.ShapedArray((4,), jx.numpy.dtype("float32")))
    ShapedArray(float32[3,4])
    """
    if axis is None:
        return aval
    axis %= len(aval.shape) + 1
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def _programs_in(value: Any) -> Iterator[Jaxpr]:
    if isinstance(value, ClosedJaxpr):
        yield value.jaxpr
    elif isinstance(value, Jaxpr):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _programs_in(part)


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """Yield the programs among an equation's parameters.

    >>> import jxkernel as jx
    >>> from jxkernel.extend import core
    >>> (eqn,) = jx.make_jaxpr(jx.jit(jx.numpy.sin))(1.0).eqns
    >>> [program.eqns[0].primitive for program in core.jaxprs_in_params(eqn.params)]
    [sin]
    """
    for value in params.values():
        yield from _programs_in(value)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """Yield the programs that a program's equations carry, those directly below it.

    >>> import jxkernel as jx
    >>> from jxkernel.extend import core
    >>> len(list(core.subjaxprs(jx.make_jaxpr(jx.jit(jx.numpy.sin))(1.0).jaxpr)))
    1
    """
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """Return the dtype of the tangents of values of a dtype: ``float0`` for integers.

    >>> import numpy as np
    >>> from jxkernel.extend import core
    >>> core.primal_dtype_to_tangent_dtype(np.dtype("float32"))
    dtype('float32')
    """
    dtype = dtypes.as_dtype(primal_dtype)
    return dtype if dtype in dtypes.INEXACT else dtypes.float0


def valid_jaxtype(x: Any) -> bool:
    """Return whether a value can be an argument of a program.

    >>> from jxkernel.extend import core
    >>> core.valid_jaxtype(1.5), core.valid_jaxtype("text")
    (True, False)
    """
    try:
        abstractify(x)
    except (TypeError, OverflowError):
        return False
    return True


def concrete_or_error(force: Callable[[Any], Any] | None, val: Any, context: str = "") -> Any:
    """Return a value that is known while tracing, converted.

    Args:
      force: what converts it, such as ``int``; None for nothing.
      val: the value.
      context: a sentence for the error, about why it must be known.

    Raises:
      ConcretizationTypeError: the value is traced.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.extend import core
    >>> core.concrete_or_error(int, jnp.array(3))
    3
    """
    if is_unknown(val):
        parts = {"origin": val.owner.describe(val), **place_in_source()}
        error = ConcretizationTypeError(val.describe_type(), "a value given here", **parts)
        if context:
            error.add_note(context)
        raise error
    return val if force is None else force(val)
