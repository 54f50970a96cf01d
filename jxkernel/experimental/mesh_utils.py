"""Arranging devices for a mesh.

A façade: it re-exports and holds nothing of its own.
"""

from jxkernel.api.global_arrays import (
    create_device_mesh,
    create_hybrid_device_mesh,
    device_kind_handler_dict,
)

__all__ = ["create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"]
