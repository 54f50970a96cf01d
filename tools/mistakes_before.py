"""Record what was said of the classic mistakes at an earlier commit.

Run as ``python -m tools.mistakes_before`` after rows were added to the tables of mistakes. Each
cell runs under ``%%jit`` in the notebook of that commit's own tests, with the jaxlib of today.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

from tests.jupyter.all_mistakes import ALL_MISTAKES
from tools.checkout import ROOT

__all__ = ["COMMIT", "RECORD", "Said", "recorded"]

COMMIT = "3803916c"
"""The last commit of the day before rewrites were made from the user's own line."""

RECORD = ROOT / "tests/jupyter/mistakes_before.json"

PROGRAM = """
import json
import sys

from tests.jupyter.conftest import SETUP, load_ipython_extension, opened

found = {}
with opened() as notebook:
    load_ipython_extension(notebook.shell)
    for cell in json.load(sys.stdin):
        notebook.run(f"{SETUP}\\n%xmode Context")
        notebook.run("k = 2; log = ['start']\\nclass Model:\\n    pass\\nmodel = Model()")
        notebook.run("params = {'w': x, 'b': jnp.ones(5)}")
        ran = notebook.attempt(f"%%jit\\n{cell}")
        text = "" if ran.error is None else str(ran.error)
        advice = text.partition("What to write instead:\\n")[2]
        found[cell] = {
            "error": "" if ran.error is None else type(ran.error).__name__,
            "said": (text or ran.printed).partition("\\n")[0],
            "advice": advice.partition("\\n")[0].strip(),
        }
json.dump(found, sys.stdout)
"""
"""What runs in that commit's checkout: cells from standard input, what was said to the output."""


class Said(TypedDict):
    """What a cell showed.

    Attributes:
      error: the name of the error's class; empty where there was none.
      said: the first line of its message, or of what was printed without an error.
      advice: the first line of what to write instead; empty where there was none.
    """

    error: str
    said: str
    advice: str


def recorded() -> dict[str, Said]:
    """Return what was said of each cell."""
    found: dict[str, Said] = json.loads(RECORD.read_text())
    return found


def main() -> None:
    """Run all cells at the commit, and write the record."""
    cells = sorted({mistake.cell for mistake in ALL_MISTAKES})
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), COMMIT], check=True)
        try:
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM],
                env={**kept, "PYTHONPATH": str(checkout)},
                cwd=checkout,
                input=json.dumps(cells),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        finally:
            subprocess.run([*git, "remove", "--force", str(checkout)], check=True)
    RECORD.write_text(json.dumps(json.loads(done.stdout), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
