"""Views: everything that the notebook shows, as text, self-contained HTML and data.

Purpose: turn plain data into mimebundles.

Place in the pipeline: the bottom of `jxkernel.jupyter`; the magics return these.

Must not know: IPython, cells, or how the data came about.
"""

from jxkernel.jupyter.display.benchmarks import benchmark_view
from jxkernel.jupyter.display.comparisons import comparison_view
from jxkernel.jupyter.display.differences import diff_view
from jxkernel.jupyter.display.findings import finding_view
from jxkernel.jupyter.display.jaxprs import jaxpr_view, outline_view
from jxkernel.jupyter.display.ledgers import ledger_view
from jxkernel.jupyter.display.memory import estimate_view, memory_view
from jxkernel.jupyter.display.quizzes import exercise_view, graded_view, quiz_view
from jxkernel.jupyter.display.runs import RunReport, Section, run_view
from jxkernel.jupyter.display.sources import map_view
from jxkernel.jupyter.display.stages import stages_view
from jxkernel.jupyter.display.tables import stacked_view, table_view, text_view
from jxkernel.jupyter.display.timelines import timeline_view
from jxkernel.jupyter.display.view import MIME, View

__all__ = [
    "MIME",
    "RunReport",
    "Section",
    "View",
    "benchmark_view",
    "comparison_view",
    "diff_view",
    "estimate_view",
    "exercise_view",
    "finding_view",
    "graded_view",
    "jaxpr_view",
    "ledger_view",
    "map_view",
    "memory_view",
    "outline_view",
    "quiz_view",
    "run_view",
    "stacked_view",
    "stages_view",
    "table_view",
    "text_view",
    "timeline_view",
]
