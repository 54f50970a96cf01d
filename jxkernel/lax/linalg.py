"""Linear algebra: the names of ``lax.linalg``, gathered from the modules of each family."""

from typing import TYPE_CHECKING

from jxkernel._lazy import lazy_names
from jxkernel.higher_order.named_operations import (
    cholesky_update,
    cholesky_update_p,
    symmetric_product,
    symmetric_product_p,
)
from jxkernel.primitives.linalg.cholesky import (
    cholesky,
    cholesky_p,
    triangular_solve,
    triangular_solve_p,
)
from jxkernel.primitives.linalg.eig import EigImplementation, eig, eig_p, schur, schur_p
from jxkernel.primitives.linalg.eigh import (
    EighImplementation,
    SvdAlgorithm,
    eigh,
    eigh_p,
    svd,
    svd_p,
)
from jxkernel.primitives.linalg.lu import (
    lu,
    lu_p,
    lu_pivots_to_permutation,
    lu_pivots_to_permutation_p,
)
from jxkernel.primitives.linalg.qr import (
    householder_product,
    householder_product_p,
    ormqr,
    ormqr_p,
    qr,
    qr_p,
)
from jxkernel.primitives.linalg.tridiagonal import (
    hessenberg,
    hessenberg_p,
    tridiagonal,
    tridiagonal_p,
    tridiagonal_solve,
    tridiagonal_solve_p,
)

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_p",
    "cholesky_update",
    "cholesky_update_p",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "hessenberg",
    "hessenberg_p",
    "householder_product",
    "householder_product_p",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "ormqr",
    "ormqr_p",
    "qdwh",
    "qr",
    "qr_p",
    "schur",
    "schur_p",
    "svd",
    "svd_p",
    "symmetric_product",
    "symmetric_product_p",
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]

# Made of functions of the NumPy API: imported at its first use.
if TYPE_CHECKING:
    from jxkernel.numpy.linalg.polar import qdwh
__getattr__, __dir__ = lazy_names(__name__, names={"jxkernel.numpy.linalg.polar": "qdwh"})
