"""Bringing operands together: one dtype by the promotion lattice, one shape by broadcasting.

Functions of the NumPy API promote their operands here and then call operations, which do not
promote.  Operands that already agree pass through two comparisons.  Scalars (rank 0) are not
broadcast: operations take them beside any shape.
"""

import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import with_type
from jxkernel.config import numpy_rank_promotion
from jxkernel.core.avals import ShapedArray, abstractify, array_of
from jxkernel.core.dimensions import is_symbolic
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.trace import Tracer, is_unknown
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import (
    ByteOrderError,
    ComplexOrderError,
    ConcretizationTypeError,
    KeyTypeError,
    ShapeError,
    ShapeMismatchError,
)
from jxkernel.primitives.arguments import whole_number, whole_numbers
from jxkernel.primitives.elementwise.convert import convert_element_type_p, convert_on_host
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.runtime import ArrayImpl
from jxkernel.source import is_user_code, users_level

__all__ = [
    "argument_aval",
    "broadcast_shapes",
    "broadcast_to_shape",
    "cast",
    "check_arguments",
    "check_known",
    "default_inexact_dtype",
    "dtype_of",
    "exact_number",
    "inexact_dtype",
    "joint_shape",
    "numeric_dtype",
    "promote_complex",
    "promote_dtypes",
    "promote_for_primitive",
    "promote_inexact",
    "promote_operands",
    "promote_strongly",
    "refuse_complex",
    "refuse_out",
    "result_dtype",
    "ruled_dtype",
    "scalar_of",
    "static_axes",
    "static_axis",
]

_PYTHON_KINDS: dict[Any, type] = {}
for _members, _kind in (
    (dtypes.BOOLEAN, bool),
    (dtypes.INTEGRAL, int),
    (dtypes.FLOATING, float),
    (dtypes.COMPLEX, complex),
):
    _PYTHON_KINDS.update(dict.fromkeys(_members, _kind))


def argument_aval(name: str, x: Any, position: int = 0) -> ShapedArray:
    """Return the type of an argument.

    Raises:
      TypeError: it is no array and no number; lists are not converted silently.
    """
    try:
        return abstractify(x)
    except ByteOrderError:
        raise
    except TypeError:
        if hasattr(type(x), "__jax_array__"):
            return abstractify(array_of(x))
        advice = ": write jnp.asarray(...) around it" if isinstance(x, (list, tuple)) else ""
        raise TypeError(
            f"{name} takes arrays and numbers, got {with_type(x)} as argument {position}{advice}"
        ) from None


def exact_number(value: Any, dtype: DTypeLike) -> Any:
    """Return a number in a dtype if the one that it would have by itself cannot hold it."""
    if type(value) is int:
        narrow = -(2**31) <= value < 2**31
        return value if narrow else dtypes.coerce_scalar(value, dtype)[()]
    if isinstance(value, np.integer) and dtypes.canonicalize_dtype(value.dtype) != value.dtype:
        return convert_on_host(value, dtype)
    return value


def dtype_of(x: Any) -> Any:
    """Return the dtype of an array or number that has been checked."""
    return abstractify(x).dtype


def check_arguments(name: str, *args: Any) -> None:
    """Check that all arguments are arrays or numbers.

    Raises:
      TypeError: one is not.
    """
    for position, arg in enumerate(args):
        argument_aval(name, arg, position)


def cast(x: Any, dtype: DTypeLike, weak_type: bool = False) -> Any:
    """Return an array or number as one of exactly a dtype and weakness.

    Python numbers and NumPy scalars stay scalars, so that they end as literals.

    Raises:
      OverflowError: a Python integer does not fit the default integer dtype.
    """
    if isinstance(x, (Tracer, ArrayImpl, ExtendedArray)):
        aval = x.aval
        if aval.dtype == dtype and aval.weak_type == weak_type:
            return x
        if isinstance(x, ExtendedArray) or isinstance(dtype, dtypes.ExtendedDType):
            raise KeyTypeError(f"a conversion to {dtype.name}", aval.short())
    elif np.ndim(x) == 0 and not is_symbolic(x):
        return _cast_scalar(x, dtype, weak_type)
    elif isinstance(x, (list, tuple)):
        raise TypeError(
            f"arrays and numbers are taken here, got {with_type(x)}: write "
            "jnp.asarray(...) around it"
        )
    elif not weak_type and not is_symbolic(x) and x.dtype == dtype:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)


