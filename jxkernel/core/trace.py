"""Traces and tracers: who evaluates a primitive right now.

Tracing is *stackless*.  There is one current trace per thread.  A transform makes its own trace
current while the user's function runs; to process a primitive that trace makes its ``parent``
current and applies the primitive's rule, so the rule's own operations are seen by the parent.
A value that a trace does not know is a constant to it.

Port: ``install_base_trace`` sets the trace that evaluates primitives when nothing is being
transformed.  It is called once, by the package's façade, which keeps ``core`` free of compilers
and devices.

The C++ dispatch path must not answer a call while a trace is current (it would run what should
have been staged): the C++ state ``config.trace_state`` is part of its cache key and is set here.
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from jxkernel._jaxlib import set_tracer_class
from jxkernel.config import no_tracing, trace_state
from jxkernel.core.avals import ShapedArray, register_abstractifier
from jxkernel.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from jxkernel.events import private
from jxkernel.source import Frame, current_user_frame

__all__ = [
    "Trace",
    "Tracer",
    "base_trace",
    "current_trace",
    "eval_context",
    "evaluating",
    "install_base_trace",
    "is_unknown",
    "looking",
    "place_in_source",
    "place_of",
    "set_current",
    "state",
    "swap_current",
    "unexpected_tracer",
]


class Trace:
    """What processes primitives while it is current; subclassed once per transform.

    Attributes:
      parent: the trace that sees what this one's rules do.
      function_name: the function being traced, for messages.
    """

    __slots__ = ("__weakref__", "parent")

    parent: Trace
    function_name = ""
    stages = False
    """Whether it records all of a function, which then runs elsewhere and at another time."""
    maps = False
    """Whether what is done once stands for what is done for each of many examples."""

    @property
    def main(self) -> Trace:
        """This trace, by the name that libraries know it by: one object for all its tracers."""
        return self

    def process(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply a primitive to arguments, tracers of this trace or values foreign to it."""
        return self.process_primitive(primitive, args, params)

    def process_primitive(
        self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """Do what ``process`` does, by the name that traces of libraries give it."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to process primitives")

    def full_raise(self, x: Any) -> Any:
        """Return a value as this trace takes it, which is as it is: see the module's docstring."""
        return x

    def is_of_numbers(self, tracer: Tracer) -> bool:
        """Whether a tracer is made of arguments that are single numbers, as far as is known."""
        return not tracer.aval.shape

    def describe(self, tracer: Tracer) -> tuple[str, ...]:
        """Return where a tracer of this trace comes from, as lines for an error message."""
        return ()


class _State(threading.local):
    """The current trace of this thread, its scopes, and the source of what is replayed.

    ``transposing`` says whether those equations run backwards; only messages ask.  ``tracked``
    holds the mesh axes along which types say whether a value varies (see ``core.axes``), and
    ``putting_off`` those over which sums are to be put off (see ``core.explicit_sharding``).
    """

    base: Trace | None = None
    trace: Any = None
    replayed_source: Any = None
    scope: tuple[Any, ...] = ()
    transposing: bool = False
    tracked: tuple[Any, ...] = ()
    putting_off: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        self.trace = _State.base
        self.replayed_source = None
        self.scope = ()
        self.transposing = False
        self.tracked = ()
        self.putting_off = frozenset()


state = _State()
_trace_mark: Any = trace_state


def install_base_trace(trace: Trace) -> None:
    """Install the trace that evaluates primitives when nothing is being transformed."""
    _State.base = trace
    state.trace = trace


def current_trace() -> Trace:
    """Return the trace that would process a primitive bound now."""
    return state.trace


def base_trace() -> Trace:
    """Return the trace that evaluates primitives when nothing is being transformed."""
    assert _State.base is not None, "installed when the package is imported"
    return _State.base


def evaluating() -> bool:
    """Whether primitives bound now are evaluated, not traced."""
    return state.trace is _State.base


@contextmanager
def set_current(trace: Trace) -> Generator[None]:
    """Make a trace current for the length of a block, on this thread."""
    previous = swap_current(trace)
    try:
        yield
    finally:
        swap_current(previous)


@contextmanager
def eval_context() -> Generator[None]:
    """Compute at once in this block, as if no function was traced: see ``extend.core``.

    Traced values cannot take part.

    >>> import jxkernel as jx, jxkernel.numpy as jnp
    >>> def f(x):
    ...     with jx.core.eval_context():
    ...         n = int(jnp.arange(4).sum())
    ...     return x * n
    >>> float(jx.jit(f)(2.0))
    12.0
    """
    with set_current(base_trace()):
        yield


class _Looking(Trace):
    """Refuses every operation."""

    __slots__ = ()

    def __init__(self) -> None:
        self.parent = self

    def process(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Raise: what only looks computes nothing."""
        raise RuntimeError(f"{primitive.name} is not run for one who only looks")


_looking = _Looking()


@contextmanager
def looking() -> Generator[None]:
    """Refuse operations in this block, in which foreign code runs only to see what objects hold.

    The ``__repr__`` or the flatten function of a user's class may compute.  What it computes would
    be built, shown as the user's own, and become a part of the program that is traced.
    """
    with private(), no_tracing(True), set_current(_looking):
        yield


def swap_current(trace: Trace) -> Trace:
    """Make a trace current and return the one that was; hot paths pair it in try/finally."""
    previous = state.trace
    state.trace = trace
    base = _State.base
    if (trace is base) is not (previous is base):
        _trace_mark.set_local(None if trace is base else True)
    return previous


class Tracer:
    """A stand-in for an array while a function is traced.

    Attributes:
      aval: the value's type.
      owner: the trace that made it.

    It has a type (``aval``) and knows its trace; arithmetic, indexing and methods are installed
    by the numerical API (the ``install_operators`` port).  Asking for its value raises an error
    that says where the tracer comes from.
    """

    __slots__ = ("__weakref__", "aval", "owner")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # a traced value has no content to hash

    owner: Trace
    aval: ShapedArray

    def __init_subclass__(cls) -> None:
        """Name every tracer class ``Tracer`` in messages: users need not know whose it is."""
        cls.__qualname__ = "Tracer"
        type.__setattr__(cls, "__name__", "Tracer")

    @property
    def _trace(self) -> Trace:
        """The trace, by the name that libraries know it by."""
        return self.owner

    @_trace.setter
    def _trace(self, trace: Trace) -> None:
        self.owner = trace

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def sharding(self) -> Any:
        """Raise: where a traced value lies is not known; its type knows what is explicit."""
        raise AttributeError(
            f"{self.describe_type()} has no 'sharding': only arrays lie on devices. "
            "jxkernel.typeof(x).sharding says how explicit mesh axes divide it; "
            "jxkernel.debug.inspect_array_sharding(x, callback=print) tells what the compiler chose"
        )

    def full_lower(self) -> Any:
        """Return the tracer itself, under a name that libraries call."""
        return self

    def to_concrete_value(self) -> Any:
        """Return None: no value is known."""
        return None

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.aval.size * self.aval.dtype.itemsize

    @property
    def weak_type(self) -> bool:
        """Whether the dtype yields to the dtype it meets."""
        return self.aval.weak_type

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object: a rank-0 array has no length")
        return self.aval.shape[0]

    def __bool__(self) -> bool:
        return self._concrete(TracerBoolConversionError)

    def __int__(self) -> int:
        return self._concrete(ConcretizationTypeError, "int()")

    def __float__(self) -> float:
        return self._concrete(ConcretizationTypeError, "float()")

    def __complex__(self) -> complex:
        return self._concrete(ConcretizationTypeError, "complex()")

    def __index__(self) -> int:
        return self._concrete(TracerIntegerConversionError)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self._concrete(TracerArrayConversionError)

    def __dlpack__(self, **how: Any) -> Any:
        return self._concrete(ConcretizationTypeError, "__dlpack__()")

    def __dlpack_device__(self) -> Any:
        return self._concrete(ConcretizationTypeError, "__dlpack_device__()")

    def tolist(self) -> Any:
        """Raise: a traced value cannot become a Python list."""
        return self._concrete(ConcretizationTypeError, "tolist()")

    def item(self, *args: int) -> Any:
        """Raise: a traced value cannot become a Python number."""
        return self._concrete(ConcretizationTypeError, "item()")

    @property
    def is_known(self) -> bool:
        """Whether the value can be had now, as under eager differentiation."""
        return False

    def _concrete(self, error: Any, wanted: str | None = None) -> Any:
        """Return what a concrete value would give, or raise; traces with values override."""
        parts: dict[str, Any] = {"origin": self.owner.describe(self), **place_in_source()}
        if issubclass(error, (ConcretizationTypeError, TracerIntegerConversionError)):
            parts["can_be_static"] = self.owner.is_of_numbers(self)
        if wanted is None:
            raise error(self.describe_type(), **parts)
        raise error(self.describe_type(), wanted, **parts)

    def describe_type(self) -> str:
        """Return the tracer in words, for error messages."""
        return f"a traced value of type {self.aval.short()}"

    def __repr__(self) -> str:
        return f"Traced<{self.aval.short(weak=True)}>"

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        return self

    def __reduce__(self) -> Any:
        return self._concrete(ConcretizationTypeError, "pickling")


set_tracer_class(Tracer)


def _known_of_arrays(name: str) -> Any:
    """Return an attribute that tracers lack, for a reason that is said."""

    def refuse(tracer: Tracer) -> Any:
        raise AttributeError(
            f"{tracer.describe_type()} has no {name!r}: only arrays lie on devices"
        )

    return property(refuse, doc="Raise: where a traced value lies is not known.")


for _name in (
    "addressable_shards",
    "committed",
    "device",
    "global_shards",
    "is_fully_addressable",
    "is_fully_replicated",
):
    setattr(Tracer, _name, _known_of_arrays(_name))


def is_unknown(x: Any) -> bool:
    """Whether a value is traced and cannot be had now."""
    return isinstance(x, Tracer) and not x.is_known


def unexpected_tracer(tracer: Tracer) -> UnexpectedTracerError:
    """Return the error of using a tracer after its trace has ended."""
    trace = tracer.owner
    return UnexpectedTracerError(
        tracer.describe_type(),
        trace.function_name,
        origin=trace.describe(tracer),
        **place_in_source(),
    )


def place_in_source() -> dict[str, Any]:
    """Return the user's running line as parts of an error: ``where``, ``code``, ``underline``."""
    return place_of(current_user_frame())


def place_of(frame: Frame | None) -> dict[str, Any]:
    """Return a line of the user's code as parts of an error: ``where``, ``code``, ``underline``."""
    if frame is None:
        return {}
    code = linecache.getline(frame.file, frame.line).rstrip()
    one_line = frame.end_line == frame.line and frame.end_column > frame.column
    return {
        "where": f"{frame.file}:{frame.line}, in {frame.function}",
        "code": code,
        "underline": (frame.column, frame.end_column) if code and one_line else None,
    }


def _aval_of(tracer: Tracer) -> ShapedArray:
    return tracer.aval


register_abstractifier(Tracer, _aval_of)


METHODS_OF_DATA = (
    *("addressable_data", "delete", "devices", "is_deleted", "on_device_size_in_bytes"),
    *("tobytes", "unsafe_buffer_pointer"),
)
"""Methods of arrays that traced values have not: they are of data, which lies somewhere."""


def _of_data(name: str) -> Any:
    """Return a method of arrays that a traced value has not: it is of their data."""

    def method(self: Any, *_: Any) -> Any:
        return self._concrete(ConcretizationTypeError, f"{name}()")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Raise: a traced value has no data."
    return method


for _name in METHODS_OF_DATA:
    setattr(Tracer, _name, _of_data(_name))
