"""The one MLIR context of the process, with the dialects that programs use.

A fresh context costs 3 to 4 ms, so there is one; MLIR contexts are safe to share between
threads.  Dialects are registered through the C extension modules: importing the generated
Python classes of a dialect costs tens of milliseconds and is not needed to create operations
by name.  Only the dialects that our modules are written in are loaded; loading all that exist
costs 7 ms and 7 MB, and the compiler loads what its passes need.  The ``sdy`` dialect (shardings)
drags its classes in, so it is not among them: who first writes a sharding registers it.
"""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _stablehlo

__all__ = ["JaxIrContext", "context", "ir", "unknown_location", "upstream_dialects"]

upstream_dialects: Any = ir.DialectRegistry()
"""The dialects of MLIR that a context of one's own may be given."""

_jax_mlir_ext.register_dialects(upstream_dialects)


class JaxIrContext(ir.Context):
    """An MLIR context without dialects: who makes one gives it those that it needs.

    >>> from jxkernel.extend import lowering
    >>> context = lowering.JaxIrContext()
    >>> context.append_dialect_registry(lowering.upstream_dialects)
    >>> context.get_dialect_descriptor("func").namespace
    'func'
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # That of the class itself loads every dialect there is.
        super(ir.Context, self).__init__(*args, **kwargs)


def _make_context() -> Any:
    made = ir.Context()
    made.append_dialect_registry(upstream_dialects)
    made.get_dialect_descriptor("func")
    for dialect in (_stablehlo, _chlo):
        dialect.register_dialect(made)
    return made


context = _make_context()
unknown_location = ir.Location.unknown(context)
