"""Contractions: products of arrays summed over pairs of axes, matrix products above all.

Every one is ``dot_general``.  ``precision`` and ``preferred_element_type`` are handed through to
it.  All are linear in each operand.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes
from jxkernel._reprs import counted
from jxkernel.core.avals import ShapedArray
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import ShapeError, ShapeMismatchError
from jxkernel.numpy.creation import user_dtype
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import (
    argument_aval,
    cast,
    dtype_of,
    promote_dtypes,
    refuse_out,
)
from jxkernel.numpy.shapes import moveaxis, ravel
from jxkernel.primitives.arguments import (
    canonical_axes,
    canonical_axis,
    listed,
    sequence,
    whole_number,
)
from jxkernel.primitives.contraction.dot_general import dot_general
from jxkernel.primitives.elementwise.arithmetic import mul
from jxkernel.primitives.elementwise.complex import conj as conjugated
from jxkernel.primitives.reduction.reduce import reduce_or, sum_widely
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.reshape import reshape, squeeze
from jxkernel.primitives.shape.transpose import transpose
from jxkernel.primitives.sharding.constraints import with_out_sharding
from jxkernel.runtime import ArrayLike

__all__ = [
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]

_how = ("precision", "preferred_element_type")

Labels = tuple[Any, ...]


def paired(
    x: Any,
    x_labels: Labels,
    y: Any,
    y_labels: Labels,
    out_labels: Labels,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    multiply: Callable[..., Any] = dot_general,
) -> Any:
    """Contract two arrays whose axes are labelled.

    Labels that both have and the result has not are summed over pairwise; those that all three
    have run together; those that only one operand has are summed or kept.  No label occurs twice
    in an operand.

    Args:
      x: the first operand, of the same dtype as the second.
      x_labels: the labels of its axes.
      y: the second operand.
      y_labels: the labels of its axes.
      out_labels: the labels of the result's axes, in order.
      precision: as for ``dot_general``.
      preferred_element_type: the dtype of the result.
      multiply: what contracts them, with the arguments of ``dot_general``.
    """
    x, x_labels = _summed(x, x_labels, {*y_labels, *out_labels})
    y, y_labels = _summed(y, y_labels, {*x_labels, *out_labels})
    shared = [label for label in x_labels if label in y_labels]
    batch = [label for label in shared if label in out_labels]
    contract = [label for label in shared if label not in out_labels]
    result = multiply(
        x,
        y,
        (
            (_places(x_labels, contract), _places(y_labels, contract)),
            (_places(x_labels, batch), _places(y_labels, batch)),
        ),
        precision,
        preferred_element_type=preferred_element_type,
    )
    labels = [*batch]
    labels += [label for label in (*x_labels, *y_labels) if label not in shared]
    return transpose(result, _places(tuple(labels), out_labels))


def _summed(x: Any, labels: Labels, needed: set[Any]) -> tuple[Any, Labels]:
    """Sum over the axes that nothing else needs."""
    lone = tuple(i for i, label in enumerate(labels) if label not in needed)
    if not lone:
        return x, labels
    return totalled(x, lone), tuple(label for label in labels if label in needed)


def totalled(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the sum over axes; of booleans, whether one holds."""
    return reduce_or(x, axes) if dtype_of(x) in dtypes.BOOLEAN else sum_widely(x, axes)


def _places(labels: Labels, wanted: Sequence[Any]) -> tuple[int, ...]:
    return tuple(labels.index(label) for label in wanted)


def _operands(name: str, a: Any, b: Any, preferred: Any) -> tuple[Any, Any, Any]:
    """Return the operands in one dtype, and the dtype wanted of the result."""
    x, y = promote_dtypes(name, a, b)
    return x, y, user_dtype(preferred, name)


# ---------------------------------------------------------------- matrix products


