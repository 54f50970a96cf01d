"""`%jx report`: everything seen in a session, in one page and as data, without secrets."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.jupyter.conftest import Notebook

SESSION = """
api_key = "hunter2"
log = []
@jx.jit
def f(a):
    log.append(1)
    return jnp.sin(a)
f(x); f(x[:3])
"""


def reported(notebook: Notebook, file: Path) -> dict[str, Any]:
    notebook.run(f"%jx report {file}")
    return json.loads(file.read_text())


def test_cells_versions_ledger_times_and_memory(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run(SESSION)
    notebook.run("%%jit\ny = x + 1\nprint(y)", cell_id="a")
    notebook.run("%%jit\ny = x + 2", cell_id="a")
    notebook.attempt("1 / 0")
    data = reported(notebook, tmp_path / "session.json")
    (cell,) = data["cells"]
    assert [one["number"] for one in cell["versions"]] == [1, 2]
    assert cell["versions"][1]["changed"].startswith("edited")
    assert cell["versions"][1]["source"].endswith("y = x + 2")
    assert [row["fun"] for row in data["ledger"] if row["fun"] == "f"] == ["f", "f"]
    assert any("f32[8] → f32[3]" in row["why"] for row in data["ledger"])
    assert any(one["error"].startswith("ZeroDivisionError") for one in data["timings"])
    assert any("print(y)" in warning for warning in data["warnings"])
    assert any(one["held_by"] == ["x"] for one in data["memory"]["arrays"])
    assert data["environment"]["jaxlib"]
    assert {"hits", "entries"} <= data["caches"].keys()
    assert data["totals"]["traces"] >= 3


def test_no_secrets(notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_TEST_FLAG", "--shown")
    monkeypatch.setenv("JAX_API_TOKEN", "hidden-1")
    monkeypatch.setenv("MY_PASSWORD", "hidden-2")
    notebook.run("%%jit\nsecret_token = 'hidden-3'\ny = x + 1")
    file = tmp_path / "session.json"
    assert reported(notebook, file)["variables"]["XLA_TEST_FLAG"] == "--shown"
    notebook.run(f"%jx report {tmp_path}/session.html")
    for text in (file.read_text(), (tmp_path / "session.html").read_text()):
        assert [word for word in ("hidden-1", "hidden-2", "hidden-3") if word in text] == []


def test_the_page_needs_nothing_and_runs_nothing(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run("%%jit\ny = x + 1  # <img src=x onerror=alert(1)>\nname = '</style><script>'")
    page = tmp_path / "session.html"
    notebook.run(f"%jx report {page}")
    text = page.read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert "http" not in text.replace("http-equiv", "")
    assert 'name="color-scheme" content="light dark"' in text


def test_a_long_session_is_bounded(notebook: Notebook, tmp_path: Path) -> None:
    comment = "#" * 100_000
    for number in range(15):
        notebook.run(f"%%jit -q\ny = x + {number}.0  {comment}".replace(" -q", ""), cell_id="a")
    notebook.run("many = [x + i for i in range(700)]")
    data = reported(notebook, tmp_path / "session.json")
    assert len(data["cells"][0]["versions"]) == 10
    assert data["memory"]["count"] >= 700
    assert len(data["memory"]["arrays"]) == 500
    assert (tmp_path / "session.json").stat().st_size < 2_000_000
