"""The transforms as users call them: pytrees in, pytrees out, errors on the user's line.

This layer handles arguments, structures and messages; the mathematics is in ``transforms``.
"""

from jxkernel.api.autodiff import grad, jvp, linearize, value_and_grad, vjp
from jxkernel.api.branching import cond, switch
from jxkernel.api.callbacks import debug_callback, io_callback, pure_callback
from jxkernel.api.checkpoint import checkpoint, checkpoint_name, checkpoint_policies, remat
from jxkernel.api.custom import custom_jvp, custom_vjp
from jxkernel.api.global_arrays import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
    make_mesh,
)
from jxkernel.api.jacobian import hessian, jacfwd, jacobian, jacrev, linear_transpose
from jxkernel.api.jit import clear_caches, jit
from jxkernel.api.looping import fori_loop, while_loop
from jxkernel.api.scanning import associative_scan, map, scan
from jxkernel.api.shard_map import pmap, shard_map
from jxkernel.api.tracing import eval_shape, make_jaxpr
from jxkernel.api.transfer import (
    block_until_ready,
    copy_to_host_async,
    device_get,
    device_put,
)
from jxkernel.api.vectorize import vmap

__all__ = [
    "associative_scan",
    "block_until_ready",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "clear_caches",
    "cond",
    "copy_to_host_async",
    "custom_jvp",
    "custom_vjp",
    "debug_callback",
    "device_get",
    "device_put",
    "eval_shape",
    "fori_loop",
    "grad",
    "hessian",
    "io_callback",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "map",
    "pmap",
    "pure_callback",
    "remat",
    "scan",
    "shard_map",
    "switch",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]
