"""References to arrays that can be written: ``jax.ref``.

A façade: it re-exports.
"""

from jxkernel.api.references import (
    AbstractRef,
    Ref,
    addupdate,
    empty_ref,
    free_ref,
    freeze,
    get,
    new_ref,
    swap,
)
from jxkernel.api.references import put as set

__all__ = [
    "AbstractRef",
    "Ref",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]
