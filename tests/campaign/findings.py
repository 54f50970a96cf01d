"""The record of a campaign: what was run, and what was found, each once."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
STATES = ("open", "mended", "meant", "accepted")

_VARIABLE = re.compile(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"|\[[^]]*\]|\([^)]*\)")


@dataclass
class Finding:
    """A program on which two libraries differ.

    Attributes:
      seed: where it was found.
      difference: in what they differ.
      program: its source, as small as it could be made.
      ours: what it gives or says here.
      theirs: what it gives or says there.
      state: ``open``; ``mended``; ``meant``, with a reason in the note; or ``accepted``: there it
        is refused, and the result here is of use.
      note: the reason, or the test that holds it.
    """

    seed: str
    difference: str
    program: str
    ours: str
    theirs: str
    state: str = "open"
    note: str = ""

    @property
    def mark(self) -> str:
        """What tells it from others: the functions that it calls, and what they said."""
        words = re.findall(r"[\w.]+(?=\()", self.program.split("def f(")[-1])
        if self.difference.startswith(("shows", "says")):
            return f"{self.difference}: {self.ours[:60]}"
        if self.difference in ("refused", "accepted") or " " in self.difference:
            return f"{self.difference}: {self._said()}"
        return f"{self.difference}: {' '.join(sorted({w for w in words if w[0] not in 'fgu'}))}"

    def alike(self, other: "Finding") -> bool:
        """Say whether what is said of two programs is the same."""
        return self._said() == other._said()

    def _said(self) -> str:
        """Return what the error of either library says, without what varies."""
        texts = (text for text in (self.ours, self.theirs) if re.match(r"\w+: ", text))
        return " | ".join(_VARIABLE.sub("", text)[:60] for text in texts)


def load(name: str = "findings.json") -> list[Finding]:
    """Return the findings that are on record."""
    path = HERE / name
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return [Finding(**row) for row in rows]


def save(findings: Iterable[Finding], name: str = "findings.json") -> None:
    """Write the record."""
    text = json.dumps([asdict(finding) for finding in findings], indent=1)
    _write(HERE / name, f"{text}\n")


def _write(path: Path, text: str) -> None:
    """Write a file whole, or leave the one that is there."""
    beside = path.with_suffix(".part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def tally() -> list[dict[str, int | str]]:
    """Return what was run: for each run its seed, and the numbers of programs by their way."""
    path = HERE / "tally.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def add_run(run: dict[str, int | str]) -> None:
    """Put a run on record, in the place of what was said of its seed before."""
    runs = [*(row for row in tally() if row["seed"] != run["seed"]), run]
    lines = ",\n".join(json.dumps(row) for row in runs)
    _write(HERE / "tally.json", f"[\n{lines}\n]\n")
