"""Loops by number or by condition, traced once: ``fori_loop`` and ``while_loop``."""

from collections.abc import Callable, Sequence
from functools import wraps
from operator import index as as_index
from typing import Any

import numpy as np

from jxkernel import dtypes, tree
from jxkernel.api.arguments import function_name
from jxkernel.api.control_flow.carry import (
    LoopBody,
    check_carry_structure,
    convert_to,
    settle_carry,
)
from jxkernel.api.control_flow.scanning import run_scan, turns_at_once
from jxkernel.api.traced import TracedFunction, check_callable, joint, leaf_avals, trace_function
from jxkernel.config import disable_jit
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.filtering import hide_internal_frames
from jxkernel.core.trace import Tracer
from jxkernel.higher_order.references import CapturedReferences, Taken
from jxkernel.higher_order.while_loop import bind_while
from jxkernel.primitives.elementwise.arithmetic import add
from jxkernel.primitives.elementwise.compare import lt
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["fori_loop", "while_loop"]


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Apply a function for each number of a range, passing a value along.

    It means: ``for i in range(lower, upper): val = body_fun(i, val)``.

    Args:
      lower: a real scalar: the first number.
      upper: a real scalar of the same dtype: the end of the range, not in it.  A Python integer
        takes the dtype of the other integer; where both are known, the numbers of the range yield
        as Python numbers do.  Whole floats that are known count as integers do; others count in
        steps of one, as floats.
      body_fun: from the number and the value to the next value, of the same type.
      init_val: the first value: a tree of arrays.
      unroll: how many turns one turn of the compiled loop makes, True or 0 for all; more than one
        need bounds known now.

    Returns:
      the last value; ``init_val`` where the range is empty.

    Raises:
      TypeError: a bound is no real scalar, bounds are of two dtypes, or ``body_fun`` is not
        callable.
      CarryTypeError: the value changes its structure, a shape or a dtype.
      OverflowError: a bound does not fit the integer dtype.
      ValueError: ``unroll`` of more than one turn with traced bounds.

    Where both bounds are known when the loop is traced it is a ``scan``, which has forward and
    reverse derivatives; else a ``while_loop``, which has the forward one.

    >>> from jxkernel import lax
    >>> lax.fori_loop(1, 6, lambda i, product: product * i, 1).item()
    120
    """
    try:
        check_callable("fori_loop", "body_fun", body_fun)
        counter = _counter_type(lower, upper)
        bounds = _known_bounds(lower, upper, counter)
        if bounds is not None:
            turns = 1 if unroll is None else unroll
            return _counted_loop(bounds, _known_type(bounds, counter), body_fun, init_val, turns)
        if unroll is not None and turns_at_once("fori_loop", unroll, 2) != 1:
            raise ValueError("fori_loop can unroll only where both bounds are known when traced")
        start, end = (
            convert_element_type(x, counter.dtype, weak_type=counter.weak_type)
            for x in (lower, upper)
        )
        body = LoopBody("fori_loop", "val", body_fun, _turn_of_range(body_fun), skipped=1)
        return _run_while(body, _within_range, (start, end, init_val))[2]
    except CapturedReferences as found:
        taken = Taken(found)

        @wraps(body_fun)
        def turn(number: Any, carry: tuple[Any, Any]) -> Any:
            return taken.run(carry[1], lambda: body_fun(number, carry[0]))

        carry = (init_val, taken.values())
        last, values = fori_loop(lower, upper, turn, carry, unroll=unroll)
        taken.write(values)
        return last
    except Exception as error:
        hide_internal_frames(error)
        raise


def _counter_type(lower: Any, upper: Any) -> ShapedArray:
    """Return the type of the numbers of a range, to which a bound that is a Python number yields.

    Raises:
      TypeError: a bound is no real scalar, or bounds are of two dtypes.
    """
    avals = [abstractify(lower), abstractify(upper)]
    for name, aval in zip(("lower", "upper"), avals, strict=True):
        if aval.shape or aval.dtype not in dtypes.INTEGRAL | dtypes.FLOATING:
            raise TypeError(f"fori_loop needs a real scalar as {name}, got {aval.short()}")
    of_one_kind = len({aval.dtype in dtypes.FLOATING for aval in avals}) == 1
    if not of_one_kind or len({aval.dtype for aval in avals if not aval.weak_type}) > 1:
        raise TypeError(
            f"fori_loop needs bounds of one dtype, got {avals[0].short()} as lower and "
            f"{avals[1].short()} as upper: convert one with x.astype(...)"
        )
    dtype, _ = dtypes.lattice_result_type(*[(aval.dtype, aval.weak_type) for aval in avals])
    # Numbers counted from a Python integer yield, like it, to the dtypes they meet.
    return ShapedArray((), dtype, avals[0].weak_type and avals[0].dtype == dtype)


def _known_bounds(lower: Any, upper: Any, counter: ShapedArray) -> tuple[int, int] | None:
    """Return the bounds as Python integers, or None where one is traced or not whole."""
    whole = _whole if counter.dtype in dtypes.FLOATING else as_index
    try:
        return whole(lower), whole(upper)
    except TypeError:
        return None


def _whole(bound: Any) -> int:
    """Return a float as a Python integer.

    Raises:
      TypeError: it is traced, or not whole.
    """
    if isinstance(bound, Tracer) or not float(bound).is_integer():
        raise TypeError
    return int(bound)


def _known_type(bounds: tuple[int, int], counter: ShapedArray) -> ShapedArray:
    """Return the type of the numbers between known bounds: weak, as what is known has no dtype.

    Raises:
      OverflowError: a bound fits neither the default integer nor the dtype that the bounds have.
    """
    usual = ShapedArray((), dtypes.default_int_dtype(), True)
    counter = usual if counter.dtype in dtypes.FLOATING else counter
    for aval in (usual, counter):
        limits = dtypes.iinfo(aval.dtype)
        if all(limits.min <= bound <= limits.max for bound in bounds):
            return aval
    raise OverflowError(
        f"fori_loop got the bounds {bounds[0]} and {bounds[1]}, which do not fit "
        f"{counter.dtype.name}: enable 64-bit numbers with "
        "jax.config.update('jax_enable_x64', True)"
    )


def _counted_loop(
    bounds: tuple[int, int],
    counter: ShapedArray,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    unroll: int | bool,
) -> Any:
    """Run a loop whose length is known as a scan over nothing."""
    lower, upper = bounds

    def turn(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        number, val = carry
        return (add(number, 1), body_fun(number, val)), None

    start: Any = lower if counter.weak_type else counter.dtype.type(lower)
    body = LoopBody("fori_loop", "val", body_fun, turn, skipped=1)
    (_, last), _ = run_scan(
        body, (start, init_val), None, max(upper - lower, 0), reverse=False, unroll=unroll
    )
    return last


def _turn_of_range(body_fun: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def turn(carry: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        number, end, val = carry
        return add(number, 1), end, body_fun(number, val)

    return turn


def _within_range(carry: tuple[Any, Any, Any]) -> Any:
    """Whether a loop over a range goes on; one function, so that it is traced once."""
    return lt(carry[0], carry[1])


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Apply a function to a value again and again while a condition on it holds.

    It means: ``while cond_fun(val): val = body_fun(val)``.  Both functions are traced once; again
    where a Python number takes another dtype.

    Args:
      cond_fun: from the value to a boolean scalar.
      body_fun: from the value to the next one, of the same structure, shapes and dtypes.
      init_val: the first value: a tree of arrays.  A Python number takes the dtype that
        ``body_fun`` makes of it.

    Returns:
      the first value for which the condition does not hold.

    Raises:
      TypeError: a function is not callable, ``cond_fun`` returns no boolean scalar, or a leaf of
        ``init_val`` is no array.
      CarryTypeError: the value changes its structure, a shape or a dtype.
      ReverseModeError: later, when it is differentiated in reverse.

    Forward derivatives are those of the turns that were taken: the condition has none.  Under
    ``vmap`` it runs until the last example has ended; the values of the others stay as they were
    when they ended.  StableHLO ``while``.

    >>> from jxkernel import lax
    >>> lax.while_loop(lambda x: x < 100, lambda x: x * 3, 1).item()
    243
    """
    try:
        check_callable("while_loop", "cond_fun", cond_fun)
        check_callable("while_loop", "body_fun", body_fun)
        return _run_while(LoopBody("while_loop", "val", body_fun, body_fun), cond_fun, init_val)
    except CapturedReferences as found:
        return _while_taking(Taken(found), cond_fun, body_fun, init_val)
    except Exception as error:
        hide_internal_frames(error)
        raise


