"""Scatters that multiply or take extremes; ``indexing`` holds those that replace and add."""

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from jxkernel.core.avals import abstractify, shape_of
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero, is_linear, typed_scalar
from jxkernel.errors import UndefinedRuleError
from jxkernel.primitives.elementwise.arithmetic import div, lower_extreme, mul
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.indexing.gather import (
    bind_scatter,
    gather_of_scatter,
    scatter_add_p,
    scatter_primitive,
)
from jxkernel.primitives.indexing.gather_numbers import GatherScatterMode, ScatterDimensionNumbers
from jxkernel.primitives.shape.broadcast import filled, instantiate
from jxkernel.primitives.shape.structural import zero_cotangents

__all__ = [
    "scatter_max",
    "scatter_max_p",
    "scatter_min",
    "scatter_min_p",
    "scatter_mul",
    "scatter_mul_p",
]

# ---------------------------------------------------------------- scatter_mul

scatter_mul_p = scatter_primitive("scatter_mul", "stablehlo.multiply", np.number)


def scatter_mul(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Multiply windows of an array; arguments are those of ``scatter_add``.

    Linear in the operand; in the updates differentiable where windows do not overlap, which
    ``unique_indices`` promises.  StableHLO ``scatter`` with ``multiply``.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> x, factors = jnp.array([1.0, 2.0, 3.0]), jnp.array([10.0, 5.0])
    >>> lax.scatter_mul(x, jnp.array([[2], [1]]), factors, numbers).tolist()
    [1.0, 10.0, 30.0]
    """
    return bind_scatter(
        scatter_mul_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def _do_not_overlap(indices: Any, unique_indices: bool) -> bool:
    return unique_indices or prod(shape_of(indices)[:-1]) <= 1


@scatter_mul_p.def_jvp
def _scatter_mul_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, unique_indices: bool, **params: Any
) -> tuple[Any, Any]:
    operand, indices, updates = primals
    params["unique_indices"] = unique_indices
    y = scatter_mul_p.bind(operand, indices, updates, **params)
    moved = instantiate(tangents[0])
    if type(tangents[0]) is not Zero:
        moved = scatter_mul_p.bind(moved, indices, updates, **params)
    if type(tangents[2]) is Zero:
        return y, moved
    if not _do_not_overlap(indices, unique_indices):
        raise UndefinedRuleError(
            "scatter_mul",
            "jvp",
            "it cannot be differentiated in its updates where windows may overlap: if they do "
            "not, say so with unique_indices=True",
        )
    read = gather_of_scatter(operand, indices, shape_of(updates), **params)
    return y, scatter_add_p.bind(moved, indices, mul(read, tangents[2]), **params)


@scatter_mul_p.def_transpose
def _scatter_mul_transpose(
    ct: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    """The JVP rule leaves applications that are linear in the operand alone."""
    assert not is_linear(updates), "the JVP rule expresses the updates' derivative otherwise"
    if type(ct) is Zero:
        return zero_cotangents((operand, indices, updates))
    return [scatter_mul_p.bind(ct, indices, updates, **params), None, None]


# ---------------------------------------------------------------- scatter_min, scatter_max

scatter_min_p = scatter_primitive("scatter_min", partial(lower_extreme, "minimum"))
scatter_max_p = scatter_primitive("scatter_max", partial(lower_extreme, "maximum"))


def scatter_min(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Take the least of elements and their updates; arguments are those of ``scatter_add``.

    Where several are least they share the derivative equally.  StableHLO ``scatter`` with
    ``minimum``.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> places, updates = jnp.array([[2], [0]]), jnp.array([4.0, -5.0])
    >>> lax.scatter_min(jnp.ones(3), places, updates, numbers).tolist()
    [-5.0, 1.0, 1.0]
    """
    return bind_scatter(
        scatter_min_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_max(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Any:
    """Take the greatest of elements and their updates; see ``scatter_min``.

    StableHLO ``scatter`` with ``maximum``.

    >>> from jxkernel import lax, numpy as jnp
    >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> places, updates = jnp.array([[2], [0]]), jnp.array([4.0, -5.0])
    >>> lax.scatter_max(jnp.ones(3), places, updates, numbers).tolist()
    [1.0, 1.0, 4.0]
    """
    return bind_scatter(
        scatter_max_p,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def _extreme_jvp(primitive: Primitive) -> Any:
    """Return the rule that averages the tangents of the elements and updates that are extreme."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = primals
        y = primitive.bind(operand, indices, updates, **params)
        dtype = abstractify(y).tangent().dtype
        zero, one = typed_scalar(dtype, 0), typed_scalar(dtype, 1)
        kept = eq(operand, y)
        taken = eq(updates, gather_of_scatter(y, indices, shape_of(updates), **params))

        def total(of_operand: Any, of_updates: Any) -> Any:
            return scatter_add_p.bind(
                select_n(kept, zero, of_operand),
                indices,
                select_n(taken, zero, of_updates),
                **params,
            )

        moved = total(instantiate(tangents[0]), instantiate(tangents[2]))
        shapes = shape_of(operand), shape_of(updates)
        return y, div(moved, total(*[filled(shape, one) for shape in shapes]))

    return jvp


_NOT_LINEAR = Undefined("it is not linear in its operands")
scatter_min_p.define(jvp=_extreme_jvp(scatter_min_p), transpose=_NOT_LINEAR)
scatter_max_p.define(jvp=_extreme_jvp(scatter_max_p), transpose=_NOT_LINEAR)
