"""Constructors for regular families of primitives: one line declares all five rules.

``unary`` and ``nary`` make elementwise primitives from a StableHLO name, the dtypes they take,
a NumPy reference and one derivative rule per operand.  Elementwise operands agree in dtype and
in shape, save that axes of size 1 are repeated and a scalar (rank 0) may stand beside any shape.

A derivative rule is a function of the tangent, the operands and the result that is linear in
the tangent: for ``sin`` it is ``lambda t, x, y: mul(t, cos(x))``.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from jxkernel import dtypes
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import UndefinedPrimal, Zero, is_linear, scalar_like, zero_jvp
from jxkernel.dtypes.kinds import kinds_in_words
from jxkernel.errors import KeyTypeError, ShapeMismatchError, UndefinedRuleError
from jxkernel.primitives.elementwise.accuracy import Accuracy, accuracy_attributes
from jxkernel.primitives.shape.broadcast import (
    add_any,
    broadcast_in_dim,
    filled_like,
    sum_to_shape,
)
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules

__all__ = [
    "ANY",
    "BOOL_OR_INTEGER",
    "COMPLEX",
    "FLOATING",
    "INEXACT",
    "INTEGER",
    "NUMERIC",
    "ORDERED",
    "PYTHON_NUMBERS",
    "REAL",
    "SIGNED",
    "ZERO_DERIVATIVE",
    "bind_binary",
    "broadcast_values",
    "elementwise_batch",
    "joint_shape",
    "jvp_of_terms",
    "lower_by_name",
    "nary",
    "number_like",
    "transpose_of_terms",
    "type_numbers",
    "unary",
    "undefined_terms",
]

FLOATING = (np.floating,)
COMPLEX = (np.complexfloating,)
INEXACT = (np.inexact,)
INTEGER = (np.integer,)
NUMERIC = (np.number,)
REAL = (np.integer, np.floating)
ORDERED = (np.integer, np.floating, np.bool_)
BOOL_OR_INTEGER = (np.integer, np.bool_)
SIGNED = (np.signedinteger, np.inexact)
ANY = (np.number, np.bool_)

ZERO_DERIVATIVE = "not differentiable"
"""In place of derivative rules: the result does not vary smoothly, its tangent is zero."""

Rule: TypeAlias = (
    Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any, Any], Any]
    | Callable[..., Any]
)
"""A rule; the numbers of arguments are listed so that the arguments of a lambda have types."""

DtypeRule = Callable[[Any], Any]

PYTHON_NUMBERS = (int, float, complex)


def bind_binary(primitive: Primitive, x: Any, y: Any) -> Any:
    """Bind two operands; a Python number takes the dtype of the other operand.

    Raises:
      TypeError: the number is of a richer kind than the dtype, such as 2.5 beside integers.
    """
    if type(y) in PYTHON_NUMBERS:
        if type(x) in PYTHON_NUMBERS:
            x, y = _of_one_kind((x, y))
        else:
            y = number_like(primitive.name, x, y)
    elif type(x) in PYTHON_NUMBERS:
        x = number_like(primitive.name, y, x)
    return primitive.bind(x, y)


def type_numbers(name: str, operands: Sequence[Any]) -> list[Any]:
    """Return operands with each Python number typed as the first operand that is none.

    Raises:
      TypeError: a number is of a richer kind than the dtype.
    """
    typed = [x for x in operands if type(x) not in PYTHON_NUMBERS]
    if not typed:
        return _of_one_kind(operands)
    return [number_like(name, typed[0], x) if type(x) in PYTHON_NUMBERS else x for x in operands]


def _of_one_kind(numbers: Sequence[Any]) -> list[Any]:
    """Return Python numbers as those of the richest kind among them."""
    kind = PYTHON_NUMBERS[max(map(PYTHON_NUMBERS.index, map(type, numbers)), default=0)]
    return [kind(number) for number in numbers]


def number_like(name: str, operand: Any, number: complex) -> Any:
    """Return a Python number as a scalar of the dtype of ``operand``, for the operation ``name``.

    Raises:
      TypeError: the number is of a richer kind than the dtype.
    """
    dtype = abstractify(operand).dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        raise KeyTypeError(name, f"{abstractify(operand).short()}, {number!r}")
    kinds = _HOLDERS[type(number)]
    if not any(dtypes.issubdtype(dtype, kind) for kind in kinds):
        raise TypeError(
            f"{name} got the Python number {number!r} beside dtype {dtype.name}, which cannot hold "
            "it: convert with x.astype(...), or use the function of jxkernel.numpy, which promotes"
        )
    return scalar_like(operand, number)


_HOLDERS = {int: (np.number,), float: (np.inexact,), complex: (np.complexfloating,)}


def unary(
    name: str,
    accepted: tuple[type, ...],
    *,
    lower: str | Rule,
    jvp: str | Undefined | Rule | None,
    reference: str | Rule | None,
    result_dtype: DtypeRule | None = None,
    transpose: Any = None,
    linear: bool = False,
    work: int = 1,
) -> Primitive:
    """Return an elementwise primitive of one operand.

    Args:
      name: the primitive's name.
      accepted: the NumPy scalar kinds it takes.
      lower: a StableHLO operation name, or a lowering rule.
      jvp: the derivative rule, ``ZERO_DERIVATIVE``, or ``Undefined``.
      reference: the NumPy function that defines the values, or the dotted name of SciPy's.
      result_dtype: the result's dtype from the operand's, where it is another.
      transpose: the transpose rule, of a linear primitive.
      linear: whether the tangent of the result is the primitive of the tangent.
      work: what an element costs, in additions.
    """
    return nary(
        name,
        (accepted,),
        lower=lower,
        jvp=jvp if isinstance(jvp, (str, Undefined)) or jvp is None else (jvp,),
        reference=reference,
        result_dtype=result_dtype,
        transpose=transpose,
        linear=linear,
        work=work,
    )


def nary(
    name: str,
    accepted: Sequence[tuple[type, ...]],
    *,
    lower: str | Rule,
    jvp: str | Undefined | Sequence[Rule | None] | None,
    reference: str | Rule | None,
    result_dtype: DtypeRule | None = None,
    transpose: Any = None,
    linear: bool = False,
    work: int = 1,
    sharding: Rule = rules.elementwise,
) -> Primitive:
    """Return an elementwise primitive; arguments are those of ``unary``, one entry per operand.

    ``sharding`` is the rule of one that is linear in operands, which takes sums that are put off.
    """
    primitive = Primitive(name, element_work=work)
    primitive.reference = reference
    primitive.define(
        abstract_eval=_abstract_eval_rule(name, accepted, result_dtype),
        lower=lower_by_name(lower) if isinstance(lower, str) else lower,
        jvp=_linear_jvp(primitive) if linear else _jvp_rule(primitive, jvp),
        transpose=transpose or Undefined("it is not linear in any operand"),
        batch=elementwise_batch(primitive),
        sharding=rules.Linear(sharding) if linear else sharding,
    )
    primitive.accepted = tuple(accepted)
    return primitive


def _abstract_eval_rule(
    name: str, accepted: Sequence[tuple[type, ...]], result_dtype: DtypeRule | None
) -> Callable[..., ShapedArray]:
    def abstract_eval(*avals: ShapedArray, **params: Any) -> ShapedArray:
        first = avals[0]
        for position, (aval, kinds) in enumerate(zip(avals, accepted, strict=True)):
            if not any(dtypes.issubdtype(aval.dtype, kind) for kind in kinds):
                raise TypeError(_dtype_message(name, aval, kinds, position, len(avals)))
            if aval.dtype != first.dtype:
                raise TypeError(
                    f"{name} needs operands of one dtype, got "
                    f"{' and '.join(dtypes.short_name(a.dtype) for a in avals)}: convert with "
                    "x.astype(...), or use the function of jxkernel.numpy, which promotes"
                )
        dtype = result_dtype(first.dtype) if result_dtype else first.dtype
        weak = all(aval.weak_type for aval in avals)
        shape = joint_shape(name, [aval.shape for aval in avals])
        return ShapedArray(shape, dtype, weak and dtype != np.bool_)

    return abstract_eval


def _dtype_message(
    name: str, aval: ShapedArray, kinds: tuple[type, ...], position: int, count: int
) -> str:
    which = f" as operand {position + 1}" if count > 1 else ""
    wanted = kinds_in_words(kinds)
    return f"{name} does not accept dtype {aval.dtype.name}{which}: it takes {wanted} dtypes"


def joint_shape(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the one shape of the operands that are not scalars, axes of size 1 repeated.

    Raises:
      ShapeMismatchError: their ranks differ, or sizes of which none is 1.
    """
    shape: tuple[int, ...] = ()
    for own in shapes:
        if own and own != shape:
            if shape and not _alike(own, shape):
                raise ShapeMismatchError(
                    name,
                    shapes,
                    "operands must have equal shapes, save for axes of size 1, or are scalars; "
                    "jxkernel.numpy broadcasts",
                )
            shape = tuple(map(_wider, shape, own)) if shape else own
    return shape


