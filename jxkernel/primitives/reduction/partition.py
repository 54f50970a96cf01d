"""Arrays in order around the element of a rank: lesser ones before it, greater ones after."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero, zero_jvp
from jxkernel.primitives.indexing.gather import take_along
from jxkernel.primitives.reduction.sort_lowering import lower_argpartition, lower_partition
from jxkernel.primitives.reference import untyped_numpy
from jxkernel.primitives.sharding import rules
from jxkernel.runtime import ArrayLike

__all__ = ["argpartition", "argpartition_p", "partition", "partition_p"]

_INDEX = np.dtype(np.int32)
_ALONG = rules.along("dimension", "it partitions along")

partition_p = Primitive("partition").define(sharding=_ALONG)
argpartition_p = Primitive("argpartition").define(sharding=_ALONG)


def partition(operand: ArrayLike, rank: int, dimension: int) -> Any:
    """Return an array in order around an element along an axis.

    Args:
      operand: an array.
      rank: that of the element, from 0; NaN has the greatest rank.
      dimension: the axis.

    What comes before the element is not greater, and what comes after it not less; in what order is
    not said.  Tangents move as the elements do.

    >>> from jxkernel import numpy as jnp
    >>> from jxkernel.primitives.reduction.partition import partition
    >>> partition(jnp.array([7, 1, 5, 3]), 2, 0)[2].item()
    5
    """
    return partition_p.bind(operand, rank=rank, dimension=dimension)


def argpartition(operand: ArrayLike, rank: int, dimension: int) -> Any:
    """Return, as int32, from where each element comes in an array of the order of ``partition``.

    >>> from jxkernel import numpy as jnp
    >>> from jxkernel.primitives.reduction.partition import argpartition
    >>> argpartition(jnp.array([7, 1, 5, 3]), 2, 0)[2].item()
    2
    """
    return argpartition_p.bind(operand, rank=rank, dimension=dimension)


def _checked(name: str, operand: ShapedArray, rank: int, dimension: int) -> None:
    if not 0 <= rank < operand.shape[dimension]:
        raise ValueError(f"{name} got rank {rank} for {operand.short()} along axis {dimension}")


@partition_p.def_abstract_eval
def _partition_abstract_eval(operand: ShapedArray, *, rank: int, dimension: int) -> ShapedArray:
    _checked("partition", operand, rank, dimension)
    return operand


@argpartition_p.def_abstract_eval
def _argpartition_abstract_eval(operand: ShapedArray, *, rank: int, dimension: int) -> ShapedArray:
    _checked("argpartition", operand, rank, dimension)
    return operand.update(dtype=_INDEX, weak_type=False)


def _reference(x: Any, *, rank: int, dimension: int) -> Any:
    return untyped_numpy.sort(x, dimension)


def _arg_reference(x: Any, *, rank: int, dimension: int) -> Any:
    return untyped_numpy.argsort(x, dimension, stable=True).astype(_INDEX)


partition_p.reference, argpartition_p.reference = _reference, _arg_reference


@partition_p.def_jvp
def _partition_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, rank: int, dimension: int
) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    if type(t) is Zero:
        y = partition(x, rank, dimension)
        return y, Zero.tangent_of(y)
    places = argpartition(x, rank, dimension)
    return take_along(x, places, dimension), take_along(t, places, dimension)


argpartition_p.define(jvp=zero_jvp(argpartition_p))


def _batched(primitive: Primitive) -> Any:
    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[Any], *, rank: int, dimension: int
    ) -> tuple[Any, int]:
        (x,), (dim,) = args, dims
        return primitive.bind(x, rank=rank, dimension=dimension + (dimension >= dim)), dim

    return batch


for _primitive in (partition_p, argpartition_p):
    _primitive.define(
        batch=_batched(_primitive), transpose=Undefined("it is not linear in its operand")
    )


@partition_p.def_lower
def _partition_lower(context: Any, x: Any, *, rank: int, dimension: int) -> Any:
    return lower_partition(context, x, dimension, rank)


@argpartition_p.def_lower
def _argpartition_lower(context: Any, x: Any, *, rank: int, dimension: int) -> Any:
    return lower_argpartition(context, x, dimension, rank)
