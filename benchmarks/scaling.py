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
from statistics import median
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
      traced: seconds to trace it, with its derivative.
      lowered: seconds to lower it to StableHLO.
      compiled: seconds in XLA.
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
    """Return the cost of a program, the median of several processes."""
    figures = [_measured(program.name, count) for _ in range(rounds)]
    seconds = {
        name: median([each[name] for each in figures]) for name in ("traced", "lowered", "compiled")
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
        "<!-- Written by `python -m benchmarks.scaling`; changes by hand are lost. -->",
        "What a program over many devices costs before it runs. Each program is traced, lowered "
        "and compiled for 1 to 512 virtual CPU devices, each time in a fresh process, and never "
        "run: the shapes of the whole arrays stay the same, so a device's part shrinks as devices "
        "are added. XLA compiles one program that all devices run (SPMD), whose size is that of "
        "one device's part.",
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
    lines: list[str] = []
    for program in PROGRAMS:
        rows = costs[program.name]
        one, last = rows[0], rows[-1]
        sizes = sorted({row.operations for row in rows if row.devices > 1})
        lines.append(
            f"- **{program.title}**: from 1 to {last.devices} devices tracing and lowering take "
            f"{(last.traced + last.lowered) / (one.traced + one.lowered):.1f} times as long, and "
            f"XLA {last.compiled / one.compiled:.1f} times. From 8 devices on, compile time grows "
            f"as the {exponent(rows, 'compiled'):.2f}th power of their number, and the text of "
            f"the compiled program as the {exponent(rows, 'text'):.2f}th. The module that XLA "
            f"gets has {_range(sizes)} operations for any number above 1; what XLA makes of it "
            f"has {one.instructions:,} instructions for 1 and {last.instructions:,} for "
            f"{last.devices}."
        )
    return "\n".join([*lines, *_ADVICE])


_ADVICE = (
    "- The traced program and the module do not know how many devices there are: a mesh axis is a "
    "name with a size, so a program is developed on 8 virtual devices and compiled for 512.",
    "- What grows with the number of devices is what lists them: the groups of a collective (one "
    "number per device) and the device assignment. The fewer collectives a step has, the less it "
    "grows: reduce gradients once, as one tree, not leaf by leaf inside a loop.",
    "- The CPU's peak memory grows because the process makes as many virtual devices, each with "
    "threads; an accelerator's compiler has no such part.",
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
        f"{platform.system()}, the median of {options.rounds} processes."
    )
    output = ROOT / "docs" / "scaling.md"
    output.write_text(page(costs, setting), encoding="utf-8")
    print(f"wrote {output}", file=sys.stderr)


if __name__ == "__main__":
    main()
