"""The second port: what ``x + y``, ``x[i]`` and ``x.sum()`` mean.

``install_operators`` attaches the methods once to jaxlib's array class, to tracers, and to arrays
of extended dtypes: on random keys the methods that move elements work, and the others say why they
do not.  On arrays a binary operator *is* a C++ callable, so that a repeated ``x + y`` does not
enter Python; on tracers it is the Python function of the same body.  An operand of a foreign type
gives ``NotImplemented``, and Python asks the other operand.  Symbolic sizes compute exactly among
themselves and with integers; with any other number they are arrays.
"""

from collections.abc import Callable, Iterator
from operator import index
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._lazy import late_function
from jxkernel.core.avals import array_of
from jxkernel.core.dimensions import Dimension
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.trace import Tracer, evaluating
from jxkernel.errors import ImmutableArrayError
from jxkernel.numpy import (
    argminmax,
    arithmetic,
    contractions,
    creation,
    joining,
    logic,
    mathematics,
    matrices,
    means,
    reductions,
    selection,
    shapes,
    taking,
)
from jxkernel.numpy.fusing import OPERANDS, fused
from jxkernel.numpy.indexing import getitem
from jxkernel.numpy.ufuncs import named
from jxkernel.numpy.updating import IndexUpdater
from jxkernel.primitives.elementwise.complex import complex as complex_of
from jxkernel.primitives.elementwise.convert import bitcast_convert_type
from jxkernel.primitives.indexing.dynamic_slicing import dynamic_slice
from jxkernel.primitives.shape.reshape import squeeze
from jxkernel.runtime import ArrayImpl, attach_method

__all__ = ["install_operators"]

Method = Callable[..., Any]

# ---------------------------------------------------------------- binary operators


LISTS = (list, tuple)
SEQUENCES = (*LISTS, str, bytes, bytearray)


def _deferring(function: Any, reflected: bool) -> Method:
    """Return a function as the body of a binary method.

    A sequence is refused: Python would take ``x == [1, 2]`` for a question of identity, and
    ``x * [1, 2]`` for a repetition, x being a count.
    """
    body = getattr(function, "__wrapped__", function)
    refused = SEQUENCES if function is arithmetic.multiply else LISTS

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            return body(self, other)
        if hasattr(type(other), "__jax_array__"):
            return body(self, array_of(other))
        if type(other) in refused:
            raise _no_operand(function.__name__, self, other)
        return NotImplemented

    def reflected_method(self: Any, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            return body(other, self)
        if hasattr(type(other), "__jax_array__"):
            return body(array_of(other), self)
        if isinstance(other, refused):
            raise _no_operand(function.__name__, other, self)
        return NotImplemented

    return reflected_method if reflected else method


def _no_operand(name: str, left: Any, right: Any) -> TypeError:
    """Return the error of an operator between an array and a sequence that is none.

    Raises:
      TracerIntegerConversionError: a text is to be repeated as often as a traced number says.
    """
    sequence, other = (left, right) if isinstance(left, SEQUENCES) else (right, left)
    kind = type(sequence).__name__
    message = f"{name} takes arrays and numbers, got a {kind}"
    if isinstance(sequence, LISTS):
        return TypeError(f"{message}: write jnp.asarray(...) around it")
    if other.ndim or not dtypes.issubdtype(other.dtype, np.integer):
        return TypeError(message)
    index(other)
    return TypeError(f"{message}: write int(...) around the number to repeat it")


_ARITHMETIC: dict[str, Any] = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.true_divide,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.remainder,
    "divmod": arithmetic.divmod,
    "matmul": contractions.matmul,
    "and": logic.bitwise_and,
    "or": logic.bitwise_or,
    "xor": logic.bitwise_xor,
    "lshift": logic.left_shift,
    "rshift": logic.right_shift,
}
_COMPARISON: dict[str, Any] = {
    "eq": logic.equal,
    "ne": logic.not_equal,
    "lt": logic.less,
    "le": logic.less_equal,
    "gt": logic.greater,
    "ge": logic.greater_equal,
}


