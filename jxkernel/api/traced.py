"""Functions that control flow calls: traced once per kind of arguments, and remembered.

As with ``jit``, traces are kept per function object and die with it; one that captured a tracer
is not kept, for the tracer is gone when its own trace ends.  This module handles functions and
structures; it must not know which loop asks.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import ref

from jxkernel import dtypes, tree
from jxkernel._jaxlib import trace_context
from jxkernel._reprs import with_type
from jxkernel.api.arguments import function_name
from jxkernel.api.memo import FunctionMemo
from jxkernel.core.avals import ShapedArray, abstractify, kind_in_words
from jxkernel.core.axes import axis_environment
from jxkernel.core.checking import check_if_enabled
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.trace import Tracer
from jxkernel.errors import ArgumentTypeError, ByteOrderError
from jxkernel.higher_order.references import CapturedReferences, Ref, Taken
from jxkernel.records import record
from jxkernel.runtime import own_array
from jxkernel.transforms.stage import StageTrace, trace_flat
from jxkernel.tree import physical

__all__ = [
    "TracedFunction",
    "check_callable",
    "check_function",
    "clear_traced",
    "joint",
    "leaf_avals",
    "trace_function",
    "trace_reading",
]

_TRACES = FunctionMemo("programs")


@record()
class TracedFunction:
    """A function as a program.

    Attributes:
      closed: the program of the flat arguments.
      out_tree: the structure of the result.
    """

    closed: ClosedJaxpr
    out_tree: Any

    @property
    def out_avals(self) -> list[ShapedArray]:
        """The types of the flat results."""
        return self.closed.out_avals


def check_callable(name: str, parameter: str, fun: Any) -> None:
    """Check that an argument can be called.

    Raises:
      TypeError: it cannot.
    """
    if not callable(fun):
        raise TypeError(f"{name} needs a callable as {parameter}, got {kind_in_words(fun)}")


def check_function(name: str, fun: Any) -> None:
    """Check that what a transform is given is a function of arrays, as far as can be seen.

    Raises:
      TypeError: it cannot be called, gives its results one by one, or is no function yet.
    """
    check_callable(name, "fun", fun)
    if isinstance(fun, staticmethod):
        raise TypeError(
            f"{name} got the staticmethod {function_name(fun)}, which only its class turns into a "
            f"function: write @staticmethod above @{name}"
        )
    if inspect.isgeneratorfunction(fun):
        raise TypeError(
            f"{name} needs a function that returns its result, and {function_name(fun)} yields: "
            "it returns a generator. Return arrays, such as lax.scan or jnp.stack make of them"
        )


def leaf_avals(name: str, parameter: str, leaves: Sequence[Any], structure: Any) -> list[Any]:
    """Return the types of leaves.

    Raises:
      ArgumentTypeError: one is no array and no number; the message names it.
    """
    avals = []
    for index, leaf in enumerate(leaves):
        try:
            avals.append(abstractify(leaf))
        except ByteOrderError:
            raise
        except TypeError:
            path = parameter + tree.keystr(physical.leaf_paths(structure)[index])
            kind = f"{with_type(leaf)}"
            instead = (
                "leave out what is no array: the function may read it from outside",
                "register own classes as pytrees: tree_util.register_dataclass",
            )
            raise ArgumentTypeError(name, path, kind, instead=instead) from None
        if type(leaf) is int:
            dtypes.coerce_scalar(leaf)  # which says that it does not fit
    return avals


def trace_function(
    kind: str,
    fun: Callable[..., Any],
    call: Callable[..., Any],
    in_tree: Any,
    avals: Sequence[ShapedArray],
    *,
    key: Any = (),
    remember: bool = True,
    recorder: Callable[[StageTrace], Any] | None = None,
) -> TracedFunction:
    """Return the program of a function for given argument types, made once.

    Args:
      kind: what it is traced for; with ``fun`` and ``key`` it stands for ``call``.
      fun: the user's function, which keeps the trace alive.
      call: what is traced: the function, or one that calls it.
      in_tree: the structure of the positional arguments of ``call``.
      avals: the types of their leaves.
      key: what else ``call`` depends on, hashable if it is to be remembered.
      remember: whether to make it once.
      recorder: gives for the trace what makes equations of the reading and writing of references.

    Raises:
      TypeError: a leaf of the result is no array and no number.
    """
    if not remember:
        return _trace(kind, fun, call, in_tree, avals, recorder)
    key = (kind, key, in_tree, tuple(avals), trace_context(), axis_environment())
    try:
        traces = _TRACES.of(fun)
    except TypeError:
        # Neither hashed nor referred to weakly: traced each time.
        traces = {}
    found = traces.get(key)
    if found is None:
        found = _trace(kind, fun, call, in_tree, avals, recorder)
        if not any(isinstance(const, Tracer) for const in found.closed.consts):
            traces[key] = found
    return found


def trace_reading(
    kind: str,
    fun: Callable[..., Any],
    call: Callable[..., Any],
    in_tree: Any,
    avals: Sequence[ShapedArray],
) -> TracedFunction:
    """Return a program as ``trace_function`` does; references of outside are constants of it.

    Raises:
      RefError: the function writes to one.
    """
    try:
        return trace_function(kind, fun, call, in_tree, avals)
    except CapturedReferences as found:
        taken = Taken(found)

    def reading(*args: Any) -> Any:
        return taken.look(taken.values(), partial(call, *args))

    return trace_function(kind, fun, reading, in_tree, avals, remember=False)


def _trace(
    kind: str,
    fun: Callable[..., Any],
    call: Callable[..., Any],
    in_tree: Any,
    avals: Sequence[ShapedArray],
    recorder: Callable[[StageTrace], Any] | None,
) -> TracedFunction:
    out_tree: Any = None

    def flat_fun(*leaves: Any) -> list[Any]:
        nonlocal out_tree
        result, out_tree = physical.flatten(call(*in_tree.unflatten(leaves)))
        for index, leaf in enumerate(result):
            if not isinstance(leaf, Tracer):
                _check_result(kind, fun, out_tree, index, leaf)
        return result

    how = {"name": function_name(fun), "of_user": True, "recorder": recorder}
    closed = trace_flat(flat_fun, avals, **how)
    # A NumPy array may change after the trace; the trace keeps what it saw.
    closed.consts = list(map(own_array, closed.consts))
    check_if_enabled(closed)
    return TracedFunction(closed, out_tree)


def _check_result(kind: str, fun: Callable[..., Any], out_tree: Any, index: int, leaf: Any) -> None:
    try:
        abstractify(leaf)
    except TypeError:
        path = tree.keystr(physical.leaf_paths(out_tree)[index])
        raise TypeError(
            f"{kind} needs {function_name(fun)} to return arrays or numbers, got "
            f"{with_type(leaf)}{f' at result{path}' if path else ''}"
            f"{': return what it holds, ref[...]' if isinstance(leaf, Ref) else ''}"
        ) from None


class _Together:
    """The programs that several functions make together; it dies with the first of them."""

    __slots__ = ("programs", "references")

    def __init__(self, functions: Sequence[Any], key: tuple[int, ...]) -> None:
        self.references = [ref(function, lambda _: _JOINT.pop(key, None)) for function in functions]
        self.programs: dict[Any, tuple[ClosedJaxpr, ...]] = {}


_JOINT: dict[tuple[int, ...], _Together] = {}


def joint(
    functions: Sequence[Callable[..., Any]], programs: Sequence[ClosedJaxpr]
) -> tuple[ClosedJaxpr, ...]:
    """Return copies of the programs of several functions that are used together, made once.

    What is derived from several programs together (an executable, a derivative) is kept on one of
    them and holds the others.  Were that the program of a function that lives for ever, it would
    keep everything that was ever used beside it.  So each combination has copies of its own, which
    live as long as all of the functions do.

    Args:
      functions: the functions.
      programs: the program of each.
    """
    key = tuple(map(id, functions))
    found = _JOINT.get(key)
    if found is None:
        try:
            found = _Together(functions, key)
        except TypeError:
            # One cannot be referred to weakly, so nothing is remembered of it either.
            return tuple(programs)
        _JOINT[key] = found
    own = tuple(programs)
    copies = found.programs.get(own)
    if copies is None:
        copies = tuple([ClosedJaxpr(program.jaxpr, program.consts) for program in programs])
        if not any(isinstance(c, Tracer) for program in programs for c in program.consts):
            found.programs[own] = copies
    return copies


def clear_traced() -> None:
    """Forget the trace of every function that control flow has called."""
    _TRACES.clear()
    _JOINT.clear()
