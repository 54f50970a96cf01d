"""The documents tell the truth: commands that exist, links that lead somewhere, code that runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.checkout import ROOT

README = (ROOT / "README.md").read_text()
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOKS = sorted((ROOT / "demos").glob("*.ipynb"))


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z-]+)", README))))
def test_readme_commands_exist(target: str) -> None:
    # -n prints the recipe without running it, and fails where there is no such target.
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_readme_names_the_two_commands() -> None:
    assert "make lab" in README
    assert "make test" in README


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_of_the_checkout(document: Path) -> None:
    prose = re.sub(
        r"^```.*?^```|`[^`\n]*`", "", document.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose)
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_readme_code_runs_as_it_stands() -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE))
    assert code
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_readme_lists_every_notebook() -> None:
    assert [path.name for path in NOTEBOOKS if path.name not in README] == []
    named = re.findall(r"\d\d_\w+\.ipynb", README)
    assert [name for name in named if not (ROOT / "demos" / name).exists()] == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_ask_for_the_kernel_that_every_environment_has(notebook: Path) -> None:
    assert json.loads(notebook.read_text())["metadata"]["kernelspec"]["name"] == "python3"


def test_continuous_integration_runs_exactly_make_test() -> None:
    script = ROOT / ".ci/run"
    commands = [line for line in script.read_text().splitlines() if not line.startswith("#")]
    assert commands[-1] == "exec make test"
    assert os.access(script, os.X_OK)


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs/decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


FINDINGS = (ROOT / "docs/findings.md").read_text()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[\w/]+\.py::\w+)`", FINDINGS))))
def test_each_finding_has_the_test_that_is_named(name: str) -> None:
    path, function = name.split("::")
    assert re.search(rf"^def {function}\(", (ROOT / path).read_text(), re.MULTILINE)


def test_each_row_of_the_findings_names_a_test() -> None:
    rows = [line for line in FINDINGS.splitlines() if re.match(r"\| (?!(what|drill) \|)", line)]
    assert len(rows) > 70
    assert [row for row in rows if not re.search(r"`tests/[\w/]+\.py::\w+` \|$", row)] == []
