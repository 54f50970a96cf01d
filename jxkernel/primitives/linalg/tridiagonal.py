"""Tridiagonal systems, and the reduction of matrices to tridiagonal and Hessenberg form."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray, abstractify, rank_of
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero, is_linear, zero_scalar
from jxkernel.errors import ShapeMismatchError
from jxkernel.primitives.elementwise.arithmetic import sub
from jxkernel.primitives.indexing.slicing import pad
from jxkernel.primitives.linalg.cholesky import batch_in_front, check_matrices
from jxkernel.primitives.linalg.lapack import (
    Argument,
    call_gpu,
    call_kernel,
    call_lapack,
    nan_where_failed,
    on_gpu,
    real_dtype,
)
from jxkernel.primitives.linalg.matrix import scaled_rows
from jxkernel.primitives.shape.broadcast import add_any, instantiate
from jxkernel.primitives.shape.structural import same_dtype, weak_as_operands, zero_cotangents
from jxkernel.primitives.sharding import rules

__all__ = [
    "hessenberg",
    "hessenberg_p",
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]

_INT = np.dtype(np.int32)

# ---------------------------------------------------------------- tridiagonal_solve

tridiagonal_solve_p = Primitive("tridiagonal_solve").define(
    sharding=rules.leading(1, "it works on")
)


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """Solve t x = b for tridiagonal matrices t.

    Args:
      dl: the lower diagonals, of length m; ``dl[..., 0]`` is not read, and should be 0.
      d: the main diagonals, of length m.
      du: the upper diagonals, of length m; ``du[..., m - 1]`` is not read, and should be 0.
      b: a stack of matrices of m rows.
      perturb_singular: whether to solve a nearby system where t is singular: pivots near zero are
        moved away from it, by about the rounding error of the greatest.  On CPUs.

    Raises:
      TypeError: the dtypes differ or have no kernel.
      ShapeMismatchError: the shapes do not fit.
      NotImplementedError: ``perturb_singular`` is asked for on another platform.

    Linear in b; a singular matrix gives NaN, or with ``perturb_singular`` large numbers.  LAPACK
    ``gtsv``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> below, on, above = jnp.array([0.0, 1.0]), jnp.array([2.0, 3.0]), jnp.array([1.0, 0.0])
    >>> x = lax.linalg.tridiagonal_solve(below, on, above, jnp.array([[4.0], [7.0]]))
    >>> np.asarray(x).round(3)
    array([[1.],
           [2.]], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=bool(perturb_singular))


@tridiagonal_solve_p.def_abstract_eval
@weak_as_operands
def _tridiagonal_solve_abstract_eval(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    check_matrices("tridiagonal_solve", b)
    same_dtype("tridiagonal_solve", (dl, d, du, b))
    if not dl.shape == d.shape == du.shape == b.shape[:-1]:
        raise ShapeMismatchError(
            "tridiagonal_solve",
            [aval.shape for aval in (dl, d, du, b)],
            "each diagonal has one element for each row of b",
        )
    return b.strip_weak_type()


@tridiagonal_solve_p.def_lower
def _tridiagonal_solve_lower(
    context: Any, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool
) -> Any:
    out = context.avals_out[0]
    if not out.size:
        return b
    *batch, rows, _ = out.shape
    diagonal = Argument((*batch, rows), out.dtype, 1)
    matrix = Argument(out.shape, out.dtype, 2)
    operands = [(dl, diagonal), (d, diagonal), (du, diagonal), (b, matrix)]
    if perturb_singular:
        return call_kernel(context, "tridiagonal_solve_perturbed_ffi", operands, [matrix])[0]
    if on_gpu(context):
        return call_gpu(context, "sparse_gtsv2_ffi", operands, [matrix], aliases=[(3, 0)])[0]
    *_, x, info = call_lapack(
        context,
        "gtsv",
        operands,
        [diagonal, diagonal, diagonal, matrix, Argument(tuple(batch), _INT, 0)],
        dtype=out.dtype,
        aliases=[(0, 0), (1, 1), (2, 2), (3, 3)],
    )
    return nan_where_failed(context, x, matrix, info)


def _shifted(x: Any, axis: int, by: int) -> Any:
    """Return an array moved along an axis by one place, zero where nothing moves to."""
    config = [(0, 0, 0)] * rank_of(x)
    config[axis] = (by, -by, 0)
    return pad(x, zero_scalar(abstractify(x)), config)


def _product(dl: Any, d: Any, du: Any, x: Any) -> Any:
    """Return the product of a tridiagonal matrix with the columns of ``x``."""
    rows = rank_of(x) - 2
    above, below = _shifted(x, rows, 1), _shifted(x, rows, -1)
    return add_any(add_any(scaled_rows(above, dl), scaled_rows(x, d)), scaled_rows(below, du))


@tridiagonal_solve_p.def_jvp
def _tridiagonal_solve_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **how: bool
) -> tuple[Any, Any]:
    """From t x = b: t dx = db - dt x."""
    x = tridiagonal_solve_p.bind(*primals, **how)
    right = instantiate(tangents[3])
    if not all(type(t) is Zero for t in tangents[:3]):
        dl, d, du = (instantiate(t) for t in tangents[:3])
        right = sub(right, _product(dl, d, du, x))
    return x, tridiagonal_solve_p.bind(*primals[:3], right, **how)


