"""Creation: arrays from data on the host, from a shape, from a range of numbers.

Host data goes to the device without a program.  Everything else is one fused program per shape
and dtype.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._lazy import late_function
from jxkernel.api.shardings import as_sharding
from jxkernel.core.avals import ShapedArray, abstractify, array_of, refuse_masked
from jxkernel.core.dimensions import Dimension, is_symbolic
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.trace import Tracer, evaluating
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeError
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    broadcast_to_shape,
    cast,
    exact_number,
    promote_dtypes,
    scalar_of,
)
from jxkernel.primitives.arguments import whole_number, whole_numbers
from jxkernel.primitives.creation import beside_committed
from jxkernel.primitives.elementwise.convert import warn_of_imaginary_parts
from jxkernel.primitives.indexing.concatenate import stack as stack_arrays
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.runtime import Array, ArrayImpl, ArrayLike, array_from_host, note_narrowing
from jxkernel.sharding import NamedSharding, PartitionSpec
from jxkernel.sharding.mesh import computing_mesh

__all__ = [
    "array",
    "asarray",
    "astype",
    "copy",
    "empty",
    "empty_like",
    "from_dlpack",
    "frombuffer",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

put_leaf = late_function("jxkernel.api.transfer", "put_leaf")
share_memory = late_function("jxkernel.runtime.dlpack", "from_dlpack")

_ARRAYS = (ArrayImpl, Tracer, ExtendedArray)
_TRACEABLE = (*_ARRAYS, Dimension)
"""What a list may hold that no host array can."""
_PYTHON_SCALARS = frozenset((bool, int, float, complex))
_KIND_ORDER = (bool, int, float, complex)


def canonical_shape(shape: Any, name: str, argument: str = "shape") -> Any:
    """Return a shape as a tuple of ints; one number is the shape of rank 1.

    Args:
      shape: what was given.
      name: the function that takes it, for messages.
      argument: what it is called there.

    Raises:
      TypeError: it holds anything but whole numbers (a traced value is told what to do).
      ShapeError: a size is negative.
    """
    sizes = whole_numbers(name, argument, shape)
    if any(size < 0 for size in sizes):
        raise ShapeError(f"{name} got {argument}={sizes}: sizes are not negative")
    return sizes


def user_dtype(dtype: DTypeLike, name: str, *converted: Any) -> Any:
    """Return the canonical dtype a user asked for; None for none.

    Args:
      dtype: what was given.
      name: the function it was given to, for messages.
      *converted: what is converted to it: there is a warning where that drops an imaginary part.
    """
    if dtype is None:
        return None
    found = dtypes.check_and_canonicalize_user_dtype(dtype, name)
    avals = [argument_aval(name, x, position) for position, x in enumerate(converted)]
    warn_of_imaginary_parts(name, avals, found)
    return found


def placed(name: str, x: ArrayLike, device: Any, out_sharding: Any = None) -> Any:
    """Return an array on a device, or divided as a sharding says, if one is named.

    Args:
      name: the function that was given them, for messages.
      x: the array.
      device: a device or sharding, or None.
      out_sharding: a sharding or spec, or None.
    """
    if out_sharding is not None:
        return put_leaf(x, as_sharding(out_sharding, name, "out_sharding"))
    return x if device is None else put_leaf(x, as_sharding(device, name, "device"))


def placed_like(name: str, x: Any, a: Any, device: Any, out_sharding: Any, shape: Any) -> Any:
    """Return an array on a device or divided as said; else where another lies."""
    if device is not None or out_sharding is not None:
        return placed(name, x, device, out_sharding)
    if type(x) is ArrayImpl:
        return beside_committed(x, a)
    explicit_sharding = (
        abstractify(a).explicit_sharding if shape is None and isinstance(a, Array) else None
    )
    return x if explicit_sharding is None else put_leaf(x, explicit_sharding)


# ---------------------------------------------------------------- from data


def array(
    object: Any,
    dtype: DTypeLike = None,
    *,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return an array on the device with the given data.

    Args:
      object: an array, a number, nested lists or tuples of these, or anything NumPy understands.
      dtype: the result's dtype; otherwise that of the data by the rules of promotion.  A Python
        number gives a weakly typed array.
      copy: whether an array given is copied.
      order: ``"K"`` or ``"C"``; device arrays have no other.
      ndmin: the least rank; axes of size 1 are added in front.
      device: a device or a sharding to commit the result to.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      TypeError: the data is not numeric.
      ValueError: the lists are ragged, or ``object`` is None.
      OverflowError: a Python integer does not fit the dtype.

    Linear in arrays among the data.

    >>> import jxkernel.numpy as jnp
    >>> jnp.array([1, 2, 3])
    Array([1, 2, 3], dtype=int32)
    """
    if order not in ("K", "C", None):
        raise NotImplementedError(f"array(order={order!r}): device arrays are in order 'C' only")
    result = _from_object(object, user_dtype(dtype, "array"), copy)
    if device is None and out_sharding is None and not isinstance(object, _ARRAYS):
        result = _on_current_mesh(result)
    ndmin = whole_number("array", "ndmin", ndmin)
    if ndmin > result.ndim:
        result = broadcast_to_shape(result, (1,) * (ndmin - result.ndim) + result.shape)
    return placed("array", result, device, out_sharding)


