"""``ufunc``: elementwise functions that also reduce, accumulate, and update.

``frompyfunc`` makes one of a function of numbers, whose methods fold it in order.  The NumPy API's
own functions that NumPy gives these methods carry them as attributes and stay what they are,
compiled callables; ``isinstance(jnp.add, jnp.ufunc)`` holds for both.  Their methods are the
reductions of this package where it has one.
"""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from jxkernel._lazy import late_function
from jxkernel._reprs import counted
from jxkernel.core.filtering import filtered
from jxkernel.dtypes import DTypeLike
from jxkernel.numpy.arithmetic import add, maximum, minimum, multiply, negative, subtract
from jxkernel.numpy.creation import asarray, full, user_dtype
from jxkernel.numpy.joining import concatenate
from jxkernel.numpy.logic import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    logical_and,
    logical_or,
    logical_xor,
)
from jxkernel.numpy.mathematics import logaddexp, logaddexp2
from jxkernel.numpy.promotion import argument_aval, broadcast_to_shape, cast, refuse_out
from jxkernel.numpy.ranges import arange
from jxkernel.numpy.reductions import all as all_of
from jxkernel.numpy.reductions import any as any_of
from jxkernel.numpy.reductions import max as greatest
from jxkernel.numpy.reductions import min as least
from jxkernel.numpy.reductions import prod, reduced_axes, sum
from jxkernel.numpy.selection import where as chosen
from jxkernel.numpy.shapes import expand_dims, moveaxis, ravel, reshape
from jxkernel.numpy.ufuncs import refuse_options
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.arguments import canonical_axis

__all__ = ["frompyfunc", "ufunc"]

Axis = int | tuple[int, ...] | None

cumprod = late_function("jxkernel.numpy.cumulative", "cumprod")
cumsum = late_function("jxkernel.numpy.cumulative", "cumsum")
scan = late_function("jxkernel.api.control_flow.scanning", "scan")
vectorize = late_function("jxkernel.numpy.functional", "vectorize")
vmap = late_function("jxkernel.api.vectorize", "vmap")


class _Universal(type):
    """Makes ``isinstance(jnp.add, jnp.ufunc)`` true: an elementwise function with the methods."""

    def __instancecheck__(cls, instance: Any) -> bool:
        own = getattr(instance, "__dict__", {})
        return type.__instancecheck__(cls, instance) or type(own.get("ufunc")) is cls


