"""Orthogonal factorisation: QR, and products of the reflections it is made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero, is_linear, typed_scalar
from jxkernel.errors import ShapeMismatchError, UndefinedRuleError
from jxkernel.primitives.creation import full_like
from jxkernel.primitives.elementwise.arithmetic import add, mul, sub
from jxkernel.primitives.elementwise.complex import conj
from jxkernel.primitives.indexing.concatenate import concatenate
from jxkernel.primitives.indexing.gather import take_along
from jxkernel.primitives.indexing.slicing import slice_in_dim
from jxkernel.primitives.linalg.cholesky import (
    batch_in_front,
    check_matrices,
    only_triangle,
    triangular_solve,
)
from jxkernel.primitives.linalg.lapack import Argument, call_lapack, is_complex_dtype
from jxkernel.primitives.linalg.lu import lu, lu_solve
from jxkernel.primitives.linalg.matrix import (
    adjoint,
    identity_like,
    is_complex,
    lower_part,
    matmul,
    on_diagonal,
    where,
)
from jxkernel.primitives.shape.broadcast import broadcast_in_dim
from jxkernel.primitives.shape.structural import same_dtype, weak_as_operands, zero_cotangents
from jxkernel.primitives.sharding import rules

__all__ = [
    "geqrf",
    "geqrf_p",
    "householder_product",
    "householder_product_p",
    "ormqr",
    "ormqr_p",
    "qr",
    "qr_p",
]

_INT = np.dtype(np.int32)

# ---------------------------------------------------------------- qr

qr_p = Primitive("qr", multiple_results=True).define(sharding=rules.leading(2, "it works on"))


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Any, ...]:
    """Factorise matrices as x = q r, q with orthonormal columns and r upper triangular.

    Args:
      x: a stack of m x n matrices.
      pivoting: whether columns are exchanged so that r's diagonal does not grow: x[:, p] = q r.
      full_matrices: whether q is m x m; else it has min(m, n) columns.
      use_magma: which library GPUs use; none here.

    Returns:
      q, r, and with ``pivoting`` p as int32.

    Raises:
      ValueError: the operand has no two axes.
      TypeError: the dtype has no kernel.

    Differentiable where the first min(m, n) columns are independent.  The m - n further columns
    of ``full_matrices`` have the derivative of what the reflections make of them, NaN where one of
    these does nothing: a column of x is done before its turn.  LAPACK ``geqrf``, ``geqp3`` and
    ``orgqr``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> q, r = lax.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> np.asarray(abs(r)).round(3)
    array([[5. , 2.2],
           [0. , 0.4]], dtype=float32)
    """
    return tuple(qr_p.bind(x, pivoting=bool(pivoting), full_matrices=bool(full_matrices)))


@qr_p.def_abstract_eval
@weak_as_operands
def _qr_abstract_eval(x: ShapedArray, *, pivoting: bool, full_matrices: bool) -> list[ShapedArray]:
    check_matrices("qr", x)
    *batch, m, n = x.shape
    k = m if full_matrices else min(m, n)
    out = [ShapedArray((*batch, m, k), x.dtype), ShapedArray((*batch, k, n), x.dtype)]
    return [*out, ShapedArray((*batch, n), _INT)] if pivoting else out


@qr_p.def_lower
def _qr_lower(context: Any, x: Any, *, pivoting: bool, full_matrices: bool) -> list[Any]:
    aval = context.avals_in[0]
    q_aval, r_aval = context.avals_out[:2]
    *batch, m, n = aval.shape
    if not aval.size:
        return _qr_of_nothing(context)
    vector = Argument((*batch, min(m, n)), aval.dtype, 1)
    form, taus, *rest = _reflected(context, x, aval, vector, pivoting)
    reflectors = resized(context, form, aval, q_aval.shape[-2:])
    q = _orgqr(context, reflectors, taus, q_aval, vector)
    r = only_triangle(context, resized(context, form, aval, r_aval.shape[-2:]), r_aval, upper=True)
    return [q, r, *rest]


def _reflected(
    context: Any, x: Any, aval: ShapedArray, vector: Argument, pivoting: bool
) -> list[Any]:
    """Return r with the reflectors below it, their factors, and the columns' order if asked for."""
    matrix = Argument(aval.shape, aval.dtype, 2)
    if not pivoting:
        return call_lapack(
            context,
            "geqrf",
            [(x, matrix)],
            [matrix, vector],
            dtype=aval.dtype,
            aliases=[(0, 0)],
            gpu=("solver_geqrf_ffi", ""),
        )
    order = Argument((*aval.shape[:-2], aval.shape[-1]), _INT, 1)
    free = context.splat(0, order.shape, _INT)
    form, places, taus = call_lapack(
        context,
        "geqp3",
        [(x, matrix), (free, order)],
        [matrix, order, vector],
        dtype=aval.dtype,
        aliases=[(0, 0), (1, 1)],
        gpu=("hybrid_geqp3", 'magma = "auto"'),
    )
    # LAPACK counts from 1.
    kind = hlo.tensor_type(order.shape, _INT)
    one = context.splat(1, order.shape, _INT)
    return [form, taus, context.value("stablehlo.subtract", kind, (places, one))]


