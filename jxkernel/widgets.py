"""Live widgets for notebooks: devices, programs, what is traced, and the recompilation ledger.

Façade: it re-exports. It imports ipywidgets and plotly; `import jxkernel` does not import it.
"""

from jxkernel.jupyter.widgets import BackendSelector, JaxprExplorer, Ledger, SourceMap

__all__ = ["BackendSelector", "JaxprExplorer", "Ledger", "SourceMap"]
