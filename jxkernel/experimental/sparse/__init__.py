"""Arrays most of whose elements are zero, which store the others.

``BCOO`` and ``BCSR`` are pytrees, so that ``jit``, ``vmap`` and ``grad`` take them; ``sparsify``
makes a function of arrays one of sparse arrays. Operations are made of those of dense arrays,
and have their derivatives.
"""

from jxkernel.experimental.sparse import computing, linalg, moving, products, storing
from jxkernel.experimental.sparse.computing import bcoo_multiply_dense, bcoo_multiply_sparse
from jxkernel.experimental.sparse.derivatives import (
    grad,
    jacfwd,
    jacobian,
    jacrev,
    value_and_grad,
)
from jxkernel.experimental.sparse.formats import (
    BCOO,
    BCSR,
    CuSparseEfficiencyWarning,
    JAXSparse,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    install_operations,
)
from jxkernel.experimental.sparse.making import empty, eye, random_bcoo
from jxkernel.experimental.sparse.moving import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_dynamic_slice,
    bcoo_gather,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_transpose,
)
from jxkernel.experimental.sparse.older import (
    COO,
    CSC,
    CSR,
    coo_fromdense,
    coo_matmat,
    coo_matvec,
    coo_todense,
    csr_fromdense,
    csr_matmat,
    csr_matvec,
    csr_todense,
)
from jxkernel.experimental.sparse.products import (
    bcoo_conv_general_dilated,
    bcoo_dot_general,
    bcoo_dot_general_sampled,
    bcsr_dot_general,
)
from jxkernel.experimental.sparse.rows import (
    bcsr_broadcast_in_dim,
    bcsr_concatenate,
    bcsr_extract,
)
from jxkernel.experimental.sparse.sparsifying import sparsify, todense
from jxkernel.experimental.sparse.storing import (
    bcoo_extract,
    bcoo_fromdense,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_todense,
    bcoo_update_layout,
)

__all__ = [
    "BCOO",
    "BCSR",
    "COO",
    "CSC",
    "CSR",
    "CuSparseEfficiencyWarning",
    "JAXSparse",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_conv_general_dilated",
    "bcoo_dot_general",
    "bcoo_dot_general_sampled",
    "bcoo_dynamic_slice",
    "bcoo_extract",
    "bcoo_fromdense",
    "bcoo_gather",
    "bcoo_multiply_dense",
    "bcoo_multiply_sparse",
    "bcoo_reduce_sum",
    "bcoo_reshape",
    "bcoo_rev",
    "bcoo_slice",
    "bcoo_sort_indices",
    "bcoo_squeeze",
    "bcoo_sum_duplicates",
    "bcoo_todense",
    "bcoo_transpose",
    "bcoo_update_layout",
    "bcsr_broadcast_in_dim",
    "bcsr_concatenate",
    "bcsr_dot_general",
    "bcsr_extract",
    "bcsr_fromdense",
    "bcsr_sum_duplicates",
    "bcsr_todense",
    "coo_fromdense",
    "coo_matmat",
    "coo_matvec",
    "coo_todense",
    "csr_fromdense",
    "csr_matmat",
    "csr_matvec",
    "csr_todense",
    "empty",
    "eye",
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "linalg",
    "random_bcoo",
    "sparsify",
    "todense",
    "value_and_grad",
]

bcsr_fromdense = BCSR.fromdense
bcsr_sum_duplicates = BCSR.sum_duplicates
bcsr_todense = BCSR.todense

install_operations(
    abs=sparsify(abs),
    add=computing.add,
    compare=lambda x, y: computing.refuse_dense("a comparison"),
    div=computing.divide,
    fromdense=bcoo_fromdense,
    getitem=moving.sparse_getitem,
    matmul=products.matmul,
    mul=computing.multiply,
    neg=computing.negative,
    places_of=storing.places_of,
    pos=lambda x: x,
    pow=computing.power,
    reshape=bcoo_reshape,
    rows_of=storing.rows_of,
    sort_indices=bcoo_sort_indices,
    sub=computing.subtract,
    sum=moving.sparse_sum,
    sum_duplicates=bcoo_sum_duplicates,
    todense=bcoo_todense,
    transpose=bcoo_transpose,
    update_layout=bcoo_update_layout,
)