def _qr_of_nothing(context: Any) -> list[Any]:
    """Return the factors of a matrix without rows or columns: q is part of the identity."""
    q_aval, *others = context.avals_out
    *batch, m, k = q_aval.shape
    eye = context.constant(np.eye(m, k, dtype=bool).astype(q_aval.dtype))
    q = context.broadcast(eye, (len(batch), len(batch) + 1), q_aval.shape, q_aval.dtype)
    zeros = context.splat(0, others[0].shape, others[0].dtype)
    return [q, zeros, *(_counted(context, aval) for aval in others[1:])]


def _counted(context: Any, aval: ShapedArray) -> Any:
    """Return 0, 1, 2 ... along the last axis: an order that exchanges nothing."""
    return context.iota(aval.dtype, aval.shape, aval.ndim - 1)


def resized(context: Any, x: Any, aval: ShapedArray, shape: tuple[int, ...]) -> Any:
    """Return matrices cut, or filled up with zeros, to a shape."""
    *batch, m, n = aval.shape
    if (m, n) == tuple(shape):
        return x
    zeros = (0,) * aval.ndim
    high = (*([0] * len(batch)), shape[0] - m, shape[1] - n)
    return context.value(
        "stablehlo.pad",
        hlo.tensor_type((*batch, *shape), aval.dtype),
        (x, context.constant(0, aval.dtype)),
        {
            "edge_padding_low": hlo.dense_i64_array(zeros),
            "edge_padding_high": hlo.dense_i64_array(high),
            "interior_padding": hlo.dense_i64_array(zeros),
        },
    )


def _orgqr(context: Any, reflectors: Any, taus: Any, out: ShapedArray, vector: Argument) -> Any:
    matrix = Argument(out.shape, out.dtype, 2)
    return call_lapack(
        context,
        "ungqr" if is_complex_dtype(out.dtype) else "orgqr",
        [(reflectors, matrix), (taus, vector)],
        [matrix],
        dtype=out.dtype,
        aliases=[(0, 0)],
        gpu=("solver_orgqr_ffi", ""),
    )[0]


