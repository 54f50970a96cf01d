"""Every primitive under one roof, for code that looks at the equations of jaxprs.

A façade: it re-exports.  A call of a program is always an equation of ``jit`` here, so
``call_p`` and ``closed_call_p`` are kinds of equations that no program has.
"""

from jxkernel.api.tracing_state import call_p, closed_call_p
from jxkernel.higher_order.checkpoint import (
    checkpoint_p as remat_p,
)
from jxkernel.higher_order.checkpoint import (
    name_p,
)
from jxkernel.higher_order.cond import (
    cond_p,
)
from jxkernel.higher_order.custom_jvp import (
    custom_jvp_call_p,
)
from jxkernel.higher_order.custom_vjp import (
    custom_vjp_call_p,
)
from jxkernel.higher_order.jit import (
    jit_p,
)
from jxkernel.higher_order.linear_solve import (
    linear_solve_p,
)
from jxkernel.higher_order.reductions import (
    reduce_p,
    reduce_window_p,
)
from jxkernel.higher_order.scan import (
    scan_p,
)
from jxkernel.higher_order.while_loop import (
    while_p,
)
from jxkernel.primitives.collective.all_gather import (
    all_gather_p,
)
from jxkernel.primitives.collective.all_to_all import (
    all_to_all_p,
    ppermute_p,
)
from jxkernel.primitives.collective.psum import (
    axis_index_p,
    pmax_p,
    pmin_p,
    psum_p,
)
from jxkernel.primitives.contraction.dot_general import (
    dot_general_p,
)
from jxkernel.primitives.conv.conv import (
    conv_general_dilated_p,
)
from jxkernel.primitives.conv.reduce_window import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
)
from jxkernel.primitives.creation import (
    iota_p,
)
from jxkernel.primitives.elementwise.arithmetic import (
    add_p,
    clamp_p,
    div_p,
    integer_pow_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    one_minus_square_p,
    rem_p,
    square_p,
    sub_p,
)
from jxkernel.primitives.elementwise.bits import (
    and_p,
    clz_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)
from jxkernel.primitives.elementwise.compare import (
    eq_p,
    eq_to_p,
    ge_p,
    gt_p,
    le_p,
    le_to_p,
    lt_p,
    lt_to_p,
    ne_p,
)
from jxkernel.primitives.elementwise.complex import (
    abs_p,
    complex_p,
    conj_p,
    imag_p,
    real_p,
    sign_p,
)
from jxkernel.primitives.elementwise.convert import (
    bitcast_convert_type_p,
    convert_element_type_p,
    reduce_precision_p,
)
from jxkernel.primitives.elementwise.exponential import (
    cbrt_p,
    exp2_p,
    exp_p,
    expm1_p,
    log1p_p,
    log2_p,
    log_p,
    logistic_p,
    pow_p,
    rsqrt_p,
    sqrt_p,
)
from jxkernel.primitives.elementwise.identity import (
    copy_p,
    stop_gradient_p,
)
from jxkernel.primitives.elementwise.incomplete import (
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    regularized_incomplete_beta_p,
)
from jxkernel.primitives.elementwise.rounding import (
    ceil_p,
    floor_p,
    is_finite_p,
    nextafter_p,
    round_p,
)
from jxkernel.primitives.elementwise.select import (
    select_n_p,
)
from jxkernel.primitives.elementwise.special import (
    bessel_i0e_p,
    bessel_i1e_p,
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    lgamma_p,
    polygamma_p,
    zeta_p,
)
from jxkernel.primitives.elementwise.trigonometric import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cos_p,
    cosh_p,
    sin_p,
    sinh_p,
    tan_p,
    tanh_p,
)
from jxkernel.primitives.fft import (
    fft_p,
)
from jxkernel.primitives.indexing.concatenate import (
    concatenate_p,
)
from jxkernel.primitives.indexing.dynamic_slicing import (
    dynamic_slice_p,
    dynamic_update_slice_p,
)
from jxkernel.primitives.indexing.gather import (
    gather_p,
    scatter_add_p,
    scatter_p,
)
from jxkernel.primitives.indexing.scatter import (
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
)
from jxkernel.primitives.indexing.slicing import (
    pad_p,
    slice_p,
)
from jxkernel.primitives.linalg.cholesky import (
    cholesky_p,
    triangular_solve_p,
)
from jxkernel.primitives.linalg.eig import (
    eig_p,
    schur_p,
)
from jxkernel.primitives.linalg.eigh import (
    eigh_p,
    svd_p,
)
from jxkernel.primitives.linalg.lu import (
    lu_p,
)
from jxkernel.primitives.linalg.qr import (
    householder_product_p,
    qr_p,
)
from jxkernel.primitives.linalg.tridiagonal import (
    hessenberg_p,
    tridiagonal_p,
    tridiagonal_solve_p,
)
from jxkernel.primitives.random_bits import (
    rng_bit_generator_p,
    rng_uniform_p,
    threefry2x32_p,
)
from jxkernel.primitives.reduction.cumulative import (
    cumlogsumexp_p,
    cummax_p,
    cummin_p,
    cumprod_p,
    cumsum_p,
)
from jxkernel.primitives.reduction.reduce import (
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_xor_p,
)
from jxkernel.primitives.reduction.sort import (
    sort_p,
    top_k_p,
)
from jxkernel.primitives.shape.broadcast import (
    broadcast_in_dim_p,
    reduce_sum_p,
)
from jxkernel.primitives.shape.reshape import (
    reshape_p,
    rev_p,
    squeeze_p,
)
from jxkernel.primitives.shape.transpose import (
    transpose_p,
)
from jxkernel.primitives.sharding.constraints import (
    sharding_constraint_p,
)

