"""Programs that leave their process: exported as bytes, and run by other processes and versions.

It stands on ``jit``'s stages and on lowering to portable StableHLO.  It must not know of the NumPy
API or of notebooks.

>>> import jxkernel as jx
>>> import jxkernel.numpy as jnp
>>> from jxkernel import export
>>> (b,) = export.symbolic_shape("b")
>>> exported = export.export(jx.jit(jnp.cos))(jx.ShapeDtypeStruct((b, 2), jnp.float32))
>>> export.deserialize(exported.serialize()).call(jnp.zeros((3, 2))).shape
(3, 2)
"""

from jxkernel.export.checks import DisabledSafetyCheck
from jxkernel.export.exported import Exported, default_export_platform, deserialize, export
from jxkernel.export.format import (
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from jxkernel.export.shapes import (
    SymbolicScope,
    is_symbolic_dim,
    symbolic_args_specs,
    symbolic_dim_bounds,
    symbolic_shape,
)
from jxkernel.export.trees import (
    register_namedtuple_serialization,
    register_pytree_node_serialization,
)

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "is_symbolic_dim",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_dim_bounds",
    "symbolic_shape",
]