class ufunc(metaclass=_Universal):
    """An elementwise function with NumPy's five methods, as ``frompyfunc`` makes it.

    Two of the same function and numbers are equal.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
        call: Callable[..., Any] | None = None,
        reduce: Callable[..., Any] | None = None,
        accumulate: Callable[..., Any] | None = None,
        at: Callable[..., Any] | None = None,
        reduceat: Callable[..., Any] | None = None,
    ) -> None:
        if not callable(func):
            raise TypeError(f"ufunc needs a callable, got {func!r:.100}")
        self._nin, self._nout = index(nin), index(nout)
        self._nargs = self._nin if nargs is None else index(nargs)
        self._identity = identity
        self.__name__ = name or getattr(func, "__name__", "ufunc")
        self.__doc__ = func.__doc__
        self.__wrapped__ = func
        self._call = call or vectorize(func)
        self._methods = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}

    @property
    def nin(self) -> int:
        """How many arguments the function takes."""
        return self._nin

    @property
    def nout(self) -> int:
        """How many results it gives."""
        return self._nout

    @property
    def nargs(self) -> int:
        """The same as ``nin``."""
        return self._nargs

    @property
    def identity(self) -> Any:
        """The number that changes nothing, or None."""
        return self._identity

    def _key(self) -> tuple[Any, ...]:
        return (self.__wrapped__, self.nin, self.nout, self.nargs, self.identity, self.__name__)

    def __eq__(self, other: object) -> bool:
        """Whether the other is a ufunc of the same function and numbers."""
        return self._key() == other._key() if type(other) is ufunc else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    @filtered
    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        """Apply the function to each element of its arguments, which broadcast."""
        refuse_options(self.__name__, out, where)
        if len(args) != self.nin:
            raise TypeError(
                f"{self.__name__} takes {counted(self.nin, 'argument')}, got {len(args)}"
            )
        results = self._call(*args)
        count = len(results) if isinstance(results, tuple) else 1
        if count != self.nout:
            raise TypeError(
                f"{self.__name__} gave {counted(count, 'result')}, and has nout={self.nout}"
            )
        return results

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def _check_binary(self, method: str) -> None:
        """Check that the function takes two arguments and gives one result.

        Raises:
          ValueError: it does not.
        """
        if (self.nin, self.nout) != (2, 1):
            raise ValueError(
                f"{self.__name__}.{method} is for functions of two arguments and one result; "
                f"{self.__name__} has {self.nin} and {self.nout}"
            )

    def reduce(
        self,
        a: Any,
        axis: Axis = 0,
        dtype: DTypeLike = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """Return the elements along an axis folded by the function, from the first to the last.

        Args:
          a: an array.
          axis: the axis; None for all elements.
          dtype: the dtype to compute in.
          out: must be None.
          keepdims: whether the axis stays, with size 1.
          initial: what to begin with; the identity, if there is one.
          where: booleans that broadcast to ``a``; the elements that count.

        Raises:
          ValueError: there is nothing to begin with, or the function is not binary.
        """
        self._check_binary("reduce")
        refuse_out(f"{self.__name__}.reduce", out)
        own = self._methods["reduce"]
        if own is not None:
            extra = {} if dtype is None else {"dtype": dtype}
            return own(a, axis, keepdims=keepdims, initial=initial, where=where, **extra)
        lines, mask, axes = self._lines(a, axis, where)
        if initial is None:
            initial = self.identity
        if initial is None and (mask is not None or not lines.shape[0]):
            raise ValueError(
                f"{self.__name__}.reduce {'with where=' if mask is not None else 'of no elements'} "
                "needs initial=...: the function has no identity"
            )
        result = self._folded(self._converted("reduce", lines, dtype), mask, initial)
        return expand_dims(result, axes) if keepdims and axes else result

    def _converted(self, method: str, a: Any, dtype: Any) -> Any:
        return a if dtype is None else a.astype(user_dtype(dtype, f"{self.__name__}.{method}"))

    def _lines(self, a: Any, axis: Axis, where: Any) -> tuple[Any, Any, tuple[int, ...]]:
        """Return an array (and a mask) with the axes to fold as the first one."""
        name = f"{self.__name__}.reduce"
        axes = reduced_axes(name, a, axis)
        a = asarray(a)
        count = int(np.prod([a.shape[i] for i in axes]))

        def moved(x: Any) -> Any:
            x = moveaxis(x, axes, tuple(range(len(axes))))
            return reshape(x, (count, *x.shape[len(axes) :]))

        mask = None if where is None else moved(broadcast_to_shape(asarray(where), a.shape))
        return moved(a), mask, axes

    def _folded(self, lines: Any, mask: Any, initial: Any) -> Any:
        """Return the parts of an array along its first axis, folded."""
        first = lines[0] if initial is None else full(lines.shape[1:], initial, lines.dtype)
        rest = slice(1 if initial is None else 0, None)

        def step(carry: Any, part: Any) -> tuple[Any, None]:
            element, counts = part if mask is not None else (part, None)
            found = self._call(carry, element).astype(carry.dtype)
            return (found if counts is None else chosen(counts, found, carry)), None

        first = first.astype(self._call(first, first).dtype)
        parts = lines[rest] if mask is None else (lines[rest], mask[rest])
        return scan(step, first, parts)[0]

    def accumulate(
        self, a: Any, axis: int | None = 0, dtype: DTypeLike = None, out: None = None
    ) -> Any:
        """Return every intermediate result of ``reduce`` along an axis.

        Args:
          a: an array.
          axis: the axis; None for the flattened array.
          dtype: the dtype to compute in.
          out: must be None.

        Raises:
          ValueError: the function is not binary, or there is no such axis.
        """
        self._check_binary("accumulate")
        name = f"{self.__name__}.accumulate"
        refuse_out(name, out)
        argument_aval(name, a)
        a, place = (ravel(a), 0) if axis is None else (asarray(a), axis)
        place = canonical_axis(name, place, a.ndim)
        if self._methods["accumulate"] is not None:
            return self._methods["accumulate"](a, place, dtype=dtype)
        lines = moveaxis(self._converted("accumulate", a, dtype), place, 0)
        if not lines.shape[0]:
            return moveaxis(cast(lines, lines.dtype), 0, place)
        first = lines[:1].astype(self._call(lines[0], lines[0]).dtype)

        def step(carry: Any, part: Any) -> tuple[Any, Any]:
            found = self._call(carry, part).astype(carry.dtype)
            return found, found

        rest = scan(step, first[0], lines[1:])[1]
        return moveaxis(concatenate([first, rest]), 0, place)

    def outer(self, A: Any, B: Any, /) -> Any:
        """Return the function of every pair of elements, shape ``A.shape + B.shape``.

        Raises:
          ValueError: the function does not take two arguments.
        """
        if self.nin != 2:
            raise ValueError(f"{self.__name__}.outer is for functions of two arguments")
        rank = argument_aval(f"{self.__name__}.outer", B, 1).ndim
        first = argument_aval(f"{self.__name__}.outer", A)
        return self(reshape(asarray(A), (*first.shape, *[1] * rank)), asarray(B))

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """Return a copy of an array with the function applied at an index; repeats count each.

        Args:
          a: an array.
          indices: any index.
          b: the second argument, for functions of two.
          inplace: must be False: arrays do not change.

        Raises:
          NotImplementedError: ``inplace`` is True.
        """
        name = f"{self.__name__}.at"
        if inplace:
            raise NotImplementedError(
                f"arrays do not change: {name}(..., inplace=False) returns a copy"
            )
        if (b is None) != (self.nin == 1) or self.nout != 1:
            raise ValueError(
                f"{name} got {counted(1 + (b is not None), 'operand')}; it takes {self.nin}"
            )
        argument_aval(name, a)
        a = asarray(a)
        if self._methods["at"] is not None:
            return self._methods["at"](a, indices, b)
        flat, places = ravel(a), reshape(arange(a.size), a.shape)
        places = IndexUpdater(places)[indices].get(mode="fill", fill_value=a.size)
        values = () if b is None else (ravel(broadcast_to_shape(asarray(b), places.shape)),)

        def step(carry: Any, part: Any) -> tuple[Any, None]:
            place, *operand = part
            found = self._call(carry[place], *operand).astype(carry.dtype)
            return IndexUpdater(carry)[place].set(found, mode="drop"), None

        return reshape(scan(step, flat, (ravel(places), *values))[0], a.shape)

    def reduceat(
        self, a: Any, indices: Any, axis: int = 0, dtype: DTypeLike = None, out: None = None
    ) -> Any:
        """Return the folds of the slices that consecutive indices bound.

        Args:
          a: an array.
          indices: a vector of integers; an index not below the next stands for its element alone,
            and one outside of the axis for NaN, or the least integer.
          axis: the axis.
          dtype: the dtype to compute in.
          out: must be None.

        Raises:
          ValueError: the function is not binary, or the indices are no vector of integers.
        """
        self._check_binary("reduceat")
        name = f"{self.__name__}.reduceat"
        refuse_out(name, out)
        argument_aval(name, a)
        starts = asarray(indices)
        if starts.ndim != 1 or not np.issubdtype(starts.dtype, np.integer):
            raise ValueError(
                f"{name} takes a vector of integers as indices, got shape {starts.shape} of "
                f"{starts.dtype.name}"
            )
        place = canonical_axis(name, axis, np.ndim(a))
        lines = moveaxis(self._converted("reduceat", asarray(a), dtype), place, 0)
        if not starts.shape[0]:
            return moveaxis(lines[:0], 0, place)
        stops = concatenate([starts[1:], asarray([lines.shape[0]], starts.dtype)])

        def segment(start: Any, stop: Any) -> Any:
            def step(carry: Any, part: Any) -> tuple[Any, None]:
                position, element = part
                found = self._call(carry, element).astype(carry.dtype)
                return chosen((start < position) & (position < stop), found, carry), None

            first = lines.at[start].get(mode="fill")
            first = first.astype(self._call(first, first).dtype)
            return scan(step, first, (arange(lines.shape[0]), lines))[0]

        found = moveaxis(vmap(segment)(starts, stops), 0, place)
        return cast(found, found.dtype, argument_aval(name, a).weak_type and dtype is None)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """Return a function of numbers as one of arrays, with the methods of ``ufunc``.

    Args:
      func: the function; it is traced with one element of each argument.
      nin: how many arguments it takes.
      nout: how many results it gives.
      identity: the number that changes nothing.

    Raises:
      TypeError: ``func`` is not callable.

    >>> import jxkernel.numpy as jnp
    >>> add = jnp.frompyfunc(lambda x, y: x + y, 2, 1, identity=0)
    >>> add.accumulate(jnp.arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


def _updating(method: str) -> Callable[[Any, Any, Any], Any]:
    def update(a: Any, indices: Any, b: Any) -> Any:
        return getattr(IndexUpdater(a)[indices], method)(b)

    return update


def _without_dtype(reduction: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction that converts its operand, as one that takes ``dtype=``."""

    def reduced(a: Any, axis: Axis, *, dtype: DTypeLike = None, **how: Any) -> Any:
        converted = a if dtype is None else asarray(a).astype(user_dtype(dtype, "reduce"))
        return reduction(converted, axis, **how)

    return reduced


def _truth_reduction(reduction: Callable[..., Any], combine: Any) -> Callable[..., Any]:
    def reduced(
        a: Any, axis: Axis, *, keepdims: bool, initial: Any, where: Any, dtype: DTypeLike = None
    ) -> Any:
        found = reduction(a, axis, keepdims=keepdims, where=where)
        found = found if initial is None else combine(found, initial)
        return found if dtype is None else found.astype(user_dtype(dtype, "reduce"))

    return reduced


def _equip(function: Any, nin: int, identity: Any = None, **methods: Any) -> None:
    """Give one of the package's functions what NumPy gives it as a ufunc."""
    own = ufunc(
        function, nin, 1, name=function.__name__, identity=identity, call=function, **methods
    )
    function.ufunc = own
    for name in ("nin", "nout", "nargs", "identity"):
        setattr(function, name, getattr(own, name))
    for name in ("reduce", "accumulate", "outer", "at", "reduceat"):
        setattr(function, name, getattr(own, name))


_equip(negative, 1)
_equip(subtract, 2, at=_updating("subtract"))
_equip(add, 2, 0, reduce=sum, accumulate=cumsum, at=_updating("add"))
_equip(multiply, 2, 1, reduce=prod, accumulate=cumprod, at=_updating("multiply"))
_equip(maximum, 2, reduce=_without_dtype(greatest), at=_updating("max"))
_equip(minimum, 2, reduce=_without_dtype(least), at=_updating("min"))
_equip(bitwise_and, 2, -1)
_equip(bitwise_or, 2, 0)
_equip(bitwise_xor, 2, 0)
_equip(logical_and, 2, True, reduce=_truth_reduction(all_of, logical_and))
_equip(logical_or, 2, False, reduce=_truth_reduction(any_of, logical_or))
_equip(logical_xor, 2, False)
_equip(logaddexp, 2, -np.inf)
_equip(logaddexp2, 2, -np.inf)