@qr_p.def_jvp
def _qr_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, pivoting: bool, full_matrices: bool
) -> tuple[list[Any], list[Any]]:
    """Differentiate the square part of r, then further columns of r (Walter and Lehmann 2010)."""
    q, r, *rest = qr_p.bind(*primals, pivoting=pivoting, full_matrices=full_matrices)
    dx = take_columns(tangents[0], rest[0]) if rest else tangents[0]
    k = min(shape_of(dx)[-2:])
    square = slice_in_dim(_columns(r, 0, k), 0, k, axis=rank_of(r) - 2)
    dq, dr = _square_qr_tangents(_columns(q, 0, k), square, _columns(dx, 0, k))
    n, width = shape_of(dx)[-1], shape_of(q)[-1]
    if n > k:
        # The further columns are r = qᴴ x, with x = q r: dr = dqᴴ q r + qᴴ dx.
        turned = matmul(matmul(adjoint(dq), q), _columns(r, k, n))
        more = add(turned, matmul(adjoint(q), _columns(dx, k, n)))
        dr = concatenate([dr, more], rank_of(dr) - 1)
    if width > k:
        dq = concatenate([dq, _completion_tangent(q, dq)], rank_of(dq) - 1)
        below = full_like(slice_in_dim(r, k, width, axis=rank_of(r) - 2), 0)
        dr = concatenate([dr, below], rank_of(r) - 2)
    return [q, r, *rest], [dq, dr, *(Zero.tangent_of(places) for places in rest)]


def _columns(x: Any, start: int, stop: int) -> Any:
    return slice_in_dim(x, start, stop, axis=rank_of(x) - 1)


def _completion_tangent(q: Any, dq: Any) -> Any:
    """Return the tangent of q's further columns, which follow from the first.

    Reflections give q = 1 - v t vᴴ, of which the first columns q₁ = (a; b) determine all: with
    the identity's columns e₁ and e₂, and m = (1 - a)⁻ᴴ bᴴ, the others are q₂ = e₂ + (e₁ - q₁) m.
    As q stays unitary, dq₂ = q₂ w - q₁ dq₁ᴴ q₂, with w = q₂ᴴ dq₂ = mᴴ dq₁ᴴ (m; 1) - q₂ᴴ dq₁ m.
    """
    height, k = shape_of(dq)[-2:]
    rows = rank_of(q) - 2
    first, others = _columns(q, 0, k), _columns(q, k, height)
    top, below = [slice_in_dim(first, *ends, axis=rows) for ends in ((0, k), (k, height))]
    factors, _, order = lu(sub(identity_like(top, k), adjoint(top)))
    m = lu_solve(factors, order, adjoint(below))
    whole = concatenate([m, identity_like(m, height - k)], rows)
    turn = sub(
        matmul(adjoint(m), matmul(adjoint(dq), whole)), matmul(matmul(adjoint(others), dq), m)
    )
    return sub(matmul(others, turn), matmul(first, matmul(adjoint(dq), others)))


def _square_qr_tangents(q: Any, r: Any, dx: Any) -> tuple[Any, Any]:
    """Split qᴴ dx r⁻¹ into what turns q (skew-Hermitian) and what changes r (upper)."""
    solved = triangular_solve(r, dx, left_side=False, lower=False)
    inner = matmul(adjoint(q), solved)
    below = lower_part(inner, -1)
    skew = sub(below, adjoint(below))
    if is_complex(q):
        # The imaginary diagonal turns q as well: that of r stays real.
        half = typed_scalar(abstractify(inner).dtype, 0.5)
        skew = add(skew, where(on_diagonal(inner), mul(half, sub(inner, conj(inner)))))
    dq = add(matmul(q, sub(skew, inner)), solved)
    return dq, matmul(sub(inner, skew), r)


def take_columns(x: Any, columns: Any) -> Any:
    """Return the columns of each matrix at positions of its own."""
    rank = rank_of(x)
    shape = (*shape_of(x)[:-1], shape_of(columns)[-1])
    places = broadcast_in_dim(columns, shape, (*range(rank - 2), rank - 1))
    return take_along(x, places, rank - 1)


qr_p.define(transpose=Undefined("it is not linear in its operand"), batch=batch_in_front(qr_p))

# ---------------------------------------------------------------- products of reflections

_NO_DERIVATIVE = "it has no derivative rule: differentiate qr, whose parts it is"

