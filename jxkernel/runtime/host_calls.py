"""Python functions called by compiled programs, and the check of what they return.

The runtime copies what a callback returns into buffers of the sizes that the program was compiled
for, and looks at neither shape nor dtype: a result too long would overwrite other memory.  So
nothing reaches it unchecked.  Arguments are copies that the callback may keep.

This module must not know of primitives, nor how a program names its callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np

from jxkernel import config, dtypes
from jxkernel._jaxlib import (
    ArrayImpl,
    JaxRuntimeError,
    SingleDeviceSharding,
    batched_device_put,
)
from jxkernel.core.avals import ShapedArray
from jxkernel.core.trace import state
from jxkernel.dtypes import DType
from jxkernel.runtime.arrays import array_from_host, value_of
from jxkernel.runtime.clients import backend, sharding_on
from jxkernel.runtime.failures import CallbackError, keep_failure, surfacing
from jxkernel.source import hide_internal_frames

__all__ = [
    "FlatFunction",
    "HostCall",
    "HostFunction",
    "call_on_host",
    "checked_results",
]

FlatFunction = Callable[[Sequence[Any]], Sequence[Any]]
"""From flat arrays to flat results: arrays, NumPy arrays or Python numbers."""


class HostFunction:
    """A Python function of flat values, as a parameter of an equation; compared by identity.

    Attributes:
      function: takes and returns flat sequences.
      name: what messages and jaxprs call it.
      x64: whether 64-bit types were on where it was given.
    """

    __slots__ = ("__weakref__", "function", "name", "x64")

    def __init__(self, function: FlatFunction, name: str) -> None:
        self.function = function
        self.name = name
        self.x64: bool = config.enable_x64.value

    def __call__(self, arrays: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Call the function under the settings it was given under, and check what it returns.

        Raises:
          TypeError: it returns something else than ``avals``.
        """
        if config.enable_x64.value is self.x64:
            return checked_results(self.name, self.function(arrays), avals)
        with config.enable_x64(self.x64):
            return checked_results(self.name, self.function(arrays), avals)

    @staticmethod
    def ask(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a user's function.

        Raises:
          CallbackError: it raised an exception, which is the cause.
        """
        try:
            return function(*args, **kwargs)
        except JaxRuntimeError:
            raise
        except Exception as error:
            hide_internal_frames(error)
            raise CallbackError(f"a callback raised {type(error).__name__}: {error}") from error

    def over_examples(
        self, has: Sequence[bool], size: int, avals: Sequence[ShapedArray]
    ) -> HostFunction:
        """Return the function of many examples that calls this one for each of them, in order.

        Args:
          has: for each argument, whether it has the axis of examples, in front.
          size: the number of examples.
          avals: the types of one example's results.
        """

        def run(arrays: Sequence[Any]) -> list[Any]:
            columns = [np.empty((size, *aval.shape), aval.dtype) for aval in avals]
            stacked = [np.asarray(x) if flag else x for x, flag in zip(arrays, has, strict=True)]
            for row in range(size):
                example = [
                    host_array(x[row], ShapedArray(x.shape[1:], x.dtype)) if flag else x
                    for x, flag in zip(stacked, has, strict=True)
                ]
                for column, out in zip(columns, self(example, avals), strict=True):
                    column[row] = out
            return columns

        return HostFunction(run, self.name)

    def __repr__(self) -> str:
        return self.name


_PYTHON_NUMBERS = (bool, int, float, complex)


def checked_results(name: str, outs: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
    """Return what a callback gave as NumPy arrays of exactly the types that it was to give.

    Python numbers take the dtype asked for if it can hold their kind; 64-bit arrays become 32-bit
    ones where 64-bit types are off.

    Raises:
      TypeError: a result is another.
    """
    if len(outs) != len(avals):
        raise TypeError(
            f"the callback {name} must return {len(avals)} arrays and returned {len(outs)}"
        )
    return [
        _checked(name, number, out, aval)
        for number, (out, aval) in enumerate(zip(outs, avals, strict=True))
    ]


def _checked(name: str, number: int, out: Any, aval: ShapedArray) -> Any:
    found = value_of(out) if type(out) is ArrayImpl else np.asarray(out)
    if type(out) in _PYTHON_NUMBERS:
        fits = _PYTHON_NUMBERS.index(type(out)) <= _kind_rank(aval.dtype)
    else:
        fits = _canonical(found.dtype) == aval.dtype
    if found.shape != aval.shape or not fits:
        kind = f"{found.dtype.name}[{','.join(map(str, found.shape))}]"
        raise TypeError(
            f"the callback {name} returned {kind} as result {number}, where {aval.dtype.name}"
            f"[{','.join(map(str, aval.shape))}] was announced: return that, for example with "
            f"numpy.asarray(y, {aval.dtype.name!r}), or correct result_shape_dtypes"
        )
    return np.array(out if type(out) in _PYTHON_NUMBERS else found, aval.dtype, order="C")


def _canonical(dtype: DType) -> Any:
    """Return the dtype that an array of NumPy's has here; a foreign one as it is."""
    try:
        return dtypes.canonicalize_dtype(dtype)
    except TypeError:
        return dtype


def _kind_rank(dtype: DType) -> int:
    """Return the largest kind of Python number that a dtype can hold."""
    for rank, kind in ((3, np.complexfloating), (2, np.floating), (1, np.integer)):
        if dtypes.issubdtype(dtype, kind):
            return rank
    return 0


def _host_device() -> Any:
    return backend("cpu").local_devices()[0]


def host_array(value: np.ndarray[Any, Any], aval: ShapedArray) -> Any:
    """Return an argument as an array whose value is at hand: reading it waits for no thread."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    value = np.asarray(value)
    device = _host_device()
    # Were 64-bit types off in this thread, the runtime would narrow the data under the aval.
    with config.enable_x64(True) if value.dtype.itemsize >= 8 else nullcontext():
        array = batched_device_put(aval, sharding_on(device), [value], [device], False)
    array._npy_value = value
    return array


class HostCall:
    """What a compiled program calls: a ``HostFunction`` with the types it was compiled for.

    Attributes:
      function: the function.
      in_avals: the types of its arguments.
      out_avals: the types of its results.
      ordered: whether the last operand and the last result are tokens.
    """

    __slots__ = ("function", "in_avals", "ordered", "out_avals")

    def __init__(
        self,
        function: HostFunction,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
        *,
        ordered: bool,
    ) -> None:
        _surface_failures_in_waits()
        self.function = function
        self.in_avals = tuple([aval.strip_weak_type() for aval in in_avals])
        self.out_avals = tuple(out_avals)
        self.ordered = ordered

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """Run the function; called by the runtime, in whatever thread it likes.

        Raises:
          RuntimeError: it raised, or returned something else than was announced.
        """
        outer, state.replayed_source = state.replayed_source, None
        try:
            return self._run(operands)
        except BaseException as error:  # an interrupt as well: the runtime knows text alone
            message = keep_failure(error)
        finally:
            state.replayed_source = outer
        raise RuntimeError(message)

    def _run(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        token = operands[len(self.in_avals) :]
        arrays = [
            host_array(value, aval) for value, aval in zip(operands, self.in_avals, strict=False)
        ]
        return (*self.function(arrays, self.out_avals), *token)


@cache
def _surface_failures_in_waits() -> None:
    """Let ``x.block_until_ready()`` raise what a callback raised.

    The method is C++, and stays so until the first program with a callback is made.
    """
    wait: Any = ArrayImpl.block_until_ready

    def block_until_ready(self: Any) -> Any:
        """Wait until the array exists and return it."""
        return surfacing(wait, self)

    ArrayImpl.block_until_ready = block_until_ready


def _only_device(array: Any) -> Any:
    """Return the device on which an array lies whole, or None if it is spread over several."""
    sharding = array.sharding
    return sharding._device if isinstance(sharding, SingleDeviceSharding) else None


def call_on_host(
    function: HostFunction, args: Sequence[Any], out_avals: Sequence[ShapedArray]
) -> list[Any]:
    """Call a function on device arrays at once, and return its results as device arrays.

    Results lie on the device that an argument is committed to, as those of a program would.

    Raises:
      TypeError: it returned something else than was announced.
    """
    host = _host_device()
    arrays = [
        arg if _only_device(arg) == host else host_array(value_of(arg), arg.aval) for arg in args
    ]
    outs = function(arrays, out_avals)
    device = next((_only_device(arg) for arg in args if arg._committed), None)
    return [array_from_host(out, aval, device) for out, aval in zip(outs, out_avals, strict=True)]
