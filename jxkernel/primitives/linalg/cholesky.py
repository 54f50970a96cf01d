"""Triangular solves and the factorisation of Cholesky."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import dtypes, hlo
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.axes import Axis
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import Zero, is_linear, scalar_like
from jxkernel.errors import ShapeError, ShapeMismatchError
from jxkernel.primitives.elementwise.arithmetic import add, mul, neg
from jxkernel.primitives.elementwise.complex import conj
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.linalg.lapack import (
    Argument,
    call_lapack,
    check_matrix_dtype,
    has_kernel,
    nan_where_failed,
)
from jxkernel.primitives.linalg.matrix import (
    adjoint,
    is_complex,
    lower_half,
    lower_part,
    matmul,
    swapped,
    upper_part,
)
from jxkernel.primitives.linalg.small import (
    are_small,
    small_cholesky,
    small_triangular_solve,
)
from jxkernel.primitives.shape.broadcast import add_any, batch_to_front
from jxkernel.primitives.shape.reshape import expand_dims, reshape, squeeze
from jxkernel.primitives.shape.structural import same_dtype, weak_as_operands, zero_cotangents
from jxkernel.primitives.shape.transpose import move_axis
from jxkernel.primitives.sharding import rules

__all__ = [
    "cholesky",
    "cholesky_p",
    "triangular_solve",
    "triangular_solve_p",
]

_INT = np.dtype(np.int32)


def check_matrices(
    name: str, aval: ShapedArray, *, square: bool = False, also: Sequence[str] = ()
) -> None:
    """Raise unless an operand is a stack of (square) matrices of a dtype that is taken."""
    check_matrix_dtype(name, aval, also)
    if aval.ndim < 2 or (square and aval.shape[-1] != aval.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ShapeError(f"{name} got shape {aval.shape}: its last two axes form {kind}")


def batch_in_front(primitive: Primitive) -> Any:
    """Return the batching rule of a primitive whose leading axes are batch axes already."""

    def batch(
        axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        operands = [batch_to_front(a, d, axis.size) for a, d in zip(args, dims, strict=True)]
        out = primitive.bind(*operands, **params)
        return out, ([0] * len(out) if primitive.multiple_results else 0)

    return batch


def symmetrized(name: str, x: Any) -> Any:
    """Return the mean of matrices and their conjugate transposes, checking that they are square.

    The mean of integers is floating.
    """
    own = abstractify(x)
    if own.dtype.kind in "iub":
        floating = dtypes.canonicalize_dtype(dtypes.to_inexact_dtype(own.dtype))
        x = convert_element_type(x, floating, own.weak_type)
    check_matrices(name, abstractify(x), square=True)
    return mul(add(x, adjoint(x)), scalar_like(x, 0.5))


# ---------------------------------------------------------------- triangular_solve

triangular_solve_p = Primitive("triangular_solve").define(sharding=rules.leading(2, "it works on"))


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Solve op(a) x = b, or x op(a) = b, for triangular matrices a.

    Args:
      a: a stack of square matrices, of which one triangle is read.
      b: a stack of matrices of the same dtype and stack shape (or of vectors).
      left_side: whether op(a) stands left of x.
      lower: whether the lower triangle is read.
      transpose_a: whether op transposes.
      conjugate_a: whether op conjugates.
      unit_diagonal: whether the diagonal counts as ones.

    Raises:
      TypeError: the dtypes differ or have no kernel.
      ValueError: ``a`` is not square, or shapes do not fit.

    Linear in b.  LAPACK ``trsm`` on CPUs, StableHLO ``triangular_solve`` elsewhere and for floats
    of 16 bits.

    >>> from jxkernel import lax, numpy as jnp
    >>> a, b = jnp.array([[2.0, 0.0], [1.0, 4.0]]), jnp.array([[6.0], [11.0]])
    >>> lax.linalg.triangular_solve(a, b, left_side=True, lower=True).tolist()
    [[3.0], [2.0]]
    """
    vectors = rank_of(b) == rank_of(a) - 1
    if vectors:
        b = expand_dims(b, (-1 if left_side else -2,))
    x = triangular_solve_p.bind(
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a) and is_complex(a),
        unit_diagonal=bool(unit_diagonal),
    )
    return squeeze(x, (-1 if left_side else -2,)) if vectors else x


