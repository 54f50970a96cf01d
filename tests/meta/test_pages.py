"""Pages with programs: their code runs, in order, as a reader would run it."""

import re
import subprocess
import sys

import pytest

from tools.checkout import ROOT


@pytest.mark.parametrize(
    ("page", "least", "printed"),
    [
        # The first error shows what to write.
        ("adding-a-primitive", 10, "no abstract_eval rule"),
        ("explicit-axes", 6, "accumulates along axis 0, which @x divides"),
        ("kernels", 6, "has rank 2, and the array, f32[1024], has rank 1"),
        ("timing", 2, "until the result exists; median of"),
    ],
)
def test_the_code_of_a_page_runs_as_it_stands(page: str, least: int, printed: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= least
    command = [sys.executable, "-W", "error", "-c", "\n".join(blocks)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout
