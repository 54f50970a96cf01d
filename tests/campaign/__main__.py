"""The command: ``python -m tests.campaign --peer PYTHON`` hunts what two libraries differ in."""

import argparse
import signal
import sys
from collections import Counter
from random import Random
from time import monotonic

from tests.campaign import findings, reference, report
from tests.campaign.compare import difference
from tests.campaign.findings import Finding
from tests.campaign.generate import generate
from tests.campaign.meant import meant
from tests.campaign.pair import Pair

WAYS = ("shape", "eager", "jit", "call", "numpy")
OFTEN = (100, 1, 3, 2, 1)
"""A program of which types alone are compared takes a fortieth of the time of a compiled one."""

BATCH = 60
KEEPING = 20.0
"""After how many seconds what was found so far is written."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--peer", required=True, help="the interpreter of an environment with jax")
    parser.add_argument("--seed", default="0", help="what the programs follow from")
    parser.add_argument("--minutes", type=float, default=5.0, help="for how long")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Hunt:
    """A run of the campaign.

    Attributes:
      found: what is on record, by its marks.
      ran: how many programs ran, by their ways.
    """

    def __init__(self, pair: Pair, seed: str) -> None:
        self.found: dict[str, Finding] = {finding.mark: finding for finding in findings.load()}
        self.ran: Counter[str] = Counter()
        self._pair, self._seed = pair, seed

    def recheck(self) -> None:
        """Run what is open again, and say of what no longer differs that it is mended."""
        rows = [row for row in self.found.values() if row.state in ("open", "accepted")]
        rows = [row for row in rows if row.difference != "unlike NumPy"]
        kinds = self._pair.differences([row.program for row in rows])
        for row, kind in zip(rows, kinds, strict=True):
            if not kind:
                self._settle(row)

    def _settle(self, row: Finding) -> None:
        """Put on record that a finding is none any more: the same is said, or it is meant.

        What is refused nowhere, or differs by a rounding alone, is struck from the record.
        """
        ours, theirs = self._pair.answers([row.program])[0]
        kind, place = self._pair.differing(row.program, ours, theirs)
        reason = meant(kind, row.program, ours, theirs, place) if kind else ""
        if reason and row.state != "accepted":
            row.state, row.note = "meant", reason
        elif row.state == "accepted" or difference(ours, theirs):
            del self.found[row.mark]
        else:
            row.state, row.note = "mended", "tests/campaign/stored.json"

    def batch(self, number: int) -> None:
        """Run one batch of programs, and put on record what differs."""
        way = Random(f"{self._seed}:{number}").choices(WAYS, OFTEN)[0]
        seeds = [f"{self._seed}:{number}:{n}" for n in range(BATCH)]
        if way == "numpy":
            self._beside_numpy(seeds)
            return
        sources = [generate(seed, way) for seed in seeds]
        for seed, source, kind in zip(seeds, sources, self._pair.differences(sources), strict=True):
            if kind:
                self._record(seed, source, kind)
        self.ran[way] += BATCH

    def _beside_numpy(self, seeds: list[str]) -> None:
        """Compare programs that NumPy runs as well with what it gives."""
        sources = [reference.generate(seed) for seed in seeds]
        for seed, source, ours in zip(seeds, sources, self._pair.ours(sources), strict=True):
            unlike = reference.unlike(source, ours)
            if unlike:
                said = f"NumPy gives {reference.expected(source)}"
                self._keep(Finding(seed, "unlike NumPy", source, unlike, said))
        self.ran["numpy"] += BATCH

    def keep(self) -> None:
        """Write what was run and found so far, and the page."""
        findings.save(self.found.values())
        findings.add_run({"seed": self._seed, **self.ran})
        report.write()

    def _keep(self, finding: Finding) -> None:
        if finding.mark not in self.found:
            self.found[finding.mark] = finding
            _say(f"---- {finding.difference} (seed {finding.seed})\n{finding.program}")
            _say(f"# here:  {finding.ours}\n# there: {finding.theirs}")

    def _record(self, seed: str, source: str, kind: str) -> None:
        if self._pair.finding(seed, source, kind).mark in self.found:
            return
        finding = self._pair.finding(seed, self._pair.small(source, kind), kind)
        finding.state = "accepted" if kind == "accepted" else "open"
        self._keep(finding)


def _hunt(hunt: Hunt, end: float) -> None:
    """Run batches until it is time, and keep what was found, also when the run is stopped."""
    number = 0
    kept = monotonic()
    try:
        hunt.recheck()
        while monotonic() < end:
            hunt.batch(number)
            number += 1
            if monotonic() > kept + KEEPING:
                hunt.keep()
                kept = monotonic()
    finally:
        hunt.keep()


def _stop(*_: object) -> None:
    raise SystemExit(1)


def main() -> None:
    """Hunt for as long as was asked for."""
    options = _options()
    end = monotonic() + 60 * options.minutes
    signal.signal(signal.SIGTERM, _stop)
    with Pair(options.peer) as pair:
        hunt = Hunt(pair, options.seed)
        known = set(hunt.found)
        _hunt(hunt, end)
    new = sum(f.state == "open" for f in hunt.found.values() if f.mark not in known)
    _say(f"{sum(hunt.ran.values())} programs, {new} new differences; {report.PAGE} is written")
    sys.exit(1 if new else 0)


if __name__ == "__main__":
    main()
