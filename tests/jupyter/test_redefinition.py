"""Functions and cells that are defined again leave nothing of their former selves behind."""

import gc
import weakref

import pytest

from tests.jupyter.conftest import Notebook

DEFINITIONS = (
    "import weakref\n"
    "x = jnp.ones(3)\n"
    "class Data:\n    pass\n"
    "def make(data):\n"
    "    def f(x): return x * 2 if data else x\n"
    "    return f\n"
    "class Model:\n"
    "    def __init__(self, data): self.data = data\n"
    "    def step(self, x): return x * 2 if self.data else x\n"
)
FORMS = {
    "closure": "g = jx.jit(make(data)); g(x);",
    "decorated": "@jx.jit\ndef g(x, data=data): return x + 1\ng(x)",
    "method": "model = Model(data); g = jx.jit(model.step); g(x)",
    "static": "g = jx.jit(lambda x, d: x + 1, static_argnums=1); g(x, data)",
    "recursive": (
        "@jx.jit\ndef g(x, depth=(data, 1)):\n"
        "    return x if depth is None else g.__wrapped__(x, None)\n"
        "g.__wrapped__(x)"
    ),
    "gradient": "h = make(data); g = jx.jit(jx.grad(lambda x: h(x).sum())); g(x)",
}


def rerun(notebook: Notebook, form: str, times: int) -> list[weakref.ref]:
    """Run a cell again and again, with data of its own each time; return references to these."""
    notebook.run(DEFINITIONS)
    known = []
    for _ in range(times):
        notebook.run("data = Data()")
        notebook.run(form, cell_id="the-cell")
        known.append(weakref.ref(notebook.names["data"]))
    return known


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_former_definitions_held_is_freed(notebook, form):
    known = rerun(notebook, form, 6)
    gc.collect()
    assert [one() is not None for one in known] == [False] * 5 + [True]


@pytest.mark.slow
def test_two_thousand_reruns_hold_one_function(notebook):
    known = rerun(notebook, FORMS["closure"], 2000)
    gc.collect()
    assert sum(one() is not None for one in known) == 1


def test_a_stale_value_is_still_told(notebook):
    notebook.run("x = jnp.ones(3)\nclass Box:\n    pass\nscale = Box()")
    notebook.run("@jx.jit\ndef g(x): return x if scale else x * 2")
    notebook.run("g(x)")
    notebook.run("scale = None")
    assert "scale" in notebook.run("g(x)").printed
