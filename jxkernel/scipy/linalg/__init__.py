"""Linear algebra with SciPy's names and arguments, on stacks of matrices.

Place in the pipeline: beside ``numpy.linalg``, of whose parts it is made.  Arguments of SciPy's
that concern memory (``overwrite_a``) or checks of values (``check_finite``) are accepted and
change nothing.
"""

from jxkernel.scipy.linalg.eigenvalues import eigh, eigh_tridiagonal
from jxkernel.scipy.linalg.factorizations import (
    hessenberg,
    lu,
    polar,
    qr,
    qr_multiply,
    rsf2csf,
    schur,
    svd,
)
from jxkernel.scipy.linalg.matrix_functions import (
    expm,
    expm_frechet,
    funm,
    solve_sylvester,
    sqrtm,
)
from jxkernel.scipy.linalg.special_matrices import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    fiedler,
    fiedler_companion,
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    leslie,
    pascal,
    toeplitz,
)
from jxkernel.scipy.linalg.systems import (
    cho_factor,
    cho_solve,
    cholesky,
    det,
    inv,
    lu_factor,
    lu_solve,
    solve,
    solve_triangular,
)

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]
