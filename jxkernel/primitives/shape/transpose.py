"""Moving: primitives that only move elements, of which ``transpose`` is the first.

Such a primitive is the same function of elements of any kind.  So it takes arrays of keys (see
``core.key_data``), by its own batching rule: all numbers of a key are moved alike, along an axis of
key data that batching rules see as the axis of examples.
"""

from collections.abc import Sequence
from typing import Any

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, abstractify, rank_of
from jxkernel.core.axes import Axis
from jxkernel.core.key_data import ExtendedArray
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import state
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.errors import ShapeError
from jxkernel.primitives.arguments import integers, is_array
from jxkernel.primitives.sharding import rules

__all__ = ["MovingPrimitive", "inverse_permutation", "move_axis", "transpose", "transpose_p"]


class MovingPrimitive(Primitive):
    """A primitive that only moves elements, so that it takes elements made of key data."""

    takes_key_data = True

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive to arrays of numbers, or of keys, under the current trace."""
        for arg in args:
            if isinstance(arg, ExtendedArray):
                return self._move_key_data(args, params, arg)
        return state.trace.process(self, args, params)

    def _move_key_data(
        self, args: Sequence[Any], params: dict[str, Any], array: ExtendedArray
    ) -> Any:
        """Move all key data alike; other arguments (positions) are those of each of its numbers.

        The types of the elements are checked as those of numbers are, so messages tell of shapes
        without key data, and elements of two kinds do not meet.
        """
        self.abstract(tuple(map(abstractify, args)), params)
        extended = [isinstance(arg, ExtendedArray) for arg in args]
        values = [arg.key_data if has else arg for arg, has in zip(args, extended, strict=True)]
        dims = [arg.ndim if has else None for arg, has in zip(args, extended, strict=True)]
        axis = Axis(array.key_data.shape[-1])
        out, out_dims = self.rule("batch")(axis, values, dims, **params)
        if not self.multiple_results:
            return array.with_key_data(_last(out, out_dims))
        return [array.with_key_data(_last(*each)) for each in zip(out, out_dims, strict=True)]


def _last(key_data: Any, dim: int) -> Any:
    return move_axis(key_data, dim, rank_of(key_data) - 1)


# ---------------------------------------------------------------- transpose (of axes)

transpose_p = MovingPrimitive("transpose", element_work=1).define(
    sharding=rules.Linear(rules.permuting)
)


def transpose(operand: Any, permutation: tuple[int, ...]) -> Any:
    """Return an array with its axes permuted: axis i is axis ``permutation[i]`` of the operand.

    Args:
      operand: an array of any dtype and rank, of random keys too.
      permutation: each axis once, counted from 0.

    Raises:
      TypeError: ``permutation`` is not a permutation of the axes, or the operand is no array.

    The derivative is linear: cotangents are permuted back.  StableHLO ``transpose``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.transpose(jnp.array([[1, 2, 3], [4, 5, 6]]), (1, 0)).tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    permutation = integers("transpose", "permutation", permutation)
    in_order = permutation == tuple(range(len(permutation)))
    if in_order and is_array(operand) and rank_of(operand) == len(permutation):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


@transpose_p.def_abstract_eval
def _transpose_abstract_eval(operand: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(operand.ndim)):
        raise ShapeError(
            f"transpose got permutation {permutation} for an array of rank {operand.ndim}: each "
            "axis must appear once"
        )
    return operand.update(shape=tuple(operand.shape[axis] for axis in permutation))


@transpose_p.def_lower
def _transpose_lower(context: Any, x: Any, *, permutation: tuple[int, ...]) -> Any:
    return context.value(
        "stablehlo.transpose",
        context.out_type,
        (x,),
        {"permutation": hlo.dense_i64_array(permutation)},
    )


@transpose_p.def_jvp
def _transpose_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, permutation: tuple[int, ...]
) -> tuple[Any, Any]:
    return (
        transpose_p.bind(*primals, permutation=permutation),
        transpose_p.bind(*tangents, permutation=permutation),
    )


def inverse_permutation(permutation: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that undoes another."""
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


@transpose_p.def_transpose
def _transpose_transpose(
    ct: Any, operand: UndefinedPrimal, *, permutation: tuple[int, ...]
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    return [transpose(ct, inverse_permutation(permutation))]


@transpose_p.def_batch
def _transpose_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, permutation: tuple[int, ...]
) -> tuple[Any, int]:
    dim = dims[0]
    moved = tuple(a + (a >= dim) for a in permutation)
    return transpose_p.bind(args[0], permutation=(dim, *moved)), 0


def move_axis(operand: Any, source: int, destination: int) -> Any:
    """Move one axis to another place; the others keep their order."""
    if source == destination:
        return operand
    order = [axis for axis in range(rank_of(operand)) if axis != source]
    order.insert(destination, source)
    return transpose(operand, tuple(order))