def _product(
    name: str,
    a: Any,
    b: Any,
    a_core: str,
    b_core: str,
    out_core: str,
    precision: Any,
    preferred_element_type: Any,
) -> Any:
    """Multiply arrays whose last axes have roles (a letter each) and whose others broadcast."""
    x, y, preferred = _operands(name, a, b, preferred_element_type)
    _check_core(name, np.shape(x), a_core, np.shape(y), b_core)
    x_lead, y_lead = np.ndim(x) - len(a_core), np.ndim(y) - len(b_core)
    lead = tuple(range(-max(x_lead, y_lead), 0))
    x, x_labels = _with_lead(x, x_lead, y, y_lead)
    y, y_labels = _with_lead(y, y_lead, a, x_lead)
    product = paired(
        x,
        (*x_labels, *a_core),
        y,
        (*y_labels, *b_core),
        (*lead, *out_core),
        precision,
        preferred,
    )
    return product if preferred is None else cast(product, preferred)


def _with_lead(x: Any, rank: int, other: Any, other_rank: int) -> tuple[Any, Labels]:
    """Return an operand, its leading axes that only broadcast dropped, and the labels of the rest.

    Leading axes are labelled from the last: -1, -2, ...
    """
    own, others = np.shape(x)[:rank], np.shape(other)[:other_rank]
    dropped = tuple(
        axis
        for axis, size in enumerate(own)
        if size == 1 and len(others) >= rank - axis and others[axis - rank] != 1
    )
    labels = tuple(axis - rank for axis in range(rank) if axis not in dropped)
    return (squeeze(x, dropped) if dropped else x), labels


def _check_core(
    name: str, left: tuple[int, ...], a_core: str, right: tuple[int, ...], b_core: str
) -> None:
    """Check that the last axes of two operands fit.

    Raises:
      ValueError: an operand has too few axes.
      ShapeMismatchError: sizes differ.
    """
    if len(left) < len(a_core) or len(right) < len(b_core):
        raise ValueError(
            f"{name} needs arrays of rank {len(a_core)} and {len(b_core)} or more, got shapes "
            f"{left} and {right}"
        )
    sizes = dict(zip(a_core, left[len(left) - len(a_core) :], strict=True))
    for role, size in zip(b_core, right[len(right) - len(b_core) :], strict=True):
        if sizes.get(role, size) != size:
            raise ShapeMismatchError(
                name, [left, right], f"the sizes {sizes[role]} and {size} must be equal"
            )
    a_lead, b_lead = left[: len(left) - len(a_core)], right[: len(right) - len(b_core)]
    pairs = zip(reversed(a_lead), reversed(b_lead), strict=False)
    if any(m != n and 1 not in (m, n) for m, n in pairs):
        raise ShapeMismatchError(name, [left, right], "the leading axes broadcast")


@fused(static=(*_how, "out_sharding"))
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Any:
    """Return the matrix product.

    Args:
      a: an array of shape (..., m, k), or (k,).
      b: an array of shape (..., k, n), or (k,); leading axes broadcast.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Returns:
      an array of shape (..., m, n), without m or n where an operand is a vector.

    Raises:
      ValueError: an operand is a scalar.
      ShapeMismatchError: inner sizes differ, or leading axes do not broadcast.

    Bilinear.

    >>> import jxkernel.numpy as jnp
    >>> jnp.matmul(jnp.eye(2), jnp.ones(2))
    Array([1., 1.], dtype=float32)
    """
    if out_sharding is not None:
        how = {"precision": precision, "preferred_element_type": preferred_element_type}
        return with_out_sharding(matmul, (a, b), out_sharding, **how)
    rank_a, rank_b = argument_aval("matmul", a).ndim, argument_aval("matmul", b, 1).ndim
    left = "k" if rank_a == 1 else "mk"
    right = "k" if rank_b == 1 else "kn"
    out = left.replace("k", "") + right.replace("k", "")
    return _product("matmul", a, b, left, right, out, precision, preferred_element_type)


