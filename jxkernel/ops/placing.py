"""Saying how a value is divided over devices: the identity, with a word to the partitioner."""

from collections.abc import Sequence
from typing import Any

from jxkernel import runtime
from jxkernel.core.avals import ShapedArray, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.sharding import NamedSharding, PartitionSpec

__all__ = ["constrain", "sharding_constraint_p"]

sharding_constraint_p = Primitive("sharding_constraint")


def constrain(x: Any, sharding: Any) -> Any:
    """Return a value that lies as a sharding says.

    Args:
      x: an array.
      sharding: a ``NamedSharding``, or that of one device (which says nothing inside a trace).

    Raises:
      ValueError: the array cannot be divided so.

    The derivative is the identity, divided in the same way.
    """
    sharding.check_compatible_aval(shape_of(x))
    return sharding_constraint_p.bind(x, sharding=sharding)


@sharding_constraint_p.def_abstract_eval
def _constraint_abstract_eval(operand: ShapedArray, *, sharding: Any) -> ShapedArray:
    return operand


def _constraint_evaluate(x: Any, *, sharding: Any) -> Any:
    if not isinstance(sharding, NamedSharding):
        return runtime.place(x, sharding)
    closed = [None if entry is PartitionSpec.UNCONSTRAINED else entry for entry in sharding.spec]
    return runtime.place(x, sharding.update(spec=PartitionSpec(*closed)))


@sharding_constraint_p.def_lower
def _constraint_lower(context: Any, x: Any, *, sharding: Any) -> Any:
    if not isinstance(sharding, NamedSharding) or not context.module.partitioned:
        return x
    attribute = context.module.meshes.sharding(sharding, context.avals_out[0].ndim)
    (kind,) = context.out_types
    return context.value("sdy.sharding_constraint", kind, (x,), {"sharding": attribute})


@sharding_constraint_p.def_jvp
def _constraint_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, sharding: Any
) -> tuple[Any, Any]:
    y = sharding_constraint_p.bind(*primals, sharding=sharding)
    return y, sharding_constraint_p.bind(*tangents, sharding=sharding)


@sharding_constraint_p.def_transpose
def _constraint_transpose(ct: Any, operand: UndefinedPrimal, *, sharding: Any) -> list[Any]:
    return [ct if type(ct) is Zero else sharding_constraint_p.bind(ct, sharding=sharding)]


@sharding_constraint_p.def_batch
def _constraint_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, sharding: Any
) -> tuple[Any, int]:
    """The batch axis is divided as ``spmd_axis_name`` says, or as XLA finds best."""
    (x,), (dim,) = args, dims
    if not isinstance(sharding, NamedSharding):
        return sharding_constraint_p.bind(x, sharding=sharding), dim
    rank = len(shape_of(x)) - 1
    entries = [*sharding.spec, *[None] * (rank - len(sharding.spec))]
    entries.insert(dim, axis.spmd_name or PartitionSpec.UNCONSTRAINED)
    wider = sharding.update(spec=PartitionSpec(*entries))
    return sharding_constraint_p.bind(x, sharding=wider), dim


sharding_constraint_p.define(evaluate=_constraint_evaluate)
