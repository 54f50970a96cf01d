"""Taking turns: every family of metrics, under both libraries, round after round.

In a round each library has one process, and the two alternate batch by batch, the one at rest
while the other is timed.
"""

import json
import platform
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import compiling, growth, imports, operation_table, startup, watching
from benchmarks.metric import repeated
from benchmarks.processes import (
    Peer,
    Worker,
    disk_cache_in,
    instructions_of_script,
    measure_script,
    run_module,
    versions,
)
from benchmarks.report import exponent_text, megabytes, seconds_text
from benchmarks.results import Row, Section
from benchmarks.worker import FAMILIES, ON_ONE_CORE

__all__ = ["TITLES", "Plan", "run", "setting"]

TITLES = {
    "startup": "Start-up",
    "imports": "Imports of libraries by the alias",
    "tracing": "Tracing and lowering",
    "dispatch": "Jitted calls",
    "eager": "Eager operations",
    "large": "Sorting and random numbers",
    "programs": "Programs",
    "compiling": "First results",
    "sparse": "Sparse matrices",
    "references": "References",
    "devices": "Eight devices",
    "eager-calls": "Forty eager calls",
    "jitted-calls": "Forty jitted calls",
    "growth": "Growth with the length of a program",
    "watching": "The cost of watching",
    "operations": "Everyday operations",
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
      torch: the interpreter of an environment with PyTorch, if there is one.
    """

    ours: Peer
    theirs: Peer
    families: Sequence[str]
    rounds: int
    instructions: bool
    torch: str | None = None


def run(plan: Plan) -> list[Section]:
    """Measure families of metrics and return one section each."""
    return [_section(plan, family) for family in plan.families]


def _section(plan: Plan, family: str) -> Section:
    if family == "startup":
        return _startup(plan)
    if family == "imports":
        return _imports(plan)
    if family == "growth":
        return _growth(plan)
    if family == "watching":
        return _watching(plan)
    if family == "compiling":
        return _compiling(plan)
    if family == "operations":
        return _operations(plan)
    rows = {m.name: Row(m.name, m.goal, seconds_text) for m in FAMILIES[family]}
    for number in range(plan.rounds):
        _say(f"{TITLES[family]}: round {number + 1} of {plan.rounds}")
        kinds = ["seconds"] if number else ["seconds", "calls"]
        _take_round(plan, family, kinds, rows)
    if plan.instructions:
        _say(f"{TITLES[family]}: instructions")
        _take_round(plan, family, ["instructions"], rows)
    return Section(TITLES[family], _note(family, [*rows.values()]), list(rows.values()))


def _note(family: str, rows: Sequence[Row]) -> str:
    where = ", on one core" if family in ON_ONE_CORE else ""
    lengths = sorted({metric.operations for metric in FAMILIES[family]} - {1})
    if not lengths:
        return f"Figures of one run{where}; {_middle(rows)}.{_REASONS.get(family, '')}"
    programs = f"programs of {', '.join(map(str, lengths))} operations"
    return f"Figures per operation, in {programs}{where}."


_REASONS = {
    "sparse": " Places that are closed over are constants, which real jax writes into the program: "
    "XLA takes them apart while it compiles. Here a program gets its constants, and takes their "
    "columns apart at each call; that all lie in bounds is found out when it is traced."
}
"""What a reader should know of a family's figures."""


def _middle(rows: Sequence[Row]) -> str:
    """Say what the ratios of all rows amount to."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if not ratios:
        return "nothing could be measured"
    return f"the median of the {len(ratios)} ratios is {median(ratios):.2f}"


def _take_round(plan: Plan, family: str, kinds: Sequence[str], rows: dict[str, Row]) -> None:
    counting = "instructions" in kinds
    with (
        Worker(plan.ours, family, counting=counting) as mine,
        Worker(plan.theirs, family, counting=counting) as other,
    ):
        for row in rows.values():
            for kind in kinds:
                _take(row, kind, mine, other)


def _take(row: Row, kind: str, mine: Worker, other: Worker) -> None:
    """Add one round's figures of a kind to a row, or remember why there are none."""

    def pair() -> tuple[float, float]:
        return _ask(mine, kind, row), _ask(other, kind, row)

    with suppress(RuntimeError):
        if kind in ("calls", "instructions"):
            row.counts[kind] = pair()
        elif kind == "seconds":
            # Batch by batch, and the median: a shared processor changes its speed within seconds,
            # by half, and the least time of one may lie in a moment that the other did not get.
            pair()
            ours, theirs = map(median, zip(*repeated(pair), strict=True))
            row.add(ours, theirs)
        else:
            row.add(*pair())


def _ask(worker: Worker, kind: str, row: Row) -> float:
    try:
        return worker.ask(kind, row.name)
    except RuntimeError as error:
        library, text = worker.peer.library, str(error).strip()
        if not row.error:
            _say(f"{row.name}, {library}: {text}")
        row.error = f"{library}: {text.splitlines()[-1]:.80}"
        raise


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


def _imports(plan: Plan) -> Section:
    """Say what the alias itself takes of the import of libraries."""
    rows = [Row(name, imports.GOAL, seconds_text, absolute=True) for name in imports.LIBRARIES]
    for row in rows:
        _say(f"{TITLES['imports']}: {row.name}")
        try:
            for _ in range(plan.rounds):
                row.add(*imports.measure(row.name))
        except RuntimeError as error:
            row.error = str(error).strip().splitlines()[-1][:80]
    note = (
        "Processor time, in an environment of the libraries without jax (`make "
        "build/libraries/.all`): what the alias itself takes to give a library all modules and "
        "names that it asks for while it is imported, once what is behind them is loaded; beside "
        "it the library's whole import, with what it loads of jxkernel and of others."
    )
    return Section(TITLES["imports"], note, rows, ("the alias itself", "the import"))


def _take_script(
    plan: Plan, script: startup.Script, wall: Row, processor: Row, memory: Row
) -> None:
    with TemporaryDirectory() as folder:
        variables = disk_cache_in(folder) if script.from_disk else {}
        for _ in range(plan.rounds + 3):
            mine = measure_script(plan.ours, script.source, variables)
            other = measure_script(plan.theirs, script.source, variables)
            for row, kind in ((wall, "wall"), (processor, "processor"), (memory, "memory")):
                row.add(getattr(mine, kind), getattr(other, kind))
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
        _take_round(plan, "growth", ["exponent"], rows)
    note = "The exponent of the time in the number of operations: 1 is linear."
    return Section(TITLES["growth"], note, list(rows.values()))


def _compiling(plan: Plan) -> Section:
    first = [
        Row(name, program.first_goal, seconds_text) for name, program in compiling.FIRST.items()
    ]
    later = [Row(metric.name, metric.goal, seconds_text) for metric in compiling.LATER]
    power = Row(compiling.EXPONENT, compiling.GOAL_EXPONENT, exponent_text, absolute=True)
    for number in range(plan.rounds):
        _say(f"{TITLES['compiling']}: round {number + 1} of {plan.rounds}")
        with Worker(plan.ours, "compiling") as mine, Worker(plan.theirs, "compiling") as other:
            for one, again in zip(first, later, strict=True):
                _take(one, "first", mine, other)
                _take(again, "seconds", mine, other)
    _take_round(plan, "compiling", ["exponent"], {power.name: power})
    note = (
        "A first result is the processor time of tracing, lowering, compiling and running a "
        "function that was never called, without a cache on disk under either library; the median "
        f"of the {len(first)} ratios is {_median_ratio(first)}, of later runs "
        f"{_median_ratio(later)}. The exponent is that of the time in the number of layers: 20 to "
        "400 here, 20 to 60 under jax. The last rows are of whole sessions in processes of their "
        "own, all programs but the chains of 60: without a cache on disk, with one that they fill, "
        "and with one that is full."
    )
    return Section(TITLES["compiling"], note, [*first, *later, power, *_sessions(plan)])


def _median_ratio(rows: Sequence[Row]) -> str:
    ratios = [row.ratio for row in rows if row.ratio is not None]
    return f"{median(ratios):.2f}" if ratios else "unknown"


def _sessions(plan: Plan) -> list[Row]:
    """Compare sessions without a disk cache, with one that they fill, and with a full one."""
    rows = [Row(name, goal, seconds_text) for name, goal in compiling.SESSIONS]
    restarted = Row("a session restarted, against the one before", 0.3, seconds_text)
    for number in range(min(2, plan.rounds)):
        _say(f"{TITLES['compiling']}: sessions {number + 1} of {min(2, plan.rounds)}")
        with TemporaryDirectory() as ours, TemporaryDirectory() as theirs:
            for row, cached in zip(rows, (False, True, True), strict=True):
                row.add(
                    _session(plan.ours, ours if cached else None),
                    _session(plan.theirs, theirs if cached else None),
                )
        restarted.add(rows[2].ours[-1], rows[0].ours[-1])
    return [*rows, restarted]


def _session(peer: Peer, folder: str | None) -> float:
    variables = disk_cache_in(folder) if folder else {}
    return float(run_module(peer, "benchmarks.compiling", peer.library, variables=variables))


def _watching(plan: Plan) -> Section:
    """Compare jxkernel with itself, with and without the notebook half."""
    rows = {p.name: Row(p.name, p.goal, p.show, absolute=p.absolute) for p in watching.PAIRS}
    for number in range(plan.rounds):
        _say(f"{TITLES['watching']}: round {number + 1} of {plan.rounds}")
        measured = json.loads(run_module(plan.ours, "benchmarks.watching").splitlines()[-1])
        for name, row in rows.items():
            row.add(measured[name]["watched"], measured[name]["without"])
    note = (
        "Here the peer is jxkernel itself, in the same process: figures with the extension loaded "
        "and recording, and without it; of what `%%jit` adds, beside the cell that it is added to."
    )
    return Section(TITLES["watching"], note, list(rows.values()), ("watched", "not watched"))


def _operations(plan: Plan) -> Section:
    """Compare single operations with those of jax, NumPy and, where it is there, PyTorch."""
    title = TITLES["operations"]
    libraries = [plan.ours, plan.theirs, Peer("numpy", plan.theirs.python)]
    if plan.torch is not None:
        libraries.append(Peer("torch", plan.torch))
    peers = [library.library for library in libraries[1:]]
    found = operation_table.measure(libraries, lambda done: _say(f"{title}: {done}"))
    table, reasons = (
        part(found, peers) for part in (operation_table.text, operation_table.explained)
    )
    text = "\n\n".join([table, reasons]) if reasons else table
    return Section(title, operation_table.note(found, peers), [], text=text)


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
