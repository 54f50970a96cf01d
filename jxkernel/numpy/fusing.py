"""``fused``: a numerical function that is one dispatch when it runs eagerly.

A function of the NumPy API is many primitives: ``mean`` converts, sums, divides.  Run eagerly,
each would be a dispatch of its own.  A fused function is compiled whole, once per kind of
arguments, and answered in C++ from then on.  While something is being traced the body simply
runs, so its primitives join the program at hand and no nested call is made.

It is ``jit`` without what only users need (donation, the history of misses); its stages are those
of ``jit``.  It must not know of any particular function.
"""

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from math import inf
from operator import is_not
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from jxkernel._jaxlib import PjitFunction, PjitFunctionCache, trace_context
from jxkernel._reprs import in_words, with_type
from jxkernel.api.arguments import Call, Parameters, rebuild, split_call
from jxkernel.api.jit import jit
from jxkernel.compile import Dispatch, cpp_callable
from jxkernel.core.avals import ShapedArray, abstractify, array_of
from jxkernel.core.dimensions import Dimension
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.jaxpr import ClosedJaxpr
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.trace import Tracer, evaluating
from jxkernel.errors import ByteOrderError, UnexpectedTracerError
from jxkernel.primitives.elementwise.convert import stage
from jxkernel.runtime import ArrayImpl, own_array
from jxkernel.transforms.stage import trace_flat
from jxkernel.tree import physical

if TYPE_CHECKING:
    from jxkernel.compile.stages import Lowered, Traced

__all__ = ["OPERANDS", "Fused", "clear", "fused", "fused_state"]

OPERANDS = (
    ArrayImpl,
    Tracer,
    int,
    float,
    complex,
    np.ndarray,
    np.generic,
    ExtendedArray,
    Dimension,
)
"""What a binary operator takes; operands of other types are left to their own methods."""

NUMBERS = (bool, int, float, complex, np.generic, np.ndarray)

_CACHE = PjitFunctionCache(capacity=8192)
_FUNCTIONS: list["Fused"] = []
_PROGRAM_LIMIT = 1024
_CALL = "The call: "
_NOTHING_STATIC = Parameters()