def _cast_scalar(x: Any, dtype: Any, weak_type: bool) -> Any:
    if type(x) is int and dtypes.issubdtype(dtype, np.integer):
        # As if it were an array of the default integer dtype: what fits that one wraps.
        scalar = dtypes.coerce_scalar(x, dtypes.default_int_dtype()).astype(dtype)[()]
    elif type(x) in dtypes.python_scalar_dtypes:
        if isinstance(x, complex) and dtype not in dtypes.COMPLEX:
            x = x.real  # as an array would
        scalar = dtypes.coerce_scalar(x, dtype)[()]
    else:
        scalar = np.asarray(x).astype(dtype)[()]
    return _PYTHON_KINDS[dtype](scalar) if weak_type else scalar


def scalar_of(dtype: DTypeLike, number: Any) -> Any:
    """Return a number as a scalar of a dtype; of keys, the key whose data all are that number."""
    if isinstance(dtype, dtypes.ExtendedDType):
        return dtype.scalar(number)
    return np.zeros((), dtype)[()] if dtype == dtypes.float0 else dtype.type(number)


def result_dtype(name: str, args: Sequence[Any]) -> tuple[Any, bool]:
    """Return the dtype (and whether it is weak) that results when the arguments meet.

    Raises:
      TypeError: one is no array and no number.
      TypePromotionError: their dtypes have no common one.
    """
    return _joint_dtype(name, [argument_aval(name, arg, i) for i, arg in enumerate(args)])


def _joint_dtype(name: str, avals: Sequence[ShapedArray]) -> tuple[Any, bool]:
    """Return the common dtype (and whether it is weak) of types.

    Arrays of one dtype keep it, also one of 64 bits where these are off.

    Raises:
      KeyTypeError: there are keys among them, and others.
      TypePromotionError: they have none.
    """
    dtype = avals[0].dtype if avals else None
    alike = all(aval.dtype == dtype and not aval.weak_type for aval in avals)
    if alike and isinstance(dtype, np.dtype):
        return dtype, False
    try:
        return dtypes.lattice_result_type(*[(aval.dtype, aval.weak_type) for aval in avals])
    except KeyTypeError:
        raise _key_error(name, avals) from None


def _key_error(name: str, avals: Sequence[ShapedArray]) -> KeyTypeError:
    return KeyTypeError(name, ", ".join([aval.short() for aval in avals]))


def promote_dtypes(name: str, *args: Any) -> list[Any]:
    """Return the arguments in their common dtype.

    Raises:
      TypeError: one is no array and no number.
      TypePromotionError: their dtypes have no common one.
    """
    dtype, weak = result_dtype(name, args)
    return [cast(arg, dtype, weak) for arg in args]


def promote_strongly(name: str, *args: Any) -> list[Any]:
    """Return the arguments in their common dtype, strongly typed."""
    dtype, _ = result_dtype(name, args)
    return [cast(arg, dtype) for arg in args]


def _promote_to(name: str, args: Sequence[Any], rule: Any) -> list[Any]:
    dtype, weak = result_dtype(name, args)
    return [cast(arg, ruled_dtype(name, rule, dtype), weak) for arg in args]


def promote_inexact(name: str, *args: Any) -> list[Any]:
    """Return the arguments in their common dtype, integers and booleans made floating."""
    return _promote_to(name, args, inexact_dtype)


def promote_complex(name: str, *args: Any) -> list[Any]:
    """Return the arguments in their common dtype, made complex."""
    return _promote_to(name, args, complex_dtype)


def ruled_dtype(name: str, rule: Any, dtype: DTypeLike) -> Any:
    """Return what a rule for numbers makes of a dtype.

    Raises:
      KeyTypeError: it is one of keys.
    """
    if isinstance(dtype, dtypes.ExtendedDType):
        raise KeyTypeError(name, dtype.name)
    return rule(dtype)


