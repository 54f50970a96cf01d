"""Moving pytrees of arrays to devices and to the host, and waiting for them."""

from typing import Any

import numpy as np

from jxkernel import runtime, tree
from jxkernel._jaxlib import ArrayImpl
from jxkernel.core.trace import Tracer
from jxkernel.guards import explicit_device_get, explicit_device_put

__all__ = ["block_until_ready", "copy_to_host_async", "device_get", "device_put"]


def device_put(x: Any, device: Any = None) -> Any:
    """Return a tree of arrays on a device, committed to it if one is named.

    Args:
      x: a tree of arrays and numbers; its shapes and (canonical) dtypes are kept.
      device: a device; None for the default one, without committing.

    Raises:
      TypeError: a leaf is no array.

    The derivative is the identity: tracers pass through.
    """

    def put(leaf: Any) -> Any:
        if isinstance(leaf, Tracer):
            return leaf
        if device is None:
            return runtime.as_device_array(leaf)
        return runtime.device_put_single(leaf, device)

    with explicit_device_put():
        return tree.map(put, x)


def device_get(x: Any) -> Any:
    """Return a tree with NumPy arrays in place of device arrays, waiting for their values."""
    with explicit_device_get():
        for leaf in tree.leaves(x):
            if isinstance(leaf, ArrayImpl):
                leaf.copy_to_host_async()
        return tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, ArrayImpl) else leaf, x)


def block_until_ready(x: Any) -> Any:
    """Wait until every array of a tree exists, and return the tree.

    Raises:
      JaxRuntimeError: the computation of one failed.
    """
    runtime.block_until_ready(tree.leaves(x))
    return x


def copy_to_host_async(x: Any) -> Any:
    """Start copying every array of a tree to the host, and return the tree.

    Reading an array later finds its value there.
    """
    for leaf in tree.leaves(x):
        if isinstance(leaf, ArrayImpl):
            leaf.copy_to_host_async()
    return x