def _on_current_mesh(x: Any) -> Any:
    """Return new data where programs run: on all devices of the mesh of ``set_mesh``, if any."""
    mesh = computing_mesh()
    if mesh is None or type(x) is not ArrayImpl or x.committed or not evaluating():
        return x
    return put_leaf(x, NamedSharding(mesh, PartitionSpec()))


def asarray(
    a: Any,
    dtype: DTypeLike = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return the data as an array; an array of the right dtype is returned as it is.

    Args:
      a: as for ``array``.
      dtype: the result's dtype; otherwise that of the data.
      order: ``"K"`` or ``"C"``.
      copy: True to copy always; data on the host is always copied to the device.
      device: a device or a sharding to commit the result to.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Raises:
      TypeError, ValueError, OverflowError: as ``array``.

    >>> jnp.asarray([1, 2, 3])
    Array([1, 2, 3], dtype=int32)
    >>> jnp.asarray(True, dtype=jnp.float32)
    Array(1., dtype=float32)
    """
    return placed("asarray", array(a, dtype, copy=bool(copy), order=order), device, out_sharding)


def _from_object(value: Any, dtype: Any, copy: bool) -> Any:
    if isinstance(value, _ARRAYS):
        return _from_array(value, dtype, copy)
    if type(value) in _PYTHON_SCALARS:
        return _from_number(value, dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        if type(value) is not np.ndarray:
            abstractify(value)  # which refuses masked arrays
        return _from_host(value, dtype)
    if isinstance(value, (list, tuple)):
        return _from_sequence(value, dtype)
    if value is None:
        raise ValueError("None is not data for an array")
    if hasattr(value, "__jax_array__"):
        return _from_object(value.__jax_array__(), dtype, copy)
    if isinstance(value, (int, float, complex)):
        return _from_number(value, dtype)
    if is_symbolic(value):
        return broadcast_in_dim(value, (), ()) if dtype is None else cast(value, dtype)
    return _from_host(np.asarray(value), dtype)


def _from_array(x: Any, dtype: Any, copy: bool) -> Any:
    if dtype is not None and (x.dtype != dtype or x.aval.weak_type):
        return astype(x, dtype)
    return _copied(x) if copy and not isinstance(x, Tracer) else x


@fused
def _copied(x: Any) -> Any:
    return x


def _from_number(value: Any, dtype: Any) -> Any:
    """Return a rank-0 array; one that is being traced joins the program as a literal."""
    scalar = dtypes.coerce_scalar(value, dtype)
    weak = dtype is None and not isinstance(value, bool)
    if not evaluating():
        literal = scalar[()]
        return broadcast_in_dim(literal.item() if weak else literal, (), ())
    return array_from_host(scalar, ShapedArray((), scalar.dtype, weak))


def _from_host(value: Any, dtype: Any) -> Any:
    found = dtypes.canonicalize_dtype(value.dtype) if dtype is None else dtype
    try:
        dtypes.check_valid_dtype(found)
    except TypeError:
        raise TypeError(
            f"data of dtype {value.dtype} cannot become an array: only booleans and numbers can"
        ) from None
    if dtype is None:
        note_narrowing(value, found)
    host = np.array(value, found)
    # NumPy would read the booleans that stand for it on a device.
    no_numbers = found == dtypes.float0
    return host if no_numbers else array_from_host(host, ShapedArray(value.shape, found))


def _from_sequence(value: Any, dtype: Any) -> Any:
    value = [array_of(item) for item in value]
    try:
        kinds = _leaf_kinds(value)
    except RecursionError:
        raise ValueError(
            "array got a list that contains itself, or is nested more deeply than an array has axes"
        ) from None
    if kinds <= _PYTHON_SCALARS:
        if dtype is None:
            widest = max(kinds, key=_KIND_ORDER.index, default=float)
            dtype = dtypes.canonicalize_dtype(widest)
        host = dtypes.host_array(value, dtype)
        return array_from_host(host, ShapedArray(host.shape, dtype))
    for kind in kinds:
        refuse_masked(kind)
    if any(issubclass(kind, _TRACEABLE) for kind in kinds):
        parts = [_from_object(item, None, False) for item in value]
        common = dtypes.result_type(*parts)
        # NumPy values are converted once, from what they are.
        hosts = [isinstance(item, (np.ndarray, np.generic)) for item in value]
        parts = promote_dtypes(
            "array",
            *[
                _from_host(item, common) if host else part
                for item, part, host in zip(value, parts, hosts, strict=True)
            ],
        )
        _check_equal_shapes(parts)
        stacked = stack_arrays(parts, 0)
        return cast(stacked, stacked.dtype if dtype is None else dtype)
    if dtype is None:
        dtype = _common_dtype(value)
    return _from_host(np.array(value), dtype)


def _check_equal_shapes(parts: Sequence[Any]) -> None:
    shapes = [part.shape for part in parts]
    if len(set(shapes)) > 1:
        raise ShapeError(f"array got a list of arrays of unequal shapes {shapes}")


def _leaf_kinds(value: Any) -> set[type]:
    """Return the types of the elements of nested lists and tuples."""
    kinds = set(map(type, value))
    if list in kinds or tuple in kinds:
        kinds -= {list, tuple}
        for item in value:
            if isinstance(item, (list, tuple)):
                kinds |= _leaf_kinds(item)
    return kinds


def _common_dtype(value: Any) -> Any:
    """Return the dtype of nested lists that hold NumPy values, by the rules of promotion."""
    leaves: list[Any] = []

    def collect(item: Any) -> None:
        if isinstance(item, (list, tuple)):
            for inner in item:
                collect(inner)
        else:
            leaves.append(item)

    collect(value)
    if any(leaf is None for leaf in leaves):
        raise ValueError("None is not data for an array, and there is one in the list")
    numbers = (np.ndarray, np.generic, bool, int, float, complex)
    arrays = [leaf if isinstance(leaf, numbers) else np.asarray(leaf) for leaf in leaves]
    return dtypes.result_type(*arrays)


@fused(static=("dtype", "copy", "device"))
def _converted(x: Any, dtype: Any, copy: bool, device: Any) -> Any:
    return cast(x, dtype)


def astype(x: Any, dtype: DTypeLike, /, *, copy: bool = False, device: Any = None) -> Any:
    """Return an array converted to a dtype.

    Args:
      x: an array or number.
      dtype: the dtype; None for the default float dtype.
      copy: accepted; results never share memory that can be written.
      device: a device or a sharding to commit the result to.

    Raises:
      TypeError: ``x`` is no array, or the dtype is none that arrays have.

    Floats become integers by dropping the fraction; complex numbers lose their imaginary part
    when made real, with a warning.  Linear between inexact dtypes; other conversions have a zero
    derivative.

    >>> jnp.astype(jnp.array([1.7, -1.7]), jnp.int32)
    Array([ 1, -1], dtype=int32)
    """
    found = user_dtype(float if dtype is None else dtype, "astype", x)
    aval = argument_aval("astype", x)
    if aval.dtype in dtypes.COMPLEX and found in dtypes.FLOATING:
        x = x.real
    return placed("astype", _converted(x, found, False, None), device)


def copy(a: Any, order: str | None = None) -> Any:
    """Return a copy of an array; ``order`` is accepted as ``"K"`` or ``"C"``.

    >>> x = jnp.array([1, 2])
    >>> jnp.copy(x) is x, jnp.copy(x).tolist()
    (False, [1, 2])
    """
    argument_aval("copy", a)
    return array(a, copy=True, order=order)


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Any:
    """Return a rank-1 array of the elements in a buffer of bytes.

    Args:
      buffer: anything that offers the buffer protocol.
      dtype: the dtype of the elements in it.
      count: how many to read; -1 for all.
      offset: the byte to begin at.

    Raises:
      BufferError: the protocol has no word for the buffer's own dtype, such as bfloat16.

    >>> jnp.frombuffer(bytes([1, 2, 3, 4]), jnp.uint8, count=2, offset=1)
    Array([2, 3], dtype=uint8)
    """
    try:
        host = np.frombuffer(buffer, dtypes.as_dtype(dtype), count, offset)
    except BufferError:
        raise BufferError(
            f"frombuffer got {type(buffer).__name__}, whose elements the buffer protocol has no "
            "word for: write np.asarray(x).tobytes()"
        ) from None
    return asarray(host)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array with the memory of another library's array, shared where that is possible.

    Args:
      x: an array of any library with ``__dlpack__`` and ``__dlpack_device__``.
      device: a device to put the result on.
      copy: True to copy always, False to refuse a copy.

    Raises:
      TypeError: ``x`` does not speak DLPack.
      BufferError: ``copy`` is False and the memory cannot be shared as it is.

    >>> jnp.from_dlpack(np.array([1.0, 2.0], np.float32))
    Array([1., 2.], dtype=float32)
    """
    return share_memory(x, device, copy)


# ---------------------------------------------------------------- from a shape


@fused(static=("value", "shape", "dtype"))
def _constant(value: int, shape: tuple[int, ...], dtype: Any) -> Any:
    return cast(broadcast_in_dim(scalar_of(dtype, value), shape, ()), dtype)


@fused(static=("shape", "dtype", "weak_type"))
def _filled(value: Any, shape: tuple[int, ...], dtype: Any, weak_type: bool) -> Any:
    if isinstance(dtype, dtypes.ExtendedDType) and not isinstance(value, ExtendedArray):
        value = dtype.scalar(value)
    return broadcast_to_shape(cast(value, dtype, weak_type), shape)


def _check_fill(name: str, value: Any, dtype: Any) -> None:
    """Refuse a Python complex number for a real dtype; warn of a complex array for one.

    Raises:
      TypeError: it is such a number.
    """
    if type(value) is complex:
        dtypes.coerce_scalar(value, dtype)
    warn_of_imaginary_parts(name, [argument_aval(name, value, 1)], dtype)


def zeros(
    shape: Any, dtype: DTypeLike = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Return an array of zeros.

    Args:
      shape: an int or a sequence of ints.
      dtype: the default float dtype where not given.
      device: a device or a sharding to commit the result to.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> import jxkernel.numpy as jnp
    >>> jnp.zeros(2)
    Array([0., 0.], dtype=float32)
    """
    return _constant_of("zeros", 0, shape, dtype, device, out_sharding)


def _constant_of(
    name: str, number: int, shape: Any, dtype: Any, device: Any, out_sharding: Any
) -> Any:
    found = dtypes.default_float_dtype() if dtype is None else user_dtype(dtype, name)
    result = _constant(number, canonical_shape(shape, name), found)
    return placed(name, result, device, out_sharding)


def ones(
    shape: Any, dtype: DTypeLike = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Return an array of ones; arguments are those of ``zeros``.

    >>> jnp.ones((2, 2))
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _constant_of("ones", 1, shape, dtype, device, out_sharding)


def empty(
    shape: Any, dtype: DTypeLike = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Return an array whose elements are not specified (they are zeros).

    Args:
      shape: an int or a sequence of ints.
      dtype: the default float dtype where not given.
      device: a device or a sharding to commit the result to.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> jnp.empty((2, 3)).shape
    (2, 3)
    """
    return _constant_of("empty", 0, shape, dtype, device, out_sharding)


def full(
    shape: Any,
    fill_value: Any,
    dtype: DTypeLike = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return an array filled with a value.

    Args:
      shape: an int or a sequence of ints.
      fill_value: a number, or an array that broadcasts to the shape.
      dtype: that of ``fill_value`` where not given (weak, if that is).
      device: a device or a sharding to commit the result to.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    Linear in ``fill_value``.

    >>> jnp.full((2, 2), jnp.array([1, 2]))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    if dtype is not None:
        fill_value = exact_number(fill_value, user_dtype(dtype, "full"))
    aval = argument_aval("full", fill_value, 1)
    found = aval.dtype if dtype is None else user_dtype(dtype, "full")
    _check_fill("full", fill_value, found)
    weak = dtype is None and aval.weak_type
    return placed(
        "full",
        _filled(fill_value, canonical_shape(shape, "full"), found, weak),
        device,
        out_sharding,
    )


def _like(name: str, a: Any, dtype: Any, shape: Any) -> tuple[Any, tuple[int, ...], bool]:
    """Return the dtype, shape and weakness that a new array takes from another."""
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        own_shape = a.shape
        own_dtype = a.dtype if isinstance(a, _ARRAYS) else dtypes.canonicalize_dtype(a.dtype)
        own_weak = bool(getattr(a, "weak_type", False))
    else:
        aval = argument_aval(name, a)
        own_shape, own_dtype, own_weak = aval.shape, aval.dtype, aval.weak_type
    sizes = own_shape if shape is None else canonical_shape(shape, name)
    return user_dtype(dtype, name) or own_dtype, sizes, own_weak and dtype is None


def full_like(
    a: Any,
    fill_value: Any,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return an array of the shape and dtype of another, filled with a value.

    It lies where the other is committed to, in its shards if the shapes agree.

    Args:
      a: an array, or anything with ``shape`` and ``dtype``.
      fill_value: a number, or an array that broadcasts to the shape.
      dtype: in place of that of ``a``.
      shape: in place of that of ``a``.
      device: a device or a sharding to commit the result to.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> jnp.full_like(jnp.zeros(2), 7)
    Array([7., 7.], dtype=float32)
    """
    found, sizes, weak = _like("full_like", a, dtype, shape)
    fill_value = exact_number(fill_value, found)
    _check_fill("full_like", fill_value, found)
    result = _filled(fill_value, sizes, found, weak and not np.ndim(fill_value))
    return placed_like("full_like", result, a, device, out_sharding, shape)


def zeros_like(
    a: Any,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return zeros of the shape and dtype of another array; see ``full_like``.

    >>> jnp.zeros_like(jnp.array([5, 6]))
    Array([0, 0], dtype=int32)
    """
    return _constant_like("zeros_like", 0, a, dtype, shape, device, out_sharding)


def _constant_like(
    name: str, number: int, a: Any, dtype: Any, shape: Any, device: Any, out_sharding: Any
) -> Any:
    found, sizes, weak = _like(name, a, dtype, shape)
    result = _filled(number, sizes, found, True) if weak else _constant(number, sizes, found)
    return placed_like(name, result, a, device, out_sharding, shape)


def ones_like(
    a: Any,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return ones of the shape and dtype of another array; see ``full_like``.

    >>> jnp.ones_like(jnp.array([5, 6]))
    Array([1, 1], dtype=int32)
    """
    return _constant_like("ones_like", 1, a, dtype, shape, device, out_sharding)


def empty_like(
    prototype: Any,
    dtype: DTypeLike = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Return an array of the shape and dtype of another; its elements are zeros.

    Args:
      prototype: an array, or anything with ``shape`` and ``dtype``.
      dtype: in place of that of ``prototype``.
      shape: in place of that of ``prototype``.
      device: a device or a sharding to commit the result to.
      out_sharding: how the result is divided: a sharding, or a spec under ``set_mesh``.

    >>> jnp.empty_like(jnp.ones((2, 3), jnp.int8)).dtype
    dtype('int8')
    """
    argument_aval("empty_like", prototype)
    return _constant_like("empty_like", 0, prototype, dtype, shape, device, out_sharding)
