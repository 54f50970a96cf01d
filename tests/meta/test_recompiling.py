"""The page on recompiling: its code runs, and its table has every reason."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from jxkernel.events.vocabulary import ReasonKind
from tools.checkout import ROOT

PAGE = ROOT / "docs/recompiling.md"


def test_the_code_of_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    command = [sys.executable, "-W", "error", str(script)]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "x: f32[8] → f32[16]" in done.stdout
    assert "index out of bounds" in done.stdout
    assert "Not quite: you said 3, and it is 2 traces." in done.stdout


def test_the_table_names_every_reason_but_the_first_call() -> None:
    rows = re.findall(r"^\| ([a-z ]+) \|", PAGE.read_text(), re.MULTILINE)
    told = {row.replace(" ", "_").replace("keyword_form", "kwargs_form") for row in rows}
    assert set(get_args(ReasonKind)) - {"first_call"} <= told
