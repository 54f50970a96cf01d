"""Reductions by a function of the user's: ``reduce``, ``reduce_window`` and ``scatter_apply``.

A function that turns out to be one well-known operation becomes that operation's reduction,
which is faster to compile and to differentiate.
"""

from collections.abc import Callable, Sequence
from math import isinf
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel.api.arguments import function_name
from jxkernel.api.traced import check_callable, leaf_avals, trace_function
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.effects import effect_names
from jxkernel.core.filtering import filtered
from jxkernel.core.jaxpr import ClosedJaxpr, Var
from jxkernel.core.trace import Tracer
from jxkernel.core.zeros import zero_scalar
from jxkernel.errors import ShapeError
from jxkernel.higher_order.reductions import reduce_p, reduce_window_p, scatter_apply_p
from jxkernel.primitives.arguments import canonical_axes, integers
from jxkernel.primitives.conv.reduce_window import (
    canonical_window,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
)
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.indexing.gather_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    canonical_mode,
    checked_numbers,
)
from jxkernel.primitives.reduction.reduce import (
    greatest,
    least,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from jxkernel.primitives.shape.broadcast import filled, filled_like
from jxkernel.primitives.shape.structural import like_operand
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = ["reduce", "reduce_window", "scatter_apply"]

_REDUCTIONS = {
    "add": reduce_sum_p,
    "mul": reduce_prod_p,
    "max": reduce_max_p,
    "min": reduce_min_p,
    "and": reduce_and_p,
    "or": reduce_or_p,
    "xor": reduce_xor_p,
}
_BOOLEAN = {"add": reduce_or_p, "mul": reduce_and_p, "max": reduce_or_p, "min": reduce_and_p}
_WINDOWED = {
    "add": (reduce_window_sum_p, lambda dtype: 0),
    "max": (reduce_window_max_p, least),
    "min": (reduce_window_min_p, greatest),
}


def _operation(computation: ClosedJaxpr) -> Any:
    """Return the one primitive that a program of two scalars applies to them, if there is one."""
    jaxpr = computation.jaxpr
    if len(jaxpr.eqns) != 1 or len(jaxpr.outvars) != 1 or len(jaxpr.invars) != 2:
        return None
    (eqn,) = jaxpr.eqns
    inputs = [atom for atom in eqn.invars if type(atom) is Var]
    whole = len(inputs) == 2 and set(inputs) == set(jaxpr.invars)
    return eqn.primitive if whole and jaxpr.outvars[0] is eqn.outvars[0] else None


def _traced(
    name: str, function: Callable[..., Any], structure: Any, avals: Sequence[ShapedArray]
) -> ClosedJaxpr:
    """Return the program by which a function combines two trees of scalars."""
    check_callable(name, "computation", function)
    scalars = [ShapedArray((), aval.dtype) for aval in avals]
    both = physical.structure((structure.unflatten(scalars), structure.unflatten(scalars)))
    traced = trace_function(name, function, function, both, [*scalars, *scalars])
    if traced.out_tree != structure:
        raise TypeError(
            f"{name} got a computation that returns {structure_text(traced.out_tree)} for "
            f"arguments {structure_text(structure)}: "
            "it returns one combined value for each operand"
        )
    _check_closed(name, function, traced.closed)
    return traced.closed


def _check_closed(name: str, function: Callable[..., Any], closed: ClosedJaxpr) -> None:
    if any(isinstance(const, Tracer) for const in closed.consts):
        raise TypeError(
            f"{name} got {function_name(function)}, which uses a traced value from outside: a "
            "reduction's function may use its arguments and constants only"
        )
    if closed.effects:
        raise TypeError(
            f"{name} got {function_name(function)}, which has the effect "
            f"{effect_names(closed.effects)}: how often and in which order a reduction calls its "
            "function is not defined"
        )


def _with_starts(
    name: str, operands: Any, init_values: Any
) -> tuple[list[Any], list[Any], Any, list[ShapedArray]]:
    """Return operands and start values as lists, with their structure and types."""
    flat, structure = physical.flatten(operands)
    inits, of_inits = physical.flatten(init_values)
    if of_inits != structure or not flat:
        raise ValueError(
            f"{name} got operands {structure_text(structure)} and start values "
            f"{structure_text(of_inits)}: one start value for "
            "each of at least one operand"
        )
    avals = leaf_avals(name, "operands", flat, structure)
    starts = [
        like_operand(x, _start(name, init, aval.dtype))
        for x, aval, init in zip(flat, avals, inits, strict=True)
    ]
    shapes = [abstractify(start).shape for start in starts]
    if any(shapes):
        raise ShapeError(f"{name} got start values of shapes {shapes}: they are scalars")
    return flat, starts, structure, avals


def _start(name: str, start: Any, dtype: Any) -> Any:
    """Return a start value; for an infinite number beside integers, their least or greatest.

    Raises:
      TypeError: it is a Python number that the operand's dtype does not have.
    """
    if type(start) is float and isinf(start) and dtypes.issubdtype(dtype, np.integer):
        return least(dtype) if start < 0 else greatest(dtype)
    is_exact = dtype not in dtypes.INEXACT
    if (type(start) is complex and dtype not in dtypes.COMPLEX) or (
        type(start) is float and is_exact and not start.is_integer()
    ):
        raise TypeError(
            f"{name} got the start value {start} beside elements of {dtype.name}, which have no "
            "such number: convert the operand with x.astype(...), or give another start value"
        )
    return start


@filtered
def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Reduce arrays together over axes by a function of the user's.

    Args:
      operands: an array, or a tree of arrays of one shape.
      init_values: a like tree of scalars: the neutral elements of ``computation``.  An infinite
        Python number stands for the least or greatest integer beside integers.
      computation: combines two values (or trees of values); associative and commutative, for the
        order of combination is not defined.
      dimensions: the axes to reduce; negative ones count from the end.
      out_sharding: how results are divided over explicit mesh axes; where None, operands decide.

    Returns:
      a tree like ``operands`` of arrays without the axes.

    Raises:
      TypeError: ``computation`` is not callable, changes types or uses traced values; a start
        value is a Python number that its operand's dtype does not have.
      ValueError: the trees differ, or an axis does not exist.

    Differentiable where ``computation`` is.  StableHLO ``reduce``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce(jnp.array([[1, 2], [3, 4]]), 0, lax.add, (1,)).tolist()
    [3, 7]
    """
    if out_sharding is not None:
        return with_out_sharding(
            reduce, (operands, init_values), out_sharding, computation, dimensions
        )
    flat, inits, structure, avals = _with_starts("reduce", operands, init_values)
    axes = canonical_axes("reduce", dimensions, avals[0].ndim)
    closed = _traced("reduce", computation, structure, avals)
    primitive = _operation(closed)
    if primitive is not None:
        table = _BOOLEAN if avals[0].dtype == np.bool_ else {}
        known = table.get(primitive.name) or _REDUCTIONS.get(primitive.name)
        if known is not None and axes:
            y = known.bind(flat[0], axes=axes)
            return structure.unflatten([primitive.bind(filled_like(inits[0], y), y)])
    out = reduce_p.bind(*flat, *inits, computation=closed, dimensions=axes)
    # The computation is of strong types; results are weak where operand and start value are.
    weak = [
        aval.weak_type and abstractify(init).weak_type
        for aval, init in zip(avals, inits, strict=True)
    ]
    return structure.unflatten(
        [
            convert_element_type(y, aval.dtype, weak_type=True) if is_weak else y
            for y, aval, is_weak in zip(out, avals, weak, strict=True)
        ]
    )


@filtered
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce each window of arrays together by a function of the user's.

    Args:
      operand: an array, or a tree of arrays of one shape.
      init_value: a like tree of scalars: the neutral elements of ``computation``, which also fill
        the padding.  An infinite Python number stands for the least or greatest integer.
      computation: combines two values (or trees of values); associative and commutative.
      window_dimensions: the windows' sizes, one per axis.
      window_strides: the steps between windows; 1 where not given.
      padding: ``SAME``, ``SAME_LOWER``, ``VALID``, or (low, high) per axis.
      base_dilation: how far apart the operand's elements are placed; 1 where not given.
      window_dilation: how far apart the elements of a window stand; 1 where not given.

    Returns:
      a tree like ``operand`` of arrays with one element per window.

    Raises:
      TypeError: ``computation`` is not callable, changes types or uses traced values; a start
        value is a Python number that its operand's dtype does not have.
      ValueError: the trees differ, or a parameter does not fit the operand's rank.

    Differentiable where ``computation`` is.  StableHLO ``reduce_window``.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.reduce_window(jnp.array([1, 5, 2, 4]), 0, lax.add, (2,)).tolist()
    [6, 7, 6]
    """
    flat, inits, structure, avals = _with_starts("reduce_window", operand, init_value)
    window = canonical_window(
        avals[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    closed = _traced("reduce_window", computation, structure, avals)
    primitive = _operation(closed)
    if primitive is not None and primitive.name in _WINDOWED:
        known, neutral = _WINDOWED[primitive.name]
        numeric = avals[0].dtype != np.bool_ or primitive.name != "add"
        if numeric and _is_number(inits[0], neutral(avals[0].dtype)):
            return structure.unflatten([known.bind(flat[0], **window._asdict())])
    out = reduce_window_p.bind(*flat, *inits, computation=closed, **window._asdict())
    return structure.unflatten(out)


def _is_number(value: Any, number: Any) -> bool:
    """Whether a start value is known to be a number."""
    return not isinstance(value, Tracer) and bool(np.asarray(value) == number)


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Apply a function to the elements of windows of an array.

    Args:
      operand: an array.
      scatter_indices: integers; the last axis holds the index vectors.
      func: takes and returns a scalar of the operand's dtype; an element in several windows is
        replaced as often.
      dimension_numbers: what each axis means.
      update_shape: the shape that updates would have.
      indices_are_sorted: a promise that index vectors ascend.
      unique_indices: a promise that no two windows overlap.
      mode: what happens to windows that leave the operand.

    Raises:
      TypeError: ``func`` is not callable or changes the type; shapes do not fit.

    Differentiable with ``unique_indices``, where ``func`` is.  StableHLO ``scatter``.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, places = jnp.array([4.0, 9.0]), jnp.array([[1]])
    >>> lax.scatter_apply(x, places, lax.sqrt, numbers, update_shape=(1,)).tolist()
    [4.0, 3.0]
    """
    check_callable("scatter_apply", "func", func)
    scalar = ShapedArray((), abstractify(operand).dtype)
    closed = trace_function("scatter_apply", func, func, physical.structure((0,)), [scalar]).closed
    _check_closed("scatter_apply", func, closed)
    (y,) = scatter_apply_p.bind(
        operand,
        scatter_indices,
        filled(integers("scatter_apply", "update_shape", update_shape), zero_scalar(scalar)),
        computation=closed,
        dimension_numbers=checked_numbers(
            "scatter_apply", ScatterDimensionNumbers, dimension_numbers
        ),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=canonical_mode("scatter_apply", mode),
    )
    return y
