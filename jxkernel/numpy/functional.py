"""Functions of functions: vectorized over leading axes, or applied along axes."""

from collections.abc import Callable, Collection, Sequence
from functools import update_wrapper
from re import findall, fullmatch
from typing import Any

import numpy as np

from jxkernel._reprs import counted
from jxkernel.api.vectorize import vmap
from jxkernel.core.filtering import filtered
from jxkernel.numpy.creation import asarray
from jxkernel.numpy.promotion import argument_aval, broadcast_shapes
from jxkernel.numpy.shapes import expand_dims, moveaxis
from jxkernel.numpy.shapes import squeeze as without_ones
from jxkernel.primitives.arguments import canonical_axis, listed, sequence
from jxkernel.runtime import ArrayLike

__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]

Core = tuple[str, ...]

_NAMES = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_SIGNATURE = rf"\s*({_NAMES}(?:\s*,\s*{_NAMES})*)?\s*->\s*({_NAMES}(?:\s*,\s*{_NAMES})*)\s*"


def _cores(text: str | None) -> list[Core]:
    """Return the names of the core axes of each array of one side of a signature."""
    return [tuple(findall(r"\w+", part)) for part in findall(r"\((.*?)\)", text or "")]


def _parsed(signature: str) -> tuple[list[Core], list[Core]]:
    """Return the core axes of arguments and results.

    Raises:
      ValueError: the text is no signature.
    """
    found = fullmatch(_SIGNATURE, signature)
    if not found:
        raise ValueError(f"vectorize got signature {signature!r}: it is like '(n,m),(m)->(n)'")
    return _cores(found.group(1)), _cores(found.group(2))


def _checked_core(args: Sequence[Any], cores: Sequence[Core], sizes: dict[str, int]) -> None:
    """Check that arguments have their core axes, and note their sizes.

    Raises:
      ValueError: an argument has too few axes, or two sizes of one name differ.
    """
    for position, (arg, core) in enumerate(zip(args, cores, strict=True)):
        shape = np.shape(arg)
        if len(shape) < len(core):
            raise ValueError(
                f"vectorize: argument {position} of shape {shape} lacks the axes "
                f"({', '.join(core)})"
            )
        for name, size in zip(core, shape[len(shape) - len(core) :], strict=True):
            if sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"vectorize: the axis {name!r} has size {size} in argument {position} and "
                    f"{sizes[name]} before"
                )


