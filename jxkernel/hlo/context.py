"""The one MLIR context of the process, with the dialects that programs use.

A fresh context costs 3 to 4 ms, so there is one; MLIR contexts are safe to share between
threads.  Dialects are registered through the C extension modules: importing the generated
Python classes of a dialect costs tens of milliseconds and is not needed to create operations
by name.  The ``sdy`` dialect (shardings) drags its classes in, so it is not among them: who first
writes a sharding registers it.
"""

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _stablehlo

__all__ = ["context", "ir", "unknown_location"]


def _make_context() -> Any:
    made = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    for dialect in (_stablehlo, _chlo):
        dialect.register_dialect(made)
    return made


context = _make_context()
unknown_location = ir.Location.unknown(context)
