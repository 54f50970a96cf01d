"""The page on adding a primitive: its code runs, in order, as a reader would run it."""

import re
import subprocess
import sys

from tests.meta.checkout import ROOT

PAGE = ROOT / "docs/adding-a-primitive.md"


def test_the_code_of_the_page_runs_as_it_stands() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 10
    command = [sys.executable, "-W", "error", "-c", "\n".join(blocks)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no abstract_eval rule" in done.stdout, "the first error shows what to write"
