"""Teaching mode in a notebook: lessons beside the cell, by the cell's name, and off again."""

import re

from IPython.core.error import UsageError

from jxkernel.config import config, run_hook
from jxkernel.jupyter import unload_ipython_extension
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import running_kernel


def test_lessons_name_the_cell_and_the_line(notebook: Notebook) -> None:
    shown = notebook.run("%jx teach on").value.text
    assert "Teaching mode is on" in shown
    assert "random key used again" in shown
    printed = notebook.run("i = jnp.array([12])\ny = x[i]").printed
    assert "lesson: index out of bounds (Cell In[3], line 2)\n    y = x[i]\n" in printed
    assert "instead: compare the index with x.shape" in printed
    printed = notebook.run("%%jit\nz = x[i] + 1").printed
    assert "lesson: index out of bounds (Cell In[4], line 2)\n    z = x[i] + 1" in printed
    assert "off" in notebook.run("%jx teach off").value.text
    assert "lesson" not in notebook.run("y = x[i]").printed


def test_a_key_used_in_two_cells_is_told(notebook: Notebook) -> None:
    notebook.run("%jx teach on")
    notebook.run("from jxkernel import random\nkey = random.key(0)")
    assert "lesson" not in notebook.run("a = random.normal(key)").printed
    printed = notebook.run("b = random.uniform(key)").printed
    assert "lesson: random key used again (Cell In[5], line 1)" in printed
    assert "(random.normal at Cell In[4], line 1)" in printed
    assert "key, subkey = random.split(key)" in printed


def test_an_update_that_is_dropped_is_told_in_any_cell(notebook: Notebook) -> None:
    cell = "x.at[0].set(5.0)\nfor i in range(2):\n    x.at[i].add(1)\ny = x"
    assert "lesson" not in notebook.run(cell).printed
    notebook.run("%jx teach on")
    printed = notebook.run(cell).printed
    assert "lesson: update dropped (Cell In[4], line 1)\n    x.at[0].set(5.0)" in printed
    assert "instead: x = x.at[0].set(5.0)" in printed
    assert "(Cell In[4], line 3)" in printed
    assert "lesson" not in notebook.run("x = x.at[0].set(5.0)\nx.at[0].add(1)").printed
    assert "lesson" not in notebook.attempt("x.at[0].set(5.0\ny = (").printed


def test_a_print_in_a_jitted_function_is_told(notebook: Notebook) -> None:
    notebook.run("%jx teach on")
    notebook.run("@jx.jit\ndef f(a):\n    print('hello')\n    return a + 1")
    printed = notebook.run("f(x)").printed
    assert "lesson: a side effect while tracing (Cell In[3], line 3)\n    print('hello')" in printed
    assert "jx.debug.print" in printed or "debug.print('{}', x)" in printed
    assert "lesson" not in notebook.run("f(x)").printed


def test_numpy_s_error_about_a_view_says_what_to_write(notebook: Notebook) -> None:
    notebook.run("a = np.asarray(x); own = np.arange(3); own.flags.writeable = False")
    cells = ["a[0] = 5", "a[2:] += 1", "b = a.reshape(2, 4)\nb[0, 0] = 1", "np.add(a, 1, out=a)"]
    assert "instead" not in notebook.fails(cells[0], ValueError).printed
    notebook.run("%config JX.teach = True")
    for cell in cells:
        printed = notebook.fails(cell, ValueError).printed
        name = "b" if "b[" in cell else "a"
        assert f"instead: {name} = np.array(...), a copy that may be changed" in printed, cell
        assert "x = x.at[i].set(value)" in printed
    assert "instead" not in notebook.fails("own[0] = 1", ValueError).printed


def test_the_setting_and_the_magic_are_one_and_unloading_restores(notebook: Notebook) -> None:
    before = config.values
    notebook.run("%jx teach on")
    assert notebook.session.settings.teach
    assert config.jax_debug_key_reuse
    notebook.run("%config JX.teach = False")
    assert (config.values, run_hook.value) == (before, None)
    assert "is off" in notebook.run("%jx teach").value.text
    assert isinstance(notebook.attempt("%jx teach maybe").error, UsageError)
    notebook.run("%jx teach on")
    unload_ipython_extension(notebook.shell)
    assert (config.values, run_hook.value) == (before, None)


def test_in_a_kernel_lessons_are_told_beside_the_cell() -> None:
    with running_kernel() as kernel:
        kernel.ok("from jxkernel import random\n%jx teach on")
        kernel.ok("key = random.key(0)\na = random.normal(key)", "one")
        reply = kernel.ok("b = random.normal(key) + np.ones(3)\nx[jnp.array([1, 9])]", "two")
        assert re.search(r"random key used again \(Cell In\[\d\], line 1\)", reply.streams)
        assert "64 bits became 32" in reply.streams
        assert re.search(r"index out of bounds \(Cell In\[\d\], line 2\)", reply.streams)
        assert "ipykernel_" not in reply.streams
        failed = kernel.run("np.asarray(x)[0] = 1\n")
        assert failed.status == "error"
        failed = kernel.run("v = np.asarray(x)\nv[0] = 1")
        assert "instead: v = np.array(...)" in failed.traceback
        failed = kernel.run("x[10]")
        assert "index 10 is out of bounds for axis 0 with size 8" in failed.traceback
        kernel.ok("%jx teach off")
        assert kernel.value("float(x[10])") == "7.0"
        assert "lesson" not in kernel.ok("random.normal(key)").streams
