"""Random numbers from explicit keys: the same key and shape give the same bits, always.

Place in the pipeline: above ``numpy``.  A key is split or folded into new keys and used once; no
function changes state.  Bits are those of the standard generator, threefry-2x32 in the
partitionable scheme, for the same key and shape.
"""

from jxkernel.random.continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from jxkernel.random.discrete import (
    bernoulli,
    categorical,
    geometric,
    rademacher,
    randint,
)
from jxkernel.random.drawing import (
    bits,
    uniform,
)
from jxkernel.random.keys import (
    KeyArray,
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from jxkernel.random.shuffling import choice, permutation

__all__ = [
    "KeyArray",
    "PRNGKey",
    "bernoulli",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "clone",
    "double_sided_maxwell",
    "exponential",
    "fold_in",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "logistic",
    "lognormal",
    "maxwell",
    "normal",
    "pareto",
    "permutation",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