__all__ = [
    "abs_p",
    "acos_p",
    "acosh_p",
    "add_p",
    "all_gather_p",
    "all_to_all_p",
    "and_p",
    "argmax_p",
    "argmin_p",
    "asin_p",
    "asinh_p",
    "atan2_p",
    "atan_p",
    "atanh_p",
    "axis_index_p",
    "bessel_i0e_p",
    "bessel_i1e_p",
    "bitcast_convert_type_p",
    "broadcast_in_dim_p",
    "call_p",
    "cbrt_p",
    "ceil_p",
    "cholesky_p",
    "clamp_p",
    "closed_call_p",
    "clz_p",
    "complex_p",
    "concatenate_p",
    "cond_p",
    "conj_p",
    "conv_general_dilated_p",
    "convert_element_type_p",
    "copy_p",
    "cos_p",
    "cosh_p",
    "cumlogsumexp_p",
    "cummax_p",
    "cummin_p",
    "cumprod_p",
    "cumsum_p",
    "custom_jvp_call_p",
    "custom_vjp_call_p",
    "digamma_p",
    "div_p",
    "dot_general_p",
    "dynamic_slice_p",
    "dynamic_update_slice_p",
    "eig_p",
    "eigh_p",
    "eq_p",
    "eq_to_p",
    "erf_inv_p",
    "erf_p",
    "erfc_p",
    "exp2_p",
    "exp_p",
    "expm1_p",
    "fft_p",
    "floor_p",
    "gather_p",
    "ge_p",
    "gt_p",
    "hessenberg_p",
    "householder_product_p",
    "igamma_grad_a_p",
    "igamma_p",
    "igammac_p",
    "imag_p",
    "integer_pow_p",
    "iota_p",
    "is_finite_p",
    "jit_p",
    "le_p",
    "le_to_p",
    "lgamma_p",
    "linear_solve_p",
    "log1p_p",
    "log2_p",
    "log_p",
    "logistic_p",
    "lt_p",
    "lt_to_p",
    "lu_p",
    "max_p",
    "min_p",
    "mul_p",
    "name_p",
    "ne_p",
    "neg_p",
    "nextafter_p",
    "not_p",
    "one_minus_square_p",
    "or_p",
    "pad_p",
    "pmax_p",
    "pmin_p",
    "polygamma_p",
    "population_count_p",
    "pow_p",
    "ppermute_p",
    "psum_p",
    "qr_p",
    "real_p",
    "reduce_and_p",
    "reduce_max_p",
    "reduce_min_p",
    "reduce_or_p",
    "reduce_p",
    "reduce_precision_p",
    "reduce_prod_p",
    "reduce_sum_p",
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_p",
    "reduce_window_sum_p",
    "reduce_xor_p",
    "regularized_incomplete_beta_p",
    "rem_p",
    "remat_p",
    "reshape_p",
    "rev_p",
    "rng_bit_generator_p",
    "rng_uniform_p",
    "round_p",
    "rsqrt_p",
    "scan_p",
    "scatter_add_p",
    "scatter_max_p",
    "scatter_min_p",
    "scatter_mul_p",
    "scatter_p",
    "schur_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
    "select_n_p",
    "sharding_constraint_p",
    "shift_left_p",
    "shift_right_arithmetic_p",
    "shift_right_logical_p",
    "sign_p",
    "sin_p",
    "sinh_p",
    "slice_p",
    "sort_p",
    "sqrt_p",
    "square_p",
    "squeeze_p",
    "stop_gradient_p",
    "sub_p",
    "svd_p",
    "tan_p",
    "tanh_p",
    "threefry2x32_p",
    "top_k_p",
    "transpose_p",
    "triangular_solve_p",
    "tridiagonal_p",
    "tridiagonal_solve_p",
    "while_p",
    "xor_p",
    "zeta_p",
]
