"""The page of a campaign: ``docs/correctness.md``."""

from collections import Counter

from tests.campaign import accepted, findings
from tests.campaign.findings import Finding
from tests.campaign.meant import TABLE
from tests.campaign.processes import ROOT

PAGE = ROOT / "docs" / "correctness.md"

HEAD = """# How correctness is hunted

`make fuzz SEED=1 MINUTES=5` writes random programs, runs each in jxkernel and in real `jax` (in an
environment of its own), and compares dtypes, weak types, shapes, values, gradients, and whether
there is an error. What differs is made as small as it can be and put on record. Programs hold
indexing of all forms, sorts, reductions, convolutions, linear algebra, random draws, densities,
loops, branches, references, rules of their own and transforms nested to depth 4; arguments have
every dtype and layout, edges of floats and integers among their elements, and no elements at all.
Values are compared by `tests/tolerances.py`; where a rounding of the arguments, or on the way,
changes a result as much, it says nothing, nor does what follows from it.

Programs that NumPy runs as well are held to what it gives, in double precision. Calls of the whole
public API, most of them wrong in one place or another, are run beside them (`call`), and more of
them here alone (`wrong call`): their errors must name nothing from the inside, and show no frame
between the user's lines.

A program is run once for its types alone (`shape`), or for eight arguments of the same types, with
edges in half of them (`eager`, `jit`), and all that it computes is compared. The first costs
little, nearly all of it in `jax`; what is compiled takes most of the time.
[findings.md](findings.md) says which test holds what was found, in other ways as well.

This page is written by the command.
"""


def _counts() -> str:
    total: Counter[str] = Counter()
    seeds = set()
    for run in findings.tally():
        total.update({k: int(n) for k, n in run.items() if k not in ("seed", "minutes")})
        seeds.add(str(run["seed"]))
    rows = "".join(f"| {way} | {count:,} |\n" for way, count in sorted(total.items()))
    return (
        "## What was run\n\n| programs | number |\n| --- | --: |\n"
        f"{rows}| all | {sum(total.values()):,} |\n\nSeeds: {', '.join(sorted(seeds))}.\n"
    )


def _row(finding: Finding) -> str:
    return (
        f"### {finding.difference} (seed {finding.seed})\n\n```text\n{finding.program}\n```\n\n"
        f"- here: `{_inline(finding.ours)}`\n- there: `{_inline(finding.theirs)}`\n"
        f"{_why(finding)}"
    )


def _why(finding: Finding) -> str:
    reason = accepted.reason(finding) if finding.state == "accepted" else ""
    return f"- why: {reason}\n" if reason else ""


def _inline(text: str) -> str:
    return text.replace("`", "'").replace("\n", " ")[:200]


def _listed(rows: list[Finding]) -> str:
    return "\n".join(map(_row, rows)) or "None.\n"


def page() -> str:
    """Return the page."""
    found = findings.load()
    states = Counter(finding.state for finding in found)
    of = {state: [f for f in found if f.state == state] for state in findings.STATES}
    meant = "".join(f"- {reason}\n" for reason in dict.fromkeys(row.reason for row in TABLE))
    counts = ", ".join(f"{states[state]} {state}" for state in findings.STATES)
    parts = (
        HEAD,
        _counts(),
        f"## What was found\n\n{len(found)} differences: {counts}.\n",
        f"## Open\n\n{_listed(of['open'])}",
        f"## Meant\n\n{meant}",
        f"## Accepted here, refused there\n\n{_listed(of['accepted'])}",
    )
    return "\n".join(parts)


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