def _binary_methods() -> Iterator[tuple[str, Method]]:
    for name, function in {**_ARITHMETIC, **_COMPARISON}.items():
        yield f"__{name}__", _deferring(function, False)
    for name, function in _ARITHMETIC.items():
        yield f"__r{name}__", _deferring(function, True)
    yield "__rpow__", _deferring(arithmetic.array_power, True)


def _of_size(exact: Any, method: Method) -> Method:
    """Return an operator of symbolic sizes: that of sizes, else that of the array they become.

    Args:
      exact: the operator of sizes, which gives ``NotImplemented`` for what is none; None where
        sizes have no such operator.
      method: the operator of arrays.
    """

    def of_size(self: Any, other: Any) -> Any:
        other = int(other) if isinstance(other, np.integer) else other
        found = NotImplemented if exact is None else exact(self, other)
        return method(creation.asarray(self), other) if found is NotImplemented else found

    return of_size


_array_power = fused(_deferring(arithmetic.array_power, False), operator=True, name="power")
_traced_power = _deferring(arithmetic.array_power, False)


def _array_pow(self: Any, other: Any) -> Any:
    """Raise to a power; an integer that is no array is part of the program."""
    if type(other) is int or arithmetic.is_whole_number(other):
        return arithmetic.integer_power(self, int(other))
    return _array_power(self, other)


def _tracer_pow(self: Any, other: Any) -> Any:
    """Raise a traced value to a power; an integer that is no array is part of the program."""
    if type(other) is int or arithmetic.is_whole_number(other):
        return arithmetic.integer_power.__wrapped__(self, int(other))
    return _traced_power(self, other)


# ---------------------------------------------------------------- indexing


@fused(name="getitem")
def _at_place(x: Any, place: Any) -> Any:
    starts = [place, *[0] * (x.ndim - 1)]
    part = dynamic_slice(x, starts, (1, *x.shape[1:]), allow_negative_indices=False)
    return squeeze(part, (0,))


@fused(static=("count",), name="getitem")
def _window(x: Any, start: Any, count: int) -> Any:
    starts = [start, *[0] * (x.ndim - 1)]
    return dynamic_slice(x, starts, (count, *x.shape[1:]), allow_negative_indices=False)


def _array_getitem(self: Any, index: Any) -> Any:
    """Return the part an index selects; one integer or one slice takes the short way."""
    kind = type(index)
    if kind is int:
        shape = self.aval.shape
        if shape and -shape[0] <= index < shape[0] and evaluating():
            return _at_place(self, index + shape[0] if index < 0 else index)
    elif kind is slice and index.step is None and self.aval.shape and evaluating():
        start, stop, _ = index.indices(self.aval.shape[0])
        return _window(self, start, stop - start if stop > start else 0)
    return getitem(self, index)


def _setitem(self: Any, index: Any, value: Any) -> None:
    """Refuse assignment; arrays do not change."""
    raise ImmutableArrayError(index=_index_text(index), value=_value_text(value))


def _delitem(self: Any, index: Any) -> None:
    """Refuse deletion; arrays do not change."""
    raise TypeError("arrays do not change: jnp.delete(x, index) returns a copy without elements")


def _index_text(index: Any) -> str:
    """Return an index as it is written between brackets."""
    if isinstance(index, tuple):
        return ", ".join(map(_index_text, index)) or "()"
    if isinstance(index, slice):
        bounds = ["" if part is None else str(part) for part in (index.start, index.stop)]
        return ":".join(bounds) + ("" if index.step is None else f":{index.step}")
    if index is Ellipsis:
        return "..."
    return str(index) if isinstance(index, (int, type(None))) else "index"


def _value_text(value: Any) -> str:
    return repr(value) if isinstance(value, (int, float, complex)) else "value"


def _tracer_iter(self: Any) -> Iterator[Any]:
    """Iterate over the parts along axis 0; each is a traced value of its own."""
    if not self.shape:
        raise TypeError("iteration over an array of rank 0")
    return (self[place] for place in range(self.shape[0]))


def _contains(self: Any, value: Any) -> bool:
    """Say whether an element equals a number."""
    return bool(reductions.any(logic.equal(self, value)))


# ---------------------------------------------------------------- methods


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """Return the array converted to a dtype."""
    return creation.astype(self, dtype, copy=copy, device=device)


