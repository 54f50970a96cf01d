"""Observation: from events to knowledge.

Purpose: record what jxkernel does and explain it to the user.

Place in the pipeline: above the whole core, below the notebook.

Must not know: IPython, widgets or comms.
"""

from jxkernel.observe.backend_states import BackendChange, BackendPreview, BackendState
from jxkernel.observe.backends import BackendSwitch
from jxkernel.observe.benchmarks import Benchmark, Times, benchmark
from jxkernel.observe.call_costs import CallCost, OperationCost, cost, cost_of
from jxkernel.observe.comparisons import Comparison, compare
from jxkernel.observe.differences import ProgramDiff, diff
from jxkernel.observe.explain import LedgerRow, explain, format_ledger, ledger
from jxkernel.observe.functions import TracedFunction, functions
from jxkernel.observe.holdings import Holding, holding_name, holdings
from jxkernel.observe.leaks import LeakedTracer, leaks
from jxkernel.observe.limits import assert_max_traces
from jxkernel.observe.memory import (
    DeviceMemory,
    Freeing,
    LiveArray,
    LiveMemory,
    MemoryEstimate,
    device_memory,
    estimate,
    estimate_of,
    free,
    freeing,
    live,
)
from jxkernel.observe.memory_profile import MemoryProfile, MemoryRow, memory_profile
from jxkernel.observe.nonfinite import find_nonfinite
from jxkernel.observe.passes import Passes, passes
from jxkernel.observe.profiling import Profile
from jxkernel.observe.programs import Outline, outline, transforms_of
from jxkernel.observe.provenance import Provenance, provenance, watch
from jxkernel.observe.recorder import Record, Recorder, Totals
from jxkernel.observe.reports import environment, report
from jxkernel.observe.residuals import KeptForBackward, KeptValue, Way, residuals
from jxkernel.observe.rooflines import Roofline, roofline
from jxkernel.observe.stages import Stages, stages
from jxkernel.observe.teaching.classes import ClassProgress, class_progress, join_class, leave_class
from jxkernel.observe.teaching.exercises import Exercise, Graded
from jxkernel.observe.teaching.lessons import Lesson, Teaching, TeachingWarning
from jxkernel.observe.teaching.tasks import Grade, Task
from jxkernel.observe.timeline import Lane, Slice, Timeline, Total, Window
from jxkernel.observe.totals import LedgerTotal, format_totals, ledger_totals
from jxkernel.observe.values import ArrayFigures, figures_of

__all__ = [
    "ArrayFigures",
    "BackendChange",
    "BackendPreview",
    "BackendState",
    "BackendSwitch",
    "Benchmark",
    "CallCost",
    "ClassProgress",
    "Comparison",
    "DeviceMemory",
    "Exercise",
    "Freeing",
    "Grade",
    "Graded",
    "Holding",
    "KeptForBackward",
    "KeptValue",
    "Lane",
    "LeakedTracer",
    "LedgerRow",
    "LedgerTotal",
    "Lesson",
    "LiveArray",
    "LiveMemory",
    "MemoryEstimate",
    "MemoryProfile",
    "MemoryRow",
    "OperationCost",
    "Outline",
    "Passes",
    "Profile",
    "ProgramDiff",
    "Provenance",
    "Record",
    "Recorder",
    "Roofline",
    "Slice",
    "Stages",
    "Task",
    "Teaching",
    "TeachingWarning",
    "Timeline",
    "Times",
    "Total",
    "Totals",
    "TracedFunction",
    "Way",
    "Window",
    "assert_max_traces",
    "benchmark",
    "class_progress",
    "compare",
    "cost",
    "cost_of",
    "device_memory",
    "diff",
    "environment",
    "estimate",
    "estimate_of",
    "explain",
    "figures_of",
    "find_nonfinite",
    "format_ledger",
    "format_totals",
    "free",
    "freeing",
    "functions",
    "holding_name",
    "holdings",
    "join_class",
    "leaks",
    "leave_class",
    "ledger",
    "ledger_totals",
    "live",
    "memory_profile",
    "outline",
    "passes",
    "provenance",
    "report",
    "residuals",
    "roofline",
    "stages",
    "transforms_of",
    "watch",
]
