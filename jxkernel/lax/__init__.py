"""The operations close to XLA: primitives, what is made of a few of them, and control flow.

Operations take arrays of one dtype and shape (a scalar may stand beside any) and do not promote;
``jxkernel.numpy`` does.  Names and signatures are those of ``jax.lax``.  This module only
re-exports, and all that it imports is public: of a module given whole, its ``__all__`` says what.
"""

from jxkernel.api.composite import composite
from jxkernel.api.control_flow.branching import cond, switch
from jxkernel.api.control_flow.looping import fori_loop, while_loop
from jxkernel.api.control_flow.platforms import platform_dependent
from jxkernel.api.control_flow.scanning import associative_scan, map, scan
from jxkernel.api.custom.solvers import custom_linear_solve, custom_root
from jxkernel.api.marking import dce_sink
from jxkernel.api.operand_dtypes import *
from jxkernel.api.reductions import *
from jxkernel.api.shardings import with_sharding_constraint
from jxkernel.dtypes import dtype
from jxkernel.higher_order.cond import cond_p
from jxkernel.higher_order.linear_solve import linear_solve_p
from jxkernel.higher_order.named_operations import (
    after_all,
    after_all_p,
    approx_max_k,
    approx_min_k,
    approx_top_k_p,
    create_token,
    create_token_p,
    polynomial,
    polynomial_p,
)
from jxkernel.higher_order.ragged_all_to_all import ragged_all_to_all, ragged_all_to_all_p
from jxkernel.higher_order.reductions import reduce_p, reduce_window_p, select_and_scatter_p
from jxkernel.higher_order.scan import scan_p
from jxkernel.higher_order.tiling import tile, tile_p, unstack, unstack_p
from jxkernel.higher_order.while_loop import while_p
from jxkernel.lax import linalg
from jxkernel.primitives.collective.all_gather import *
from jxkernel.primitives.collective.all_to_all import *
from jxkernel.primitives.collective.psum import *
from jxkernel.primitives.collective.starting import psum_scatter_start
from jxkernel.primitives.contraction.dot_general import *
from jxkernel.primitives.contraction.precision import *
from jxkernel.primitives.contraction.ragged_dot import *
from jxkernel.primitives.conv.conv import *
from jxkernel.primitives.conv.conv_numbers import *
from jxkernel.primitives.conv.reduce_window import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_shape_tuple,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
)
from jxkernel.primitives.conv.variants import *
from jxkernel.primitives.creation import broadcasted_iota, empty, full, full_like, iota, iota_p
from jxkernel.primitives.elementwise.accuracy import AccuracyMode, Tolerance
from jxkernel.primitives.elementwise.arithmetic import (
    add_p,
    clamp_p,
    div_p,
    integer_pow,
    integer_pow_p,
    max_p,
    min_p,
    mul_p,
    mulhi_p,
    neg,
    neg_p,
    one_minus_square,
    one_minus_square_p,
    reciprocal,
    rem_p,
    square,
    square_p,
    sub_p,
)
from jxkernel.primitives.elementwise.bits import (
    and_p,
    bitwise_not,
    clz,
    clz_p,
    not_p,
    or_p,
    population_count,
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
    abs,
    abs_p,
    complex_p,
    conj,
    conj_p,
    imag,
    imag_p,
    real,
    real_p,
    sign,
    sign_p,
)
from jxkernel.primitives.elementwise.convert import (
    bitcast_convert_type,
    bitcast_convert_type_p,
    convert_element_type,
    convert_element_type_p,
    reduce_precision,
    reduce_precision_p,
    stage,
    stage_p,
)
from jxkernel.primitives.elementwise.exponential import (
    cbrt,
    cbrt_p,
    exp,
    exp2,
    exp2_p,
    exp_p,
    expm1,
    expm1_p,
    log,
    log1p,
    log1p_p,
    log2,
    log2_p,
    log_p,
    logistic,
    logistic_p,
    pow_p,
    rsqrt,
    rsqrt_p,
    sqrt,
    sqrt_p,
)
from jxkernel.primitives.elementwise.identity import (
    copy_p,
    optimization_barrier,
    optimization_barrier_p,
    stop_gradient,
    stop_gradient_p,
)
from jxkernel.primitives.elementwise.incomplete import (
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    random_gamma_grad_p,
    regularized_incomplete_beta_p,
)
from jxkernel.primitives.elementwise.rounding import (
    RoundingMethod,
    ceil,
    ceil_p,
    floor,
    floor_p,
    is_finite,
    is_finite_p,
    nextafter_p,
    round,
    round_p,
)
from jxkernel.primitives.elementwise.select import (
    select_n_p,
)
from jxkernel.primitives.elementwise.special import (
    bessel_i0e,
    bessel_i0e_p,
    bessel_i1e,
    bessel_i1e_p,
    digamma,
    digamma_p,
    erf,
    erf_inv,
    erf_inv_p,
    erf_p,
    erfc,
    erfc_p,
    lgamma,
    lgamma_p,
    polygamma_p,
    zeta_p,
)
from jxkernel.primitives.elementwise.trigonometric import (
    acos,
    acos_p,
    acosh,
    acosh_p,
    asin,
    asin_p,
    asinh,
    asinh_p,
    atan,
    atan2_p,
    atan_p,
    atanh,
    atanh_p,
    cos,
    cos_p,
    cosh,
    cosh_p,
    sin,
    sin_p,
    sinh,
    sinh_p,
    tan,
    tan_p,
    tanh,
    tanh_p,
)
from jxkernel.primitives.fft import *
from jxkernel.primitives.indexing.concatenate import *
from jxkernel.primitives.indexing.dynamic_slicing import *
from jxkernel.primitives.indexing.gather import (
    gather,
    gather_p,
    scatter,
    scatter_add,
    scatter_add_p,
    scatter_p,
    scatter_sub,
    scatter_sub_p,
)
from jxkernel.primitives.indexing.gather_numbers import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from jxkernel.primitives.indexing.scatter import *
from jxkernel.primitives.indexing.slicing import (
    index_in_dim,
    pad_p,
    slice,
    slice_in_dim,
    slice_p,
)
from jxkernel.primitives.random_bits import (
    RandomAlgorithm,
    rng_bit_generator,
    rng_bit_generator_p,
    rng_uniform,
    rng_uniform_p,
)
from jxkernel.primitives.reduction.cumulative import *
from jxkernel.primitives.reduction.reduce import (
    argmax,
    argmax_p,
    argmin,
    argmin_p,
    reduce_and,
    reduce_and_p,
    reduce_max,
    reduce_max_p,
    reduce_min,
    reduce_min_p,
    reduce_or,
    reduce_or_p,
    reduce_prod,
    reduce_prod_p,
    reduce_xor,
    reduce_xor_p,
)
from jxkernel.primitives.reduction.sort import *
from jxkernel.primitives.shape.broadcast import (
    broadcast_in_dim,
    broadcast_in_dim_p,
    broadcast_like,
    reduce_sum,
    reduce_sum_p,
)
from jxkernel.primitives.shape.reshape import *
from jxkernel.primitives.shape.transpose import transpose, transpose_p
from jxkernel.primitives.sharding.constraints import sharding_constraint_p
from jxkernel.primitives.sharding.device_put import device_put_p

__all__ = [name for name in dir() if not name.startswith("_")]  # pyright: ignore[reportUnsupportedDunderAll]
