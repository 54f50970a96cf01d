"""Eigenvalues of general square matrices, and the Schur form."""

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from jxkernel import hlo
from jxkernel.core.avals import ShapedArray, abstractify, rank_of, shape_of
from jxkernel.core.primitive import Primitive, Undefined
from jxkernel.core.zeros import typed_scalar
from jxkernel.dtypes import DTypeLike
from jxkernel.errors import UndefinedRuleError
from jxkernel.primitives.creation import broadcasted_iota
from jxkernel.primitives.elementwise.arithmetic import div, mul, sub
from jxkernel.primitives.elementwise.compare import eq
from jxkernel.primitives.elementwise.complex import abs, complex, conj, imag, real
from jxkernel.primitives.elementwise.convert import convert_element_type
from jxkernel.primitives.elementwise.select import select_n
from jxkernel.primitives.linalg.cholesky import batch_in_front, check_matrices
from jxkernel.primitives.linalg.eigh import off_diagonal_reciprocals
from jxkernel.primitives.linalg.lapack import (
    Argument,
    call_lapack,
    is_complex_dtype,
    nan_where_failed,
    real_dtype,
)
from jxkernel.primitives.linalg.lu import lu, lu_solve
from jxkernel.primitives.linalg.matrix import (
    along_columns,
    along_rows,
    diagonal,
    matmul,
    scaled_columns,
)
from jxkernel.primitives.reduction.reduce import argmax
from jxkernel.primitives.shape.broadcast import broadcast_in_dim, reduce_sum
from jxkernel.primitives.shape.structural import weak_as_operands
from jxkernel.primitives.sharding import rules

__all__ = ["EigImplementation", "eig", "eig_p", "schur", "schur_p"]

_INT = np.dtype(np.int32)
NOT_LINEAR = Undefined("it is not linear in its operand")


