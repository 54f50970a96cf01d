"""Along which mesh axes a value varies: ``pvary``, and the sum that is its transpose.

Inside a ``shard_map`` that tracks it, the type of a value says along which mesh axes it may differ
between devices (``ShapedArray.vma``).  Where a value that is the same everywhere meets one that
varies, ``pvary`` says that each device now takes its own copy.  The value stays; but going
backwards each copy has its own cotangent, and the one value's is their sum.  So with these two
linear maps, each the transpose of the other, a gradient taken inside the mapped function is that
of all devices' program::

    pvary           from one value to a copy on each device       transpose: psum_invariant
    psum_invariant  from a value per device to their one sum       transpose: pvary

Along an axis that is handled a value may also be a sum that is put off, or one whose cotangent is
such a sum: ``unreduced`` and ``reduced``, as over explicit axes (``core.explicit_sharding``).  Here
nobody has to be told: a share is what a device has.  ``manual_cast`` goes between these::

    unreduced   from a value per device to their sum, put off       transpose: pvary
    reduced     from one value to one whose cotangent is that       transpose: psum_invariant
    share       from one value to a sum that is put off             transpose: same
    same        from one whose cotangent is put off to a plain one  transpose: share
    varying     from a sum that is put off to its shares, which code then sums; transpose: reduced

(The rule of efficient transposition in shard_map: see the docs of JAX, "varying manual axes".)

Here is what the traces need; the collectives that users call stand beside it.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from jxkernel._lazy import late_function
from jxkernel.config import auto_pcast
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.explicit_sharding import AS_TYPED
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import Tracer
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.primitives.sharding import rules
from jxkernel.primitives.sharding.handled_axes import (
    manual_cast,
    manual_cast_p,
    own_shares,
    psum_invariant_p,
    pvary_p,
    tracked_names,
    vary,
    vary_like,
)
from jxkernel.sharding.named import NamedSharding
from jxkernel.sharding.spec import PartitionSpec

__all__ = [
    "agreeing",
    "less_axes",
    "linear_jvp",
    "manual_cast",
    "own_shares",
    "psum_invariant_p",
    "pvary_p",
    "tracked_names",
    "vary",
    "vary_like",
]

lower_all_reduce = late_function("jxkernel.primitives.collective.lowering", "lower_all_reduce")
lower_axis_index = late_function("jxkernel.primitives.collective.lowering", "lower_axis_index")


def less_axes(avals: Sequence[ShapedArray], out: ShapedArray, params: dict[str, Any]) -> Any:
    """Return the type of a result that is the same along the axes that were reduced."""
    if params.get("axis_index_groups") is not None:
        return out.update(vma=avals[0].vma)
    return out.update(vma=avals[0].vma.difference(params["axes"]))


def _more_axes(avals: Sequence[ShapedArray], out: ShapedArray, params: dict[str, Any]) -> Any:
    return out.update(vma=avals[0].vma.union(params["axes"]))


def _names(params: dict[str, Any]) -> tuple[Hashable, ...]:
    return params["axes"]


def _same(operand: ShapedArray, **params: Any) -> ShapedArray:
    return operand


def linear_jvp(primitive: Primitive) -> Callable[..., tuple[Any, Any]]:
    """Return the JVP rule of a linear primitive of one operand, which may be of integers."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        aval = abstractify(y)
        if aval.tangent().dtype != aval.dtype:
            return y, Zero(aval.tangent())
        return y, primitive.bind(*tangents, **params)

    return jvp


def _define_linear(primitive: Primitive, varies: Any, sharding: rules.Rule) -> None:
    """Declare the rules of a linear primitive over named axes of a mesh, but its transpose."""
    primitive.axis_names = _names
    primitive.varies = varies

    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, int | None]:
        return primitive.bind(*args, **params), dims[0]

    primitive.define(abstract_eval=_same, jvp=linear_jvp(primitive), batch=batch, sharding=sharding)


_define_linear(pvary_p, _more_axes, rules.Linear(rules.same))
pvary_p.exchanges = False
_define_linear(psum_invariant_p, less_axes, rules.Summing(rules.same))


@pvary_p.def_lower
def _pvary_lower(context: Any, x: Any, *, axes: tuple[Hashable, ...]) -> Any:
    return x


@pvary_p.def_transpose
def _pvary_transpose(ct: Any, operand: UndefinedPrimal, *, axes: tuple[Hashable, ...]) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    put_off = tuple([name for name in axes if name in operand.aval.reduced])
    copied = [name for name in axes if name not in operand.aval.vma and name not in put_off]
    if copied:
        ct = psum_invariant_p.bind(vary(ct, copied), axes=tuple(copied))
    return [manual_cast(vary(ct, put_off), put_off, "unreduced")]


