"""The libraries' own test suites: run on real ``jax`` and over the alias, and compared.

``make suites`` runs this file.  A suite comes with the source distribution, which is fetched to
``build/suites``; the tests that pass on real ``jax`` are those that are to pass here.  With names
of libraries as arguments only these are run.  What fails, and why, is in ``build/suites/here``.
"""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from tests.libraries.running import PYTHON
from tests.libraries.suites import SUITES, WITHOUT, Suite
from tools.checkout import ROOT
from tools.libraries import versions

PAGE = ROOT / "docs/suites.md"
COUNTS = ROOT / "tests/libraries/suites.json"
BUILD = ROOT / "build/suites"
RUNNER = ROOT / "tests/libraries/suite_runner.py"
PEER = BUILD / "bin/python"

_SECONDS_OF_A_TEST = 120
_SECONDS_OF_A_SUITE = 3600
_RESTARTS = 20

_OPENING = """\
# Test suites of libraries over the alias

The libraries' own tests, as their source distributions have them, with `jxkernel.alias("jax")` in
place of `jax`. Of the tests that pass on real `jax` in an environment of its own, the table says
how many pass here. Of long suites a sample is taken, by a checksum of each test's name. Generated
by `make suites`.

| library | tests taken | pass on `jax` | of these pass here | share |
|---|---|---|---|---|
"""


def fetched(name: str) -> Path:
    """Return the folder of a library's source distribution, fetched if it is not there."""
    where = BUILD / "sources" / name
    if not where.exists():
        archives = BUILD / "archives" / name
        pinned = f"{name}=={versions()[name]}"
        how = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", archives]
        subprocess.run([PYTHON, "-m", "pip", *how, pinned], check=True)
        with tarfile.open(next(archives.iterdir())) as archive:
            archive.extractall(where, filter="data")
        # Where a library configures nothing, nothing of this checkout's configuration counts.
        (where.parent / "pytest.ini").touch()
    return next(where.iterdir())


def run(name: str, suite: Suite, alias: bool) -> dict[str, dict[str, Any]]:
    """Run a suite, and return what came of each test by its id."""
    out = BUILD / ("here" if alias else "there") / f"{name}.jsonl"
    out.parent.mkdir(exist_ok=True)
    if alias:
        out.unlink(missing_ok=True)
    for _ in range(_RESTARTS):
        before = outcomes(out)
        if _ended(_run_once(name, suite, alias, out), before, outcomes(out)):
            break
    return outcomes(out)


def _run_once(name: str, suite: Suite, alias: bool, out: Path) -> int:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT) if alias else "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "MPLBACKEND": "agg",
    }
    ignored = [f"--ignore={path}" for path in suite.ignored]
    options = [f"--every={suite.every}", f"--seconds={_SECONDS_OF_A_TEST}", *ignored]
    command = [PYTHON if alias else PEER, RUNNER, out, *options, *["--alias"][: int(alias)]]
    with out.with_suffix(".log").open("a") as log:
        try:
            return subprocess.run(
                [*command, *suite.paths],
                cwd=fetched(name),
                env=environment,
                stdout=log,
                stderr=log,
                timeout=_SECONDS_OF_A_SUITE,
            ).returncode
        except subprocess.TimeoutExpired:
            return 0


def _ended(code: int, before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether a suite came to its end, which it does not where a test ends the process."""
    return code in (0, 1, 5) or len(after) == len(before)


def outcomes(out: Path) -> dict[str, dict[str, Any]]:
    """Return the last that is known of each test."""
    lines = out.read_text().splitlines() if out.exists() else []
    return {note["id"]: note for note in map(json.loads, lines)}


def counted(name: str, there: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a library's row."""
    wanted = {test for test, note in there.items() if note["outcome"] == "passed"}
    found = {test for test in wanted if here.get(test, {}).get("outcome") == "passed"}
    return {
        "version": versions()[name],
        "every": SUITES[name].every,
        "taken": len(there),
        "there": len(wanted),
        "here": len(found),
    }


def _row(name: str, row: dict[str, Any]) -> str:
    sample = "all" if row["every"] == 1 else f"1 of {row['every']}"
    share = f"{100 * row['here'] / row['there']:.1f} %" if row["there"] else "–"
    taken = f"{row['taken']} ({sample})"
    return f"| {name} {row['version']} | {taken} | {row['there']} | {row['here']} | {share} |"


def page(counts: dict[str, Any]) -> str:
    """Return the page as the counts have it."""
    rows = [_row(name, counts[name]) for name in SUITES if name in counts]
    missing = [f"- {name}: {suite.missing}." for name, suite in SUITES.items() if suite.missing]
    fails = ["", "What fails here needs:", "", *missing] if missing else []
    names = ", ".join(WITHOUT)
    without = ["", f"The source distributions of {names} have no tests."]
    absent = ", ".join([name for name in SUITES if name not in counts])
    uncounted = ["", f"Not counted yet: {absent}."] if absent else []
    return _OPENING + "\n".join([*rows, *fails, *without, *uncounted]) + "\n"


def main(names: list[str]) -> None:
    """Run the suites of libraries, and write the counts and the page."""
    for name in names or SUITES:
        there, here = (run(name, SUITES[name], alias) for alias in (False, True))
        counts = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
        counts[name] = counted(name, there, here)
        COUNTS.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
        PAGE.write_text(page(counts))
        sys.stderr.write(f"{_row(name, counts[name])}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