class Fused:
    """The Python side of a fused function: what its C++ callable turns to on a miss.

    Attributes:
      body: the function that is compiled whole.
      name: what profiles and errors call it.
      static: its static parameters.
      operator: whether operands of foreign types are left to their own methods.
      dispatch: what it asks of its runs, once there was one.
      programs: what was traced, by kind of arguments.
      jitted: the body under ``jit``, once its stages were asked for.
    """

    __slots__ = ("body", "dispatch", "jitted", "name", "operator", "programs", "static")

    def __init__(
        self, body: Callable[..., Any], static: Parameters, name: str, operator: bool
    ) -> None:
        self.body = body
        self.name = name
        self.static = static
        self.operator = operator
        self.dispatch: Dispatch | None = None
        self.programs: dict[Any, tuple[ClosedJaxpr, Any]] = {}
        self.jitted: Any = None

    def trace(self, *args: Any, **kwargs: Any) -> "Traced":
        """Trace for given arguments and return the stage, as a jitted function does."""
        if self.jitted is None:
            static = self.static
            self.jitted = jit(
                self.body, static_argnums=static.numbers or None, static_argnames=static.names
            )
        return self.jitted.trace(*args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> "Lowered":
        """Trace and lower for given arguments and return the stage."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Return the result's shapes and dtypes without computing it."""
        return self.trace(*args, **kwargs).out_info

    def cache_miss(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        """Answer a call that C++ does not know: (result, fast-path record or None, False)."""
        try:
            return self._answer(args, kwargs)
        except Exception as error:
            self._name_call(error, args)
            hide_internal_frames(error)
            raise

    def _name_call(self, error: Exception, args: tuple[Any, ...]) -> None:
        """Add the call to an error that names only what the function is made of.

        Of nested calls the outermost is told, which is the user's.
        """
        notes = [n for n in getattr(error, "__notes__", ()) if not n.startswith(_CALL)]
        if self.name not in str(error) and not self.name.startswith("_"):
            notes.append(f"{_CALL}{self.name}({', '.join(map(_brief, args))})")
        if notes or hasattr(error, "__notes__"):
            error.__notes__ = notes

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool]:
        given = tuple(map(_data_of, args))
        if any(map(is_not, given, args)):
            # Not a call for C++ to answer: what an object gives may be another array next time.
            return self._answer(given, kwargs)[0], None, False
        if not evaluating():
            if any(type(arg) is np.ndarray for arg in args):
                args = tuple(map(own_array, args))
            result = self.body(*args, **kwargs)
            return result if isinstance(result, Tracer) else in_program(result), None, False
        if self.operator and not all(isinstance(arg, OPERANDS) for arg in args):
            return self.body(*args, **kwargs), None, False
        call = split_call(args, kwargs, self.static)
        avals = self._avals(call.flat)
        try:
            closed, out_tree = self._program(call, avals)
        except TypeError:
            if any(isinstance(arg, (list, tuple)) for arg in args):
                # Again with the values, so that the message shows them and not their tracers.
                try:
                    self.body(*args, **kwargs)
                except Exception as shown:
                    raise shown from None
            raise
        if self.dispatch is None:
            self.dispatch = Dispatch(self.name, depth=inf)
        return self.dispatch.answer(closed, call.flat, out_tree)

    def _avals(self, leaves: Sequence[Any]) -> tuple[ShapedArray, ...]:
        avals: list[ShapedArray] = []
        for leaf in leaves:
            if isinstance(leaf, Tracer):
                raise UnexpectedTracerError(repr(leaf), origin=leaf.owner.describe(leaf))
            try:
                avals.append(abstractify(leaf))
            except ByteOrderError:
                raise
            except TypeError:
                raise TypeError(
                    f"{self.name} takes arrays and numbers, got {with_type(leaf)}"
                ) from None
        return tuple(avals)

    def _program(self, call: Call, avals: tuple[ShapedArray, ...]) -> tuple[ClosedJaxpr, Any]:
        key = (call.static_key(), call.in_tree, avals, trace_context())
        found = self.programs.get(key)
        if found is None:
            if len(self.programs) >= _PROGRAM_LIMIT:
                self.programs.clear()
            found = self.programs[key] = self._trace(call, avals)
        return found

    def _trace(self, call: Call, avals: tuple[ShapedArray, ...]) -> tuple[ClosedJaxpr, Any]:
        out_tree: Any = None

        def flat_body(*leaves: Any) -> list[Any]:
            nonlocal out_tree
            args, kwargs = rebuild(call.in_tree, call.static, leaves)
            result, out_tree = physical.flatten(self.body(*args, **kwargs))
            return result

        closed = trace_flat(flat_body, avals, name=self.name)
        return closed, out_tree


def _data_of(arg: Any) -> Any:
    """Return an argument with the arrays that objects in it say they are."""
    if type(arg) in (list, tuple) and any(hasattr(type(x), "__jax_array__") for x in arg):
        return type(arg)(map(array_of, arg))
    return array_of(arg)


def in_program(result: Any) -> Any:
    """Return what a function gives while something is traced: never a Python or NumPy number.

    A body that has nothing to do gives back a number that it got, or makes one.  What the user
    does with it must be done with an array's methods, and in its dtype.
    """
    if isinstance(result, tuple | list):
        return type(result)(map(in_program, result)) if type(result) in (tuple, list) else result
    return stage(result) if isinstance(result, NUMBERS) else result


def _brief(arg: Any) -> str:
    """Return the type of an array, or the beginning of how anything else is written."""
    return abstractify(arg).short() if isinstance(arg, (ArrayImpl, Tracer)) else in_words(arg, 40)


def _static_parameters(body: Callable[..., Any], names: tuple[str, ...]) -> Parameters:
    """Return the static parameters by name and, of those that may be positional, by number."""
    code = body.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    positional = known[: code.co_argcount]
    assert set(names) <= set(known), f"{body.__name__} lacks a parameter among {names}"
    return Parameters(tuple(positional.index(n) for n in names if n in positional), names)


def fused(
    body: Callable[..., Any] | None = None,
    *,
    static: tuple[str, ...] = (),
    operator: bool = False,
    normalized: bool = False,
    name: str = "",
) -> Any:
    """Return a function as one that is a single dispatch when it runs eagerly.

    Args:
      body: a function of arrays, numbers and pytrees of them, made of primitives.  Without it a
        decorator is returned.
      static: the names of arguments that are Python values (axes, shapes, dtypes), hashable.
      operator: whether operands of a foreign type give ``NotImplemented``, as Python's binary
        methods do, instead of an error.
      normalized: whether static arguments (an axis, an order) may come as lists and arrays of
        numbers; who calls with values that C++ can compare pays for a Python call.
      name: what profiles and errors call it, where not the body's own name.

    Returns:
      a C++ callable with the body's signature and docstring, and the methods of a jitted function.
    """
    if body is None:
        return partial(fused, static=static, operator=operator, normalized=normalized, name=name)
    parameters = _static_parameters(body, static) if static else _NOTHING_STATIC
    state = Fused(body, parameters, name or body.__name__.lstrip("_"), operator)
    _FUNCTIONS.append(state)
    function = cpp_callable(
        state.name, body, state.cache_miss, static=parameters, key=state, cache=_CACHE
    )
    clear_cache = partial(_clear_one, function, state)
    if normalized:
        function = _normalizing(function, state)
    update_wrapper(function, body)
    function._fused_state = state
    function.trace = state.trace
    function.lower = state.lower
    function.eval_shape = state.eval_shape
    function.clear_cache = clear_cache
    return function


def _normalizing(function: Any, state: Fused) -> Any:
    """Return a C++ callable as a function that is asked again with static values it can compare."""
    static = state.static

    def entry(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError:
            chosen = static.positions(len(args))
            plain = [_plain(arg) if i in chosen else arg for i, arg in enumerate(args)]
            named = {k: _plain(v) if k in static.names else v for k, v in kwargs.items()}
            if not any(map(is_not, (*plain, *named.values()), (*args, *kwargs.values()))):
                raise
        return function(*plain, **named)

    def _plain(value: Any) -> Any:
        """Return a list or an array of numbers as a tuple of them, or as the one number."""
        if isinstance(value, (np.ndarray, ArrayImpl)):
            value = value.tolist()
        if type(value) in (list, tuple):
            return tuple(map(_plain, value))
        if type(value).__hash__ is None:
            raise TypeError(
                f"{state.name} got {with_type(value)} for one of {', '.join(static.names)}"
            ) from None
        return value

    return entry


def fused_state(function: Any) -> Fused | None:
    """Return the Python side of a fused function, or None for anything else."""
    if not isinstance(function, (PjitFunction, FunctionType)):
        return None
    return getattr(function, "_fused_state", None)


def _clear_one(function: Any, state: Fused) -> None:
    """Forget the function's programs, in Python and in C++."""
    state.programs.clear()
    function._clear_cache()


def clear() -> None:
    """Forget every compiled form of every fused function."""
    _CACHE.clear_all()
    for function in _FUNCTIONS:
        function.programs.clear()
