"""Taking turns: every family of metrics, under both libraries, round after round."""

import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import growth, startup, watching
from benchmarks.metric import Metric
from benchmarks.processes import (
    Peer,
    disk_cache_in,
    instructions_of_script,
    measure_family,
    measure_script,
    versions,
)
from benchmarks.report import exponent_text, megabytes, seconds_text
from benchmarks.results import Row, Section
from benchmarks.worker import FAMILIES

__all__ = ["TITLES", "Plan", "run", "setting"]

TITLES = {
    "startup": "Start-up",
    "tracing": "Tracing and lowering",
    "dispatch": "Jitted calls",
    "eager": "Eager operations",
    "programs": "Programs",
    "devices": "Eight devices",
    "eager-calls": "Forty eager calls",
    "jitted-calls": "Forty jitted calls",
    "growth": "Growth with the length of a program",
    "watching": "The cost of watching",
}


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Attributes:
      ours: jxkernel and its interpreter.
      theirs: jax and its interpreter.
      families: the families of metrics.
      rounds: how many pairs of processes per family.
      instructions: whether to count instructions as well, under valgrind.
    """

    ours: Peer
    theirs: Peer
    families: Sequence[str]
    rounds: int
    instructions: bool


def run(plan: Plan) -> list[Section]:
    """Measure families of metrics and return one section each."""
    return [_section(plan, family) for family in plan.families]


def _section(plan: Plan, family: str) -> Section:
    if family == "startup":
        return _startup(plan)
    if family == "growth":
        return _growth(plan)
    if family == "watching":
        return _watching(plan)
    rows = {m.name: Row(m.name, m.goal, seconds_text) for m in FAMILIES[family]}
    for number in range(plan.rounds):
        _say(f"{TITLES[family]}: round {number + 1} of {plan.rounds}")
        kinds = ["seconds"] if number else ["seconds", "calls"]
        _take_round(plan, family, kinds, rows)
    if plan.instructions:
        _say(f"{TITLES[family]}: instructions")
        _take_round(plan, family, ["instructions"], rows)
    return Section(TITLES[family], _note(FAMILIES[family], [*rows.values()]), list(rows.values()))


def _note(metrics: Sequence[Metric], rows: Sequence[Row]) -> str:
    lengths = sorted({metric.operations for metric in metrics} - {1})
    if not lengths:
        return f"Figures of one run; {_middle(rows)}."
    return f"Figures per operation, in programs of {', '.join(map(str, lengths))} operations."


def _middle(rows: Sequence[Row]) -> str:
    """Say what the ratios of all rows amount to."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if not ratios:
        return "nothing could be measured"
    return f"the median of the {len(ratios)} ratios is {median(ratios):.2f}"


def _take_round(plan: Plan, family: str, kinds: Sequence[str], rows: dict[str, Row]) -> None:
    mine = measure_family(plan.ours, family, kinds)
    other = measure_family(plan.theirs, family, kinds)
    for name, row in rows.items():
        _take(row, mine[name], other[name])


def _take(row: Row, mine: dict[str, Any], other: dict[str, Any]) -> None:
    """Add one round's figures to a row, or remember why there are none."""
    for who, figures in (("jxkernel", mine), ("jax", other)):
        if "error" in figures:
            if not row.error:
                _say(f"{row.name}, {who}: {figures['error']}")
            row.error = f"{who}: {figures['error'].strip().splitlines()[-1]:.80}"
            return
    for kind, figure in mine.items():
        if kind in ("calls", "instructions"):
            row.counts[kind] = (figure, other[kind])
        else:
            row.ours.append(figure)
            row.theirs.append(other[kind])


def _startup(plan: Plan) -> Section:
    rows: list[Row] = []
    for script in startup.SCRIPTS:
        _say(f"{TITLES['startup']}: {script.name}")
        wall = Row(f"{script.name}, wall time", script.time_goal, seconds_text)
        processor = Row(f"{script.name}, processor time", script.time_goal, seconds_text)
        memory = Row(f"{script.name}, peak memory", script.memory_goal, megabytes)
        try:
            _take_script(plan, script, wall, processor, memory)
        except RuntimeError as error:
            _say(str(error))
            wall.error = str(error).strip().splitlines()[-1][:80]
        rows += [wall, processor, memory]
    return Section(TITLES["startup"], "Whole processes, from start to end.", rows)


def _take_script(
    plan: Plan, script: startup.Script, wall: Row, processor: Row, memory: Row
) -> None:
    with TemporaryDirectory() as folder:
        variables = disk_cache_in(folder) if script.from_disk else {}
        for _ in range(plan.rounds + 3):
            mine = measure_script(plan.ours, script.source, variables)
            other = measure_script(plan.theirs, script.source, variables)
            for row, kind in ((wall, "wall"), (processor, "processor"), (memory, "memory")):
                row.ours.append(getattr(mine, kind))
                row.theirs.append(getattr(other, kind))
        for row in (wall, processor, memory):
            # The first pair fills the disk caches and may write compiled bytecode.
            del row.ours[0], row.theirs[0]
        if plan.instructions:
            wall.counts["instructions"] = (
                instructions_of_script(plan.ours, script.source, variables),
                instructions_of_script(plan.theirs, script.source, variables),
            )


def _growth(plan: Plan) -> Section:
    _say(TITLES["growth"])
    rows = {c.name: Row(c.name, growth.GOAL, exponent_text, absolute=True) for c in growth.CURVES}
    for _ in range(min(3, plan.rounds)):
        _take_round(plan, "growth", (), rows)
    note = "The exponent of the time in the number of operations: 1 is linear."
    return Section(TITLES["growth"], note, list(rows.values()))


def _watching(plan: Plan) -> Section:
    """Compare jxkernel with itself, with and without the notebook half."""
    rows = {p.name: Row(p.name, p.goal, p.show, absolute=p.absolute) for p in watching.PAIRS}
    for number in range(plan.rounds):
        _say(f"{TITLES['watching']}: round {number + 1} of {plan.rounds}")
        measured = measure_family(plan.ours, "watching", ())
        for name, row in rows.items():
            row.ours.append(measured[name]["watched"])
            row.theirs.append(measured[name]["without"])
    note = (
        "Here the peer is jxkernel itself, in the same process: figures with the extension loaded "
        "and recording, and without it; of what `%%jit` adds, beside the cell that it is added to."
    )
    return Section(TITLES["watching"], note, list(rows.values()), ("watched", "not watched"))


def setting(plan: Plan) -> str:
    """Return a sentence on what was compared where."""
    mine, other = versions(plan.ours), versions(plan.theirs)
    return (
        f"Measured with Python {mine['python']}, jaxlib {mine['jaxlib']}, numpy {mine['numpy']} "
        f"against jax {other['jax']} on Python {other['python']}, jaxlib {other['jaxlib']}, "
        f"numpy {other['numpy']}; {platform.machine()} {platform.system()}, {plan.rounds} rounds."
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
