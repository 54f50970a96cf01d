"""Kinds of values along mesh axes that a ``shard_map`` handles, and going from one to another.

A value is the same on all devices along such an axis, varies, is a sum that is put off, or is the
same and its cotangent is such a sum.  Here is what says so of values; the rules of the primitives
stand in ``primitives.collective.varying``, with what each means.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import state
from jxkernel.core.zeros import Zero
from jxkernel.runtime import ArrayLike
from jxkernel.sharding.mesh import mesh_of_types

__all__ = [
    "manual_cast",
    "manual_cast_p",
    "manually_like",
    "own_shares",
    "psum_invariant_p",
    "pvary_p",
    "tracked_names",
    "vary",
    "vary_like",
]

pvary_p = Primitive("pvary")
psum_invariant_p = Primitive("psum_invariant")
manual_cast_p = Primitive("manual_cast")


def tracked_names(names: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Return those of the names along which types say whether values vary."""
    return tuple([name for name in names if name in state.tracked])


def vary(x: ArrayLike, axes: Iterable[Hashable]) -> Any:
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


def manual_cast(x: ArrayLike, axes: Sequence[Hashable], to: str) -> Any:
    """Return a value of another kind along mesh axes that are handled; see above.

    Args:
      x: an array.
      axes: the axes; of none nothing is done.
      to: which kind: ``"unreduced"``, ``"reduced"``, ``"share"``, ``"same"`` or ``"varying"``.
    """
    return manual_cast_p.bind(x, axes=tuple(axes), to=to, mesh=mesh_of_types()) if axes else x


def own_shares(x: Any, names: Sequence[Hashable]) -> Any:
    """Return a value that varies along named axes: of a sum that is put off its shares."""
    unreduced = abstractify(x).unreduced
    x = manual_cast(x, [name for name in names if name in unreduced], "varying")
    return vary(x, names)


def manually_like(x: ArrayLike, aval: ShapedArray, names: Sequence[Hashable]) -> Any:
    """Return a value of the kind of a type along mesh axes that are handled, where types know it.

    Args:
      x: an array.
      aval: the type.
      names: the axes.
    """
    for name in names:
        own = abstractify(x)
        if name in aval.unreduced and name not in own.unreduced:
            x = manual_cast(x, [name] if name in own.reduced else [], "same")
            x = manual_cast(x, [name], "unreduced" if name in own.vma else "share")
        elif name in own.unreduced and name not in aval.unreduced:
            x = psum_invariant_p.bind(x, axes=(name,))
        own = abstractify(x)
        if name in aval.reduced and name not in own.reduced and name not in own.vma:
            x = manual_cast(x, [name], "reduced")
        elif name in own.reduced and name not in aval.reduced:
            x = vary(x, [name]) if name in aval.vma else manual_cast(x, [name], "same")
    return x