@fused(static=_how)
def matvec(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Return the products of matrices (..., m, k) and vectors (..., k).

    Args:
      x1: the matrices.
      x2: the vectors; the leading axes of both broadcast.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.

    Returns:
      an array of shape (..., m).

    >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    return _product("matvec", x1, x2, "mk", "k", "m", precision, preferred_element_type)


@fused(static=_how)
def vecmat(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Return the products of conjugated vectors (..., k) and matrices (..., k, n).

    Args:
      x1: the vectors.
      x2: the matrices; the leading axes of both broadcast.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.

    Returns:
      an array of shape (..., n).

    >>> jnp.vecmat(jnp.array([10, 1]), jnp.array([[1, 2], [3, 4]]))
    Array([13, 24], dtype=int32)
    """
    x1 = _conjugate("vecmat", x1)
    return _product("vecmat", x1, x2, "k", "kn", "n", precision, preferred_element_type)


def _conjugate(name: str, x: Any) -> Any:
    return conjugated(x) if argument_aval(name, x).dtype in dtypes.COMPLEX else x


@fused(static=("axis", *_how), normalized=True)
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
) -> Any:
    """Return the inner products along an axis, the first operand conjugated.

    Args:
      x1: an array.
      x2: an array; the other axes of both broadcast.
      axis: the axis to sum over.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.

    >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    x1 = _conjugate("vecdot", x1)
    x1 = moveaxis(x1, canonical_axis("vecdot", axis, np.ndim(x1)), -1)
    x2 = moveaxis(x2, canonical_axis("vecdot", axis, argument_aval("vecdot", x2, 1).ndim), -1)
    return _product("vecdot", x1, x2, "k", "k", "", precision, preferred_element_type)


def _paired(
    name: str,
    x: Any,
    y: Any,
    left: tuple[int, ...],
    right: tuple[int, ...],
    precision: Any,
    preferred: Any,
) -> Any:
    """Return the product of two arrays summed over pairs of axes.

    Raises:
      ShapeMismatchError: two paired axes differ in size.
    """
    shapes = np.shape(x), np.shape(y)
    if [shapes[0][i] for i in left] != [shapes[1][i] for i in right]:
        axes = f"axis {left[0]} of the first is summed with axis {right[0]} of the second"
        if len(left) != 1:
            axes = f"axes {left} of the first are summed with axes {right} of the second"
        raise ShapeMismatchError(name, shapes, f"{axes}, so their sizes must be equal")
    product = dot_general(x, y, ((left, right), ((), ())), precision, preferred)
    return product if preferred is None else cast(product, preferred)


@fused(static=(*_how, "out_sharding"))
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Any:
    """Return the product summed over the last axis of ``a`` and the last but one of ``b``.

    Scalars multiply.  Unlike ``matmul``, leading axes do not broadcast but all stand in the
    result, those of ``a`` first.

    Args:
      a: an array.
      b: an array.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Raises:
      ShapeMismatchError: the two sizes differ.

    >>> jnp.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    if out_sharding is not None:
        how = {"precision": precision, "preferred_element_type": preferred_element_type}
        return with_out_sharding(dot, (a, b), out_sharding, **how)
    x, y, preferred = _operands("dot", a, b, preferred_element_type)
    if not np.ndim(x) or not np.ndim(y):
        product = mul(x, y)
        return product if preferred is None else cast(product, preferred)
    inner = np.ndim(y) - 2 if np.ndim(y) > 1 else 0
    return _paired("dot", x, y, (np.ndim(x) - 1,), (inner,), precision, preferred)


@fused(static=_how)
def vdot(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None
) -> Any:
    """Return the inner product of two arrays as vectors, the first conjugated.

    Raises:
      ShapeMismatchError: the numbers of elements differ.

    Args:
      a: an array, flattened.
      b: an array with as many elements, flattened.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.

    >>> jnp.vdot(jnp.array([1j, 2]), jnp.array([1j, 3]))
    Array(7.+0.j, dtype=complex64)
    """
    argument_aval("vdot", b, 1)
    x, y = ravel(_conjugate("vdot", a)), ravel(b)
    x, y, preferred = _operands("vdot", x, y, preferred_element_type)
    return _paired("vdot", x, y, (0,), (0,), precision, preferred)


@fused(static=_how)
def inner(
    a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike = None
) -> Any:
    """Return the product summed over the last axes of both; scalars multiply.

    Args:
      a: an array.
      b: an array with the same size along its last axis.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.

    Raises:
      ShapeMismatchError: the two sizes differ.

    >>> jnp.inner(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
    Array([12, 34], dtype=int32)
    """
    x, y, preferred = _operands("inner", a, b, preferred_element_type)
    if not np.ndim(x) or not np.ndim(y):
        product = mul(x, y)
        return product if preferred is None else cast(product, preferred)
    left, right = (np.ndim(x) - 1,), (np.ndim(y) - 1,)
    return _paired("inner", x, y, left, right, precision, preferred)


@fused
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Any:
    """Return the matrix of all products of elements of ``a`` (rows) and ``b`` (columns).

    Args:
      a: an array, flattened.
      b: an array, flattened.
      out: must be None.

    Raises:
      NotImplementedError: ``out`` is given.

    >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4, 5]))
    Array([[ 3,  4,  5],
           [ 6,  8, 10]], dtype=int32)
    """
    refuse_out("outer", out)
    x, y = map(ravel, promote_dtypes("outer", a, b))
    shape = (np.shape(x)[0], np.shape(y)[0])
    return mul(_spread(x, shape, 0), _spread(y, shape, 1))


def _spread(x: Any, shape: tuple[int, ...], axis: int) -> Any:
    return broadcast_in_dim(x, shape, (axis,))


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike = None,
    out_sharding: Any = None,
) -> Any:
    """Return the product summed over pairs of axes.

    Args:
      a: an array.
      b: an array.
      axes: how many of the last axes of ``a`` pair with the first of ``b``, or the two lists of
        axes that pair.
      precision: how precisely to multiply; see ``lax.Precision``.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: how the result is divided over explicit mesh axes; where None, operands decide.

    Returns:
      an array with the other axes of ``a``, then those of ``b``.

    Raises:
      ValueError: the lists differ in length, or an axis does not exist.
      ShapeMismatchError: sizes differ.

    >>> jnp.tensordot(jnp.ones((2, 3, 4)), jnp.ones((4, 3)), axes=([1, 2], [1, 0]))
    Array([12., 12.], dtype=float32)
    """
    if out_sharding is not None:
        how = {"precision": precision, "preferred_element_type": preferred_element_type}
        return with_out_sharding(tensordot, (a, b), out_sharding, axes, **how)
    left, right = _summed_axes(
        axes, argument_aval("tensordot", a), argument_aval("tensordot", b, 1)
    )
    return _tensordot(
        a,
        b,
        left=left,
        right=right,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _summed_axes(
    axes: Any, a: ShapedArray, b: ShapedArray
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if np.ndim(axes) == 0:
        count = whole_number("tensordot", "axes", axes)
        if count > min(a.ndim, b.ndim):
            raise ShapeError(
                f"tensordot(axes={count}) needs as many axes, got shapes {a.shape} and {b.shape}"
            )
        return tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    pair = sequence("tensordot", "axes", axes, "two sequences of axes")
    if len(pair) != 2:
        raise ValueError(
            f"tensordot got axes={axes!r:.100}: it is a number or two sequences of axes"
        )
    left = canonical_axes("tensordot", listed(pair[0]), a.ndim)
    right = canonical_axes("tensordot", listed(pair[1]), b.ndim)
    if len(left) != len(right):
        raise ValueError(f"tensordot got {counted(len(left), 'axis')} to pair with {len(right)}")
    return left, right


@fused(static=("left", "right", *_how), name="tensordot")
def _tensordot(
    a: Any,
    b: Any,
    *,
    left: tuple[int, ...],
    right: tuple[int, ...],
    precision: Any,
    preferred_element_type: Any,
) -> Any:
    x, y, preferred = _operands("tensordot", a, b, preferred_element_type)
    return _paired("tensordot", x, y, left, right, precision, preferred)


@fused
def kron(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the Kronecker product: ``a``, each element replaced by its product with ``b``.

    Args:
      a: an array; the one of lower rank gets axes of size 1 in front.
      b: an array.

    >>> jnp.kron(jnp.array([1, 10]), jnp.array([[1, 2]]))
    Array([[ 1,  2, 10, 20]], dtype=int32)
    """
    x, y = promote_dtypes("kron", a, b)
    rank = max(np.ndim(x), np.ndim(y))
    left = (1,) * (rank - np.ndim(x)) + np.shape(x)
    right = (1,) * (rank - np.ndim(y)) + np.shape(y)
    spread = tuple(n for pair in zip(left, right, strict=True) for n in pair)
    x = broadcast_in_dim(reshape(x, left), spread, tuple(range(0, 2 * rank, 2)))
    y = broadcast_in_dim(reshape(y, right), spread, tuple(range(1, 2 * rank, 2)))
    return reshape(mul(x, y), tuple(m * n for m, n in zip(left, right, strict=True)))
