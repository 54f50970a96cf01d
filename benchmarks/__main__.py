"""The command: ``python -m benchmarks --peer PYTHON`` measures and writes the result page."""

import argparse
import sys
from pathlib import Path

from benchmarks.instructions import available
from benchmarks.processes import ROOT, Peer
from benchmarks.report import page, updated
from benchmarks.runner import TITLES, Plan, run, setting


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--peer", required=True, help="the interpreter of an environment with jax")
    parser.add_argument("--torch", help="the interpreter of an environment with PyTorch, if any")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of processes per family")
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions as well (valgrind, slow)"
    )
    parser.add_argument("--only", nargs="+", choices=list(TITLES), help="these families alone")
    parser.add_argument(
        "--output",
        type=Path,
        help="where to write the page; docs/benchmarks.md, or with --only the terminal. A page "
        "that is there keeps the families that --only leaves out",
    )
    return parser.parse_args()


def main() -> None:
    """Measure what was asked for and write it."""
    options = _options()
    if options.instructions and not available():
        sys.exit("--instructions needs valgrind")
    plan = Plan(
        Peer("jxkernel", sys.executable),
        Peer("jax", options.peer),
        options.only or list(TITLES),
        options.rounds,
        options.instructions,
        options.torch,
    )
    output = options.output or (None if options.only else ROOT / "docs" / "benchmarks.md")
    sections, where = run(plan), setting(plan)
    if options.only and output and output.exists():
        old = output.read_text(encoding="utf-8")
        text = updated(old, sections, where, list(TITLES.values()))
    else:
        text = page(sections, where)
    if output is None:
        print(text)
    else:
        output.write_text(text, encoding="utf-8")
        print(f"wrote {output}", file=sys.stderr)


if __name__ == "__main__":
    main()
