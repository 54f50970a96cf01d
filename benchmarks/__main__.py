"""The command: ``python -m benchmarks --peer PYTHON`` measures and writes the result page."""

import argparse
import sys
from pathlib import Path

from benchmarks.processes import ROOT, Peer
from benchmarks.report import page
from benchmarks.runner import TITLES, run, setting


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--peer", required=True, help="the interpreter of an environment with jax")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of processes per family")
    parser.add_argument("--only", nargs="+", choices=list(TITLES), help="these families alone")
    parser.add_argument(
        "--output",
        type=Path,
        help="where to write the page; docs/benchmarks.md, or with --only the terminal",
    )
    return parser.parse_args()


def main() -> None:
    """Measure what was asked for and write it."""
    options = _options()
    ours, theirs = Peer("jxkernel", sys.executable), Peer("jax", options.peer)
    sections = run(ours, theirs, options.only or list(TITLES), options.rounds)
    text = page(sections, setting(ours, theirs, options.rounds))
    output = options.output or (None if options.only else ROOT / "docs" / "benchmarks.md")
    if output is None:
        print(text)
    else:
        output.write_text(text, encoding="utf-8")
        print(f"wrote {output}", file=sys.stderr)


if __name__ == "__main__":
    main()
