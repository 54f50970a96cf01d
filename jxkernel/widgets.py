"""Live widgets for notebooks: devices, programs, what is traced, memory and the ledger.

Façade: it re-exports. It imports ipywidgets and plotly; `import jxkernel` does not import it.
"""

from jxkernel.jupyter.widgets import BackendSelector, JaxprExplorer, Ledger, MemoryPanel, SourceMap

__all__ = ["BackendSelector", "JaxprExplorer", "Ledger", "MemoryPanel", "SourceMap"]
