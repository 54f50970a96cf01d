"""Loops over arrays, traced once: ``scan``, ``map`` and ``associative_scan``."""

from collections.abc import Callable, Sequence
from functools import wraps
from operator import index as as_index
from typing import Any

import numpy as np

from jxkernel import tree
from jxkernel.api.arguments import function_name
from jxkernel.api.control_flow.carry import (
    LoopBody,
    check_carry_structure,
    convert_to,
    converting,
    settle_carry,
)
from jxkernel.api.traced import TracedFunction, check_callable, leaf_avals, trace_function
from jxkernel.api.vectorize import vmap
from jxkernel.config import disable_jit
from jxkernel.core.avals import ShapedArray, abstractify, kind_in_words
from jxkernel.core.filtering import filtered, hide_internal_frames
from jxkernel.core.key_data import key_data_axes
from jxkernel.core.trace import Tracer, place_in_source
from jxkernel.errors import ShardingTypeError
from jxkernel.higher_order.references import CapturedReferences, Ref, Taken
from jxkernel.higher_order.scan import bind_scan
from jxkernel.primitives.arguments import canonical_axis
from jxkernel.primitives.creation import iota
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.indexing.concatenate import concatenate, stack
from jxkernel.primitives.indexing.slicing import index_in_dim, slice_in_dim
from jxkernel.primitives.reduction.associative_scan import scan_associatively
from jxkernel.primitives.shape.reshape import reshape
from jxkernel.sharding import PartitionSpec
from jxkernel.transforms.batching import example_aval
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["associative_scan", "map", "run_scan", "scan", "turns_at_once"]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Apply a function to the elements of arrays in turn, passing a carry along.

    ``f(carry, x)`` returns ``(carry, y)``.  It is traced once, whatever the length.

    Args:
      f: the function of one turn.
      init: the first carry: a tree of arrays whose structure, shapes and dtypes ``f`` keeps.  A
        Python number takes the dtype that ``f`` makes of it.
      xs: a tree of arrays with one leading size, whose elements ``f`` gets; None for none.  Of a
        reference it gets references to its elements.
      length: the number of turns; needed where ``xs`` has no array.
      reverse: whether to begin with the last element (the ``y`` still stand beside their ``x``).
      unroll: how many turns one turn of the compiled loop makes; True or 0 for all.
      _split_transpose: taken for the libraries that pass it; it changes nothing.

    Returns:
      the last carry, and the tree of the ``y`` stacked along a new leading axis.

    Raises:
      TypeError: ``f`` is not callable or does not return a pair.
      CarryTypeError: the carry changes its structure, a shape or a dtype.
      ValueError: leading sizes differ, or there is neither an array to scan nor a length.

    Forward and reverse derivatives work; the latter keeps what each turn's derivative needs.

    >>> from jxkernel import lax, numpy as jnp
    >>> total, sums = lax.scan(lambda c, x: (c + x, c + x), 0, jnp.array([1, 5, 2]))
    >>> total.item(), sums.tolist()
    (8, [1, 6, 8])
    """
    try:
        check_callable("scan", "f", f)
        f, xs = _with_rows(f, xs, 1)
        return run_scan(LoopBody("scan", "carry", f, f), init, xs, length, reverse, unroll)
    except CapturedReferences as found:
        return _scan_taking(Taken(found), f, init, xs, length, reverse, unroll)
    except Exception as error:
        hide_internal_frames(error)
        raise


def _scan_taking(taken: Taken, f: Callable[..., Any], init: Any, *how: Any) -> tuple[Any, Any]:
    """Run a scan with the references that it writes in its carry."""

    @wraps(f)
    def turn(carry: tuple[Any, Any], x: Any) -> Any:
        result, values = taken.run(carry[1], lambda: f(carry[0], x))
        if not isinstance(result, tuple | list) or len(result) != 2:
            return result
        return (result[0], values), result[1]

    (last, values), ys = scan(turn, (init, taken.values()), *how)
    taken.write(values)
    return last, ys


def _with_rows(f: Callable[..., Any], xs: Any, before: int) -> tuple[Callable[..., Any], Any]:
    """Return a body and arrays to scan, with positions in place of references to scan over.

    Args:
      f: the body; its last argument is an element of ``xs``.
      xs: what is scanned.
      before: how many arguments there are before it.
    """
    flat, structure = physical.flatten(xs)
    refs = {i: leaf for i, leaf in enumerate(flat) if isinstance(leaf, Ref)}
    if not refs:
        return f, xs

    @wraps(f)
    def turn(*args: Any) -> Any:
        element = structure.flatten_up_to(args[before])
        given = [refs[i].at[x] if i in refs else x for i, x in enumerate(element)]
        return f(*args[:before], structure.unflatten(given))

    places = [iota(np.int32, len(leaf)) if i in refs else leaf for i, leaf in enumerate(flat)]
    return turn, structure.unflatten(places)


def run_scan(
    body: LoopBody, init: Any, xs: Any, length: int | None, reverse: bool, unroll: int | bool
) -> tuple[Any, Any]:
    """Scan a body that is wrapped as the loop the user called needs it; see ``scan``."""
    flat_init, init_tree = physical.flatten(init)
    flat_xs, xs_tree = physical.flatten(xs)
    init_avals = leaf_avals(body.loop, body.carry, flat_init, init_tree)
    xs_avals = leaf_avals(body.loop, "xs", flat_xs, xs_tree)
    turns = _length(body.loop, xs_avals, xs_tree, length)
    if disable_jit.value and turns and not any(isinstance(x, Tracer) for x in flat_xs):
        return _scan_in_python(body, init, flat_xs, xs_tree, turns, reverse)
    x_avals = [_element(body.loop, aval) for aval in xs_avals]
    in_tree = physical.structure((init, xs))
    traced: TracedFunction | None = None

    def carried(avals: list[ShapedArray]) -> Sequence[ShapedArray]:
        nonlocal traced
        traced = trace_function(body.loop, body.fun, body.turn, in_tree, [*avals, *x_avals])
        _check_pair(body, traced.out_tree, init_tree)
        return traced.out_avals[: len(avals)]

    carry_avals = settle_carry(body, init_tree, init_avals, carried)
    assert traced is not None, "the body has been traced"
    first = [convert_to(*each) for each in zip(flat_init, init_avals, carry_avals, strict=True)]
    last = zip(traced.out_avals, carry_avals, strict=False)
    wanted = [
        out.update(vma=carry.vma, explicit_sharding=carry.explicit_sharding) for out, carry in last
    ]
    closed = converting(traced.closed, [*wanted, *traced.out_avals[len(wanted) :]])
    outs = bind_scan(
        closed.hoisted(),
        closed.consts,
        first,
        flat_xs,
        length=turns,
        reverse=bool(reverse),
        unroll=turns_at_once(body.loop, unroll, turns),
    )
    return traced.out_tree.unflatten(outs)


def _element(name: str, aval: ShapedArray) -> ShapedArray:
    """Return the type of the elements of an array along its leading axis.

    Raises:
      ShardingTypeError: an explicit mesh axis divides that axis: the turns need its elements.
    """
    if aval.entries[0] is not None:
        rest = PartitionSpec(None, *aval.entries[1:])
        raise ShardingTypeError(
            name,
            aval.short(),
            "and it takes elements along axis 0 one by one, which is divided",
            instead=(f"make that axis whole first: jxkernel.sharding.reshard(xs, {rest})",),
            **place_in_source(),
        )
    return example_aval(aval, 0)


def _length(name: str, avals: Sequence[ShapedArray], structure: Any, length: Any) -> int:
    """Return the number of turns.

    Raises:
      ValueError: leading sizes differ, are missing, or are not the length given.
    """
    ranks = [aval.ndim - axes for aval, axes in zip(avals, key_data_axes(structure), strict=True)]
    if 0 in ranks:
        leaf = ranks.index(0)
        path = tree.keystr(physical.leaf_paths(structure)[leaf])
        raise ValueError(
            f"{name} scans over the leading axis of arrays, and xs{path} is a scalar, which has "
            "none: pass it in the carry, or close over it"
        )
    sizes = {aval.shape[0] for aval in avals}
    if length is not None:
        sizes.add(_integer(name, "length", length))
    if len(sizes) > 1:
        paths = [tree.keystr(path) for path in physical.leaf_paths(structure)]
        listed = ", ".join(
            f"xs{path} has {aval.shape[0]}" for path, aval in zip(paths, avals, strict=True)
        )
        asked = f", length is {length}" if length is not None else ""
        raise ValueError(f"{name} got leading axes of different sizes: {listed}{asked}")
    if not sizes:
        raise ValueError(f"{name} got neither arrays to scan over nor a length: give length=...")
    (turns,) = sizes
    if turns < 0:
        raise ValueError(f"{name} got length {turns}: it is not negative")
    return turns


def turns_at_once(name: str, unroll: int | bool, turns: int) -> int:
    """Return how many turns are written out at once.

    Raises:
      TypeError: it is no integer.
      ValueError: it is negative.
    """
    if isinstance(unroll, bool):
        return max(turns, 1) if unroll else 1
    count = _integer(name, "unroll", unroll)
    if count < 0:
        raise ValueError(
            f"{name} got unroll={unroll}: it is a number of turns, 0 for all, or a bool"
        )
    return count or max(turns, 1)


def _integer(name: str, parameter: str, value: Any) -> int:
    try:
        return as_index(value)
    except TypeError:
        raise TypeError(
            f"{name} needs an integer as {parameter}, got {kind_in_words(value)}"
        ) from None


def _check_pair(body: LoopBody, out_tree: Any, init_tree: Any) -> None:
    node, children = out_tree.node_data(), out_tree.children()
    if node is None or node[0] not in (tuple, list) or len(children) != 2:
        raise TypeError(
            f"{body.loop} needs {function_name(body.fun)} to return a pair (carry, y), got a "
            f"result of structure {structure_text(out_tree)}: return (carry, None) where there "
            f"is nothing to stack"
        )
    check_carry_structure(body, init_tree, children[0])


def _scan_in_python(
    body: LoopBody, init: Any, flat_xs: Sequence[Any], xs_tree: Any, turns: int, reverse: bool
) -> tuple[Any, Any]:
    """Run a scan turn by turn, as ``disable_jit`` asks."""
    carry, rows = init, []
    for place in reversed(range(turns)) if reverse else range(turns):
        x = xs_tree.unflatten([index_in_dim(leaf, place, 0, False) for leaf in flat_xs])
        carry, y = body.turn(carry, x)
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, physical.map(lambda *column: stack(column), *rows)


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply a function to each element of arrays, one after the other.

    Unlike ``vmap`` it runs ``f`` on one element at a time, so it needs little memory, and a
    ``cond`` inside runs one branch.

    Args:
      f: a function of one element.
      xs: a tree of arrays with one leading size.
      batch_size: how many elements to vectorize over at a time; None for one by one.

    Returns:
      the results stacked along a new leading axis.

    Raises:
      TypeError: ``f`` is not callable.
      ValueError: leading sizes differ, or there is no array.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.map(lambda x: x**2, jnp.array([1, 2, 3])).tolist()
    [1, 4, 9]
    """
    try:
        check_callable("map", "f", f)
        if batch_size is not None:
            return _map_in_batches(f, xs, batch_size)
        f, xs = _with_rows(f, xs, 0)
        body = LoopBody("map", "carry", f, lambda carry, x: (carry, f(x)))
        return run_scan(body, (), xs, None, False, 1)[1]
    except CapturedReferences as found:
        again = wraps(f)(lambda carry, x: (carry, f(x)))
        return _scan_taking(Taken(found), again, (), xs, None, False, 1)[1]
    except Exception as error:
        hide_internal_frames(error)
        raise


