"""Calls of Python functions from compiled programs.

``pure_callback``, ``io_callback`` and ``debug.callback``: trees of arguments and results
are taken apart here; the primitives are in ``primitives.callback``.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jxkernel import config, dtypes
from jxkernel._reprs import with_type
from jxkernel.api.arguments import function_name
from jxkernel.api.traced import check_callable, leaf_avals
from jxkernel.core.avals import ShapedArray, abstractify, has_aval
from jxkernel.core.filtering import filtered
from jxkernel.primitives.callback import (
    VMAP_METHODS,
    debug_callback_p,
    io_callback_p,
    pure_callback_p,
)
from jxkernel.runtime.host_calls import HostFunction
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = [
    "announced_aval",
    "bind_debug_callback",
    "debug_callback",
    "io_callback",
    "pure_callback",
]


@filtered
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    vectorized: bool | None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function without side effects from a program, compiled or not.

    The function gets arrays and returns NumPy arrays (or anything that becomes one).  It may be
    called never, once or often: its results are taken to depend on its arguments alone.

    Args:
      callback: the function.
      result_shape_dtypes: a tree like its result, with for each array something that has a
        ``shape`` and a ``dtype``, such as a ``ShapeDtypeStruct``.
      *args: trees of arrays that it is called with.
      sharding: None; results lie where the program runs.
      vectorized: the older name for ``vmap_method``: True is ``legacy_vectorized``, False is
        ``sequential``.
      vmap_method: what ``vmap`` does: ``sequential`` (or ``sequential_unrolled``) calls it for
        each example; ``expand_dims`` calls it once, arguments that are the same for all examples
        having a leading axis of size 1; ``broadcast_all`` repeats those;
        ``legacy_vectorized`` leaves them as they are.  The result then has a leading axis.  None:
        ``vmap`` is an error.
      **kwargs: further arguments.

    Returns:
      a tree like ``result_shape_dtypes``.

    Raises:
      TypeError: an argument is no array, or the function returns something else than announced.
      ValueError: ``vmap_method`` is none of these, or a 64-bit type is announced and these are off.
      CallbackError: the function raised an exception, which is the cause: a ``JaxRuntimeError``,
        raised where the result is awaited.

    Its derivative is an error; give one with ``custom_jvp``.

    >>> import numpy as np
    >>> import jxkernel as jax
    >>> def median(x):
    ...     return np.median(x)
    >>> f = jax.jit(lambda x: jax.pure_callback(median, jax.ShapeDtypeStruct((), x.dtype), x))
    >>> f(np.array([3.0, 1.0, 2.0], np.float32))
    Array(2., dtype=float32)
    """
    if vectorized is not None:
        if vmap_method is not None:
            raise ValueError("pure_callback got both vectorized and vmap_method: give vmap_method")
        vmap_method = "legacy_vectorized" if vectorized else "sequential"
        warnings.warn(
            f"pure_callback(vectorized=...) is an older name: write vmap_method={vmap_method!r}",
            DeprecationWarning,
            stacklevel=2,
        )
    if vmap_method not in (None, *VMAP_METHODS):
        known = ", ".join(map(repr, VMAP_METHODS))
        raise ValueError(f"pure_callback got vmap_method={vmap_method!r}: it is None or {known}")
    _check_sharding("pure_callback", sharding)
    leaves, function, avals, out_tree = _prepared(
        "pure_callback", callback, result_shape_dtypes, args, kwargs
    )
    outs = pure_callback_p.bind(
        *leaves, callback=function, result_avals=avals, vmap_method=vmap_method
    )
    return out_tree.unflatten(outs)