@triangular_solve_p.def_abstract_eval
@weak_as_operands
def _triangular_solve_abstract_eval(
    a: ShapedArray, b: ShapedArray, *, left_side: bool, **params: Any
) -> ShapedArray:
    check_matrices("triangular_solve", a, square=True, also=("float16", "bfloat16"))
    same_dtype("triangular_solve", (a, b))
    side = -2 if left_side else -1
    if b.ndim != a.ndim or b.shape[:-2] != a.shape[:-2] or b.shape[side] != a.shape[-1]:
        raise ShapeMismatchError(
            "triangular_solve",
            [a.shape, b.shape],
            f"stack shapes must be equal, and axis {side} of b as long as a's axes",
        )
    return b.strip_weak_type()


@triangular_solve_p.def_lower
def _triangular_solve_lower(
    context: Any,
    a: Any,
    b: Any,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    aval, out = context.avals_in[0], context.avals_out[0]
    if not out.size:
        return b
    if conjugate_a and not transpose_a:
        a, conjugate_a = _conjugate(context, a, aval), False
    if are_small(context, 4):
        return small_triangular_solve(
            context,
            a,
            b,
            left_side=left_side,
            lower=lower,
            transpose_a=transpose_a,
            unit_diagonal=unit_diagonal,
        )
    if context.module.platform == "cpu" and has_kernel(aval.dtype):
        operation = ord("N" if not transpose_a else "C" if conjugate_a else "T")
        config = ", ".join(
            f"{name} = {value} : ui8"
            for name, value in (
                ("diag", ord("U" if unit_diagonal else "N")),
                ("side", ord("L" if left_side else "R")),
                ("trans_x", operation),
                ("uplo", ord("L" if lower else "U")),
            )
        )
        matrices = [Argument(v.shape, v.dtype, 2) for v in context.avals_in]
        return call_lapack(
            context,
            "trsm",
            list(zip((a, b), matrices, strict=True)),
            [matrices[1]],
            dtype=aval.dtype,
            config=config,
            aliases=[(1, 0)],
        )[0]
    kind = "NO_TRANSPOSE" if not transpose_a else "ADJOINT" if conjugate_a else "TRANSPOSE"
    attributes = {
        "left_side": hlo.bool_attr(left_side),
        "lower": hlo.bool_attr(lower),
        "unit_diagonal": hlo.bool_attr(unit_diagonal),
        "transpose_a": hlo.enum_attr("transpose", kind),
    }
    return context.value("stablehlo.triangular_solve", context.out_type, (a, b), attributes)


def _conjugate(context: Any, a: Any, aval: ShapedArray) -> Any:
    part = hlo.tensor_type(aval.shape, np.zeros((), aval.dtype).real.dtype)
    real = context.value("stablehlo.real", part, (a,))
    imag = context.value("stablehlo.imag", part, (a,))
    turned = context.value("stablehlo.negate", part, (imag,))
    kind = hlo.tensor_type(aval.shape, aval.dtype)
    return context.value("stablehlo.complex", kind, (real, turned))


@triangular_solve_p.def_jvp
def _triangular_solve_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """From op(a) x = b: op(a) dx = db - op(da) x, where da has the triangle that is read."""
    a, b = primals
    da, db = tangents
    x = triangular_solve_p.bind(a, b, **params)
    right = None if type(db) is Zero else db
    if type(da) is not Zero:
        offset = int(params["unit_diagonal"])
        da = lower_part(da, -offset) if params["lower"] else upper_part(da, offset)
        if params["transpose_a"]:
            da = swapped(da)
        if params["conjugate_a"]:
            da = conj(da)
        moved = neg(matmul(da, x) if params["left_side"] else matmul(x, da))
        right = moved if right is None else add_any(right, moved)
    return x, Zero.tangent_of(x) if right is None else triangular_solve_p.bind(a, right, **params)


@triangular_solve_p.def_transpose
def _triangular_solve_transpose(
    ct: Any, a: Any, b: Any, *, transpose_a: bool, **params: Any
) -> list[Any]:
    assert not is_linear(a), "triangular_solve is linear in b only"
    if type(ct) is Zero:
        return zero_cotangents((a, b))
    return [None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)]


