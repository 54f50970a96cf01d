"""Widgets: live views with controls, on ipywidgets and plotly.

Purpose: choose a device, explore a program, see what is traced, watch the ledger, and
give memory back, compare functions.

Place in the pipeline: beside the magics, over `jupyter.display` and `observe`. Nothing imports it
but the façade `jxkernel.widgets`, so ipywidgets and plotly are loaded at its first use.

Must not know: how magics are parsed.
"""

from jxkernel.jupyter.widgets.backend import BackendSelector
from jxkernel.jupyter.widgets.benchmark import Benchmark
from jxkernel.jupyter.widgets.explorer import JaxprExplorer
from jxkernel.jupyter.widgets.ledger import Ledger
from jxkernel.jupyter.widgets.memory import MemoryPanel
from jxkernel.jupyter.widgets.source_map import SourceMap

__all__ = ["BackendSelector", "Benchmark", "JaxprExplorer", "Ledger", "MemoryPanel", "SourceMap"]
