"""Spectral factorisation of Hermitian matrices and singular values."""

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import typed_scalar
from jxkernel.errors import UndefinedRuleError
from jxkernel.primitives.arguments import integers
from jxkernel.primitives.elementwise.arithmetic import add, div, mul, sub
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.complex import lower_conjugate
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.indexing.slicing import slice_in_dim
from jxkernel.primitives.linalg.cholesky import batch_in_front, check_matrices, symmetrized
from jxkernel.primitives.linalg.lapack import (
    Argument,
    call_gpu,
    call_lapack,
    is_complex_dtype,
    nan_where_failed,
    on_gpu,
    real_dtype,
)
from jxkernel.primitives.linalg.matrix import (
    adjoint,
    along_columns,
    along_rows,
    diagonal,
    lower_half,
    matmul,
    on_diagonal,
    over_stack,
    real_part,
    scaled_columns,
    scaled_rows,
)
from jxkernel.primitives.linalg.qr import resized
from jxkernel.primitives.shape.structural import weak_as_operands
from jxkernel.primitives.sharding import rules

__all__ = [
    "EighImplementation",
    "SvdAlgorithm",
    "eigh",
    "eigh_p",
    "svd",
    "svd_p",
]

_INT = np.dtype(np.int32)
NOT_LINEAR = Undefined("it is not linear in its operand")


class EighImplementation(enum.Enum):
    """Ways to find the eigenvalues of Hermitian matrices; CPUs have QR (divide and conquer)."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """Ways to find singular values; ``DEFAULT`` is divide and conquer, ``QR`` plain iteration.

    ``JACOBI`` and ``POLAR`` are for accelerators.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def check_subset(name: str, subset: tuple[int, int] | None, count: int) -> None:
    """Raise a ValueError unless a range of values lies among those there are."""
    if subset is None:
        return
    found = integers(name, "subset_by_index", subset)
    if len(found) != 2 or not 0 <= found[0] <= found[1] <= count:
        raise ValueError(
            f"{name} got subset_by_index={subset}: a range (start, end) from 0 to {count}"
        )


# ---------------------------------------------------------------- eigh

eigh_p = Primitive("eigh", multiple_results=True).define(sharding=rules.leading(2, "it works on"))


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """Return orthonormal eigenvectors and real eigenvalues of Hermitian matrices.

    Args:
      x: a stack of Hermitian matrices.
      lower: whether the lower triangle is read, where the input is not symmetrized.
      symmetrize_input: whether to replace x by the mean of x and xᴴ first; that of integers is
        floating.
      sort_eigenvalues: whether eigenvalues must ascend; they always do.
      subset_by_index: the range of eigenvalues wanted, start and end; all where not given.
      implementation: which algorithm; only ``QR`` exists on CPUs.

    Returns:
      the eigenvectors as columns, and the eigenvalues in ascending order.

    Raises:
      ValueError: the matrices are not square, or the range does not fit.
      TypeError: the dtype has no kernel.
      NotImplementedError: the algorithm does not exist here.

    The derivative of eigenvectors is infinite or NaN where eigenvalues are equal; that of
    eigenvalues then depends on the basis chosen.  LAPACK ``syevd``, ``heevd``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> vectors, values = lax.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> np.asarray(values).round(3)
    array([1., 3.], dtype=float32)
    """
    if implementation not in (None, EighImplementation.QR):
        raise NotImplementedError(f"eigh on CPUs is EighImplementation.QR, not {implementation}")
    vectors, values = eigh_p.bind(
        symmetrized("eigh", x) if symmetrize_input else x,
        lower=bool(lower),
        sort_eigenvalues=bool(sort_eigenvalues),
    )
    if subset_by_index is None:
        return vectors, values
    check_subset("eigh", subset_by_index, shape_of(values)[-1])
    start, end = subset_by_index
    return (
        slice_in_dim(vectors, start, end, axis=rank_of(vectors) - 1),
        slice_in_dim(values, start, end, axis=rank_of(values) - 1),
    )


@eigh_p.def_abstract_eval
@weak_as_operands
def _eigh_abstract_eval(x: ShapedArray, **params: Any) -> list[ShapedArray]:
    check_matrices("eigh", x, square=True)
    return [x.strip_weak_type(), ShapedArray(x.shape[:-1], real_dtype(x.dtype))]


