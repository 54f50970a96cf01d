"""Operations that are made of others, and stand in programs by their own names.

What each means is the function before its primitive; the primitive's rules follow from that.
``tile`` and ``unstack`` are in ``tiling``, which NumPy's functions stand on.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from jxkernel.core.avals import abstractify, shape_of
from jxkernel.core.effects import TOKEN
from jxkernel.core.jaxpr import Value
from jxkernel.core.zeros import scalar_like
from jxkernel.primitives.creation import full
from jxkernel.primitives.elementwise.arithmetic import add, mul
from jxkernel.primitives.elementwise.identity import optimization_barrier
from jxkernel.primitives.linalg.cholesky import cholesky
from jxkernel.primitives.linalg.matrix import matmul, swapped, upper_part
from jxkernel.primitives.reduction.sort import approximate_top_k
from jxkernel.primitives.shape.reshape import expand_dims
from jxkernel.transforms.composed import Composed

__all__ = [
    "after_all",
    "after_all_p",
    "approx_max_k",
    "approx_min_k",
    "approx_top_k_p",
    "cholesky_update",
    "cholesky_update_p",
    "create_token",
    "create_token_p",
    "polynomial",
    "polynomial_p",
    "symmetric_product",
    "symmetric_product_p",
]

# ---------------------------------------------------------------- arithmetic


def _polynomial(x: Value, *coeffs: Any) -> Any:
    total = mul(x, 0) if len(coeffs) == 1 else mul(x, coeffs[-1])
    for coefficient in reversed(coeffs[1:-1]):
        total = mul(add(total, coefficient), x)
    return add(total, coeffs[0])


polynomial_p = Composed("polynomial", _polynomial)


def polynomial(x: Any, coeffs: Sequence[Any], *, unroll: int | None = None) -> Any:
    """Return c₀ + c₁ x + c₂ x² + ... by Horner's scheme.

    Args:
      x: an array of a numeric dtype.
      coeffs: at least one coefficient, the constant first: arrays of that dtype and of the shape
        of x, scalars, or Python numbers.
      unroll: accepted; every term stands in the program, there is no loop to unroll.

    Raises:
      ValueError: there is no coefficient.

    >>> from jxkernel import lax, numpy as jnp
    >>> lax.polynomial(jnp.array([0.0, 1.0, 2.0]), (5.0, -3.0, 2.0)).tolist()
    [5.0, 4.0, 7.0]
    """
    coeffs = list(coeffs)
    if not coeffs:
        raise ValueError("polynomial needs at least one coefficient")
    return polynomial_p.bind(x, *coeffs)


# ---------------------------------------------------------------- searches


approx_top_k_p = Composed("approx_top_k", approximate_top_k, multiple_results=True)


def _search(
    operand: Value, k: int, greatest: bool, axis: int, target: float, size: int, aggregate: bool
) -> tuple[Any, Any]:
    values, places = approx_top_k_p.bind(
        operand,
        is_max_k=greatest,
        k=k,
        reduction_dimension=axis,
        recall_target=target,
        reduction_input_size_override=size,
        aggregate_to_topk=aggregate,
    )
    return values, places


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """Return about the ``k`` greatest elements along an axis, and their positions.

    Args:
      operand: an array of a floating dtype.
      k: how many.
      reduction_dimension: the axis.
      recall_target: the share of the true greatest that must be among the result; the result is
        exact on every backend so far.
      reduction_input_size_override: the size for which ``recall_target`` is meant, if not the
        axis's own.
      aggregate_to_topk: whether the result has ``k`` elements; else it has as many as XLA's partial
        search for the target leaves, of which these are the first.

    Raises:
      TypeError: the dtype is not floating.
      ValueError: the axis has fewer than ``k`` elements, or the target is not in (0, 1].

    NaN counts as the greatest, for both functions.  Tangents are those of the elements chosen.

    >>> from jxkernel import lax, numpy as jnp
    >>> values, positions = lax.approx_max_k(jnp.array([3.0, 9.0, 1.0, 7.0]), 2)
    >>> values.tolist(), positions.tolist()
    ([9.0, 7.0], [1, 3])
    """
    search = (reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk)
    return _search(operand, k, True, *search)


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """Return about the ``k`` least elements along an axis and their positions; see approx_max_k.

    >>> from jxkernel import lax, numpy as jnp
    >>> values, positions = lax.approx_min_k(jnp.array([3.0, 9.0, 1.0, 7.0]), 2)
    >>> values.tolist(), positions.tolist()
    ([1.0, 3.0], [2, 0])
    """
    search = (reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk)
    return _search(operand, k, False, *search)


# ---------------------------------------------------------------- linear algebra


def _cholesky_update(r: Value, w: Value) -> Any:
    column, r = expand_dims(w, (1,)), upper_part(r)
    return swapped(cholesky(add(matmul(swapped(r), r), matmul(column, swapped(column)))))


cholesky_update_p = Composed("cholesky_update", _cholesky_update)


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """Return the upper triangular factor of rᵀ r + w wᵀ.

    Args:
      r_matrix: an upper triangular matrix.
      w_vector: a vector as long as its axes.

    Raises:
      ValueError: shapes do not fit.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.linalg.cholesky_update(jnp.array([[3.0]]), jnp.array([4.0]))).round(3)
    array([[5.]], dtype=float32)
    """
    n = shape_of(r_matrix)[-1] if shape_of(r_matrix) else 0
    if shape_of(r_matrix) != (n, n) or shape_of(w_vector) != (n,):
        raise ValueError(
            f"cholesky_update got shapes {shape_of(r_matrix)} and {shape_of(w_vector)}: a square "
            "matrix and a vector as long"
        )
    return cholesky_update_p.bind(r_matrix, w_vector)


def _symmetric_product(a: Value, c: Value, *, alpha: float, beta: float) -> Any:
    scaled = mul(matmul(a, swapped(a)), scalar_like(a, alpha))
    return add(scaled, mul(c, scalar_like(a, beta)))


symmetric_product_p = Composed("symmetric_product", _symmetric_product)


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """Return alpha a aᵀ + beta c for stacks of matrices.

    The result is symmetric where c is, so ``symmetrize_output`` changes nothing here; elsewhere
    kernels may compute one triangle only.

    >>> from jxkernel import lax, numpy as jnp
    >>> x = jnp.array([[1.0, 2.0], [0.0, 3.0]])
    >>> lax.linalg.symmetric_product(x, jnp.zeros((2, 2)), symmetrize_output=True).tolist()
    [[5.0, 6.0], [6.0, 9.0]]
    """
    return symmetric_product_p.bind(a_matrix, c_matrix, alpha=alpha, beta=beta)


# ---------------------------------------------------------------- tokens


def _create_token() -> Any:
    return optimization_barrier(full((), 0, TOKEN.dtype))


def _after_all(*tokens: Any) -> Any:
    return reduce(add, optimization_barrier(list(tokens)), full((), 0, TOKEN.dtype))


create_token_p = Composed("create_token", _create_token)
after_all_p = Composed("after_all", _after_all)


def create_token(_: Any = None) -> Any:
    """Return a token: a value that says what has happened, by what it was computed from.

    A token is data, the number 0 of dtype uint32: whatever takes one comes after what gave it.

    >>> from jxkernel import lax
    >>> lax.after_all(lax.create_token(), lax.create_token()).dtype
    dtype('uint32')
    """
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """Return a token that comes after all of some tokens; see ``create_token``.

    Args:
      *operands: tokens.

    Raises:
      TypeError: a value is no token.

    >>> from jxkernel import lax
    >>> lax.after_all(lax.create_token()).shape
    ()
    """
    for operand in operands:
        aval = abstractify(operand)
        if (aval.shape, aval.dtype) != (TOKEN.shape, TOKEN.dtype):
            raise TypeError(
                f"after_all got {aval.short()}, which is no token: create_token makes one"
            )
    return after_all_p.bind(*operands)
