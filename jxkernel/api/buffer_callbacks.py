"""``buffer_callback``: Python functions that write what a program reads into arrays they are given.

The function runs as those of ``pure_callback`` do, on the host; what it has written is then
handed to the program.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from jxkernel.api.arguments import function_name
from jxkernel.api.callbacks import announced_aval
from jxkernel.api.traced import check_callable, leaf_avals
from jxkernel.core.avals import ShapedArray
from jxkernel.core.filtering import filtered
from jxkernel.primitives.callback import VMAP_METHODS, io_callback_p, pure_callback_p
from jxkernel.records import record
from jxkernel.runtime.host_calls import HostFunction
from jxkernel.tree import physical

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]


class ExecutionStage(Enum):
    """What a program does when it calls a function; here that is always ``EXECUTE``."""

    INSTANTIATE = 1
    PREPARE = 2
    INITIALIZE = 4
    EXECUTE = 8


@record(eq=False)
class ExecutionContext:
    """What a function is told of the call.

    Attributes:
      stage: what the program is about: ``ExecutionStage.EXECUTE``.
    """

    stage: ExecutionStage

    @property
    def stream(self) -> int:
        """The number of an accelerator's stream, on which no function runs here.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "functions of buffer_callback run on the host, where there is no stream"
        )


class Buffer:
    """An array of a running program, which NumPy and DLPack see in place.

    ``numpy.asarray(buffer)`` is a view of it; that of a result can be written.
    """

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self._array.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def dtype(self) -> np.dtype:
        """The element type."""
        return self._array.dtype

    @property
    def writeable(self) -> bool:
        """Whether it can be written: it is a result."""
        return self._array.flags.writeable

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._array, dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __repr__(self) -> str:
        return f"Buffer({self.dtype.name}{list(self.shape)})"


class _BufferFunction(HostFunction):
    """A function that fills arrays that are made for it, of the types that a program expects."""

    __slots__ = ()

    def __call__(self, arrays: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        outs = [np.zeros(aval.shape, aval.dtype) for aval in avals]
        super().__call__([*arrays, *outs], ())
        return outs


@filtered
def buffer_callback(
    callback: Callable[..., None],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: Mapping[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """Return a function that calls a Python function which writes its results in place.

    Args:
      callback: the function ``callback(context, out, *args, **kwargs)``: ``out`` is a tree like
        ``result_shape_dtypes``, and the arguments are like those of the call, with a ``Buffer`` for
        each array.  It returns nothing.  A result is zeros until it is written.
      result_shape_dtypes: a tree with for each result something that has a ``shape`` and a
        ``dtype``, such as a ``ShapeDtypeStruct``.
      has_side_effect: whether it is to be called exactly as often as the program says; else it may
        be called never, once or often.
      vmap_method: what ``vmap`` does, as for ``pure_callback``; one with side effects is called for
        each example.
      input_output_aliases: for flat arguments, by their numbers, the number of the flat result that
        begins as a copy of it.
      command_buffer_compatible: accepted; it is about accelerators.

    Returns:
      a function of trees of arrays, whose result is a tree like ``result_shape_dtypes``.

    Raises:
      TypeError: ``callback`` is not callable, or an argument is no array.
      ValueError: ``vmap_method`` is unknown, a 64-bit type is announced and these are off, or an
        argument and the result that begins as a copy of it are of different types.
      CallbackError: the function raised an exception, or returned something: a ``JaxRuntimeError``,
        raised where the result is waited for.

    It runs on the host, with copies of what lies on an accelerator.  Its derivative is an error;
    give one with ``custom_jvp``.

    >>> import numpy as np, jxkernel as jx
    >>> from jxkernel.experimental.buffer_callback import buffer_callback
    >>> def double(context, out, x):
    ...     np.multiply(x, 2, out=np.asarray(out))
    >>> f = buffer_callback(double, jx.ShapeDtypeStruct((2,), "float32"))
    >>> jx.jit(f)(np.array([1.0, 2.0], np.float32)).tolist()
    [2.0, 4.0]
    """
    check_callable("buffer_callback", "callback", callback)
    if vmap_method not in (None, *VMAP_METHODS):
        known = ", ".join(map(repr, VMAP_METHODS))
        raise ValueError(f"buffer_callback got vmap_method={vmap_method!r}: it is None or {known}")
    announced, out_tree = physical.flatten(result_shape_dtypes)
    avals = tuple([announced_aval("buffer_callback", leaf) for leaf in announced])
    aliases = dict(input_output_aliases or {})

    @filtered
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = physical.flatten((args, kwargs))
        _check_aliases(aliases, leaf_avals("buffer_callback", "arguments", leaves, in_tree), avals)

        fill = _filling(callback, (in_tree, out_tree), aliases)
        function = _BufferFunction(fill, function_name(callback))
        if has_side_effect:
            outs = io_callback_p.bind(*leaves, callback=function, result_avals=avals, ordered=False)
        else:
            outs = pure_callback_p.bind(
                *leaves, callback=function, result_avals=avals, vmap_method=vmap_method
            )
        return out_tree.unflatten(outs)

    return call


def _filling(
    callback: Callable[..., None], trees: tuple[Any, Any], aliases: Mapping[int, int]
) -> Callable[[Sequence[Any]], tuple[()]]:
    """Return the function of flat arguments and results that has a callback write the results."""
    in_tree, out_tree = trees
    count = in_tree.num_leaves

    def fill(arrays: Sequence[Any]) -> tuple[()]:
        inputs, outs = arrays[:count], arrays[count:]
        for source, result in aliases.items():
            outs[result][...] = inputs[source]
        given = [Buffer(_read_only(array)) for array in inputs]
        positional, named = in_tree.unflatten(given)
        written = out_tree.unflatten(list(map(Buffer, outs)))
        context = ExecutionContext(ExecutionStage.EXECUTE)
        answer = HostFunction.ask(callback, context, written, *positional, **named)
        if answer is not None:
            raise TypeError(
                f"the callback {function_name(callback)} of buffer_callback returned "
                f"{answer!r:.60}: it writes its results, numpy.asarray(out)[...] = y, and returns "
                "nothing"
            )
        return ()

    return fill


def _check_aliases(
    aliases: Mapping[int, int], ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]
) -> None:
    """Check that arguments and results that share their contents are of one type.

    Raises:
      ValueError: they are not, or there is no such argument or result.
    """
    for source, result in aliases.items():
        if not 0 <= source < len(ins) or not 0 <= result < len(outs):
            raise ValueError(
                f"buffer_callback got input_output_aliases with {source}: {result}, and there are "
                f"{len(ins)} arguments and {len(outs)} results"
            )
        first, second = ins[source], outs[result]
        if (first.shape, first.dtype) != (second.shape, second.dtype):
            raise ValueError(
                f"buffer_callback got input_output_aliases with {source}: {result}, and argument "
                f"{source} is {first.short()} where result {result} is {second.short()}"
            )


def _read_only(array: Any) -> np.ndarray:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