geqrf_p = Primitive("geqrf", multiple_results=True).define(sharding=rules.leading(2, "it works on"))


def geqrf(x: Any, *, pivoting: bool = False) -> tuple[Any, ...]:
    """Factorise matrices as x = q r, with q left as the reflections it is a product of.

    Args:
      x: a stack of m x n matrices.
      pivoting: whether columns are exchanged, as for ``qr``.

    Returns:
      m x n matrices with r in the upper triangle and the reflectors below it, the reflectors'
      min(m, n) scalar factors, and with ``pivoting`` the order of the columns as int32.

    Raises:
      ValueError: the operand has no two axes.
      TypeError: the dtype has no kernel.

    Not differentiable; ``qr`` is.  LAPACK ``geqrf``, ``geqp3``.
    """
    return tuple(geqrf_p.bind(x, pivoting=bool(pivoting)))


@geqrf_p.def_abstract_eval
@weak_as_operands
def _geqrf_abstract_eval(x: ShapedArray, *, pivoting: bool) -> list[ShapedArray]:
    check_matrices("geqrf", x)
    *batch, m, n = x.shape
    out = [x.strip_weak_type(), ShapedArray((*batch, min(m, n)), x.dtype)]
    return [*out, ShapedArray((*batch, n), _INT)] if pivoting else out


@geqrf_p.def_lower
def _geqrf_lower(context: Any, x: Any, *, pivoting: bool) -> list[Any]:
    aval, taus, *rest = context.avals_out
    if aval.size:
        vector = Argument(taus.shape, taus.dtype, 1)
        return _reflected(context, x, aval, vector, pivoting)
    return [x, context.splat(0, taus.shape, taus.dtype), *(_counted(context, a) for a in rest)]


geqrf_p.define(
    jvp=Undefined(_NO_DERIVATIVE),
    transpose=Undefined("it is not linear in its operand"),
    batch=batch_in_front(geqrf_p),
)

householder_product_p = Primitive("householder_product").define(
    sharding=rules.leading(2, "it works on")
)


def householder_product(a: Any, taus: Any) -> Any:
    """Return the product of reflections 1 - tau v vᴴ as explicit matrices.

    Args:
      a: a stack of m x n matrices, the reflectors v below their diagonals.
      taus: the reflectors' scalar factors, at most n for each matrix.

    Raises:
      TypeError: the dtypes differ or have no kernel.
      ShapeMismatchError: the shapes do not fit.

    Not differentiable; ``qr`` is.  LAPACK ``orgqr``, ``ungqr``.

    >>> from jxkernel import lax, numpy as jnp
    >>> a, taus = jnp.array([[1.0, 0.0], [1.0, 1.0]]), jnp.array([1.0])
    >>> lax.linalg.householder_product(a, taus).tolist()
    [[0.0, -1.0], [-1.0, 0.0]]
    """
    return householder_product_p.bind(a, taus)


def _check_reflectors(name: str, a: ShapedArray, taus: ShapedArray) -> None:
    check_matrices(name, a)
    same_dtype(name, (a, taus))
    fits = taus.shape[:-1] == a.shape[:-2] and taus.ndim and taus.shape[-1] <= a.shape[-1]
    if not fits or a.shape[-1] > a.shape[-2]:
        raise ShapeMismatchError(
            name,
            [a.shape, taus.shape],
            "matrices have at least as many rows as columns, and one factor per column at most",
        )


