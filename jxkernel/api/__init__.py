"""The transforms as users call them: pytrees in, pytrees out, errors on the user's line.

This layer handles arguments, structures and messages; the mathematics is in ``transforms``.
"""

from jxkernel.api.autodiff import grad, jvp, linearize, value_and_grad, vjp
from jxkernel.api.jit import clear_caches, jit
from jxkernel.api.tracing import eval_shape, make_jaxpr
from jxkernel.api.transfer import block_until_ready, device_get, device_put
from jxkernel.api.vectorize import vmap

__all__ = [
    "block_until_ready",
    "clear_caches",
    "device_get",
    "device_put",
    "eval_shape",
    "grad",
    "jit",
    "jvp",
    "linearize",
    "make_jaxpr",
    "value_and_grad",
    "vjp",
    "vmap",
]
