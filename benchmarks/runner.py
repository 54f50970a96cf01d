"""Taking turns: every family of metrics, under both libraries, round after round."""

import platform
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import growth, startup
from benchmarks.metric import Metric
from benchmarks.processes import Peer, measure_family, measure_script, versions
from benchmarks.report import exponent_text, megabytes, seconds_text
from benchmarks.results import Row, Section
from benchmarks.worker import FAMILIES

__all__ = ["TITLES", "run", "setting"]

TITLES = {
    "startup": "Start-up",
    "tracing": "Tracing and lowering",
    "dispatch": "Jitted calls",
    "eager": "Eager operations",
    "programs": "Programs",
    "growth": "Growth with the length of a program",
}


def run(ours: Peer, theirs: Peer, families: Sequence[str], rounds: int) -> list[Section]:
    """Measure families of metrics and return one section each."""
    return [_section(ours, theirs, family, rounds) for family in families]


def _section(ours: Peer, theirs: Peer, family: str, rounds: int) -> Section:
    if family == "startup":
        return _startup(ours, theirs, rounds)
    if family == "growth":
        return _growth(ours, theirs)
    rows = {m.name: Row(m.name, m.goal, seconds_text) for m in FAMILIES[family]}
    for number in range(rounds):
        _say(f"{TITLES[family]}: round {number + 1} of {rounds}")
        calls = number == 0
        mine = measure_family(ours, family, calls=calls)
        other = measure_family(theirs, family, calls=calls)
        for name, row in rows.items():
            _take(row, mine[name], other[name])
    return Section(TITLES[family], _note(FAMILIES[family]), list(rows.values()))


def _note(metrics: Sequence[Metric]) -> str:
    lengths = sorted({metric.operations for metric in metrics} - {1})
    if not lengths:
        return "Time and calls of one run."
    return (
        f"Time and calls per operation, in programs of {', '.join(map(str, lengths))} operations."
    )


def _take(row: Row, mine: dict[str, Any], other: dict[str, Any], kind: str = "seconds") -> None:
    """Add one round's figures to a row, or remember why there are none."""
    for who, figures in (("jxkernel", mine), ("jax", other)):
        if "error" in figures:
            if not row.error:
                _say(f"{row.name}, {who}: {figures['error']}")
            row.error = f"{who}: {figures['error'].strip().splitlines()[-1]:.80}"
            return
    row.ours.append(mine[kind])
    row.theirs.append(other[kind])
    if "calls" in mine:
        row.our_calls, row.their_calls = mine["calls"], other["calls"]


def _startup(ours: Peer, theirs: Peer, rounds: int) -> Section:
    rows: list[Row] = []
    for script in startup.SCRIPTS:
        _say(f"{TITLES['startup']}: {script.name}")
        wall = Row(f"{script.name}, wall time", script.time_goal, seconds_text)
        processor = Row(f"{script.name}, processor time", script.time_goal, seconds_text)
        memory = Row(f"{script.name}, peak memory", script.memory_goal, megabytes)
        for _ in range(rounds + 1):
            mine = measure_script(ours, script.source)
            other = measure_script(theirs, script.source)
            for row, kind in ((wall, "wall"), (processor, "processor"), (memory, "memory")):
                row.ours.append(getattr(mine, kind))
                row.theirs.append(getattr(other, kind))
        for row in (wall, processor, memory):
            # The first pair fills the disk cache and may write compiled bytecode.
            del row.ours[0], row.theirs[0]
        rows += [wall, processor, memory]
    return Section(TITLES["startup"], "Whole processes, from start to end.", rows)


def _growth(ours: Peer, theirs: Peer) -> Section:
    _say(TITLES["growth"])
    mine = measure_family(ours, "growth", calls=False)
    other = measure_family(theirs, "growth", calls=False)
    lines = []
    for curve in growth.CURVES:
        row = Row(curve.name, None, exponent_text)
        _take(row, mine[curve.name], other[curve.name], "exponent")
        lines.append(row)
    note = (
        f"The exponent of the time in the number of operations; the goal is {growth.GOAL} at most, "
        "and 1 is linear."
    )
    return Section(TITLES["growth"], note, lines)


def setting(ours: Peer, theirs: Peer, rounds: int) -> str:
    """Return a sentence on what was compared where."""
    mine, other = versions(ours), versions(theirs)
    return (
        f"Measured with Python {mine['python']}, jaxlib {mine['jaxlib']}, numpy {mine['numpy']} "
        f"against jax {other['jax']} on Python {other['python']}, jaxlib {other['jaxlib']}, "
        f"numpy {other['numpy']}; {platform.machine()} {platform.system()}, {rounds} rounds."
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