def inexact_dtype(dtype: DTypeLike) -> Any:
    """Return a dtype if floating or complex, else the canonical float that stands for it."""
    return (
        dtype
        if dtype in dtypes.INEXACT
        else dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(dtype))
    )


def complex_dtype(dtype: DTypeLike) -> Any:
    """Return the canonical complex dtype that stands for one."""
    return dtypes.canonicalize_dtype(dtypes.to_complex_dtype(dtype))


def default_inexact_dtype(dtype: DTypeLike) -> Any:
    """Return a dtype if floating or complex, else the default float, whatever its width."""
    return dtype if dtype in dtypes.INEXACT else dtypes.default_float_dtype()


def numeric_dtype(dtype: DTypeLike) -> Any:
    """Return a dtype, or ``int32`` in place of ``bool``, in 64-bit mode too."""
    return np.dtype(np.int32) if dtype in dtypes.BOOLEAN else dtype


def promote_operands(name: str, *args: Any, rule: Any = None) -> Sequence[Any]:
    """Return operands in one dtype and one shape; scalars keep rank 0 beside any shape.

    Args:
      name: the function's name, for messages.
      *args: arrays and numbers.
      rule: what becomes of the common dtype, such as ``inexact_dtype``.

    Raises:
      TypeError: one is no array and no number.
      TypePromotionError: their dtypes have no common one.
      ShapeMismatchError: their shapes do not broadcast.
    """
    operands, shape = _in_one_dtype(name, args, rule)
    if shape is None:
        return operands
    return [x if np.ndim(x) == 0 else broadcast_to_shape(x, shape) for x in operands]


def promote_for_primitive(name: str, *args: Any, rule: Any = None) -> Sequence[Any]:
    """Return operands in one dtype and one rank: elementwise primitives repeat axes of size 1.

    Arguments and errors are those of ``promote_operands``.
    """
    operands, shape = _in_one_dtype(name, args, rule)
    if shape is None:
        return operands
    return [x if np.ndim(x) == 0 else _broadcast_to_rank(x, len(shape)) for x in operands]


def _in_one_dtype(
    name: str, args: Sequence[Any], rule: Any
) -> tuple[Sequence[Any], tuple[int, ...] | None]:
    """Return operands in one dtype, and what they broadcast to where their shapes differ."""
    avals = [argument_aval(name, arg, position) for position, arg in enumerate(args)]
    dtype, weak = _joint_dtype(name, avals)
    if rule is not None:
        dtype = ruled_dtype(name, rule, dtype)
    shapes = [aval.shape for aval in avals if aval.shape]
    agreed = [
        arg
        if aval.dtype == dtype and type(arg) not in dtypes.python_scalar_dtypes
        else cast(arg, dtype, weak)
        for arg, aval in zip(args, avals, strict=True)
    ]
    if len(shapes) < 2 or all(shape == shapes[0] for shape in shapes):
        return agreed, None
    _object_to_ranks(name, shapes)
    return agreed, joint_shape(name, [aval.shape for aval in avals])


def _object_to_ranks(name: str, shapes: Sequence[tuple[int, ...]]) -> None:
    """Warn of axes that broadcasting would put in front of a user's operand, or refuse it.

    Functions of the library that are made of others broadcast what is their own as they like.

    Raises:
      ShapeError: ``jax_numpy_rank_promotion`` is ``"raise"``, and the ranks differ.
    """
    chosen = numpy_rank_promotion.value
    if chosen == "allow" or len({len(shape) for shape in shapes}) == 1 or not _is_users_call():
        return
    message = (
        f"{name} got shapes {' and '.join(map(str, shapes))} of different ranks, and "
        f"jax_numpy_rank_promotion is {chosen!r}: give the smaller ones axes of size 1 in front, "
        "as x[None] does"
    )
    if chosen == "raise":
        raise ShapeError(message)
    warnings.warn(message, stacklevel=users_level())