@householder_product_p.def_abstract_eval
@weak_as_operands
def _householder_product_abstract_eval(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    _check_reflectors("householder_product", a, taus)
    return a.strip_weak_type()


@householder_product_p.def_lower
def _householder_product_lower(context: Any, a: Any, taus: Any) -> Any:
    out, factors = context.avals_out[0], context.avals_in[1]
    if not out.size:
        return a
    return _orgqr(context, a, taus, out, Argument(factors.shape, factors.dtype, 1))


householder_product_p.define(
    jvp=Undefined(_NO_DERIVATIVE),
    transpose=Undefined("it is not linear in its operands"),
    batch=batch_in_front(householder_product_p),
)

ormqr_p = Primitive("ormqr").define(sharding=rules.leading(2, "it works on"))


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """Multiply matrices c with q, the product of reflections, without forming q.

    Args:
      a: a stack of m x n matrices, the reflectors below their diagonals.
      taus: the reflectors' scalar factors.
      c: a stack of matrices.
      left: whether q stands left of c.
      transpose: whether q is (conjugate) transposed.

    Raises:
      TypeError: the dtypes differ or have no kernel.
      ShapeMismatchError: the shapes do not fit.

    Linear in c; not differentiable in the reflectors.  LAPACK ``ormqr``, ``unmqr``.

    >>> from jxkernel import lax, numpy as jnp
    >>> a, taus = jnp.array([[1.0, 0.0], [1.0, 1.0]]), jnp.array([1.0])
    >>> lax.linalg.ormqr(a, taus, jnp.array([[3.0], [5.0]])).tolist()
    [[-5.0], [-3.0]]
    """
    return ormqr_p.bind(a, taus, c, left=bool(left), transpose=bool(transpose))


@ormqr_p.def_abstract_eval
@weak_as_operands
def _ormqr_abstract_eval(
    a: ShapedArray, taus: ShapedArray, c: ShapedArray, *, left: bool, transpose: bool
) -> ShapedArray:
    _check_reflectors("ormqr", a, taus)
    check_matrices("ormqr", c)
    same_dtype("ormqr", (a, c))
    side = -2 if left else -1
    if c.shape[:-2] != a.shape[:-2] or c.shape[side] != a.shape[-2]:
        raise ShapeMismatchError(
            "ormqr", [a.shape, c.shape], f"axis {side} of c is as long as the reflectors"
        )
    return c.strip_weak_type()


@ormqr_p.def_lower
def _ormqr_lower(context: Any, a: Any, taus: Any, c: Any, *, left: bool, transpose: bool) -> Any:
    out = context.avals_out[0]
    if not out.size:
        return c
    arguments = [
        Argument(aval.shape, aval.dtype, core)
        for aval, core in zip(context.avals_in, (2, 1, 2), strict=True)
    ]
    config = ", ".join(
        f"{name} = {'true' if value else 'false'}"
        for name, value in (("left", left), ("transpose", transpose))
    )
    return call_lapack(
        context,
        "unmqr" if is_complex_dtype(out.dtype) else "ormqr",
        list(zip((a, taus, c), arguments, strict=True)),
        [arguments[2]],
        dtype=out.dtype,
        config=config,
        aliases=[(2, 0)],
        gpu=("solver_ormqr_ffi", config),
    )[0]


@ormqr_p.def_jvp
def _ormqr_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    if not all(type(t) is Zero for t in tangents[:2]):
        raise UndefinedRuleError("ormqr", "jvp", _NO_DERIVATIVE)
    y = ormqr_p.bind(*primals, **params)
    return y, ormqr_p.bind(*primals[:2], tangents[2], **params)


@ormqr_p.def_transpose
def _ormqr_transpose(
    ct: Any, a: Any, taus: Any, c: Any, *, left: bool, transpose: bool
) -> list[Any]:
    """The transpose of q (not conjugated) is the conjugate of its conjugate transpose."""
    assert not is_linear(a), "ormqr is linear in its last operand only"
    if type(ct) is Zero:
        return zero_cotangents((a, taus, c))
    turned = conj(ct) if is_complex(ct) else ct
    pulled = ormqr_p.bind(a, taus, turned, left=left, transpose=not transpose)
    return [None, None, conj(pulled) if is_complex(ct) else pulled]


ormqr_p.define(batch=batch_in_front(ormqr_p))
