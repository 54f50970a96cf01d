"""Run the test suite of one library in this process, and write what comes of each test.

The environment has the library and either real jax or, with ``--alias``, jxkernel in its place.
Each line of the file OUT is JSON: the id of a test that begins, or the outcome of one.  A test
whose id is in OUT already is not run again, so that a suite goes on behind one that ended the
process.
"""

import argparse
import importlib
import json
import signal
import sys
import zlib
from pathlib import Path

pytest = importlib.import_module("pytest")


class Outcomes:
    """The plugin: it takes a sample, bounds each test in time, and notes outcomes.

    Args:
      path: the file that outcomes are appended to.
      every: take one test of so many, by a checksum of its id; 1 takes all.
      seconds: how long one test may take.
    """

    def __init__(self, path, every, seconds):
        known = path.read_text().splitlines() if path.exists() else []
        self.known = {json.loads(line)["id"] for line in known}
        self.file = path.open("a", buffering=1)
        self.every = every
        self.seconds = seconds

    def note(self, test, outcome, message=""):
        """Append a line to the file."""
        self.file.write(json.dumps({"id": test, "outcome": outcome, "message": message}) + "\n")

    def pytest_collection_modifyitems(self, items):
        """Keep the sample, less what is known."""
        items[:] = [
            item
            for item in items
            if zlib.crc32(item.nodeid.encode()) % self.every == 0 and item.nodeid not in self.known
        ]

    def pytest_collectreport(self, report):
        """Note a file that cannot be collected."""
        if report.failed and report.nodeid not in self.known:
            self.note(report.nodeid, "error", str(report.longrepr)[-1500:])

    def pytest_runtest_logstart(self, nodeid):
        """Note that a test begins."""
        self.note(nodeid, "began")

    def pytest_runtest_logreport(self, report):
        """Note how a test ended."""
        if report.when == "call" or not report.passed:
            self.note(report.nodeid, report.outcome, str(report.longrepr or "")[-1500:])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self):
        """Let a test run for a bounded time."""
        signal.signal(signal.SIGALRM, self._late)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _late(self, *_):
        raise TimeoutError(f"the test took longer than {self.seconds} s")


def main():
    """Run the suite."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--alias", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    options, rest = parser.parse_known_args()
    if options.alias:
        importlib.import_module("jxkernel").alias("jax")
    plugin = Outcomes(options.out, options.every, options.seconds)
    how = ["--rootdir=.", "--import-mode=importlib", "--continue-on-collection-errors"]
    quiet = ["-p", "no:cacheprovider", "-q"]
    return pytest.main([*how, *quiet, *rest], plugins=[plugin])


if __name__ == "__main__":
    sys.exit(main())
