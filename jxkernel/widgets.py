"""Live widgets for notebooks: devices, programs, what is traced, memory, benchmarks, the ledger.

Façade: it re-exports. It imports ipywidgets and plotly; `import jxkernel` does not import it.
"""

from jxkernel.jupyter.widgets import (
    BackendSelector,
    Benchmark,
    JaxprExplorer,
    Ledger,
    MemoryPanel,
    SourceMap,
)

__all__ = ["BackendSelector", "Benchmark", "JaxprExplorer", "Ledger", "MemoryPanel", "SourceMap"]