@psum_invariant_p.def_lower
def _psum_invariant_lower(context: Any, x: Any, *, axes: tuple[Hashable, ...]) -> Any:
    return lower_all_reduce("stablehlo.add")(context, x, axes=axes, axis_index_groups=None)


@psum_invariant_p.def_transpose
def _psum_invariant_transpose(
    ct: Any, operand: UndefinedPrimal, *, axes: tuple[Hashable, ...]
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    shares = tuple([name for name in axes if name in operand.aval.unreduced])
    return [vary(manual_cast(ct, shares, "reduced"), operand.aval.vma)]


# ---------------------------------------------------------------- sums that are put off

manual_cast_p.define(sharding=AS_TYPED, jvp=linear_jvp(manual_cast_p))
manual_cast_p.axis_names = _names
manual_cast_p.exchanges = False
manual_cast_p.varies = lambda avals, out, params: out


@manual_cast_p.def_abstract_eval
def _manual_cast_abstract_eval(
    operand: ShapedArray, *, axes: tuple[Hashable, ...], to: str, mesh: Any
) -> ShapedArray:
    own = operand.explicit_sharding
    mesh = mesh if own is None else own.mesh
    unreduced, reduced = operand.unreduced, operand.reduced.difference(axes)
    if to in ("unreduced", "share"):
        unreduced = unreduced.union(axes)
    if to == "reduced":
        reduced = reduced.union(axes)
    vma = operand.vma.difference(axes)
    if to == "varying":
        unreduced, vma = unreduced.difference(axes), vma.union(axes)
    spec = PartitionSpec(*operand.entries, unreduced=unreduced, reduced=reduced)
    plain = not spec.puts_off and not any(operand.entries)
    return operand.update(vma=vma, explicit_sharding=None if plain else NamedSharding(mesh, spec))


@manual_cast_p.def_lower
def _manual_cast_lower(
    context: Any, x: Any, *, axes: tuple[Hashable, ...], to: str, mesh: Any
) -> Any:
    if to != "share":
        return x
    kind, aval = context.out_type, context.avals_out[0]
    zeros = context.splat(0, aval.shape, aval.dtype)
    for name in axes:
        index = lower_axis_index(context, axis_name=name)
        first = context.compare(index, context.constant(0, np.dtype(np.int32)), "EQ", (), "SIGNED")
        x = context.value("stablehlo.select", kind, (first, x, zeros))
    return x


@manual_cast_p.def_transpose
def _manual_cast_transpose(
    ct: Any, operand: UndefinedPrimal, *, axes: tuple[Hashable, ...], to: str, mesh: Any
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    if to == "unreduced":
        return [vary(ct, axes)]
    if to == "reduced":
        return [psum_invariant_p.bind(ct, axes=axes)]
    if to == "varying":  # what sums shares gives each of them the same cotangent
        return [manual_cast(vary(ct, axes), axes, "reduced")]
    return [manual_cast(ct, axes, "same" if to == "share" else "share")]


@manual_cast_p.def_batch
def _manual_cast_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int | None]:
    return manual_cast_p.bind(*args, **params), dims[0]


def _require_alike(args: Sequence[Any], axes: frozenset[Hashable]) -> None:
    """Require that traced arguments vary along the same mesh axes.

    Raises:
      ValueError: one does not.
    """
    for arg in args:
        if isinstance(arg, Tracer) and arg.aval.vma != axes:
            missing = tuple(sorted(axes - arg.aval.vma, key=str))
            raise ValueError(
                f"{arg.aval.short()} is the same on all devices along {missing}, and meets a value "
                "that varies along them; with auto_pcast off write jxkernel.lax.pcast(x, "
                f"{missing}, to='varying')"
            )


def agreeing(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments of an operation, traced ones varying wherever any of them does.

    Constants stay: no derivative flows back to them.

    Raises:
      ValueError: one must be taken to vary, and ``auto_pcast`` is off.
    """
    found: list[frozenset[Hashable]] = [arg.aval.vma for arg in args if isinstance(arg, Tracer)]
    axes = frozenset[Hashable]().union(*found)
    if not axes:
        return tuple(args)
    if not auto_pcast.value:
        _require_alike(args, axes)
    return tuple([vary(arg, axes) if isinstance(arg, Tracer) else arg for arg in args])
