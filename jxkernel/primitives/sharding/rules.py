"""How results are divided over explicit mesh axes: the rules of the regular families.

A rule gives, from the result's type and the operands', the mesh axes that divide each axis of the
result (see ``core.explicit_sharding``); a primitive declares it as ``sharding``.  Rules decide what
needs no communication, and leave to the user what does::

    each by itself     elementwise, select, convert      operands agree; one that is whole agrees
    axes moved         transpose, squeeze, broadcast     the entries move along
    axes gone          reductions                        the entries go: devices sum their shares
    along an axis      cumsum, sort, top_k               that axis must be whole
    cut and joined     slice, pad, concatenate           pieces must stay of equal size
    many to one        dot_general, reshape, gather      else the user says it: out_sharding=

What is linear in operands takes them before sums over devices that give them: ``Linear``,
``Bilinear``, ``Contracting`` and ``Summing`` are rules that say so.

It must not know of any particular primitive's parameters but those that a rule names.
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

from jxkernel.core.avals import ShapedArray
from jxkernel.core.explicit_sharding import (
    SUM_FIRST,
    Entries,
    Undecided,
    entry_count,
    entry_text,
    listed,
    require_summed,
)
from jxkernel.records import record
from jxkernel.sharding.spec import axes_of

__all__ = [
    "Bilinear",
    "Contracting",
    "Linear",
    "Summing",
    "along",
    "broadcasting",
    "concatenating",
    "contracting",
    "convolving",
    "cutting",
    "each_alike",
    "elementwise",
    "gathered",
    "gathering",
    "leading",
    "over_windows",
    "permuting",
    "reducing",
    "require_whole",
    "reshaping",
    "same",
    "scattering",
    "splitting",
    "splitting_bits",
    "squeezing",
    "stacking",
    "updating",
    "whole",
]

Rule = Callable[..., Any]


@record()
class _OfSums:
    """A rule that knows which sums that are put off an operation takes and gives.

    Attributes:
      rule: says how results are divided.
    """

    rule: Rule

    def __call__(self, out: Any, *avals: ShapedArray, **params: Any) -> Any:
        """Return the entries of the result."""
        return self.rule(out, *avals, **params)

    def reduced(self, avals: Sequence[ShapedArray]) -> frozenset[Any]:
        """Return the axes that any operand has."""
        return frozenset[Any]().union(*[aval.reduced for aval in avals])


@record()
class Linear(_OfSums):
    """The rule of an operation that is linear in some operands together.

    Attributes:
      start: the first of these operands; the others are no sums that are put off.
      stop: the one that follows the last of them; None where it is the last of all.
      step: how many places lie between two of them.
      where: says of operands and parameters whether it is; None where it always is.
    """

    start: int = 0
    stop: int | None = None
    step: int = 1
    where: Callable[..., bool] | None = None

    def unreduced(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> frozenset[Any]:
        """Return the axes that all these operands have, with those of the operation's own sum."""
        places = range(len(avals))[self.start : self.stop : self.step]
        if self.where is not None and not self.where(*avals, **params):
            places = places[:0]
        require_summed([aval for place, aval in enumerate(avals) if place not in places])
        found = avals[places[0]].unreduced if places else frozenset[Any]()
        for place in places:
            if avals[place].unreduced != found:
                known = listed(found or avals[place].unreduced)
                raise Undecided(
                    f"and not all of these are sums over {known} that are put off",
                    SUM_FIRST,
                    "or put off the other too: jxkernel.sharding.reshard(x, P(..., "
                    f"unreduced={{{known}}}))",
                )
        return found.union(params.get("unreduced", ()))