class EigImplementation(enum.Enum):
    """Libraries that find eigenvalues of general matrices; CPUs have LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def complex_dtype(dtype: DTypeLike) -> Any:
    """Return the complex dtype of a precision."""
    return np.promote_types(dtype, np.complex64)


# ---------------------------------------------------------------- eig

eig_p = Primitive("eig", multiple_results=True).define(sharding=rules.leading(2, "it works on"))


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """Return the complex eigenvalues of square matrices, and their eigenvectors.

    Args:
      x: a stack of square matrices.
      compute_left_eigenvectors: whether to return the vectors u with uᴴ x = λ uᴴ.
      compute_right_eigenvectors: whether to return the vectors v with x v = λ v.
      enable_eigvec_derivs: whether right eigenvectors may be differentiated: their phase then is
        that of LAPACK, which makes the largest component real.
      implementation: which library; ``LAPACK`` on CPUs.
      use_magma: which library GPUs use; none here.

    Returns:
      the eigenvalues, then the left and the right eigenvectors (as columns of length one) that
      were asked for.

    Raises:
      ValueError: the matrices are not square.
      TypeError: the dtype has no kernel.
      NotImplementedError: the library does not exist here.

    Eigenvalues are differentiable where they are distinct; left eigenvectors are not.  LAPACK
    ``geev``.

    >>> from jxkernel import lax, numpy as jnp
    >>> values, left, right = lax.linalg.eig(jnp.array([[0.0, 1.0], [-4.0, 0.0]]))
    >>> sorted(values.imag.round(3).tolist())
    [-2.0, 2.0]
    """
    if implementation not in (None, EigImplementation.LAPACK):
        raise NotImplementedError(f"eig on CPUs is EigImplementation.LAPACK, not {implementation}")
    return list(
        eig_p.bind(
            x,
            compute_left_eigenvectors=bool(compute_left_eigenvectors),
            compute_right_eigenvectors=bool(compute_right_eigenvectors),
            enable_eigvec_derivs=bool(enable_eigvec_derivs),
        )
    )


@eig_p.def_abstract_eval
@weak_as_operands
def _eig_abstract_eval(
    x: ShapedArray,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    **params: Any,
) -> list[ShapedArray]:
    check_matrices("eig", x, square=True)
    dtype = complex_dtype(x.dtype)
    vectors = ShapedArray(x.shape, dtype)
    asked = compute_left_eigenvectors + compute_right_eigenvectors
    return [ShapedArray(x.shape[:-1], dtype), *[vectors] * asked]


@eig_p.def_lower
def _eig_lower(
    context: Any,
    x: Any,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    **params: Any,
) -> list[Any]:
    aval = context.avals_in[0]
    out = context.avals_out[0]
    if not aval.size:
        return [context.splat(0, a.shape, a.dtype) for a in context.avals_out]
    matrix = Argument(aval.shape, aval.dtype, 2)
    vectors = Argument(aval.shape, out.dtype, 2)
    values = Argument(out.shape, out.dtype, 1)
    parts = Argument(out.shape, real_dtype(out.dtype), 1)
    split = not is_complex_dtype(aval.dtype)
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    config = ", ".join(
        f"compute_{side} = {ord('V' if flag else 'N')} : ui8"
        for side, flag in zip(("left", "right"), wanted, strict=True)
    )
    sides = ", ".join(
        f"{side} = {str(flag).lower()}"
        for side, flag in zip(("left", "right"), wanted, strict=True)
    )
    results = call_lapack(
        context,
        "geev",
        [(x, matrix)],
        [
            *([parts, parts] if split else [values]),
            vectors,
            vectors,
            Argument(aval.shape[:-2], _INT, 0),
        ],
        dtype=aval.dtype,
        config=config,
        gpu=("hybrid_eig_real" if split else "hybrid_eig_comp", f'{sides}, magma = "auto"'),
    )
    *found, left, right, info = results
    w = found[0]
    if split:
        kind = hlo.tensor_type(out.shape, out.dtype)
        w = context.value("stablehlo.complex", kind, tuple(found))
    chosen = [v for v, flag in zip((left, right), wanted, strict=True) if flag]
    return [
        nan_where_failed(context, w, values, info),
        *(nan_where_failed(context, v, vectors, info) for v in chosen),
    ]


@eig_p.def_jvp
def _eig_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
) -> tuple[list[Any], list[Any]]:
    """With x v = v diag(λ) and w = v⁻¹ dx v: dλ = diag(w), dv = v (w / (λⱼ - λᵢ))."""
    vectors = compute_left_eigenvectors or compute_right_eigenvectors
    if compute_left_eigenvectors or (vectors and not enable_eigvec_derivs):
        raise UndefinedRuleError(
            "eig",
            "jvp",
            "left eigenvectors of general matrices have no derivative rule, and right ones only "
            "with enable_eigvec_derivs=True: use the eigenvalues alone, or eigh for Hermitian "
            "matrices",
        )
    values, v = eig_p.bind(
        *primals,
        compute_left_eigenvectors=False,
        compute_right_eigenvectors=True,
        enable_eigvec_derivs=True,
    )
    dx = convert_element_type(tangents[0], abstractify(v).dtype)
    factors, _, permutation = lu(v)
    w = lu_solve(factors, permutation, matmul(dx, v))
    if not vectors:
        return [values], [diagonal(w)]
    return [values, v], [diagonal(w), _turned(values, v, w)]


def _turned(values: Any, v: Any, w: Any) -> Any:
    """Return the tangent of eigenvectors that keep their length and the phase of one component.

    Eigenvectors are determined up to a factor each: what is left of it is chosen so that the
    norm stays 1 and the largest component stays real.
    """
    shape = shape_of(w)
    gaps = sub(along_columns(values, shape), along_rows(values, shape))
    dv = matmul(v, mul(off_diagonal_reciprocals(gaps), w))
    rows = rank_of(v) - 2
    stretch = real(reduce_sum(mul(conj(v), dv), (rows,)))
    size = abs(v)
    largest = argmax(size, rows, np.int32)
    chosen = eq(
        broadcasted_iota(np.int32, shape, rows),
        broadcast_in_dim(largest, shape, (*range(rows), rows + 1)),
    )
    zero = typed_scalar(abstractify(v).dtype, 0)
    of_v, of_dv = (reduce_sum(select_n(chosen, zero, x), (rows,)) for x in (v, dv))
    factor = complex(stretch, imag(div(of_dv, of_v)))
    return sub(dv, scaled_columns(v, factor))


eig_p.define(transpose=NOT_LINEAR, batch=batch_in_front(eig_p))

# ---------------------------------------------------------------- schur

schur_p = Primitive("schur", multiple_results=True).define(sharding=rules.leading(2, "it works on"))


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> tuple[Any, ...]:
    """Return the Schur form t of square matrices and the unitary q with x = q t qᴴ.

    Args:
      x: a stack of square matrices; of a real matrix t has 2 x 2 blocks for complex pairs.
      compute_schur_vectors: whether to return q.
      sort_eig_vals: whether eigenvalues are ordered; not supported.
      select_callable: which eigenvalues come first; not supported.

    Returns:
      t, and q if asked for.

    Raises:
      ValueError: the matrices are not square.
      TypeError: the dtype has no kernel.
      NotImplementedError: an order of eigenvalues is asked for.

    Not differentiable.  LAPACK ``gees``.

    >>> import numpy as np
    >>> from jxkernel import lax, numpy as jnp
    >>> t, vectors = lax.linalg.schur(jnp.array([[2.0, 1.0], [0.0, 5.0]]))
    >>> np.asarray(jnp.diag(t)).round(3)
    array([2., 5.], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur does not order eigenvalues: sort_eig_vals must be False")
    return tuple(schur_p.bind(x, compute_schur_vectors=bool(compute_schur_vectors)))


@schur_p.def_abstract_eval
@weak_as_operands
def _schur_abstract_eval(x: ShapedArray, *, compute_schur_vectors: bool) -> list[ShapedArray]:
    check_matrices("schur", x, square=True)
    return [x.strip_weak_type()] * (1 + compute_schur_vectors)


@schur_p.def_lower
def _schur_lower(context: Any, x: Any, *, compute_schur_vectors: bool) -> list[Any]:
    aval = context.avals_in[0]
    if not aval.size:
        return [x] * (1 + compute_schur_vectors)
    matrix = Argument(aval.shape, aval.dtype, 2)
    batch = aval.shape[:-2]
    number = Argument(batch, _INT, 0)
    values = Argument(aval.shape[:-1], aval.dtype, 1)
    found = [values] if is_complex_dtype(aval.dtype) else [values, values]
    mode = ord("V" if compute_schur_vectors else "N")
    form, vectors, *_, info = call_lapack(
        context,
        "gees",
        [(x, matrix)],
        [matrix, matrix, *found, number, number],
        dtype=aval.dtype,
        config=f"mode = {mode} : ui8, sort = {ord('N')} : ui8",
        aliases=[(0, 0)],
    )
    results = [form, vectors][: 1 + compute_schur_vectors]
    return [nan_where_failed(context, value, matrix, info) for value in results]


schur_p.define(
    jvp=Undefined("it has no derivative rule: the Schur form is not unique"),
    transpose=NOT_LINEAR,
    batch=batch_in_front(schur_p),
)
