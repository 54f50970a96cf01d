"""Write the tables and the picture of docs/house.md: layers of two commits, and what calls cost.

Run as ``python -m tools.house BEFORE [AFTER]``.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tools import figures
from tools.checkout import ROOT, project

__all__ = ["floors", "layers", "picture"]

PICTURE = ROOT / "docs" / "images" / "house.svg"

MOVED = {"ops": "primitives"}
"""Layers that had another name before."""

SETUP = """
import cProfile, sys
sys.setswitchinterval(1000)
import jxkernel as jx, jxkernel.numpy as jnp
x = jnp.arange(8.0)
jitted = jx.jit(lambda x: jnp.sum(jnp.sin(x) * x))
gradient = jx.grad(jitted)
works = {
    "jitted call": lambda: jitted(x),
    "gradient of a jitted call": lambda: gradient(x),
    "`x + x`": lambda: x + x,
    "`jnp.sum(x)`": lambda: jnp.sum(x),
    "`jnp.linalg.norm(x)`": lambda: jnp.linalg.norm(x),
    "`jnp.where(x > 1, x, 0)`": lambda: jnp.where(x > 1, x, 0),
    "`x[1:3]`": lambda: x[1:3],
    "`vmap(jitted)` of a matrix": lambda m=jnp.ones((2, 8)), f=jx.vmap(jitted): f(m),
}
for work in works.values():
    for _ in range(3):
        work().block_until_ready()
"""

STYLE = """
svg{background:#fff}
text{font:12px system-ui,sans-serif;fill:#333}.l{text-anchor:end}.m{text-anchor:middle}
.b{font-weight:bold}.was{fill:#9a9aa3}.now{fill:#2a78d6}
"""

IMPORT = """
import cProfile
profile = cProfile.Profile()
profile.enable()
import jxkernel
profile.disable()
print(sum(entry.callcount for entry in profile.getstats()) - 1, "`import jxkernel`", sep="\\t")
"""

CALLS = """
for name, work in works.items():
    profile = cProfile.Profile()
    profile.enable()
    work()
    profile.disable()
    print(sum(entry.callcount for entry in profile.getstats()) - 2, name, sep="\\t")
"""


def layers(commit: str) -> dict[str, tuple[int, int]]:
    """Return the files and lines of each layer of the package in a commit, and of all."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for line in _git("grep", "-c", "", commit, "--", "jxkernel/*.py").splitlines():
        _, path, count = line.split(":")
        parts = path.split("/")
        layer = parts[1] if len(parts) > 2 else "(modules)"
        for name in (MOVED.get(layer, layer), "all"):
            files[name] += 1
            lines[name] += int(count)
    return {name: (files[name], lines[name]) for name in files}


Sizes = dict[str, tuple[int, int]]


def floors() -> list[list[str]]:
    """Return the layers of the contract, the highest floor first, each with those beside it."""
    contracts = project()["tool"]["importlinter"]["contracts"]
    [layers] = [one["layers"] for one in contracts if one["name"] == "Layers"]
    return [floor.split(" | ") for floor in layers]


def picture(before: str, old: Sizes, after: str, new: Sizes) -> str:
    """Return a picture in SVG: two bars for each floor, as it was (left) and as it is (right)."""
    rows = [(_label(floor, new), _lines(floor, old), _lines(floor, new)) for floor in floors()]
    rows = [row for row in rows if row[2]]
    rows.append(("single modules", old["(modules)"][1], new["(modules)"][1]))
    scale = 235 / max(max(was, now) for _, was, now in rows)
    drawn = [f'<text x="290" y="14" class="b l">{before}</text>']
    drawn.append(f'<text x="510" y="14" class="b">{after}</text>')
    for index, (label, was, now) in enumerate(rows):
        top = 24 + 20 * index
        drawn.append(_bar(290 - was * scale, top, was * scale, "was", was))
        drawn.append(_bar(510, top, now * scale, "now", now))
        drawn.append(f'<text x="400" y="{top + 12}" class="m">{label}</text>')
    height = 30 + 20 * len(rows)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 {height}" role="img">'
    return "\n".join([head, f"<style>{STYLE}</style>", *drawn, "</svg>"]) + "\n"


def _lines(floor: list[str], sizes: Sizes) -> int:
    return sum(sizes.get(name, (0, 0))[1] for name in floor)


def _label(floor: list[str], sizes: Sizes) -> str:
    found = [name for name in floor if name in sizes]
    return " · ".join(found) if len(found) < 4 else "façades"


def _bar(left: float, top: int, width: float, kind: str, lines: int) -> str:
    right = kind == "now"
    place = left + width + 4 if right else left - 4
    return (
        f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="16" class="{kind}"/>'
        f'<text x="{place:.0f}" y="{top + 12}" class="{"" if right else "l"}">{lines:,}</text>'
    )


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _run(checkout: Path, program: str) -> dict[str, int]:
    """Return what a program prints that is run in a checkout: counts, each with its name."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {name: int(count) for count, name in rows}


def _counts(commit: str) -> dict[str, int]:
    """Return the function calls of an import and of warm operations, Python's and C's."""
    with TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        _git("worktree", "add", "--detach", str(checkout), commit)
        try:
            _run(checkout, SETUP)  # compiles the sources
            return _run(checkout, IMPORT) | _run(checkout, SETUP + CALLS)
        finally:
            _git("worktree", "remove", "--force", str(checkout))


def main() -> None:
    """Write the tables into the page, and the picture beside it."""
    before, after = [*sys.argv[1:], "HEAD"][:2]
    after = _git("rev-parse", "--short", after).strip()
    old, new = layers(before), layers(after)
    head = ("layer", f"files at {before}", "lines", f"files at {after}", "lines")
    names = sorted(old.keys() | new.keys(), key=lambda name: (name == "all", name))
    rows = ((name, *old.get(name, (0, 0)), *new.get(name, (0, 0))) for name in names)
    then, now = _counts(before), _counts(after)
    counts = ((name, then[name], now[name]) for name in now)
    costs = figures.table(("function calls", before, after), counts)
    figures.write("docs/house.md", "tools.house", f"{figures.table(head, rows)}\n\n{costs}")
    PICTURE.write_text(picture(before, old, after, new), encoding="utf-8")


if __name__ == "__main__":
    main()
