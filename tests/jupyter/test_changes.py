"""What a body cell changes in place: traced inputs keep it, static objects are put back."""

import numpy as np
import pytest

from jxkernel.errors import LeakError
from tests.jupyter.conftest import Notebook

LAYER = (
    "from dataclasses import dataclass\n"
    "@jx.tree_util.register_dataclass\n@dataclass\nclass Layer:\n    w: object\n    b: object\n"
)
MODEL = (
    "class Model:\n"
    "    def __init__(self): self.w = x\n"
    "    def step(self): self.w = self.w + 1\n"
    "m = Model()"
)


@pytest.mark.parametrize(
    ("before", "cell", "check"),
    [
        (
            "p = {'w': x, 'lr': 0.5}",
            "p['w'] = p['w'] * p['lr']",
            "p['w'][2] == 1 and p['lr'] == 0.5",
        ),
        ("p = {'w': x}", "p['w'] -= 1", "p['w'][0] == -1"),
        (
            "p = {'in': {'w': x}}\ninner = p['in']",
            "p['in']['w'] += 1",
            "p['in']['w'][0] == 1 and inner is p['in']",
        ),
        ("p = {'w': x, 'v': w}", "del p['v']; p.update(u=p['w'])", "[*p] == ['u', 'w']"),
        ("p = [x]", "p.append(x + 1)", "len(p) == 2 and p[1][0] == 1"),
        ("p = []", "p.append(x + 1)", "len(p) == 1 and p[0][0] == 1"),
        ("p = [x]", "p += [x]", "len(p) == 2"),
        ("p = [{'a': x}, {'a': w}]", "p.reverse()", "[np.ndim(d['a']) for d in p] == [0, 1]"),
        ("p = ([x], 1.0)", "p[0].append(2.0)", "len(p[0]) == 2 and p[1] == 1.0"),
        (LAYER + "p = Layer(x, w)", "p.w = p.w * 2", "p.w[1] == 2 and p.b == 2.0"),
        ("p = [x]\ndef put(q): q[0] = q[0] + 5", "put(p)", "p[0][0] == 5"),
    ],
)
def test_a_traced_input_is_changed_in_place(
    notebook: Notebook, before: str, cell: str, check: str
) -> None:
    notebook.run(f"{before}\nalias = p")
    ran = notebook.run(f"%%jit\n{cell}")
    assert "warning" not in ran.shown[0]["text/plain"] or "put" in cell
    assert notebook.run("p is alias").value
    assert bool(notebook.run(check).value)


def test_a_training_loop_over_a_dict_is_traced_once(notebook: Notebook) -> None:
    notebook.run("params = {'w': x, 'b': 0.0}")
    cell = "%%jit\nparams['w'] = params['w'] - 0.5\nparams['b'] += 1"
    notebook.run(cell)
    notebook.run(cell)  # the number b has become an array
    assert notebook.run(cell).line.endswith("hit")
    assert float(notebook.names["params"]["b"]) == 3.0
    np.testing.assert_array_equal(notebook.names["params"]["w"], np.arange(8.0) - 1.5)


def test_a_failing_cell_leaves_its_inputs_alone(notebook: Notebook) -> None:
    notebook.run("p = {'w': x}; log = ['start']")
    notebook.fails("%%jit\np['w'] = 0\nlog.append('more')\nx.nothing", AttributeError)
    assert notebook.names["log"] == ["start"]
    np.testing.assert_array_equal(notebook.names["p"]["w"], np.arange(8.0))


@pytest.mark.parametrize(
    ("before", "cell", "holder", "code"),
    [
        ("log = ['a']", "y = x + 1\nlog.append(y)", "held by log[1]", "log.append(y)"),
        ("d = {'k': 'a'}", "d['v'] = [x]", "held by d['v']", "d['v'] = [x]"),
        (MODEL, "m.step()", "held by m.w", "m.step()"),
        (MODEL, "m.w = x * 2", "held by m.w", "m.w = x * 2"),
        ("log = ['a']\ndef f(a):\n    log.append(a)", "f(x)", "held by log[1]", ""),
        (MODEL, "n = Model()\nn.step()", "held by the name n of the cell", "n = Model()"),
    ],
)
def test_a_traced_value_put_into_a_static_object_is_refused_and_taken_out(
    notebook: Notebook, before: str, cell: str, holder: str, code: str
) -> None:
    notebook.run(before)
    ran = notebook.fails(f"%%jit\n{cell}", LeakError)
    assert holder in ran.printed
    assert isinstance(ran.error, LeakError)
    assert ran.error.code == code
    assert "Cell In[3], line" in ran.printed or not code
    assert "run_cell_magic" not in ran.printed
    assert (
        "Traced"
        not in notebook.run(
            "str([vars(m) if 'm' in globals() else 0, globals().get('log'), globals().get('d')])"
        ).value
    )


def test_a_global_of_a_function_in_the_cell_is_written_back(notebook: Notebook) -> None:
    ran = notebook.run("%%jit\ndef keep():\n    global kept\n    kept = x + 1\nkeep()")
    np.testing.assert_array_equal(notebook.names["kept"], np.arange(8.0) + 1)
    assert "warning" not in ran.shown[0]["text/plain"]
    notebook.run("%%jit\ndef f(a):\n    global kept\n    kept = 3\n    return a")


def test_an_attribute_of_a_module_is_part_of_the_key(notebook: Notebook) -> None:
    notebook.run("import types\nsettings = types.ModuleType('settings')\nsettings.k = 2.0")
    notebook.run("def scaled(a): return a * settings.k")
    for cell in ("%%jit\ny = x * settings.k", "%%jit\ny = scaled(x)"):
        notebook.run("settings.k = 2.0")
        notebook.run(cell)
        assert notebook.run(cell).line.endswith("hit")
        notebook.run("settings.k = 3.0")
        line = notebook.run(cell).line
        assert "miss" in line
        assert float(notebook.names["y"][1]) == 3.0
    notebook.run("settings.k = 4.0")
    assert "settings(k=3.0) → settings(k=4.0)" in notebook.run("%%jit\ny = x * settings.k").line
