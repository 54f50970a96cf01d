"""Live widgets for notebooks: devices, programs, what is traced, memory, benchmarks, the ledger.

Façade: it re-exports. It imports ipywidgets and plotly; ``import jxkernel`` does not import it.
"""

from jxkernel.jupyter.benchmarks.widget import Benchmark
from jxkernel.jupyter.devices.widget import BackendSelector
from jxkernel.jupyter.ledger.widget import Ledger
from jxkernel.jupyter.memory.widget import MemoryPanel
from jxkernel.jupyter.programs.widget import JaxprExplorer
from jxkernel.jupyter.provenance.widget import SourceMap

__all__ = ["BackendSelector", "Benchmark", "JaxprExplorer", "Ledger", "MemoryPanel", "SourceMap"]
