"""Choosing between computations while they run: ``cond`` and ``switch``."""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from operator import index as as_index
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel.api.arguments import function_name
from jxkernel.api.control_flow.carry import converting
from jxkernel.api.traced import TracedFunction, check_callable, joint, leaf_avals, trace_function
from jxkernel.config import disable_jit
from jxkernel.core.avals import ShapedArray, abstractify, kind_in_words
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.trace import Tracer
from jxkernel.higher_order.cond import bind_cond
from jxkernel.higher_order.references import CapturedReferences, Ref, Taken
from jxkernel.primitives.elementwise.arithmetic import clamp
from jxkernel.primitives.elementwise.compare import ne
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.tree import physical

__all__ = ["apply_chosen", "cond", "switch"]

_NO_OPERAND = object()


def cond(
    pred: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """Apply one of two functions, chosen by a condition that may be traced.

    Args:
      pred: a scalar, boolean or a number (anything but zero is true).
      true_fun: applied to ``operands`` where the condition holds.
      false_fun: applied where it does not; its result has the structure, shapes and dtypes of
        that of ``true_fun``.
      *operands: trees of arrays.  The functions may close over further ones.
      operand: one operand, by keyword.

    The earlier form ``cond(pred, true_operand, true_fun, false_operand, false_fun)``, with an
    operand for each function, is understood too.

    Returns:
      the result of the function chosen.  Only that function runs, save under ``vmap`` over
      ``pred``, where both run and their results are selected.

    Raises:
      TypeError: ``pred`` is no scalar, a function is not callable, or the results' types differ.

    The derivative is that of the function chosen; none of the other reaches it, NaN included.

    >>> from jxkernel import lax
    >>> f = lambda x: lax.cond(x > 0, lambda x: x * 2, lambda x: -x, x)
    >>> f(3.0).item(), f(-5.0).item()
    (6.0, 5.0)
    """
    try:
        if operand is not _NO_OPERAND:
            operands = (*operands, operand)
        elif _has_two_operands(true_fun, false_fun, operands):
            left, right = false_fun, operands[1]
            operands = (true_fun, operands[0])
            true_fun, false_fun = lambda x, _: left(x), lambda _, y: right(y)
        check_callable("cond", "true_fun", true_fun)
        check_callable("cond", "false_fun", false_fun)
        chosen = _boolean(pred)
        if disable_jit.value and not isinstance(chosen, Tracer):
            return true_fun(*operands) if chosen else false_fun(*operands)
        return apply_chosen(
            "cond", chosen, (false_fun, true_fun), operands, ("false_fun", "true_fun")
        )
    except Exception as error:
        hide_internal_frames(error)
        raise


def _has_two_operands(first: Any, second: Any, rest: tuple[Any, ...]) -> bool:
    """Whether each function of a ``cond`` stands after an operand of its own."""
    return not callable(first) and callable(second) and len(rest) == 2 and callable(rest[1])


def switch(
    index: Any,
    branches: Sequence[Callable[..., Any]],
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """Apply one of several functions, chosen by an index that may be traced.

    Args:
      index: an integer scalar; out of range it counts as the nearest in range.
      branches: functions of ``operands`` whose results have one structure, and the same shapes
        and dtypes.
      *operands: trees of arrays.
      operand: one operand, by keyword.

    Returns:
      the result of ``branches[index]``.  Only that function runs, save under ``vmap`` over
      ``index``.

    Raises:
      TypeError: the index is no integer scalar, a branch is not callable, or types differ.
      ValueError: there is no branch.

    The derivative is that of the function chosen.

    >>> from jxkernel import lax
    >>> branches = [lambda x: x + 1, lambda x: x * 10, lambda x: -x]
    >>> lax.switch(1, branches, 4.0).item(), lax.switch(9, branches, 4.0).item()
    (40.0, -4.0)
    """
    try:
        if operand is not _NO_OPERAND:
            operands = (*operands, operand)
        branches = tuple(branches)
        if not branches:
            raise ValueError("switch needs at least one branch")
        names = [f"branches[{number}]" for number in range(len(branches))]
        for name, branch in zip(names, branches, strict=True):
            check_callable("switch", name, branch)
        aval = abstractify(index)
        if aval.shape or not dtypes.issubdtype(aval.dtype, np.integer):
            raise TypeError(
                f"switch needs an integer scalar as index, got {aval.short()}"
                + (": use cond for a condition" if aval.dtype == np.bool_ else "")
            )
        if len(branches) == 1:
            return branches[0](*operands)
        last = len(branches) - 1
        if disable_jit.value and not isinstance(index, Tracer):
            return branches[min(max(as_index(index), 0), last)](*operands)
        return apply_chosen("switch", _in_range(index, aval, last), branches, operands, names)
    except Exception as error:
        hide_internal_frames(error)
        raise


def _in_range(index: Any, aval: ShapedArray, last: int) -> Any:
    """Return an index as int32 from 0 to ``last``."""
    if isinstance(index, (int, np.integer)):
        return np.int32(min(max(int(index), 0), last))
    strong = convert_element_type(index, aval.dtype)
    return convert_element_type(clamp(aval.dtype.type(0), strong, aval.dtype.type(last)), np.int32)


def _boolean(pred: Any) -> Any:
    """Return a condition as a boolean scalar.

    Raises:
      TypeError: it is no scalar.
    """
    try:
        aval = abstractify(pred)
    except TypeError:
        raise TypeError(f"cond needs a scalar condition, got {kind_in_words(pred)}") from None
    if aval.shape:
        raise TypeError(
            f"cond needs a scalar condition, got {aval.short()}: reduce it with .all() or .any(), "
            "or choose element by element with jnp.where"
        )
    if aval.dtype == np.bool_:
        return pred
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        raise TypeError(f"cond needs a boolean or a real number as condition, got {aval.short()}")
    return bool(pred) if isinstance(pred, (int, float)) else ne(pred, 0)


def apply_chosen(
    name: str,
    index: Any,
    branches: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    names: Sequence[str],
) -> Any:
    """Apply the function that an index in range chooses.

    Args:
      name: who asks, for messages.
      index: a boolean or int32 scalar in range.
      branches: the functions.
      operands: their arguments.
      names: what each function is called, for messages.

    Raises:
      TypeError: an operand is no tree of arrays, or the results' types differ.
    """
    if any(isinstance(leaf, Ref) for leaf in physical.leaves(operands)):
        branches, operands = _closing_over(branches, operands)
    try:
        return _apply(name, index, branches, operands, names)
    except CapturedReferences as found:
        _join_all(found, name, branches, operands)
        taken = Taken(found)
    taking = [_taking(taken, branch) for branch in branches]
    result, values = apply_chosen(name, index, taking, (taken.values(), operands), names)
    taken.write(values)
    return result


def _join_all(
    found: CapturedReferences,
    name: str,
    branches: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
) -> None:
    """Add what all branches use to what the first that uses a reference does."""
    flat, in_tree = physical.flatten(operands)
    avals = leaf_avals(name, "operands", flat, in_tree)
    for branch in branches:
        try:
            trace_function(name, branch, branch, in_tree, avals)
        except CapturedReferences as more:
            found.join(more)


def _closing_over(
    branches: Sequence[Callable[..., Any]], operands: tuple[Any, ...]
) -> tuple[list[Callable[..., Any]], tuple[Any, ...]]:
    """Return branches that close over the references among their operands, and the others."""
    flat, structure = physical.flatten(operands)
    refs = {i: leaf for i, leaf in enumerate(flat) if isinstance(leaf, Ref)}

    def closing(branch: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(branch)
        def run(*rest: Any) -> Any:
            others = iter(rest)
            leaves = [refs[i] if i in refs else next(others) for i in range(len(flat))]
            return branch(*structure.unflatten(leaves))

        return run

    rest = tuple(leaf for i, leaf in enumerate(flat) if i not in refs)
    return [closing(branch) for branch in branches], rest


def _taking(taken: Taken, branch: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(branch)
    def run(values: Sequence[Any], operands: Sequence[Any]) -> Any:
        return taken.run(values, partial(branch, *operands))

    return run


def _apply(
    name: str,
    index: Any,
    branches: Sequence[Callable[..., Any]],
    operands: tuple[Any, ...],
    names: Sequence[str],
) -> Any:
    flat, in_tree = physical.flatten(operands)
    avals = leaf_avals(name, "operands", flat, in_tree)
    traced = [trace_function(name, branch, branch, in_tree, avals) for branch in branches]
    wanted = _joint_types(name, branches, traced, names)
    programs = joint(branches, [converting(one.closed, wanted) for one in traced])
    outs = bind_cond(index, programs, flat)
    return traced[0].out_tree.unflatten(outs)


def _joint_types(
    name: str,
    branches: Sequence[Callable[..., Any]],
    traced: Sequence[TracedFunction],
    names: Sequence[str],
) -> list[ShapedArray]:
    """Return the types that all branches give.

    Raises:
      TypeError: they give different structures or types; the message says where.
    """
    first = traced[0]
    for one, other, label in zip(traced, branches, names, strict=True):
        if one.out_tree == first.out_tree:
            continue
        mismatch = physical.structure_mismatch(first.out_tree, one.out_tree)
        raise TypeError(
            f"{name} needs branches whose results have one structure. "
            f"{mismatch.describe(_label(names[0], branches[0]), _label(label, other))}"
        )
    wanted: list[ShapedArray] = []
    for leaf, column in enumerate(zip(*[one.out_avals for one in traced], strict=True)):
        together = _joint_type(column)
        if together is None:
            path = tree.keystr(physical.leaf_paths(first.out_tree)[leaf])
            listed = ", ".join(
                f"{aval.short()} from {_label(label, branch)}"
                for aval, label, branch in zip(column, names, branches, strict=True)
            )
            raise TypeError(
                f"{name} needs branches whose results have one type"
                f"{f' at result{path}' if path else ''}: got {listed}. Convert them with "
                "x.astype(...), Python numbers with jnp.asarray(x, dtype), and give them one shape"
            )
        wanted.append(together)
    return wanted


def _label(parameter: str, fun: Callable[..., Any]) -> str:
    return f"{parameter} ({function_name(fun)})"


def _joint_type(avals: Sequence[ShapedArray]) -> ShapedArray | None:
    """Return the one type of results, weak where all are; None where there is none."""
    if len({(aval.shape, aval.dtype) for aval in avals}) > 1:
        return None
    shardings = {aval.explicit_sharding for aval in avals if aval.explicit_sharding is not None}
    if len(shardings) > 1:
        return None
    vma = avals[0].vma.union(*[aval.vma for aval in avals])
    weak = all(aval.weak_type for aval in avals)
    return ShapedArray(avals[0].shape, avals[0].dtype, weak, vma, next(iter(shardings), None))