@record()
class Bilinear(_OfSums):
    """The rule of a product: one of the operands may be a sum that is put off."""

    def unreduced(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> frozenset[Any]:
        """Return the axes of the operand that has some."""
        sums = [aval.unreduced for aval in avals if aval.unreduced]
        if len(sums) > 1:
            raise Undecided(
                "and a product of sums that are put off is no sum of products",
                SUM_FIRST.replace("it first", "one of them first"),
            )
        return sums[0] if sums else frozenset[Any]()


@record()
class Contracting(_OfSums):
    """The rule of sums of products, which may put off a sum, and whose operands are none."""

    def unreduced(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> frozenset[Any]:
        """Return the axes over which the operation puts off its own sum."""
        require_summed(avals)
        return frozenset(params.get("unreduced", ()))

    def reduced(self, avals: Sequence[ShapedArray]) -> frozenset[Any]:
        """Return none: the result is a value as any other."""
        return frozenset()


@record()
class Summing(_OfSums):
    """The rule of a sum over mesh axes, the parameter ``axes``, that are handled."""

    def unreduced(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> frozenset[Any]:
        """Return the axes of the operand over which it is not summed now."""
        return avals[0].unreduced.difference(params["axes"])


RESHARD = "divide one of them anew: jxkernel.sharding.reshard(x, P(...))"
OUT_SHARDING = "say how the result is to be divided: out_sharding=P(...)"


def joined(operands: Iterable[Entries]) -> Entries:
    """Return the entries of operands of one rank that run together.

    Raises:
      Undecided: two divide one axis in different ways.
    """
    result: list[Any] = []
    for axis, column in enumerate(zip(*operands, strict=True)):
        found = [entry for entry in column if entry is not None]
        for other in found[1:]:
            if other != found[0]:
                raise Undecided(
                    f"which divide axis {axis} differently, {entry_text(found[0])} and "
                    f"{entry_text(other)}",
                    RESHARD,
                )
        result.append(found[0] if found else None)
    return tuple(result)


def require_whole(aval: ShapedArray, axes: Iterable[int], why: str) -> None:
    """Refuse a type that is divided along axes which an operation needs whole.

    Args:
      aval: the type.
      axes: the axes.
      why: what the operation does along them, as in "it sorts along".

    Raises:
      Undecided: one is divided.
    """
    for axis in axes:
        entry = aval.entries[axis]
        if entry is not None:
            entries = (*aval.entries[:axis], None, *aval.entries[axis + 1 :])
            raise Undecided(
                f"and {why} axis {axis}, which {entry_text(entry)} divides",
                f"make that axis whole first: jxkernel.sharding.reshard(x, {spec_text(entries)})",
                "or leave it to XLA: jxkernel.sharding.auto_axes(f, out_sharding=P(...))(x)",
            )


def spec_text(entries: Entries) -> str:
    """Return entries as the spec that a user writes."""
    return f"P({', '.join(map(repr, entries))})"


def elementwise(out: ShapedArray, *avals: ShapedArray, **params: Any) -> Entries:
    """Operands of the result's rank agree; scalars and repeated axes stand beside any."""
    full = [
        aval.entries
        if aval.shape == out.shape
        else broadcasting(out, aval, broadcast_dimensions=range(aval.ndim))
        for aval in avals
        if aval.ndim == out.ndim
    ]
    return joined(full) if full else (None,) * out.ndim


def each_alike(outs: Sequence[ShapedArray], *avals: ShapedArray, **params: Any) -> list[Entries]:
    """Several results of an elementwise operation, each divided as the operands together."""
    return [elementwise(out, *avals) for out in outs]


def same(out: Any, *avals: ShapedArray, **params: Any) -> Any:
    """Each result is divided as the operand in its place."""
    if isinstance(out, ShapedArray):
        return avals[0].entries
    return [aval.entries for aval in avals[: len(out)]]


def whole(out: Any, *avals: ShapedArray, **params: Any) -> Any:
    """Results are whole: operands need to be."""
    for aval in avals:
        require_whole(aval, range(aval.ndim), "it needs all of")
    if isinstance(out, ShapedArray):
        return (None,) * out.ndim
    return [(None,) * each.ndim for each in out]


def broadcasting(
    out: ShapedArray, operand: ShapedArray, *, broadcast_dimensions: Sequence[int], **params: Any
) -> Entries:
    """Axes keep their entries where they keep their sizes; new ones are whole."""
    entries: list[Any] = [None] * out.ndim
    for axis, dim in enumerate(broadcast_dimensions):
        if operand.shape[axis] == out.shape[dim]:
            entries[dim] = operand.entries[axis]
    return tuple(entries)


def reducing(
    out: Any,
    *avals: ShapedArray,
    axes: Sequence[int] = (),
    dimensions: Sequence[int] = (),
    **params: Any,
) -> Any:
    """Reduced axes go with their entries: devices reduce their shares, then these together."""
    axes = (*axes, *dimensions)
    entries = elementwise(avals[0], *avals)
    left = tuple([entry for axis, entry in enumerate(entries) if axis not in axes])
    return left if isinstance(out, ShapedArray) else [left] * len(out)


def gathered(out: Any, *avals: ShapedArray, **params: Any) -> Any:
    """Results are whole, however operands are divided: one place needs all of them."""
    if isinstance(out, ShapedArray):
        return (None,) * out.ndim
    return [(None,) * each.ndim for each in out]


def permuting(
    out: ShapedArray, operand: ShapedArray, *, permutation: Sequence[int], **params: Any
) -> Entries:
    """Entries move with their axes."""
    return tuple([operand.entries[axis] for axis in permutation])


def squeezing(
    out: ShapedArray, operand: ShapedArray, *, dimensions: Sequence[int], **params: Any
) -> Entries:
    """Axes that go take their entries along."""
    return tuple([e for axis, e in enumerate(operand.entries) if axis not in dimensions])


def splitting_bits(out: ShapedArray, operand: ShapedArray, **params: Any) -> Entries:
    """The axis of an element's parts comes and goes last, and is whole."""
    if out.ndim < operand.ndim:
        require_whole(operand, [operand.ndim - 1], "it joins elements along")
    return (*operand.entries, None)[: out.ndim]


def along(parameter: str, what: str) -> Callable[..., Any]:
    """Return the rule of an operation that runs along one axis, which must be whole.

    Args:
      parameter: the parameter that holds the axis.
      what: what it does, as in "it sorts along".
    """

    def rule(out: Any, *avals: ShapedArray, **params: Any) -> Any:
        for aval in avals:
            if aval.ndim:
                require_whole(aval, [params[parameter] % aval.ndim], what)
        full = [aval.entries for aval in avals if aval.ndim]
        entries = joined(full)
        return entries if isinstance(out, ShapedArray) else [entries] * len(out)

    return rule


def leading(core: int, what: str) -> Callable[..., Any]:
    """Return the rule of an operation on the last axes, repeated over those before.

    Args:
      core: how many axes of the first operand it works on; they must be whole.
      what: what it does, as in "it factorizes along".
    """

    def rule(out: Any, *avals: ShapedArray, **params: Any) -> Any:
        count = avals[0].ndim - core
        for aval in avals:
            require_whole(aval, range(count, aval.ndim), what)
        batch = joined([aval.entries[:count] for aval in avals if aval.ndim >= count])
        single = isinstance(out, ShapedArray)
        results = [(*batch, *[None] * (each.ndim - count)) for each in ([out] if single else out)]
        return results[0] if single else results

    return rule


def cutting(out: ShapedArray, operand: ShapedArray, *avals: ShapedArray, **params: Any) -> Entries:
    """Axes keep their entries: where sizes change, the new ones must divide as well."""
    return _resized(out, operand)


def _resized(out: ShapedArray, operand: ShapedArray) -> Entries:
    explicit_sharding = operand.explicit_sharding
    for axis, entry in enumerate(operand.entries):
        if entry is None or out.shape[axis] == operand.shape[axis]:
            continue
        assert explicit_sharding is not None, "an entry is one of a sharding"
        count = entry_count(explicit_sharding.mesh, entry)
        if out.shape[axis] % count:
            require_whole(operand, [axis], f"it leaves {out.shape[axis]} elements of")
    return operand.entries


def updating(
    out: ShapedArray, operand: ShapedArray, update: ShapedArray, *starts: ShapedArray, **params: Any
) -> Entries:
    """The operand decides; an update agrees, or is whole."""
    return joined([operand.entries, update.entries])


def concatenating(out: ShapedArray, *avals: ShapedArray, dimension: int, **params: Any) -> Entries:
    """Operands agree, along the axis of joining too."""
    return joined([aval.entries for aval in avals])


def stacking(out: ShapedArray, *avals: ShapedArray, axis: int, **params: Any) -> Entries:
    """Operands agree; the new axis is whole."""
    entries = joined([aval.entries for aval in avals])
    return (*entries[:axis], None, *entries[axis:])


def splitting(
    outs: Sequence[ShapedArray], operand: ShapedArray, *, axis: int, **params: Any
) -> list[Entries]:
    """Parts are divided as the whole, where their sizes allow it."""
    return [_resized(out, operand) for out in outs]


# ---------------------------------------------------------------- many to one


def contracting(
    out: ShapedArray,
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: Any,
    unreduced: Sequence[Any] = (),
    **params: Any,
) -> Entries:
    """Batch axes agree, others keep their entries; what is summed is divided in one at most.

    Where both are divided along the axes that are summed, the result could be whole, or divided
    over these mesh axes anew: only the user knows which.  Where the sum over these is put off
    (``unreduced``) both are divided, and alike.
    """
    (left_summed, right_summed), (left_batch, right_batch) = dimension_numbers
    for left, right in zip(left_summed, right_summed, strict=True):
        entry = lhs.entries[left]
        if unreduced and entry == rhs.entries[right] and {*axes_of(entry)} <= {*unreduced}:
            continue
        if entry is not None and rhs.entries[right] is not None:
            raise Undecided(
                f"and sums over axes {left} and {right} that are both divided, "
                f"{entry_text(lhs.entries[left])} and {entry_text(rhs.entries[right])}, so how the "
                "result is divided is open",
                OUT_SHARDING,
            )
    batch = joined(
        [
            tuple([lhs.entries[axis] for axis in left_batch]),
            tuple([rhs.entries[axis] for axis in right_batch]),
        ]
    )
    left_kept = [e for a, e in enumerate(lhs.entries) if a not in {*left_summed, *left_batch}]
    right_kept = [e for a, e in enumerate(rhs.entries) if a not in {*right_summed, *right_batch}]
    return (*batch, *left_kept, *right_kept)


def convolving(
    out: ShapedArray, lhs: ShapedArray, rhs: ShapedArray, *, dimension_numbers: Any, **params: Any
) -> Entries:
    """Examples and output features keep their entries; the axes that are summed are whole."""
    images, kernels, results = dimension_numbers
    grouped = params["feature_group_count"] > 1 or params["batch_group_count"] > 1
    require_whole(lhs, images if params["batch_group_count"] > 1 else images[1:], "it sums over")
    require_whole(rhs, kernels if grouped else kernels[1:], "it sums over")
    entries: list[Any] = [None] * out.ndim
    entries[results[0]] = lhs.entries[images[0]]
    entries[results[1]] = rhs.entries[kernels[0]]
    return tuple(entries)


def over_windows(out: Any, *avals: ShapedArray, window_dimensions: Any, **params: Any) -> Any:
    """Axes whose windows are single elements keep their entries; the others are whole."""
    wide = [axis for axis, size in enumerate(window_dimensions) if size != 1]
    full = [aval for aval in avals if aval.ndim]
    for aval in full:
        require_whole(aval, wide, "it has windows along")
    entries = joined([aval.entries for aval in full])
    return entries if isinstance(out, ShapedArray) else [entries] * len(out)


def reshaping(
    out: ShapedArray, operand: ShapedArray, *, new_sizes: Sequence[int], **params: Any
) -> Entries:
    """Axes that stay keep their entries; those of one that is split go to its first parts.

    Of axes that become one, those that are divided must come first.
    """
    if operand.size == 0:
        return _matching(out, operand)
    entries: list[Any] = [None] * out.ndim
    for before, after in _groups(operand.shape, tuple(new_sizes)):
        divided = [axis for axis in before if operand.entries[axis] is not None]
        if not divided:
            continue
        names = [name for axis in before for name in axes_of(operand.entries[axis])]
        if len(before) > 1 and (len(after) > 1 or divided != before[: len(divided)]):
            raise _unclear(out)
        assert operand.explicit_sharding is not None, "it has entries"
        _give_out(entries, names, after, out, operand)
    return tuple(entries)


def _matching(out: ShapedArray, operand: ShapedArray) -> Entries:
    """Return the entries of an empty array: axes of the same place and size keep them."""
    if operand.shape == out.shape:
        return operand.entries
    require_whole(operand, range(operand.ndim), "it changes")
    return (None,) * out.ndim


def _unclear(out: ShapedArray) -> Undecided:
    return Undecided(
        f"and shape {out.shape} is not made of its axes so that pieces stay pieces",
        OUT_SHARDING.replace("out_sharding", "reshape(..., out_sharding") + ")",
        "or make it whole first: jxkernel.sharding.reshard(x, P())",
    )


def _give_out(
    entries: list[Any], names: list[Any], after: list[int], out: ShapedArray, operand: ShapedArray
) -> None:
    """Divide the axes of the result that a group becomes over the group's mesh axes, in order."""
    assert operand.explicit_sharding is not None, "it has entries"
    sizes = operand.explicit_sharding.mesh.shape
    places = iter([axis for axis in after if out.shape[axis] != 1] or after)
    place = next(places)
    taken: list[Any] = []
    for name in names:
        while out.shape[place] % prod([sizes[n] for n in [*taken, name]]):
            exhausted = taken and out.shape[place] == prod([sizes[n] for n in taken])
            following = next(places, None)
            if not exhausted or following is None:
                raise _unclear(out)
            place, taken = following, []
        taken.append(name)
        entries[place] = taken[0] if len(taken) == 1 else tuple(taken)


def _groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Return the smallest runs of axes of two shapes that hold the same elements.

    Axes of size 1 belong to no run.
    """
    left = [axis for axis, size in enumerate(before) if size != 1]
    right = [axis for axis, size in enumerate(after) if size != 1]
    groups: list[tuple[list[int], list[int]]] = []
    while left or right:
        group = [left.pop(0)], [right.pop(0)]
        sizes = [before[group[0][0]], after[group[1][0]]]
        while sizes[0] != sizes[1]:
            side = int(sizes[0] > sizes[1])
            axis = (left, right)[side].pop(0)
            group[side].append(axis)
            sizes[side] *= (before, after)[side][axis]
        groups.append(group)
    return groups


# ---------------------------------------------------------------- indexing


def gathering(
    out: ShapedArray,
    operand: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    **params: Any,
) -> Entries:
    """Axes of which windows take all keep their entries; those of the indices keep theirs.

    An axis that is read by index must be whole: else a device would need what others hold.
    """
    numbers = dimension_numbers
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    windows = [axis for axis in range(operand.ndim) if axis not in gone]
    partly = [
        axis
        for axis in range(operand.ndim)
        if axis not in numbers.operand_batching_dims and slice_sizes[axis] != operand.shape[axis]
    ]
    _require_whole_for("reads", operand, partly, "get")
    require_whole(indices, [indices.ndim - 1], "it reads index vectors along")
    together = _together(
        operand,
        indices,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )
    entries: list[Any] = [None] * out.ndim
    rest = [axis for axis in range(out.ndim) if axis not in numbers.offset_dims]
    for place, entry in zip(rest, together, strict=True):
        entries[place] = entry
    for place, axis in zip(numbers.offset_dims, windows, strict=True):
        entries[place] = operand.entries[axis]
    return tuple(entries)


def scattering(
    out: ShapedArray,
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: Any,
    **params: Any,
) -> Entries:
    """The operand decides; axes that are written by index, and the places, must be whole."""
    numbers = dimension_numbers
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    windows = [axis for axis in range(operand.ndim) if axis not in gone]
    sizes = dict(zip(windows, numbers.update_window_dims, strict=True))
    partly = [
        axis
        for axis in range(operand.ndim)
        if axis in numbers.inserted_window_dims
        or (axis in sizes and updates.shape[sizes[axis]] != operand.shape[axis])
    ]
    _require_whole_for("writes", operand, partly, "set")
    together = _together(
        operand, indices, numbers.operand_batching_dims, numbers.scatter_indices_batching_dims
    )
    rest = [axis for axis in range(updates.ndim) if axis not in numbers.update_window_dims]
    paired = set(numbers.scatter_indices_batching_dims)
    places = [axis for axis in range(indices.ndim - 1) if axis not in paired]
    require_whole(indices, [*places, indices.ndim - 1], "it writes at the places along")
    unpaired = [axis for number, axis in enumerate(rest) if number not in paired]
    require_whole(updates, unpaired, "it writes in any order along")
    joined([together, tuple([updates.entries[axis] for axis in rest])])
    given = tuple([operand.entries[axis] for axis in windows])
    wanted = tuple([updates.entries[sizes[axis]] for axis in windows])
    merged = dict(zip(windows, joined([given, wanted]), strict=True))
    return tuple([merged.get(axis, operand.entries[axis]) for axis in range(operand.ndim)])


def _together(
    operand: ShapedArray, indices: ShapedArray, ours: Sequence[int], theirs: Sequence[int]
) -> Entries:
    """Return the entries of the axes of the indices, joined with those that run with them."""
    own: list[Any] = [None] * (indices.ndim - 1)
    for axis, place in zip(ours, theirs, strict=True):
        own[place] = operand.entries[axis]
    return joined([tuple(own), indices.entries[:-1]])


def _require_whole_for(what: str, operand: ShapedArray, axes: Iterable[int], method: str) -> None:
    for axis in axes:
        entry = operand.entries[axis]
        if entry is not None:
            raise Undecided(
                f"and {what} by index along axis {axis}, which {entry_text(entry)} divides",
                f"say how the result is divided: x.at[...].{method}(..., out_sharding=P(...))",
                "or make that axis whole first: jxkernel.sharding.reshard(x, P(...))",
            )