@eigh_p.def_lower
def _eigh_lower(context: Any, x: Any, *, lower: bool, **params: Any) -> list[Any]:
    out, values_aval = context.avals_out
    if not out.size:
        return [x, context.splat(0, values_aval.shape, values_aval.dtype)]
    matrix = Argument(out.shape, out.dtype, 2)
    vector = Argument(values_aval.shape, values_aval.dtype, 1)
    vectors, values, info = call_lapack(
        context,
        "heevd" if is_complex_dtype(out.dtype) else "syevd",
        [(x, matrix)],
        [matrix, vector, Argument(out.shape[:-2], _INT, 0)],
        dtype=out.dtype,
        config=f"mode = {ord('V')} : ui8, uplo = {ord('L' if lower else 'U')} : ui8",
        aliases=[(0, 0)],
        gpu=("solver_syevd_ffi", f"algorithm = 0 : ui8, lower = {str(lower).lower()}"),
    )
    return [
        nan_where_failed(context, vectors, matrix, info),
        nan_where_failed(context, values, vector, info),
    ]


def off_diagonal_reciprocals(gaps: Any) -> Any:
    """Return 1 / gap off the diagonal and 0 on it."""
    dtype = abstractify(gaps).dtype
    eye = over_stack(on_diagonal(gaps), gaps)
    one, zero = typed_scalar(dtype, 1), typed_scalar(dtype, 0)
    return select_n(eye, div(one, select_n(eye, gaps, one)), zero)


@eigh_p.def_jvp
def _eigh_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, lower: bool, sort_eigenvalues: bool
) -> tuple[list[Any], list[Any]]:
    """With w = vᴴ dx v: dλ = diag(w), dv = v (w / (λⱼ - λᵢ)) off the diagonal.

    One triangle of x is read, and the real part of its diagonal: these are those of dx as well.
    """
    v, values = eigh_p.bind(*primals, lower=lower, sort_eigenvalues=sort_eigenvalues)
    read = lower_half(tangents[0] if lower else adjoint(tangents[0]))
    w = matmul(adjoint(v), matmul(add(read, adjoint(read)), v))
    shape = shape_of(w)
    gaps = sub(along_columns(values, shape), along_rows(values, shape))
    factors = convert_element_type(off_diagonal_reciprocals(gaps), abstractify(v).dtype)
    return [v, values], [matmul(v, mul(factors, w)), real_part(diagonal(w))]


eigh_p.define(transpose=NOT_LINEAR, batch=batch_in_front(eigh_p))

# ---------------------------------------------------------------- svd