@triangular_solve_p.def_batch
def _triangular_solve_batch(
    axis: Axis, args: Sequence[Any], dims: Sequence[int | None], **params: Any
) -> tuple[Any, int]:
    """Where only b is batched, its examples become further columns (or rows) of one system."""
    a, b = args
    if dims[0] is not None:
        operands = [batch_to_front(x, d, axis.size) for x, d in zip(args, dims, strict=True)]
        return triangular_solve_p.bind(*operands, **params), 0
    assert dims[1] is not None, "one operand at least is batched"
    b = move_axis(b, dims[1], 0)
    # The free axis of b: its columns if a stands left of it, else its rows.
    free = rank_of(b) - (1 if params["left_side"] else 2)
    shape = shape_of(b)[1:]
    joined = move_axis(b, 0, free - 1)
    merged = (*shape[: free - 1], axis.size * shape[free - 1], *shape[free:])
    x = triangular_solve_p.bind(a, reshape(joined, merged), **params)
    apart = (*shape[: free - 1], axis.size, *shape[free - 1 :])
    return reshape(x, apart), free - 1


# ---------------------------------------------------------------- cholesky

cholesky_p = Primitive("cholesky").define(sharding=rules.leading(2, "it works on"))


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """Return the lower triangular factors l of x = l lᴴ.

    Args:
      x: a stack of Hermitian positive definite matrices.
      symmetrize_input: whether to replace x by the mean of x and xᴴ first; otherwise only the
        lower triangle is read.  The mean of integers is floating.

    Raises:
      ValueError: the matrices are not square.
      TypeError: the dtype has no kernel.

    A matrix that is not positive definite gives NaN.  The derivative is that of Murray (2016),
    "Differentiation of the Cholesky decomposition".  LAPACK ``potrf`` on CPUs, StableHLO
    ``cholesky`` elsewhere.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> np.asarray(lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 10.0]]))).round(3)
    array([[2., 0.],
           [1., 3.]], dtype=float32)
    """
    return cholesky_p.bind(symmetrized("cholesky", x) if symmetrize_input else x)


@cholesky_p.def_abstract_eval
@weak_as_operands
def _cholesky_abstract_eval(x: ShapedArray) -> ShapedArray:
    check_matrices("cholesky", x, square=True)
    return x.strip_weak_type()


@cholesky_p.def_lower
def _cholesky_lower(context: Any, x: Any) -> Any:
    out = context.avals_out[0]
    if not out.size:
        return x
    if context.module.platform != "cpu":
        y = context.value(
            "stablehlo.cholesky", context.out_type, (x,), {"lower": hlo.bool_attr(True)}
        )
        return only_triangle(context, y, out)
    if are_small(context, 4):
        return small_cholesky(context, x)
    matrix = Argument(out.shape, out.dtype, 2)
    y, info = call_lapack(
        context,
        "potrf",
        [(x, matrix)],
        [matrix, Argument(out.shape[:-2], _INT, 0)],
        dtype=out.dtype,
        config=f"uplo = {ord('L')} : ui8",
        aliases=[(0, 0)],
    )
    return only_triangle(context, nan_where_failed(context, y, matrix, info), out)


def only_triangle(context: Any, x: Any, aval: ShapedArray, *, upper: bool = False) -> Any:
    """Return matrices with zeros above (or below) the diagonal."""
    rows, columns = [context.iota(_INT, aval.shape, aval.ndim - 2 + axis) for axis in (0, 1)]
    inside = context.compare(rows, columns, "LE" if upper else "GE", aval.shape, "SIGNED")
    zero = context.splat(0, aval.shape, aval.dtype)
    kind = hlo.tensor_type(aval.shape, aval.dtype)
    return context.value("stablehlo.select", kind, (inside, x, zero))


@cholesky_p.def_jvp
def _cholesky_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """From dx = dl lᴴ + l dlᴴ: dl = l Φ(l⁻¹ dx l⁻ᴴ), Φ the lower part with half the diagonal.

    Only the lower triangle of x is read, and the real part of its diagonal: dx = Φ(t) + Φ(t)ᴴ.
    """
    factor = cholesky_p.bind(*primals)
    read = lower_half(tangents[0])
    dx = add(read, adjoint(read))
    right = triangular_solve(factor, dx, lower=True, transpose_a=True, conjugate_a=True)
    inner = triangular_solve(factor, right, left_side=True, lower=True)
    return factor, matmul(factor, lower_half(inner))


cholesky_p.define(
    transpose=Undefined("it is not linear in its operand"), batch=batch_in_front(cholesky_p)
)