def _map_in_batches(f: Callable[[Any], Any], xs: Any, batch_size: int) -> Any:
    """Map over whole batches, then over what is left."""
    flat, structure = physical.flatten(xs)
    turns = _length("map", leaf_avals("map", "xs", flat, structure), structure, None)
    if _integer("map", "batch_size", batch_size) < 1:
        raise ValueError(f"map got batch_size={batch_size}: it is a positive number")
    whole = turns - turns % batch_size
    batched = vmap(f)
    parts = []
    if whole:
        shape = (whole // batch_size, batch_size)
        rows = physical.map(
            lambda x: reshape(slice_in_dim(x, 0, whole), (*shape, *np.shape(x)[1:])), xs
        )
        body = LoopBody("map in batches", "carry", f, lambda carry, x: (carry, batched(x)))
        stacked = run_scan(body, (), rows, None, False, 1)[1]
        parts.append(physical.map(lambda y: reshape(y, (whole, *np.shape(y)[2:])), stacked))
    if whole < turns or not turns:
        parts.append(batched(physical.map(lambda x: slice_in_dim(x, whole, turns), xs)))
    return physical.map(lambda *pieces: concatenate(pieces, 0), *parts)


@filtered
def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Return all running results of an associative operation, computed in parallel.

    Element i of the result is ``fn`` over elements 0 to i.  Pairs are combined first, the pairs'
    running results found by the same method, and the elements between filled in: about 2 log2(n)
    operations one after the other, on 2n elements in all (Blelloch, "Prefix sums and their
    applications", 1990).

    Args:
      fn: an associative operation on two trees of arrays, applied to many elements at once: to
        slices along ``axis``.
      elems: a tree of arrays, all of one size along ``axis``.
      reverse: whether running results start from the end.
      axis: the axis to scan along.

    Returns:
      a tree like ``elems``.

    Raises:
      TypeError: ``fn`` is not callable.
      ValueError: sizes differ, or an array has no such axis.

    Its derivative is that of the operations it is made of.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.associative_scan(jnp.add, jnp.array([1, 5, 2, 3])).tolist()
    [1, 6, 8, 11]
    """
    check_callable("associative_scan", "fn", fn)
    flat, structure = physical.flatten(elems)
    avals = leaf_avals("associative_scan", "elems", flat, structure)
    ranks = [aval.ndim - axes for aval, axes in zip(avals, key_data_axes(structure), strict=True)]
    axes = [canonical_axis("associative_scan", axis, rank) for rank in ranks]
    sizes = [aval.shape[place] for aval, place in zip(avals, axes, strict=True)]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"associative_scan got sizes {sizes} along axis {axis}: they must be equal"
        )

    def combine(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        return physical.leaves(fn(structure.unflatten(left), structure.unflatten(right)))

    scanned = scan_associatively(combine, flat, axes, reverse)
    if sizes and sizes[0] > 1:  # what was combined is strongly typed
        scanned = [convert_element_type(x, abstractify(x).dtype) for x in scanned]
    return structure.unflatten(scanned)