@tridiagonal_solve_p.def_transpose
def _tridiagonal_solve_transpose(
    ct: Any, dl: Any, d: Any, du: Any, b: Any, **how: bool
) -> list[Any]:
    assert not any(map(is_linear, (dl, d, du))), "tridiagonal_solve is linear in b only"
    if type(ct) is Zero:
        return zero_cotangents((dl, d, du, b))
    axis = rank_of(d) - 1
    turned = _shifted(du, axis, 1), d, _shifted(dl, axis, -1)
    return [None, None, None, tridiagonal_solve_p.bind(*turned, ct, **how)]


tridiagonal_solve_p.define(batch=batch_in_front(tridiagonal_solve_p))

# ---------------------------------------------------------------- reductions

NO_DERIVATIVE = "it has no derivative rule: reflectors are not a smooth function of the matrix"

hessenberg_p = Primitive("hessenberg", multiple_results=True).define(
    sharding=rules.leading(2, "it works on")
)


def hessenberg(a: Any) -> tuple[Any, Any]:
    """Reduce square matrices to upper Hessenberg form by reflections.

    Returns:
      the form in the upper triangle and first subdiagonal, with the reflectors below it; and the
      reflectors' scalar factors, one fewer than rows.

    Raises:
      ValueError: the matrices are not square.
      TypeError: the dtype has no kernel.

    Not differentiable.  LAPACK ``gehrd``.

    >>> from jxkernel import lax, numpy as jnp
    >>> form, taus = lax.linalg.hessenberg(jnp.eye(3))
    >>> form.shape, taus.shape
    ((3, 3), (2,))
    """
    form, taus = hessenberg_p.bind(a)
    return form, taus


@hessenberg_p.def_abstract_eval
@weak_as_operands
def _hessenberg_abstract_eval(a: ShapedArray) -> list[ShapedArray]:
    check_matrices("hessenberg", a, square=True)
    *batch, n, _ = a.shape
    return [a.strip_weak_type(), ShapedArray((*batch, max(n - 1, 0)), a.dtype)]


@hessenberg_p.def_lower
def _hessenberg_lower(context: Any, a: Any) -> list[Any]:
    out, taus = context.avals_out
    if not out.size:
        return [a, context.splat(0, taus.shape, taus.dtype)]
    matrix, vector = Argument(out.shape, out.dtype, 2), Argument(taus.shape, taus.dtype, 1)
    form, factors, info = call_lapack(
        context,
        "gehrd",
        [(a, matrix)],
        [matrix, vector, Argument(out.shape[:-2], _INT, 0)],
        dtype=out.dtype,
        config=f"high = {out.shape[-1]} : i32, low = 1 : i32",
        aliases=[(0, 0)],
    )
    return [
        nan_where_failed(context, form, matrix, info),
        nan_where_failed(context, factors, vector, info),
    ]


hessenberg_p.define(
    jvp=Undefined(NO_DERIVATIVE),
    transpose=Undefined("it is not linear in its operand"),
    batch=batch_in_front(hessenberg_p),
)

tridiagonal_p = Primitive("tridiagonal", multiple_results=True).define(
    sharding=rules.leading(2, "it works on")
)


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """Reduce Hermitian matrices to real tridiagonal form by reflections.

    Args:
      a: a stack of Hermitian matrices, of which one triangle is read.
      lower: whether it is the lower.

    Returns:
      the matrix with the reflectors in its triangle, the main diagonal, the first off-diagonal,
      and the reflectors' scalar factors.

    Raises:
      ValueError: the matrices are not square.
      TypeError: the dtype has no kernel.

    Not differentiable.  LAPACK ``sytrd``, ``hetrd``.

    >>> from jxkernel import lax, numpy as jnp
    >>> form, diagonal, beside, taus = lax.linalg.tridiagonal(jnp.eye(3))
    >>> diagonal.tolist(), beside.tolist()
    ([1.0, 1.0, 1.0], [0.0, 0.0])
    """
    form, d, e, taus = tridiagonal_p.bind(a, lower=bool(lower))
    return form, d, e, taus


@tridiagonal_p.def_abstract_eval
@weak_as_operands
def _tridiagonal_abstract_eval(a: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    check_matrices("tridiagonal", a, square=True)
    *batch, n, _ = a.shape
    real = real_dtype(a.dtype)
    fewer = (*batch, max(n - 1, 0))
    return [
        a.strip_weak_type(),
        ShapedArray((*batch, n), real),
        ShapedArray(fewer, real),
        ShapedArray(fewer, a.dtype),
    ]


@tridiagonal_p.def_lower
def _tridiagonal_lower(context: Any, a: Any, *, lower: bool) -> list[Any]:
    outs = context.avals_out
    if not outs[0].size:
        return [a, *(context.splat(0, aval.shape, aval.dtype) for aval in outs[1:])]
    results = [
        Argument(aval.shape, aval.dtype, core)
        for aval, core in zip(outs, (2, 1, 1, 1), strict=True)
    ]
    *values, info = call_lapack(
        context,
        "hetrd" if outs[0].dtype.kind == "c" else "sytrd",
        [(a, results[0])],
        [*results, Argument(outs[0].shape[:-2], _INT, 0)],
        dtype=outs[0].dtype,
        config=f"uplo = {ord('L' if lower else 'U')} : ui8",
        aliases=[(0, 0)],
        gpu=("solver_sytrd_ffi", f"lower = {str(lower).lower()}"),
    )
    return [
        nan_where_failed(context, value, argument, info)
        for value, argument in zip(values, results, strict=True)
    ]


tridiagonal_p.define(
    jvp=Undefined(NO_DERIVATIVE),
    transpose=Undefined("it is not linear in its operand"),
    batch=batch_in_front(tridiagonal_p),
)
