"""Linear algebra with NumPy's names and arguments, on stacks of matrices.

Place in the pipeline: a part of ``numpy`` that is imported at its first use.  Functions take
arrays of shape (..., m, n), promote integers to floats and apply factorisations; each call is one
program.  Dtypes of fewer than 32 bits have no factorisation: convert them.
"""

from jxkernel.numpy.linalg.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from jxkernel.numpy.linalg.determinants import det, slogdet
from jxkernel.numpy.linalg.norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from jxkernel.numpy.linalg.products import (
    cross,
    diagonal,
    matmul,
    matrix_power,
    matrix_transpose,
    multi_dot,
    outer,
    tensordot,
    trace,
    vecdot,
)
from jxkernel.numpy.linalg.solutions import inv, lstsq, pinv, solve, tensorinv, tensorsolve

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
