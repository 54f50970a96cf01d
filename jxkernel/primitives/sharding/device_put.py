"""``device_put_p``: moving a value to other devices while it is differentiated, batched or staged.

Evaluated it moves the array, and so the value and its tangent go on where the user said.  Backwards
a cotangent returns to where the operand lay (``source``), or sums of cotangents would meet on two
sets of devices.  Inside a program for one set of devices it is a constraint, or over explicit axes
what ``reshard`` is.
"""

from collections.abc import Sequence
from typing import Any

from jxkernel import runtime
from jxkernel.core.avals import ShapedArray
from jxkernel.core.axes import Axis
from jxkernel.core.explicit_sharding import AS_TYPED, explicit_axes_of, explicit_sharding_of
from jxkernel.core.primitive import Primitive
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.primitives.sharding.constraints import (
    cast_like,
    closed,
    constrain,
    puts_off_sums,
    reshard_p,
    sharding_constraint_p,
    with_sums_moved,
)
from jxkernel.sharding.named import NamedSharding
from jxkernel.sharding.spec import PartitionSpec

__all__ = ["device_put_p"]

device_put_p = Primitive("device_put").define(sharding=AS_TYPED)
"""Its parameters: ``sharding``, where the value goes, and ``source``, where it lies, None where
that is not known."""


@device_put_p.def_abstract_eval
def _device_put_abstract_eval(operand: ShapedArray, *, sharding: Any, source: Any) -> ShapedArray:
    return operand.update(explicit_sharding=explicit_sharding_of(sharding, operand.ndim))


def _device_put_evaluate(x: Any, *, sharding: Any, source: Any) -> Any:
    if puts_off_sums(sharding) or puts_off_sums(getattr(x, "sharding", None)):
        return with_sums_moved(x, sharding)
    return runtime.place(x, closed(sharding) if isinstance(sharding, NamedSharding) else sharding)


@device_put_p.def_lower
def _device_put_lower(context: Any, x: Any, *, sharding: Any, source: Any) -> Any:
    explicit = isinstance(sharding, NamedSharding) and explicit_axes_of(sharding.mesh)
    primitive = reshard_p if explicit else sharding_constraint_p
    return primitive.rule("lower")(context, x, sharding=sharding)


@device_put_p.def_jvp
def _device_put_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    return device_put_p.bind(*primals, **params), device_put_p.bind(*tangents, **params)


@device_put_p.def_transpose
def _device_put_transpose(
    ct: Any, operand: UndefinedPrimal, *, sharding: Any, source: Any
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    if source is not None:
        return [device_put_p.bind(ct, sharding=_of_cotangents(source), source=sharding)]
    free = isinstance(sharding, NamedSharding) and not explicit_axes_of(sharding.mesh)
    return [cast_like(constrain(ct, sharding) if free else ct, operand.aval.cotangent())]


def _of_cotangents(sharding: Any) -> Any:
    """Return how cotangents of what lies as a sharding says lie."""
    if not isinstance(sharding, NamedSharding) or not sharding.spec.puts_off:
        return sharding
    spec = sharding.spec
    entries = spec.partitions
    turned = PartitionSpec(*entries, unreduced=spec.reduced, reduced=spec.unreduced)
    return sharding.update(spec=turned)


@device_put_p.def_batch
def _device_put_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int], *, sharding: Any, source: Any
) -> tuple[Any, int]:
    (x,), (dim,) = args, dims
    wider = [_wider(each, axis, dim) for each in (sharding, source)]
    return device_put_p.bind(x, sharding=wider[0], source=wider[1]), dim


def _wider(sharding: Any, axis: Axis, dim: int) -> Any:
    """Return a sharding of one example as that of all, whose axis lies as they do."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    free = None if explicit_axes_of(sharding.mesh) else PartitionSpec.UNCONSTRAINED
    entries = [*sharding.spec.partitions, *[None] * (dim - len(sharding.spec))]
    entries.insert(dim, axis.entry or axis.spmd_name or free)
    return sharding.update(spec=sharding.spec.update(partitions=tuple(entries)))


device_put_p.define(evaluate=_device_put_evaluate)
