"""`%%jit` beside the rest of IPython: other notebooks, scripts, functions, autoreload, threads."""

import multiprocessing
import os
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest

from jxkernel.jupyter import unload_ipython_extension
from jxkernel.jupyter.session import session
from jxkernel.jupyter.session.forking import fork_watch
from tests.jupyter.conftest import Notebook


def test_a_notebook_run_inside_a_notebook(notebook: Notebook, tmp_path: Path) -> None:
    file = tmp_path / "other.ipynb"
    cells = ["import jxkernel.numpy as jnp\nx = jnp.arange(3.0)", "%%jit\ny = x + 1"]
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), file
    )
    notebook.run(f"%run {file}")
    np.testing.assert_array_equal(notebook.names["y"], [1, 2, 3])
    assert notebook.session.running.label == "outside cells"


def test_the_magic_called_from_a_function(notebook: Notebook) -> None:
    notebook.run("def run():\n    return get_ipython().run_cell_magic('jit', '', 'y = x + 1\\ny')")
    np.testing.assert_array_equal(notebook.run("run()").value, np.arange(8.0) + 1)


def test_a_cell_that_runs_a_cell_has_both_in_the_record(notebook: Notebook) -> None:
    notebook.run("get_ipython().run_cell('%%jit\\ny = x + 1')")
    assert "y" in notebook.names
    notebook.run("%%jit\nz = x + 2")
    assert "In[3]" in notebook.session.recorder.totals_by_cell()


def test_autoreload_and_the_extension_get_along(notebook: Notebook) -> None:
    notebook.run("%load_ext autoreload\n%autoreload 2")
    cell = "%%jit\ny = jnp.sin(x)"
    notebook.run(cell)
    assert notebook.run(cell).line.endswith("hit")
    notebook.run("%unload_ext autoreload")


MODULE = """
import jxkernel as jx
K = {k}
def inner(a): return a * {k}
def f(a): return inner(a)
@jx.jit
def g(a): return a * {k}
class C:
    def m(self, a): return a * {k}
"""


def test_what_autoreload_changes_is_never_stale(
    notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "reloaded_module.py"
    cells = [
        *("%%jit\nm.f(x)[1]", "%%jit\nf(x)[1]", "%%jit\ng(x)[1]", "%%jit\nm.g(x)[1]"),
        *("%%jit\n(x * m.K)[1]", "%%jit\nc.m(x)[1]", "g(x)[1]", "m.g(x)[1]", "h(x)[1]"),
    ]
    notebook.run("%load_ext autoreload\n%autoreload 2")
    for k in (2, 7):
        file.write_text(MODULE.format(k=k))
        os.utime(file, (1_000_000_000 + k, 1_000_000_000 + k))
        if k == 2:
            notebook.run(
                "import reloaded_module as m\nfrom reloaded_module import f, g, C\n"
                "c = C()\nh = jx.jit(f)"
            )
        found = {cell: float(notebook.run(cell).value) for cell in cells}
        assert found == dict.fromkeys(cells, k)
    notebook.run("%unload_ext autoreload\nimport sys; del sys.modules['reloaded_module']")


def test_a_fork_is_told_once_and_the_parent_goes_on(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = fork_watch()
    monkeypatch.setattr(watch, "_told", False)
    notebook.run("other = get_ipython().getoutput('echo one')")
    told = [notebook.attempt(FORK).printed for _ in range(2)]
    assert [text.count("this cell forks the kernel") for text in told] == [1, 0]
    assert notebook.names["status"] == 0
    notebook.run("%%jit\ny = x + 1")
    unload_ipython_extension(notebook.shell)
    assert not watch.active


FORK = """
import os, warnings
with warnings.catch_warnings():
    warnings.simplefilter('ignore')
    child = os.fork()
if child == 0:
    os._exit(0)
status = os.waitpid(child, 0)[1]
"""


def test_line_magics_and_shell_commands_in_a_traced_cell(notebook: Notebook) -> None:
    notebook.run("%%jit\nlines = !echo one\nfolder = %pwd\ny = x + 1")
    assert list(notebook.names["lines"]) == ["one"]
    assert "y" in notebook.names


def test_hidden_names_and_history_are_left_alone(notebook: Notebook) -> None:
    notebook.run("%%jit\ny = x + 1\ny")
    notebook.run("%%jit\nz = Out[2] * 2")
    np.testing.assert_array_equal(notebook.names["z"], (np.arange(8.0) + 1) * 2)
    assert "run_cell_magic('jit', '', " in notebook.names["In"][2]


def test_resetting_the_notebook(notebook: Notebook) -> None:
    cell = "%%jit\ny = x + 1"
    notebook.run(cell)
    notebook.run("%reset -f")
    assert "name 'x' is not defined" in notebook.fails(cell, NameError).printed
    notebook.run("import jxkernel.numpy as jnp\nx = jnp.arange(8.0)")
    assert notebook.run(cell).line.endswith("hit")


def test_a_long_session_forgets_its_oldest_cells(notebook: Notebook) -> None:
    many = {number: number for number in range(10)}
    session._forget_oldest(many, 3)
    assert list(many) == [7, 8, 9]
    assert session._REMEMBERED_CELLS >= 100


def test_a_process_started_from_a_cell_is_plain_python(notebook: Notebook) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        assert pool.apply(abs, (-3,)) == 3
    assert notebook.run("%%jit\ny = x + 1").line.startswith("jit")


def test_a_cell_magic_inside_another(notebook: Notebook) -> None:
    printed = notebook.run("%%capture kept\nprint('inside')\ny = jnp.sin(x)").printed
    assert "inside" not in printed
    timed = notebook.run("%%timeit -n 2 -r 1\njnp.sin(x)").printed
    assert "latency" in timed
