"""Passes of one's own over what XLA compiles.  A façade."""

from jxkernel.runtime.transformations import (
    PipelineStage,
    clear_hlo_module_transformation,
    register_hlo_module_transformation,
)

__all__ = [
    "PipelineStage",
    "clear_hlo_module_transformation",
    "register_hlo_module_transformation",
]