@filtered
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with side effects from a program, exactly as often as that says.

    Args:
      callback: the function.
      result_shape_dtypes: as for ``pure_callback``; None for a function that returns None.
      *args: trees of arrays that it is called with.
      sharding: None; results lie where the program runs.
      ordered: whether the call keeps its place among other ordered callbacks, in this program and
        in those before and after it.
      **kwargs: further arguments.

    Returns:
      a tree like ``result_shape_dtypes``.

    Raises:
      TypeError: an argument is no array, or the function returns something else than announced.
      ValueError: a 64-bit type is announced and these are off.
      CallbackError: the function raised an exception, which is the cause: a ``JaxRuntimeError``,
        raised where the result is awaited.

    Under ``vmap`` it is called for each example; an ordered one is an error there.  So is its
    derivative.

    >>> import jxkernel as jax
    >>> from jxkernel.experimental import io_callback
    >>> seen = []
    >>> @jax.jit
    ... def f(x):
    ...     io_callback(lambda v: seen.append(int(v)), None, x, ordered=True)
    ...     return x + 1
    >>> int(f(1)), int(f(2)), seen
    (2, 3, [1, 2])
    """
    _check_sharding("io_callback", sharding)
    leaves, function, avals, out_tree = _prepared(
        "io_callback", callback, result_shape_dtypes, args, kwargs
    )
    outs = io_callback_p.bind(*leaves, callback=function, result_avals=avals, ordered=bool(ordered))
    return out_tree.unflatten(outs)


@filtered
def debug_callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function to look at values while a program runs.

    What it returns is ignored.  It follows values through transforms: differentiated code shows
    primals, ``vmap`` calls it for each example (in both branches of a ``cond`` whose condition
    differs between examples), and ``checkpoint`` calls it again where it computes again.

    Args:
      callback: the function.  Without it a function of it is returned, with the other options set.
      *args: trees of arrays that it is called with; other values are handed over as they are.
      ordered: whether the call keeps its place among other ordered callbacks.
      partitioned: accepted and without meaning here: a program on one device has one part.
      **kwargs: further arguments.

    Raises:
      TypeError: ``callback`` cannot be called.
      CallbackError: the function raised an exception in a compiled program, which is the cause: a
        ``JaxRuntimeError``, raised where a result of the program, or ``effects_barrier``, is
        awaited.  Outside of programs the exception is raised as it is.

    >>> import jxkernel as jax
    >>> largest = []
    >>> @jax.jit
    ... def f(x):
    ...     jax.debug.callback(lambda v: largest.append(float(v)), x.max())
    ...     return 2 * x
    >>> y = f(jax.numpy.arange(3.0))
    >>> jax.effects_barrier()
    >>> largest
    [2.0]
    """
    if callback is None:
        return partial(debug_callback, ordered=ordered, partitioned=partitioned)
    check_callable("debug.callback", "callback", callback)
    bind_debug_callback(callback, function_name(callback), args, kwargs, ordered=bool(ordered))
    return None


def bind_debug_callback(
    callback: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    ordered: bool,
) -> None:
    """Bind the primitive of ``debug.callback`` for trees of arrays and other values."""
    leaves, structure = physical.flatten((args, kwargs))
    arrays, merge = _arrays_and_others(leaves)

    def call(values: Sequence[Any]) -> tuple[()]:
        positional, named = structure.unflatten(merge(values))
        HostFunction.ask(callback, *positional, **named)
        return ()

    debug_callback_p.bind(*arrays, callback=HostFunction(call, name), ordered=ordered)


def _arrays_and_others(
    leaves: Sequence[Any],
) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Return the leaves that are arrays, and the function that puts theirs among the others."""
    are_arrays = [_is_array(leaf) for leaf in leaves]
    others = [None if flag else leaf for leaf, flag in zip(leaves, are_arrays, strict=True)]

    def merge(values: Sequence[Any]) -> list[Any]:
        arrays = iter(values)
        return [
            next(arrays) if flag else other for other, flag in zip(others, are_arrays, strict=True)
        ]

    return [leaf for leaf, flag in zip(leaves, are_arrays, strict=True) if flag], merge


def _is_array(leaf: Any) -> bool:
    if not has_aval(type(leaf)):
        return False
    try:
        abstractify(leaf)
    except TypeError:  # a NumPy array of strings or objects
        return False
    return True


def _prepared(
    kind: str,
    callback: Callable[..., Any],
    announced: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[list[Any], HostFunction, tuple[ShapedArray, ...], Any]:
    """Return flat arguments, the flat function, and the types and structure of its results."""
    check_callable(kind, "callback", callback)
    name = function_name(callback)
    leaves, in_tree = physical.flatten((args, kwargs))
    leaf_avals(kind, "arguments", leaves, in_tree)
    announced_leaves, out_tree = physical.flatten(announced)
    avals = tuple([announced_aval(kind, leaf) for leaf in announced_leaves])

    def call(arrays: Sequence[Any]) -> list[Any]:
        positional, named = in_tree.unflatten(arrays)
        outs, structure = physical.flatten(HostFunction.ask(callback, *positional, **named))
        if structure != out_tree:
            raise TypeError(
                f"the callback {name} returned {structure_text(structure)}, where "
                f"result_shape_dtypes announced {structure_text(out_tree)}"
            )
        return outs

    return leaves, HostFunction(call, name), avals, out_tree


def announced_aval(kind: str, leaf: Any) -> ShapedArray:
    """Return the type that a leaf of ``result_shape_dtypes`` announces.

    Raises:
      TypeError: it has no shape and dtype.
      ValueError: it is of a 64-bit type, and these are off.
    """
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if shape is None or dtype is None:
        raise TypeError(
            f"{kind} got {with_type(leaf)} in result_shape_dtypes: each "
            "leaf has a shape and a dtype, such as jax.ShapeDtypeStruct((3,), 'float32')"
        )
    found = np.dtype(dtype)
    if dtypes.canonicalize_dtype(found) != found:
        assert not config.enable_x64.value
        raise ValueError(
            f"{kind} got the dtype {found.name} in result_shape_dtypes, and 64-bit types are off: "
            f"announce {dtypes.canonicalize_dtype(found).name}, or switch them on with "
            "jax.config.update('jax_enable_x64', True)"
        )
    return ShapedArray(tuple(shape), found)


def _check_sharding(kind: str, sharding: Any) -> None:
    if sharding is not None:
        raise NotImplementedError(
            f"{kind} got sharding={sharding!r:.100}: callbacks run on one device. Leave it out"
        )
