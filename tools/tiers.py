"""What the tiers of tests take, for docs/house.md: ``python -m tools.tiers check quick``."""

import os
import re
import subprocess
import sys

from tools import figures
from tools.checkout import ROOT

__all__ = ["main", "passed"]


def passed(output: str) -> int:
    """Return how many tests a tier has passed, by the closing lines of pytest in its output."""
    return sum(map(int, re.findall(r"^.*?\b(\d+) passed\b.* in [\d.]+s", output, re.MULTILINE)))


def _row(target: str) -> tuple[str, int, str]:
    process = subprocess.Popen(["make", target], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    with process.stdout as said:
        output = said.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"make {target} failed:\n{output}")
    return f"`make {target}`", passed(output), f"{used.ru_utime + used.ru_stime:.0f} s"


def main() -> None:
    """Run the tiers that are named, and write their table."""
    rows = [_row(target) for target in sys.argv[1:]]
    table = figures.table(("tier", "tests", "processor time"), rows)
    figures.write("docs/house.md", "tools.tiers", table)


if __name__ == "__main__":
    main()