def _alike(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    return len(left) == len(right) and all(
        a == b or a == 1 or b == 1 for a, b in zip(left, right, strict=True)
    )


def _wider(size: int, other: int) -> int:
    return other if size == 1 else size


def lower_by_name(operation: str) -> Callable[..., Any]:
    """Return the lowering rule of an operation that StableHLO or CHLO has itself."""

    def lower(context: Any, *values: Any, accuracy: Accuracy = None, **params: Any) -> Any:
        operands = broadcast_values(context, values)
        return context.value(operation, context.out_type, operands, accuracy_attributes(accuracy))

    return lower


def broadcast_values(context: Any, values: Sequence[Any]) -> Sequence[Any]:
    """Return the operands with scalars, and axes of size 1, broadcast to the result's shape."""
    shape = context.avals_out[0].shape
    avals = context.avals_in
    for aval in avals:
        if aval.shape != shape:
            break
    else:
        return values
    return [
        value
        if aval.shape == shape
        else context.broadcast(value, tuple(range(aval.ndim)), shape, aval.dtype)
        for value, aval in zip(values, avals, strict=True)
    ]


def _linear_jvp(primitive: Primitive) -> Callable[..., Any]:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return primitive.bind(*primals, **params), primitive.bind(*tangents, **params)

    return jvp


def _jvp_rule(primitive: Primitive, terms: Any) -> Any:
    if terms == ZERO_DERIVATIVE:
        return zero_jvp(primitive)
    return jvp_of_terms(primitive, tuple(terms))


def jvp_of_terms(
    primitive: Primitive, terms: tuple[Callable[..., Any] | None, ...]
) -> Callable[..., Any]:
    """Return the JVP rule that adds one term per operand with a tangent; terms may be ``Zero``."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        rest = {k: v for k, v in params.items() if k != "accuracy"} if params else params
        total: Any = None
        for term, tangent in zip(terms, tangents, strict=True):
            if type(tangent) is Zero or term is None:
                continue
            part = term(tangent, *primals, y, **rest)
            if type(part) is not Zero:
                part = filled_like(part, y)
                total = part if total is None else add_any(total, part)
        return y, Zero.tangent_of(y) if total is None else total

    return jvp


def undefined_terms(name: str, *operands: str) -> tuple[Callable[..., Any], ...]:
    """Return derivative rules, one per operand named, that say that there is none.

    Unlike ``Undefined`` for the whole rule, these leave the other operands differentiable.
    """

    def refusal(operand: str) -> Callable[..., Any]:
        def term(*args: Any, **params: Any) -> Any:
            raise UndefinedRuleError(name, "jvp", f"it cannot be differentiated in {operand}")

        return term

    return tuple(refusal(operand) for operand in operands)


def transpose_of_terms(*terms: Rule | None) -> Callable[..., Any]:
    """Return a transpose rule from one function per operand: of the cotangent and all operands.

    Each function is asked only where its operand is linear; its result is summed to the
    operand's shape, which undoes the broadcasting of scalars.
    """

    def transpose(ct: Any, *args: Any, **params: Any) -> list[Any]:
        cts: list[Any] = []
        for term, arg in zip(terms, args, strict=True):
            if not is_linear(arg):
                cts.append(None)
            elif type(ct) is Zero:
                cts.append(Zero(arg.aval))
            else:
                assert term is not None, "the operand is linear, so it has a term"
                cts.append(_sum_to(term(ct, *args, **params), arg))
        return cts

    return transpose


def _sum_to(ct: Any, operand: UndefinedPrimal) -> Any:
    return sum_to_shape(ct, operand.aval.shape)


def elementwise_batch(primitive: Primitive) -> Callable[..., Any]:
    """Return the batching rule of an elementwise primitive: operands share the batch axis."""

    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        shape = joint_shape(primitive.name, list(map(_example_shape, args, dims)))
        common = {dim for dim in dims if dim is not None}
        if len(common) == 1 and all(
            rank_of(arg) == (0 if dim is None else len(shape) + 1)
            for arg, dim in zip(args, dims, strict=True)
        ):
            return primitive.bind(*args, **params), common.pop()
        aligned = [_align(arg, dim, shape, axis.size) for arg, dim in zip(args, dims, strict=True)]
        return primitive.bind(*aligned, **params), 0

    return batch


def _example_shape(arg: Any, dim: int | None) -> tuple[int, ...]:
    """Return the shape of an operand without the batch axis."""
    own = shape_of(arg)
    return own if dim is None else own[:dim] + own[dim + 1 :]


def _align(arg: Any, dim: int | None, shape: tuple[int, ...], size: int) -> Any:
    """Return an operand with the batch axis before ``shape``; an unbatched scalar as it is."""
    if dim is None and rank_of(arg) == 0:
        return arg
    moved = arg if dim is None else move_axis(arg, dim, 0)
    if rank_of(moved) == len(shape) + 1:
        return moved
    axes = tuple(range(1, len(shape) + 1)) if dim is None else (0,)
    return broadcast_in_dim(moved, shape=(size, *shape), broadcast_dimensions=axes)
