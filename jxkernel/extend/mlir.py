"""Modules as bytes that other versions read, by jaxlib's own functions.  A façade."""

from jxkernel._jaxlib import (
    deserialize_portable_artifact,
    refine_polymorphic_shapes,
    serialize_portable_artifact,
)

__all__ = [
    "deserialize_portable_artifact",
    "refine_polymorphic_shapes",
    "serialize_portable_artifact",
]