def _while_taking(
    taken: Taken, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Run a loop with the references that it writes beside its value."""

    @wraps(cond_fun)
    def goes_on(carry: tuple[Any, Any]) -> Any:
        return taken.look(carry[1], lambda: cond_fun(carry[0]))

    @wraps(body_fun)
    def turn(carry: tuple[Any, Any]) -> Any:
        return taken.run(carry[1], lambda: body_fun(carry[0]))

    last, values = while_loop(goes_on, turn, (init_val, taken.values()))
    taken.write(values)
    return last


def _run_while(body: LoopBody, cond_fun: Callable[[Any], Any], init: Any) -> Any:
    flat, structure = physical.flatten(init)
    avals = leaf_avals(body.loop, body.carry, flat, structure)
    if disable_jit.value and not any(isinstance(leaf, Tracer) for leaf in flat):
        while cond_fun(init):
            init = body.turn(init)
        return init
    in_tree = physical.structure((init,))
    traced: TracedFunction | None = None

    def carried(types: list[ShapedArray]) -> Sequence[ShapedArray]:
        nonlocal traced
        traced = trace_function(body.loop, body.fun, body.turn, in_tree, types)
        check_carry_structure(body, structure, traced.out_tree)
        return traced.out_avals

    carry_avals = settle_carry(body, structure, avals, carried)
    assert traced is not None, "the body has been traced"
    kind = f"the condition of {body.loop}"
    condition = trace_function(kind, cond_fun, cond_fun, in_tree, carry_avals)
    _check_condition(body.loop, cond_fun, condition)
    first = [convert_to(*each) for each in zip(flat, avals, carry_avals, strict=True)]
    until, step = joint((cond_fun, body.fun), (condition.closed, traced.closed))
    outs = bind_while(until.hoisted(), step.hoisted(), until.consts, step.consts, first)
    return structure.unflatten(outs)


def _check_condition(loop: str, cond_fun: Callable[[Any], Any], traced: TracedFunction) -> None:
    avals = traced.out_avals
    is_leaf = tree.treedef_is_leaf(traced.out_tree)
    if is_leaf and not avals[0].shape and avals[0].dtype == np.bool_:
        return
    found = (
        avals[0].short() if is_leaf else f"a result of structure {structure_text(traced.out_tree)}"
    )
    advice = ": reduce it with .all() or .any()" if is_leaf and avals[0].shape else ""
    raise TypeError(
        f"{loop} needs {function_name(cond_fun)} to return a boolean scalar, got {found}{advice}"
    )
