"""Along which mesh axes a value varies: ``pvary``, and the sum that is its transpose.

Inside a ``shard_map`` that tracks it, the type of a value says along which mesh axes it may differ
between devices (``ShapedArray.vma``).  Where a value that is the same everywhere meets one that
varies, ``pvary`` says that each device now takes its own copy.  The value stays; but going
backwards each copy has its own cotangent, and the one value's is their sum.  So with these two
linear maps, each the transpose of the other, a gradient taken inside the mapped function is that
of all devices' program::

    pvary           from one value to a copy on each device       transpose: psum_invariant
    psum_invariant  from a value per device to their one sum       transpose: pvary

(The rule of efficient transposition in shard_map: see the docs of JAX, "varying manual axes".)

Here is what the traces need; the collectives that users call stand in ``collectives``.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import Tracer, state
from jxkernel.core.zeros import UndefinedPrimal, Zero
from jxkernel.primitives.collective.lowering import lower_all_reduce
from jxkernel.primitives.sharding import rules

__all__ = [
    "agreeing",
    "less_axes",
    "psum_invariant_p",
    "pvary_p",
    "tracked_names",
    "vary",
    "vary_like",
]


def tracked_names(names: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return those of the names along which types say whether values vary."""
    return tuple([name for name in names if name in state.tracked])


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


def _linear(name: str, varies: Any) -> Primitive:
    """Return a linear primitive over named axes of a mesh, without its transpose."""
    primitive = Primitive(name)
    primitive.axis_names = _names
    primitive.varies = varies

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        y = primitive.bind(*primals, **params)
        aval = abstractify(y)
        if aval.tangent().dtype != aval.dtype:
            return y, Zero(aval.tangent())
        return y, primitive.bind(*tangents, **params)

    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, int | None]:
        return primitive.bind(*args, **params), dims[0]

    return primitive.define(abstract_eval=_same, jvp=jvp, batch=batch, sharding=rules.same)


pvary_p = _linear("pvary", _more_axes)
psum_invariant_p = _linear("psum_invariant", less_axes)


@pvary_p.def_lower
def _pvary_lower(context: Any, x: Any, *, axes: tuple[Hashable, ...]) -> Any:
    return x


@pvary_p.def_transpose
def _pvary_transpose(ct: Any, operand: UndefinedPrimal, *, axes: tuple[Hashable, ...]) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(operand.aval)]
    copied = tuple([name for name in axes if name not in operand.aval.vma])
    return [psum_invariant_p.bind(vary(ct, copied), axes=copied) if copied else ct]


@psum_invariant_p.def_lower
def _psum_invariant_lower(context: Any, x: Any, *, axes: tuple[Hashable, ...]) -> Any:
    return lower_all_reduce("stablehlo.add")(context, x, axes=axes, axis_index_groups=None)


@psum_invariant_p.def_transpose
def _psum_invariant_transpose(
    ct: Any, operand: UndefinedPrimal, *, axes: tuple[Hashable, ...]
) -> list[Any]:
    return [Zero(operand.aval) if type(ct) is Zero else vary(ct, operand.aval.vma)]


def vary(x: Any, axes: Iterable[Hashable]) -> Any:
    """Return a value with the type of one that varies along the given axes that are tracked.

    Args:
      x: an array.
      axes: names; those along which its type varies already, or that are not tracked, do nothing.
    """
    tracked = state.tracked
    if not tracked:
        return x
    wanted = frozenset(axes).difference(abstractify(x).vma)
    missing = tuple([name for name in tracked if name in wanted])
    return pvary_p.bind(x, axes=missing) if missing else x


def vary_like(x: Any, aval: ShapedArray) -> Any:
    """Return a value that varies wherever a type does; ``Zero`` as it is."""
    return x if type(x) is Zero else vary(x, aval.vma)


def agreeing(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments of an operation, traced ones varying wherever any of them does.

    Constants stay: no derivative flows back to them.
    """
    found: list[frozenset[Hashable]] = [arg.aval.vma for arg in args if isinstance(arg, Tracer)]
    axes = frozenset[Hashable]().union(*found)
    if not axes:
        return tuple(args)
    return tuple([vary(arg, axes) if isinstance(arg, Tracer) else arg for arg in args])