def _reshape(
    self: Any, *args: Any, order: str = "C", copy: bool | None = None, out_sharding: Any = None
) -> Any:
    """Return the elements in another shape, given as several ints or as one sequence."""
    shape = args[0] if len(args) == 1 else args
    return shapes.reshape(self, shape, order, copy=copy, out_sharding=out_sharding)


def _transpose(self: Any, *args: Any) -> Any:
    """Return the array with axes permuted, given as several ints or as one sequence."""
    if not args or args == (None,):
        return shapes.transpose(self)
    return shapes.transpose(self, args[0] if len(args) == 1 and np.ndim(args[0]) else args)


def _flatten(self: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """Return the elements along one axis."""
    return shapes.ravel(self, order, out_sharding=out_sharding)


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """Return the values, those beyond a bound replaced by the bound."""
    return arithmetic.clip(self, min, max)


def _round(self: Any, ndigits: int | None = None) -> Any:
    """Return the values rounded to a number of decimals; without it, as integers."""
    rounded = mathematics.round(self, ndigits or 0)
    return creation.astype(rounded, int) if ndigits is None else rounded


def _copy(self: Any) -> Any:
    """Return a copy."""
    return creation.array(self)


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    """Return the array on a device, or divided as a sharding says."""
    if stream is not None:
        raise NotImplementedError("to_device(stream=...): work is ordered by its data")
    return creation.placed("to_device", self, device)


def _compress(self: Any, condition: Any, axis: int | None = None, **how: Any) -> Any:
    """Return the parts along an axis where a condition holds."""
    return taking.compress(condition, self, axis, **how)


def _view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """Return the bits of the elements read as another dtype; the last axis changes its size."""
    if type is not None:
        raise NotImplementedError("view(type=...): arrays have one class")
    return _bits_as(self, creation.user_dtype(dtype, "view"))


@fused(static=("dtype",), name="view")
def _bits_as(x: Any, dtype: Any) -> Any:
    """Return an array's bits as another dtype.

    Raises:
      ValueError: the last axis does not hold a whole number of elements, or the rank is 0.
    """
    old = x.dtype
    if dtype is None or dtype == old:
        return x
    if not x.ndim and (old in dtypes.COMPLEX or dtype in dtypes.COMPLEX):
        if old.itemsize == dtype.itemsize:
            return shapes.reshape(_bits_as(shapes.reshape(x, (1,)), dtype), ())
    elif old in dtypes.COMPLEX:
        parts = joining.stack([mathematics.real(x), mathematics.imag(x)], -1)
        return _bits_as(shapes.reshape(parts, (*x.shape[:-1], 2 * x.shape[-1])), dtype)
    elif dtype in dtypes.COMPLEX:
        if x.shape[-1] * dtypes.itemsize_bits(old) % dtypes.itemsize_bits(dtype):
            raise ValueError(f"view as {dtype.name}: the last axis of {x.shape} does not divide")
        parts = _bits_as(x, dtypes.to_floating_dtype(dtype))
        return complex_of(parts[..., ::2], parts[..., 1::2])
    x = x.astype(np.uint8) if old in dtypes.BOOLEAN else x
    kind = np.dtype(np.uint8) if dtype in dtypes.BOOLEAN else dtype
    before, after = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(kind)
    if before != after and not x.ndim:
        raise ValueError(f"view of a scalar of {old.name} as {dtype.name}: the sizes differ")
    if before > after:
        result = bitcast_convert_type(x, kind)
        result = shapes.reshape(result, (*x.shape[:-1], x.shape[-1] * (before // after)))
    elif before < after:
        count, rest = divmod(x.shape[-1] * before, after)
        if rest:
            raise ValueError(f"view as {dtype.name}: the last axis of {x.shape} does not divide")
        grouped = shapes.reshape(x, (*x.shape[:-1], count, after // before))
        result = bitcast_convert_type(grouped, kind)
    else:
        result = bitcast_convert_type(x, kind)
    return result != 0 if dtype in dtypes.BOOLEAN else result


def _byteswap(self: Any, inplace: bool = False) -> Any:
    """Return the elements with their bytes in the reverse order."""
    if inplace:
        raise NotImplementedError("byteswap(inplace=True): arrays do not change; use the result")
    if self.dtype in dtypes.COMPLEX:
        return complex_of(_byteswap(self.real), _byteswap(self.imag))
    flat = _bits_as(shapes.reshape(self, (*self.shape, 1)), np.dtype(np.uint8))
    return shapes.reshape(_bits_as(flat[..., ::-1], self.dtype), self.shape)


_METHODS: dict[str, Method] = {
    "__array_namespace__": late_function("jxkernel.numpy.array_api", "array_namespace"),
    "all": reductions.all,
    "any": reductions.any,
    "argmax": argminmax.argmax,
    "argmin": argminmax.argmin,
    "argpartition": late_function("jxkernel.numpy.sorting", "argpartition"),
    "argsort": late_function("jxkernel.numpy.sorting", "argsort"),
    "astype": _astype,
    "byteswap": _byteswap,
    "choose": selection.choose,
    "clip": _clip,
    "compress": _compress,
    "conj": mathematics.conj,
    "conjugate": mathematics.conjugate,
    "copy": _copy,
    "cumprod": late_function("jxkernel.numpy.cumulative", "cumprod"),
    "cumsum": late_function("jxkernel.numpy.cumulative", "cumsum"),
    "diagonal": matrices.diagonal,
    "dot": contractions.dot,
    "flatten": _flatten,
    "max": reductions.max,
    "mean": means.mean,
    "min": reductions.min,
    "nonzero": taking.nonzero,
    "partition": late_function("jxkernel.numpy.sorting", "partition"),
    "prod": reductions.prod,
    "ptp": reductions.ptp,
    "ravel": shapes.ravel,
    "repeat": taking.repeat,
    "reshape": _reshape,
    "round": mathematics.round,
    "searchsorted": late_function("jxkernel.numpy.sorting", "searchsorted"),
    "sort": late_function("jxkernel.numpy.sorting", "sort"),
    "squeeze": shapes.squeeze,
    "std": means.std,
    "sum": reductions.sum,
    "swapaxes": shapes.swapaxes,
    "take": taking.take,
    "to_device": _to_device,
    "trace": matrices.trace,
    "transpose": _transpose,
    "var": means.var,
    "view": _view,
}
_TRACED: dict[str, Method] = {
    "__getitem__": getitem,
    "__iter__": _tracer_iter,
    "__pow__": _tracer_pow,
}
_UNARY: dict[str, Method] = {
    "__abs__": arithmetic.absolute,
    "__invert__": logic.bitwise_not,
    "__neg__": arithmetic.negative,
    "__pos__": arithmetic.positive,
}
_COMMON: dict[str, Any] = {
    "__contains__": _contains,
    "__delitem__": _delitem,
    "__round__": _round,
    "__setitem__": _setitem,
    "T": property(shapes.transpose),
    "at": property(IndexUpdater),
    "imag": property(lambda self: mathematics.imag(self)),
    "mT": property(shapes.matrix_transpose),
    "real": property(lambda self: mathematics.real(self)),
}


def install_operators() -> None:
    """Give arrays, tracers, keys and sizes their operators, indexing, methods; called once."""
    for name, method in _binary_methods():
        setattr(Tracer, name, named(method, name, f"See the operator module's ``{name}``."))
        setattr(ArrayImpl, name, fused(method, operator=True, name=name.strip("_")))
        setattr(ExtendedArray, name, getattr(ArrayImpl, name))
        if name.strip("_") not in _COMPARISON:
            setattr(Dimension, name, _of_size(getattr(Dimension, name, None), method))
    Dimension.__pow__ = _of_size(Dimension.__pow__, _tracer_pow)
    for name, method in {**_COMMON, **_METHODS, **_UNARY}.items():
        attach_method(name, method, Tracer, ArrayImpl, ExtendedArray)
    for name, method in _TRACED.items():
        setattr(Tracer, name, method)
        setattr(ExtendedArray, name, method)
    ArrayImpl.__pow__ = _array_pow
    ArrayImpl.__getitem__ = _array_getitem
