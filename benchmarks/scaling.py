"""What a program over many devices costs before it runs: ``python -m benchmarks.scaling``.

Programs are traced, lowered and compiled for 1 to 512 virtual CPU devices, each in a process of its
own, and never run: compile time and program size depend on the number of devices, not on how many
there are.  Writes ``docs/scaling.md``.
"""

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.processes import ROOT, Peer, run_module, versions
from benchmarks.report import megabytes, seconds_text
from benchmarks.sharded_programs import PROGRAMS, Program

__all__ = ["Cost", "exponent", "main", "page"]

COUNTS = tuple(2**power for power in range(10))


@dataclass(frozen=True)
class Cost:
    """What one program cost for one number of devices.

    Attributes:
      devices: the number of devices.
      traced: seconds of processor time to trace it, with its derivative.
      lowered: the same to lower it to StableHLO.
      compiled: the same in XLA, all threads together.
      operations: operations of the StableHLO module.
      instructions: instructions of the compiled program of one device.
      collectives: by name, how many of these communicate.
      text: bytes of the compiled program as text.
      memory: peak resident bytes of the process.
    """

    devices: int
    traced: float
    lowered: float
    compiled: float
    operations: int
    instructions: int
    collectives: dict[str, int]
    text: int
    memory: float


def measure(program: Program, count: int, rounds: int) -> Cost:
    """Return the cost of a program, the least times of several processes."""
    figures = [_measured(program.name, count) for _ in range(rounds)]
    seconds = {
        name: min([each[name] for each in figures]) for name in ("traced", "lowered", "compiled")
    }
    return Cost(**{**figures[0], **seconds})


def _measured(name: str, count: int) -> dict[str, Any]:
    ours = Peer("jxkernel", sys.executable)
    text = run_module(ours, "benchmarks.sharded_programs", name, str(count))
    return json.loads(text.splitlines()[-1])


def exponent(costs: Sequence[Cost], figure: str, least: int = 8) -> float:
    """Return the power of the number of devices with which a figure grows, from ``least`` on."""
    chosen = [cost for cost in costs if cost.devices >= least]
    counts = [cost.devices for cost in chosen]
    slope, _ = np.polyfit(np.log(counts), np.log([getattr(cost, figure) for cost in chosen]), 1)
    return float(slope)


def page(costs: dict[str, list[Cost]], setting: str) -> str:
    """Return the whole page."""
    parts = [
        "# Scaling, on paper",
        "<!-- Written by `make scaling`; changes by hand are lost. -->",
        "What a program over many devices costs before it runs. Each program is traced, lowered "
        "and compiled for 1 to 512 virtual CPU devices, each time in a fresh process, and never "
        "run: the shapes of the whole arrays stay the same, so a device's part shrinks as devices "
        "are added. XLA compiles one program that all devices run (SPMD). Times are of the "
        "processor, all threads together.",
        setting,
        "## What can be learnt",
        _lessons(costs),
    ]
    for program in PROGRAMS:
        parts += [f"## {program.title}", program.about, _table(costs[program.name])]
    return "\n\n".join(parts) + "\n"


def _table(costs: Sequence[Cost]) -> str:
    heads = ["devices", "trace", "lower", "compile", "StableHLO ops", "HLO instructions"]
    heads += ["collectives", "HLO text", "peak memory"]
    lines = [heads, ["---:"] * len(heads)]
    for cost in costs:
        talk = ", ".join(f"{count} {name}" for name, count in sorted(cost.collectives.items()))
        lines.append(
            [
                str(cost.devices),
                *map(seconds_text, (cost.traced, cost.lowered, cost.compiled)),
                f"{cost.operations:,}",
                f"{cost.instructions:,}",
                talk or "none",
                f"{cost.text / 1e3:,.0f} kB",
                megabytes(cost.memory),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _lessons(costs: dict[str, list[Cost]]) -> str:
    """Say what the figures amount to; every number in it is computed from them."""
    return "\n".join(
        [*(_lesson(program.title, costs[program.name]) for program in PROGRAMS), *_ADVICE]
    )


def _lesson(title: str, rows: Sequence[Cost]) -> str:
    one, last = rows[0], rows[-1]
    few = next(row for row in rows if row.devices > 1)
    sizes = sorted({row.operations for row in rows if row.devices > 1})
    return (
        f"- **{title}**: {_range(sizes)} StableHLO operations for any number of devices above 1. "
        f"XLA makes {few.instructions:,} instructions of them for {few.devices} and "
        f"{last.instructions:,} for {last.devices}. Compiling for {last.devices} takes "
        f"{last.compiled / few.compiled:.1f} times as long as for {few.devices}, tracing and "
        f"lowering {(last.traced + last.lowered) / (few.traced + few.lowered):.1f} times; on one "
        f"device all takes {seconds_text(one.traced + one.lowered + one.compiled)}. From 8 "
        f"devices on compile time grows as the power {exponent(rows, 'compiled'):.2f} of their "
        f"number, the program's text as the power {exponent(rows, 'text'):.2f}."
    )


_ADVICE = (
    "- What jxkernel traces and lowers does not know how many devices there are: a mesh axis is a "
    "name with a size. So a program is written on 8 virtual devices and compiled for 512, and "
    "where XLA divides it, or it sums over devices, that costs about the same. XLA joins the sums "
    "of a step's gradients into one.",
    "- An all-to-all is another matter on CPUs: XLA cuts the array into one piece per device and "
    "sends each by itself, so the program grows with the number of devices, and compiling with "
    "it. Over a mesh of two axes, along one and then the other, each device exchanges with the "
    "square root of their number twice: the same result from a small program.",
    "- Peak memory grows where the program does not, by a third of a megabyte per device: it is "
    "what the process's virtual CPU devices take.",
)


def _range(sizes: Sequence[int]) -> str:
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"


def main() -> None:
    """Measure every program for every number of devices and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="processes per program and number")
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS))
    options = parser.parse_args()
    costs: dict[str, list[Cost]] = {}
    for program in PROGRAMS:
        for count in options.counts:
            print(f"{program.title}: {count} devices", file=sys.stderr, flush=True)
            costs.setdefault(program.name, []).append(measure(program, count, options.rounds))
    found = versions(Peer("jxkernel", sys.executable))
    setting = (
        f"Measured with Python {found['python']}, jaxlib {found['jaxlib']}; {platform.machine()} "
        f"{platform.system()}, the least of {options.rounds} processes."
    )
    output = ROOT / "docs" / "scaling.md"
    output.write_text(page(costs, setting), encoding="utf-8")
    print(f"wrote {output}", file=sys.stderr)


if __name__ == "__main__":
    main()