_LIBRARY = tuple(f"jxkernel.{part}" for part in ("numpy", "scipy", "nn", "random", "image"))
_AROUND = {f"jxkernel.numpy.{name}" for name in ("promotion", "operators", "fusing")}


def _is_users_call() -> bool:
    """Whether one function of the library alone stands between the user and this module."""
    frame: FrameType | None = sys._getframe(1)
    modules: set[str] = set()
    while frame is not None and not is_user_code(frame.f_code):
        name = frame.f_globals["__name__"]
        if name.startswith(_LIBRARY) and name not in _AROUND:
            modules.add(name)
        frame = frame.f_back
    return len(modules) == 1


def _broadcast_to_rank(x: Any, rank: int) -> Any:
    """Return an array with axes of size 1 put in front."""
    own = np.shape(x)
    missing = rank - len(own)
    if not missing:
        return x
    return broadcast_in_dim(x, (1,) * missing + own, tuple(range(missing, rank)))


def joint_shape(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that operands broadcast to.

    Raises:
      ShapeMismatchError: they do not.
    """
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeMismatchError(
            name,
            shapes,
            "axes are matched from the last; sizes must be equal, or one of them 1",
        ) from None


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """Return the shape that arrays of the given shapes broadcast to; an integer is one size.

    Raises:
      ValueError: they do not broadcast.

    >>> jnp.broadcast_shapes((4, 1), (3,))
    (4, 3)
    """
    if any(isinstance(shape, int) for shape in shapes):
        shapes = tuple((shape,) if isinstance(shape, int) else shape for shape in shapes)
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for axis, size in enumerate(shape, offset):
            if size != 1:
                if result[axis] not in (1, size):
                    listed = " and ".join(str(tuple(s)) for s in shapes)
                    raise ValueError(
                        f"Incompatible shapes for broadcasting: {listed}. Axes are matched from "
                        "the last; sizes must be equal, or one of them 1."
                    )
                result[axis] = size
    return tuple(result)


def broadcast_to_shape(x: Any, shape: Sequence[int]) -> Any:
    """Return an array repeated to a shape, axes matched from the last.

    Raises:
      ValueError: the array's shape does not broadcast to it.
    """
    own, shape = np.shape(x), tuple(shape)
    if own == shape:
        return x
    offset = len(shape) - len(own)
    fits = offset >= 0 and all(
        size in (1, target) for size, target in zip(own, shape[max(offset, 0) :], strict=True)
    )
    if not fits:
        raise ValueError(f"an array of shape {own} cannot be broadcast to shape {shape}")
    return broadcast_in_dim(x, shape, tuple(range(offset, len(shape))))


def refuse_complex(name: str, dtype: DTypeLike) -> None:
    """Refuse complex dtypes, whose numbers have no order.

    Raises:
      ComplexOrderError: the dtype is complex.
    """
    if dtype in dtypes.COMPLEX:
        raise ComplexOrderError(name, dtype.name)


def check_known(needed_by: str, x: Any, *instead: str) -> None:
    """Check that the value of an array is known now.

    Args:
      needed_by: what needs it.
      x: the array.
      instead: what to write where it is traced.

    Raises:
      ConcretizationTypeError: it is traced.
    """
    if is_unknown(x):
        raise ConcretizationTypeError(
            x.describe_type(), needed_by, origin=x.owner.describe(x), instead=instead
        )


def refuse_out(name: str, out: Any) -> None:
    """Refuse the argument ``out``: arrays cannot be written to.

    Raises:
      NotImplementedError: it is given.
    """
    if out is not None:
        raise NotImplementedError(f"{name}(out=...): arrays cannot be written to; use the result")


def static_axis(name: str, axis: Any) -> int | None:
    """Return an axis as a static argument; whether there is one, a fused body finds out.

    Raises:
      TypeError: it is no whole number.
    """
    return axis if axis is None or type(axis) is int else whole_number(name, "axis", axis)


def static_axes(name: str, axis: Any) -> int | tuple[int, ...] | None:
    """Return one axis or several as a static argument; see ``static_axis``.

    Raises:
      TypeError: one is no whole number.
    """
    return axis if axis is None or type(axis) is int else whole_numbers(name, "axis", axis)
