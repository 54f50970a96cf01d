"""Evaluation by the field's older name.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel._lazy import lazy_names
from jxkernel.api.extending import apply_primitive, canonicalize_dtype_handlers
from jxkernel.runtime import Backend

__all__ = ["Backend", "apply_primitive", "canonicalize_dtype_handlers"]

__getattr__, __dir__ = lazy_names(__name__, older={"jxkernel._older": "DeviceArray"})