def _checked_results(results: Any, cores: list[Core], sizes: dict[str, int]) -> Any:
    """Check what the function returned against the signature."""
    listed = results if isinstance(results, tuple) else (results,)
    if len(listed) != len(cores):
        raise TypeError(
            f"vectorize: {counted(len(listed), 'result')} for a signature of {len(cores)}"
        )
    _checked_core(listed, cores, dict(sizes))
    for result, core in zip(listed, cores, strict=True):
        if len(np.shape(result)) != len(core):
            raise ValueError(
                f"vectorize: a result of shape {np.shape(result)} for the axes ({', '.join(core)})"
            )
    return results


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Return a function of single elements (or cores) as one of arrays that broadcast.

    Args:
      pyfunc: the function; it is traced with one element.
      excluded: positions and names of arguments that are handed through.
      signature: the core axes of arguments and results, such as ``"(n),(n)->()"``; none where
        not given.

    An argument that is None is handed through; it has no core axes.

    Raises:
      ValueError: the signature cannot be read, or arguments do not fit it.

    Derivatives are those of the function.

    >>> import jxkernel.numpy as jnp
    >>> dot = jnp.vectorize(jnp.vdot, signature="(n),(n)->()")
    >>> dot(jnp.ones((2, 3)), jnp.ones(3))
    Array([3., 3.], dtype=float32)
    """
    if not isinstance(signature, (str, type(None))):
        raise TypeError(f"vectorize got signature={signature!r:.100}: it is a string or None")
    excluded = sequence("vectorize", "excluded", excluded, "positions and names")
    cores = None if signature is None else _parsed(signature)
    fixed_names = {name for name in excluded if isinstance(name, str)}
    fixed_places = {place for place in excluded if isinstance(place, int)}

    @filtered
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        names = [name for name in kwargs if name not in fixed_names]
        places = [place for place in range(len(args)) if place not in fixed_places]
        data = [args[place] for place in places] + [kwargs[name] for name in names]

        def call(*elements: Any) -> Any:
            whole = list(args)
            for place, element in zip(places, elements, strict=False):
                whole[place] = element
            given = dict(zip(names, elements[len(places) :], strict=True))
            return pyfunc(*whole, **{**kwargs, **given})

        return _over_leading_axes(call, data, cores)

    return update_wrapper(vectorized, pyfunc)


def _over_leading_axes(
    call: Callable[..., Any], args: list[Any], cores: tuple[list[Core], list[Core]] | None
) -> Any:
    """Apply a function of cores to each element of the leading axes, which broadcast."""
    args = [None if arg is None else asarray(arg) for arg in args]
    in_cores: list[Core] = [()] * len(args) if cores is None else cores[0]
    if len(in_cores) != len(args):
        raise TypeError(
            f"vectorize: {counted(len(args), 'argument')} for a signature of {len(in_cores)}"
        )
    sizes: dict[str, int] = {}
    _checked_core(args, in_cores, sizes)
    leads = [np.shape(a)[: np.ndim(a) - len(c)] for a, c in zip(args, in_cores, strict=True)]
    lead = broadcast_shapes(*leads)
    # Axes that only broadcast are not mapped over: the function sees each value once.
    ones = [tuple(i for i, n in enumerate(own) if n == 1) for own in leads]
    kept = [
        without_ones(arg, tuple(i for i in axes if lead[len(lead) - len(own) + i] != 1))
        if axes
        else arg
        for arg, axes, own in zip(args, ones, leads, strict=True)
    ]

    def checked(*elements: Any) -> Any:
        results = call(*elements)
        return results if cores is None else _checked_results(results, cores[1], sizes)

    function: Callable[..., Any] = checked
    for back in range(1, len(lead) + 1):
        mapped = tuple(
            0 if len(own) >= back and (own[-back] != 1 or lead[-back] == 1) else None
            for own in leads
        )
        function = vmap(function, in_axes=mapped)
    return function(*kept)


@filtered
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Any:
    """Return what a function gives for each line of an array along an axis.

    Args:
      func1d: a function of a vector.
      axis: the axis.
      arr: the array.
      *args: further arguments of the function.
      **kwargs: further arguments of the function.

    Returns:
      an array with the axes of the function's result in place of the axis.

    >>> jnp.apply_along_axis(jnp.flip, 1, jnp.array([[1, 2], [3, 4]]))
    Array([[2, 1],
           [4, 3]], dtype=int32)
    """
    axis = canonical_axis("apply_along_axis", axis, argument_aval("apply_along_axis", arr).ndim)
    moved = moveaxis(asarray(arr), axis, -1)

    def function(line: Any) -> Any:
        return func1d(line, *args, **kwargs)

    for _ in range(moved.ndim - 1):
        function = vmap(function)
    result = function(moved)
    added = result.ndim - (moved.ndim - 1)
    last = tuple(range(result.ndim - added, result.ndim))
    return moveaxis(result, last, tuple(range(axis, axis + added)))


@filtered
def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: int | Sequence[int]) -> Any:
    """Return what a function gives when applied along one axis after the other.

    Args:
      func: a function of an array and an axis, whose result keeps the rank or drops the axis.
      a: the array.
      axes: the axes.

    Raises:
      ValueError: a result has another rank.

    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), [0, 2])
    Array([[[8.],
            [8.],
            [8.]]], dtype=float32)
    """
    a = asarray(a)
    for axis in listed(axes):
        place = canonical_axis("apply_over_axes", axis, a.ndim)
        result = func(a, place)
        if result.ndim == a.ndim - 1:
            result = expand_dims(result, place)
        if result.ndim != a.ndim:
            raise ValueError("apply_over_axes: the function changed the rank by more than its axis")
        a = result
    return a
