"""jxkernel: traced, differentiated, vectorized and compiled array programs, for notebooks.

This façade re-exports the public names and, once per process, connects the two ports of the
core: what evaluates a primitive when nothing is being transformed, and what operators on arrays
mean.  IPython is not imported until ``%load_ext jxkernel``.
"""

from jxkernel.api import (
    block_until_ready,
    clear_caches,
    device_get,
    device_put,
    eval_shape,
    grad,
    jit,
    jvp,
    linearize,
    make_jaxpr,
    value_and_grad,
    vjp,
    vmap,
)
from jxkernel.compile import EvalTrace, ShapeDtypeStruct
from jxkernel.core.trace import install_base_trace
from jxkernel.runtime import Array, devices, local_devices

install_base_trace(EvalTrace())
