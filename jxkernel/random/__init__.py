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
from jxkernel.random.counting import binomial, multinomial, poisson
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
from jxkernel.random.gamma_family import (
    beta,
    chisquare,
    dirichlet,
    f,
    gamma,
    generalized_normal,
    loggamma,
    t,
)
from jxkernel.random.keys import (
    Key,
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
from jxkernel.random.multivariate import ball, multivariate_normal, orthogonal
from jxkernel.random.rejection import random_gamma_p
from jxkernel.random.shuffling import choice, permutation

__all__ = [
    "Key",
    "KeyArray",
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "random_gamma_p",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
