"""What the rules of irregular primitives share: linear derivatives, agreeing operands, batches.

Irregular primitives move, choose or contract elements; most are linear in their array operands,
so their JVP is the primitive itself.  This module stands beside ``families`` and must not know
of any particular primitive above ``broadcast``.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray, rank_of
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import Zero, is_linear, scalar_like
from jxkernel.dtypes import ExtendedDType
from jxkernel.errors import KeyTypeError
from jxkernel.primitives.shape.broadcast import add_tangents, batch_to_front, instantiate

__all__ = [
    "front",
    "joint_weak_type",
    "like_operand",
    "linear_jvp",
    "same_dtype",
    "weak_as_operands",
    "zero_cotangents",
]

_PYTHON_SCALARS = (bool, int, float, complex)


def linear_jvp(primitive: Primitive) -> Callable[..., Any]:
    """Return the JVP rule of a primitive that is linear in all its operands together."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        return y, primitive.bind(*[instantiate(t) for t in tangents], **params)

    return jvp


def multilinear_jvp(primitive: Primitive) -> Callable[..., Any]:
    """Return the JVP rule of a primitive linear in each operand by itself: the product rule."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        total: Any = Zero.tangent_of(y)
        for position, tangent in enumerate(tangents):
            if type(tangent) is not Zero:
                operands = [*primals[:position], tangent, *primals[position + 1 :]]
                total = add_tangents(total, primitive.bind(*operands, **params))
        return y, total

    return jvp


def zero_cotangents(args: Iterable[Any]) -> list[Any]:
    """Return the cotangents of a transpose rule whose own cotangent is zero."""
    return [Zero(arg.aval) if is_linear(arg) else None for arg in args]


def like_operand(operand: Any, value: Any) -> Any:
    """Return a Python number in the dtype of ``operand``; anything else as it is."""
    return scalar_like(operand, value) if type(value) in _PYTHON_SCALARS else value


def same_dtype(name: str, avals: Sequence[ShapedArray]) -> Any:
    """Return the one dtype of the operands.

    Raises:
      TypeError: they differ.
    """
    first = avals[0].dtype
    if any(aval.dtype != first for aval in avals):
        if any(isinstance(aval.dtype, ExtendedDType) for aval in avals):
            raise KeyTypeError(name, ", ".join([aval.short() for aval in avals]))
        raise TypeError(
            f"{name} needs operands of one dtype, got "
            f"{' and '.join(aval.short() for aval in avals)}: convert with x.astype(...), or use "
            "the function of jxkernel.numpy, which promotes"
        )
    return first


def joint_weak_type(avals: Sequence[ShapedArray]) -> bool:
    """Whether a result is weak: all its operands are."""
    return all(aval.weak_type for aval in avals)


def weak_as_operands(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return an abstract evaluation whose results are weak, integers too, where all operands are.

    Args:
      rule: an abstract evaluation whose results are strong.
    """

    @functools.wraps(rule)
    def abstract_eval(*avals: ShapedArray, **params: Any) -> Any:
        results = rule(*avals, **params)
        if not joint_weak_type(avals):
            return results
        if isinstance(results, ShapedArray):
            return results.update(weak_type=True)
        return [result.update(weak_type=True) for result in results]

    return abstract_eval


def front(args: Sequence[Any], dims: Sequence[int | None], size: int) -> list[Any]:
    """Return the operands with the batch axis first; an unbatched one is repeated along it."""
    return [batch_to_front(arg, dim, size) for arg, dim in zip(args, dims, strict=True)]


def example_ndim(arg: Any, dim: int | None) -> int:
    """Return the rank of one example of a batched operand."""
    return rank_of(arg) - (dim is not None)
