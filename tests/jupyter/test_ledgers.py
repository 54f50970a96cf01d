"""The ledger in a notebook: cells by name, totals, storms while they happen, lost fast paths."""

import re

from IPython.core.error import UsageError

from jxkernel.jupyter.ledger.requests import ledger
from jxkernel.observe.explain import format_duration
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import running_kernel

DEFINITION = "@jx.jit\ndef f(a):\n    return a + 1"


def test_a_function_defined_again_names_both_cells(notebook: Notebook) -> None:
    for source in (DEFINITION, "f(x)", DEFINITION, "f(x)"):
        notebook.run(source)
    first, second = notebook.session.ledger(fun="f")
    assert second.sentence() == "f was defined again: In[2] → In[4]"
    assert "begin it with %%jit" in second.fix
    assert re.fullmatch(r"Cell In\[5\], line 1", second.site)
    assert first.site == "Cell In[3], line 1"


def test_a_function_made_anew_in_a_loop_is_told_by_its_line(notebook: Notebook) -> None:
    notebook.run("for _ in range(2):\n    g = jx.jit(lambda a: a + 1)\n    g(x)")
    *_, row = notebook.session.ledger(fun="<lambda>")
    assert row.sentence() == "<lambda> is a new function object, made again at Cell In[2], line 2"


def test_cells_without_ids_are_told_apart_by_their_text(notebook: Notebook) -> None:
    first, second = "%%jit\ny = jnp.tanh(x)", "%%jit\nz = x * 3"
    for source in (first, second, first, second):
        notebook.run(source)
    notebook.run("w = 3.0\nx = x[:4]")
    notebook.run(second)
    rows = [row for row in notebook.session.ledger() if row.cache is not None]
    assert [(row.cell, row.fun, row.sentence()) for row in rows] == [
        ("In[2]", "cell_2", "first call of cell_2"),
        ("In[3]", "cell_3", "first call of cell_3"),
        ("In[7]", "cell_3", "x: f32[8] → f32[4]"),
    ]


def test_cells_with_ids_are_told_apart_and_compared_with_their_own_edits(
    notebook: Notebook,
) -> None:
    notebook.run("%%jit\ny = jnp.tanh(x)", cell_id="a")
    notebook.run("%%jit\nz = x * 3", cell_id="b")
    notebook.run("%%jit\ny = jnp.tanh(x) + 1", cell_id="a")
    assert [(row.fun, row.sentence()) for row in notebook.session.ledger()] == [
        ("cell_2", "first call of cell_2"),
        ("cell_3", "first call of cell_3"),
        ("cell_2", "edited: line 2"),
    ]


def test_a_storm_is_told_when_its_cell_ends_and_once(notebook: Notebook) -> None:
    notebook.run(DEFINITION)
    printed = notebook.run("for n in range(1, 8):\n    f(x[:n])").printed
    assert printed.count("warning: ") == 1
    assert "warning: f was built again 5 times" in printed
    assert "5 times for shape: a; pad a along axis 0" in printed
    assert "warning" not in notebook.run("f(x[:3])").printed
    assert "warning" not in notebook.run("f(x)").printed


def test_sums_agree_wherever_they_stand(notebook: Notebook) -> None:
    notebook.run(DEFINITION)
    notebook.run("f(x)\nf(x[:3])\njnp.ones(37)[:23] * 1.7")
    listed = notebook.run("%jx ledger").value
    (builds,) = re.findall(r"total: .* in (\d+) builds", listed.text)
    outside = listed.text.splitlines()[-1]
    answer = ledger(notebook.session)
    again = sum(bool(re.search(r"f32\[8\] →", line)) for line in listed.text.splitlines())
    for by in ("cell", "site", "function"):
        view = notebook.run(f"%jx ledger by {by}").value
        assert outside.removeprefix("and ") in view.text.splitlines()[0]
        rows = view.data["rows"]
        assert sum(int(row[1]) for row in rows) == int(builds)
        assert sum(int(row[2]) for row in rows) == again == 1
        assert all(row[0] and "unknown" not in row[0] for row in rows)
        told = answer[f"by_{by}"]
        assert [one["builds"] for one in told] == [int(row[1]) for row in rows]
        assert [format_duration(one["cost_ns"]) for one in told] == [row[6] for row in rows]


def test_totals_by_cell_and_by_line(notebook: Notebook) -> None:
    notebook.run(DEFINITION)
    notebook.run("f(x)\nf(x[:3])")
    notebook.run("f(x[:2])")
    view = notebook.run("%jx ledger by cell").value
    assert view.text.startswith("Builds by cell")
    assert re.search(r"^In\[3\] +\d+ +1 ", view.text, re.MULTILINE)
    assert "Cell In[3], line 2" in notebook.run("%jx ledger by site").value.text
    assert "f " in notebook.run("%jx ledger by function").value.text
    html = notebook.run("%jx ledger").value.html
    assert "By cell" in html
    assert "Cell In[3], line 2" in html
    ran = notebook.attempt("%jx ledger by size")
    assert isinstance(ran.error, UsageError)
    assert "cell, site, function" in ran.printed


def test_a_cell_with_a_callback_is_told_to_have_no_fast_path(notebook: Notebook) -> None:
    cell = "%%jit\njx.debug.print('{}', x)\ny = x + 1"
    shown = notebook.run(cell).shown[0]["text/plain"]
    assert "warning: every call goes through Python, because of callbacks" in shown
    assert "warning" not in notebook.run(cell).shown[0]["text/plain"]


def test_in_a_kernel_the_ledger_speaks_of_cells() -> None:
    with running_kernel() as kernel:
        kernel.ok(DEFINITION, "one")
        kernel.ok("f(x)", "two")
        kernel.ok(DEFINITION, "one")
        shown = kernel.ok("f(x)\n%jx ledger f", "three").result
        for text in (shown["text/plain"], shown["text/html"]):
            assert re.search(r"f was defined again: In\[\d\] → In\[\d\]", text)
            assert "ipykernel_" not in text
        assert kernel.ok("%jx ledger by site").result["text/plain"].count("Cell In[") == 2