svd_p = Primitive("svd", multiple_results=True).define(sharding=rules.leading(2, "it works on"))


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Return the singular value decomposition x = u diag(s) vᴴ of matrices.

    Args:
      x: a stack of m x n matrices.
      full_matrices: whether u is m x m and vᴴ n x n; else they have min(m, n) columns and rows.
      compute_uv: whether to return u and vᴴ.
      subset_by_index: the range of singular values wanted, start and end; all where not given.
      algorithm: ``DEFAULT`` (divide and conquer) or ``QR``.

    Returns:
      u, s in descending order, and vᴴ; s alone without ``compute_uv``.

    Raises:
      ValueError: the operand has no two axes, or the range does not fit.
      TypeError: the dtype has no kernel.
      NotImplementedError: the algorithm does not exist here.

    The derivatives of u and v are infinite or NaN where singular values are equal or zero, and
    undefined where ``full_matrices`` adds columns.  LAPACK ``gesdd``, ``gesvd``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> u, s, vt = lax.linalg.svd(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> np.asarray(s).round(3)
    array([3., 2.], dtype=float32)
    """
    if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
        raise NotImplementedError(
            f"svd on CPUs is SvdAlgorithm.DEFAULT, DIVIDE_AND_CONQUER or QR, not {algorithm}"
        )
    m, n = shape_of(x)[-2:] if rank_of(x) >= 2 else (0, 0)
    check_subset("svd", subset_by_index, min(m, n))
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError("svd gives a subset only with full_matrices=False")
    s, *factors = svd_p.bind(
        x,
        full_matrices=bool(full_matrices),
        compute_uv=bool(compute_uv),
        routine="gesvd" if algorithm is SvdAlgorithm.QR else "gesdd",
    )
    if subset_by_index is not None:
        start, end = subset_by_index
        s = slice_in_dim(s, start, end, axis=rank_of(s) - 1)
        if factors:
            u, vh = factors
            rank = rank_of(u)
            factors = [
                slice_in_dim(u, start, end, axis=rank - 1),
                slice_in_dim(vh, start, end, axis=rank - 2),
            ]
    return (factors[0], s, factors[1]) if factors else s


@svd_p.def_abstract_eval
@weak_as_operands
def _svd_abstract_eval(
    x: ShapedArray, *, full_matrices: bool, compute_uv: bool, routine: str
) -> list[ShapedArray]:
    check_matrices("svd", x)
    *batch, m, n = x.shape
    k = min(m, n)
    s = ShapedArray((*batch, k), real_dtype(x.dtype))
    if not compute_uv:
        return [s]
    u = ShapedArray((*batch, m, m if full_matrices else k), x.dtype)
    return [s, u, ShapedArray((*batch, n if full_matrices else k, n), x.dtype)]


@svd_p.def_lower
def _svd_lower(
    context: Any, x: Any, *, full_matrices: bool, compute_uv: bool, routine: str
) -> list[Any]:
    aval = context.avals_in[0]
    if not aval.size:
        return [_part_of_identity(context, out, i) for i, out in enumerate(context.avals_out)]
    if on_gpu(context):
        return _svd_gpu_lower(context, x, full_matrices, compute_uv, routine)
    *batch, m, n = aval.shape
    k = min(m, n)
    matrix = Argument(aval.shape, aval.dtype, 2)
    vector = Argument((*batch, k), real_dtype(aval.dtype), 1)
    # Kernels want room for u and vᴴ even where they do not fill it.
    whole = full_matrices or not compute_uv
    left = Argument((*batch, m, m if whole else k), aval.dtype, 2)
    right = Argument((*batch, n if whole else k, n), aval.dtype, 2)
    mode = "N" if not compute_uv else "A" if full_matrices else "S"
    _, s, u, vh, info = call_lapack(
        context,
        routine,
        [(x, matrix)],
        [matrix, vector, left, right, Argument(tuple(batch), _INT, 0)],
        dtype=aval.dtype,
        config=f"mode = {ord(mode)} : ui8",
        aliases=[(0, 0)],
    )
    results = [(s, vector), (u, left), (vh, right)][: len(context.avals_out)]
    return [nan_where_failed(context, value, argument, info) for value, argument in results]


_JACOBI_SIZE = 1024
"""Up to this size GPUs rotate pairs of columns (``gesvdj``), beyond it they iterate (``gesvd``)."""


def _svd_gpu_lower(
    context: Any, x: Any, full_matrices: bool, compute_uv: bool, routine: str
) -> list[Any]:
    aval = context.avals_in[0]
    rotates = routine == "gesdd" and max(aval.shape[-2:]) <= _JACOBI_SIZE
    parts = _rotated if rotates else _iterated
    *values, info = parts(context, x, full_matrices, compute_uv)
    return [
        nan_where_failed(context, value, Argument(out.shape, out.dtype, core), info)
        for value, out, core in zip(values, context.avals_out, (1, 2, 2), strict=False)
    ]


def _rotated(context: Any, x: Any, full_matrices: bool, compute_uv: bool) -> list[Any]:
    """Return s, u, vᴴ and ``info`` of the kernel that gives whole u and v.

    It gives v by columns, which read by rows is its transpose.
    """
    aval = context.avals_in[0]
    *batch, m, n = aval.shape
    matrix = Argument(aval.shape, aval.dtype, 2)
    s_aval, *outs = context.avals_out
    left = ShapedArray((*batch, m, m), aval.dtype)
    right = ShapedArray((*batch, n, n), aval.dtype)
    _, s, u, vh, info = call_gpu(
        context,
        "solver_gesvdj_ffi",
        [(x, matrix)],
        [
            matrix,
            Argument(s_aval.shape, s_aval.dtype, 1),
            Argument(left.shape, aval.dtype, 2),
            Argument(right.shape, aval.dtype, 2, by_rows=True),
            Argument(tuple(batch), _INT, 0),
        ],
        config=f"compute_uv = {str(compute_uv).lower()}, full_matrices = true",
        aliases=[(0, 0)],
    )
    if not compute_uv:
        return [s, info]
    if is_complex_dtype(aval.dtype):
        vh = lower_conjugate(context, vh, right)
    u = resized(context, u, left, outs[0].shape[-2:])
    return [s, u, resized(context, vh, right, outs[1].shape[-2:]), info]


def _iterated(context: Any, x: Any, full_matrices: bool, compute_uv: bool) -> list[Any]:
    """Return s, u, vᴴ and ``info`` of the kernel that wants at least as many rows as columns.

    A wider matrix lies by rows, so that the kernel sees its transpose: vᴴ and u change places.
    """
    aval = context.avals_in[0]
    *batch, m, n = aval.shape
    wide = m < n
    matrix = Argument(aval.shape, aval.dtype, 2, wide)
    s_aval, *outs = context.avals_out
    if compute_uv:
        factors = [Argument(out.shape, out.dtype, 2, wide) for out in outs]
    else:
        factors = [Argument(tuple(batch), aval.dtype, 0)] * 2
    vector = Argument(s_aval.shape, s_aval.dtype, 1)
    whole = full_matrices or not compute_uv
    _, s, *found, info = call_gpu(
        context,
        "solver_gesvd_ffi",
        [(x, matrix)],
        [matrix, vector, *(factors[::-1] if wide else factors), Argument(tuple(batch), _INT, 0)],
        config=", ".join(
            f"{name} = {str(flag).lower()}"
            for name, flag in (
                ("compute_uv", compute_uv),
                ("full_matrices", whole),
                ("transposed", wide),
            )
        ),
        aliases=[(0, 0)],
    )
    return [s, *((found[::-1] if wide else found) if compute_uv else ()), info]


def _part_of_identity(context: Any, aval: ShapedArray, position: int) -> Any:
    """Return a factor of a matrix without rows or columns: of u and v what is left is identity."""
    if not position:
        return context.splat(0, aval.shape, aval.dtype)
    eye = context.constant(np.eye(*aval.shape[-2:], dtype=bool).astype(aval.dtype))
    return context.broadcast(eye, (aval.ndim - 2, aval.ndim - 1), aval.shape, aval.dtype)


@svd_p.def_jvp
def _svd_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    full_matrices: bool,
    compute_uv: bool,
    routine: str,
) -> tuple[list[Any], list[Any]]:
    """Differentiate the thin decomposition (Townsend 2016, "Differentiating the SVD").

    With w = uᴴ dx v: ds = Re diag(w), and u and v turn by the parts of w off the diagonal; a
    complex diagonal also turns u; what dx has outside of u's and v's columns adds to them.
    """
    s, u, vh = svd_p.bind(*primals, full_matrices=False, compute_uv=True, routine=routine)
    m, n = shape_of(primals[0])[-2:]
    if compute_uv and full_matrices and m != n:
        raise UndefinedRuleError(
            "svd",
            "jvp",
            "with full_matrices=True the columns added to u or v are not determined: use "
            "full_matrices=False",
        )
    dx = tangents[0]
    w = matmul(matmul(adjoint(u), dx), adjoint(vh))
    ds = real_part(diagonal(w))
    if not compute_uv:
        return [s], [ds]
    du, dv = _turned(s, u, adjoint(vh), dx, w)
    return [s, u, vh], [ds, du, adjoint(dv)]


def _turned(s: Any, u: Any, v: Any, dx: Any, w: Any) -> tuple[Any, Any]:
    """Return the tangents of u and v."""
    shape, dtype = shape_of(w), abstractify(u).dtype
    columns, rows = along_columns(s, shape), along_rows(s, shape)
    gaps = mul(sub(columns, rows), add(columns, rows))
    factors = convert_element_type(off_diagonal_reciprocals(gaps), dtype)
    s_wide, inverse = convert_element_type(s, dtype), convert_element_type(_inverse(s), dtype)
    by_columns, by_rows = scaled_columns(w, s_wide), scaled_rows(w, s_wide)
    du = matmul(u, mul(factors, add(by_columns, adjoint(by_columns))))
    dv = matmul(v, mul(factors, add(by_rows, adjoint(by_rows))))
    # The imaginary diagonal, which nothing above has, turns the phases of u's columns.
    half = typed_scalar(dtype, 0.5)
    skew = mul(diagonal(sub(w, adjoint(w))), mul(half, inverse))
    du = add(du, scaled_columns(u, skew))
    if shape_of(u)[-2] > shape_of(u)[-1]:
        moved = matmul(dx, v)
        outside = sub(moved, matmul(u, matmul(adjoint(u), moved)))
        du = add(du, scaled_columns(outside, inverse))
    if shape_of(v)[-2] > shape_of(v)[-1]:
        moved = matmul(adjoint(dx), u)
        outside = sub(moved, matmul(v, matmul(adjoint(v), moved)))
        dv = add(dv, scaled_columns(outside, inverse))
    return du, dv


def _inverse(s: Any) -> Any:
    """Return 1 / s, and 0 where s is 0."""
    dtype = abstractify(s).dtype
    zero, one = typed_scalar(dtype, 0), typed_scalar(dtype, 1)
    nothing = eq(s, zero)
    return select_n(nothing, div(one, select_n(nothing, s, one)), zero)


svd_p.define(transpose=NOT_LINEAR, batch=batch_in_front(svd_p))
