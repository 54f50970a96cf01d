"""Jitted functions are watched as `%%jit` cells are: `%jx why`, `%jx map`, marks for editors."""

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jxkernel as jx
from jxkernel.jupyter.provenance.requests import marks as answer
from tests.jupyter.conftest import Notebook

DEFINED = """\
@jx.jit
def step(v):
    h = v * w
    for i in range(3):
        h = h + i
    return h"""


def told(notebook: Notebook, line: str) -> str:
    """What a line magic answers, as text."""
    return str(notebook.run(line).value)


def marks(notebook: Notebook, since: int) -> list[dict[str, Any]]:
    """What a front end is told, in plain data."""
    maps: list[Any] = [*answer(notebook.session, since)["maps"]]
    return maps


@pytest.fixture
def traced(notebook: Notebook) -> Notebook:
    """A notebook with a function that one cell defines and another calls."""
    notebook.run(DEFINED, cell_id="defining")
    notebook.run("y = step(x)", cell_id="calling")
    return notebook


def test_a_function_of_one_cell_that_another_calls_is_explained(traced: Notebook) -> None:
    why = told(traced, "%jx why h")
    assert "h in step: traced, f32[8]" in why
    assert "h = h + i    (line 5)" in why
    assert "← v: f32[8], argument" in why
    shown = told(traced, "%jx map step")
    assert "T h: f32[8]" in shown
    assert "S i: 2" in shown
    assert "unrolled, line 4: 3 rounds made 3 equations" in shown
    assert "lax.fori_loop(0, 3, body, h)" in shown


def test_the_star_of_a_weak_type_is_explained(notebook: Notebook) -> None:
    notebook.run("k = 2\n@jx.jit\ndef twice(a):\n    b = a * 2\n    return b\ntwice(k)")
    why = told(notebook, "%jx why b")
    assert "b in twice: traced, i32*[]" in why
    assert "* a weak type: made from Python numbers" in why
    notebook.run("twice(x)")
    assert "weak" not in told(notebook, "%jx why b")


def test_a_function_is_marked_in_the_cell_that_defines_it(traced: Notebook) -> None:
    (one,) = marks(traced, 0)
    assert one["cell"] == "defining"
    assert one["function"]["name"] == "step"
    assert ("traced", "h", 3) in [
        (mark["kind"], mark["code"], mark["line"]) for mark in one["function"]["marks"]
    ]
    assert one["function"]["loops"][0]["times"] == 3
    assert marks(traced, one["number"]) == []
    traced.run("step(jnp.ones((2, 2)))")
    (again,) = marks(traced, one["number"])
    assert again["function"]["names"][0]["detail"] == "f32[2,2]"


def test_what_is_called_again_is_not_watched_again(traced: Notebook) -> None:
    before = traced.session.marks
    traced.run("for _ in range(5): step(x)")
    assert traced.session.marks == before
    assert sys.gettrace() is None


@pytest.mark.parametrize(
    ("cell", "name", "expected"),
    [
        (
            "class Model:\n    def __init__(self):\n        self.step = jx.jit(self._step)\n"
            "    def _step(self, z):\n        return z + 1\nmodel = Model(); model.step(x)",
            "model.step",
            "T z: f32[8]",
        ),
        ("triple = jx.jit(lambda t: t * 3)\ntriple(x)", "triple", "T t: f32[8]"),
        (
            "import functools\ndef scaled(a, b):\n    c = a * b\n    return c\n"
            "half = jx.jit(functools.partial(scaled, b=0.5)); half(x)",
            "half",
            "S b: 0.5",
        ),
        (
            "def inner(a):\n    b = a + 1\n    return b\n"
            "@jx.jit\ndef outer(c):\n    return inner(c)\nouter(x)",
            "inner",
            "T b: f32[8]",
        ),
        (
            "def cost(a):\n    s = a.sum()\n    return s\njx.jit(jx.grad(cost))(x)",
            "cost",
            "T s: f32[]",
        ),
        (
            "class Net:\n    def __call__(self, a):\n        b = a * 2\n        return b\n"
            "net = Net(); jx.jit(net)(x)",
            "net",
            "T b: f32[8]",
        ),
    ],
    ids=["method", "lambda", "partial", "inner", "gradient", "callable object"],
)
def test_every_kind_of_function_has_a_map(
    notebook: Notebook, cell: str, name: str, expected: str
) -> None:
    notebook.run(cell)
    shown = told(notebook, f"%jx map {name}")
    assert expected in shown
    assert "outer" not in shown


def test_a_map_is_of_the_function_that_is_asked_for(traced: Notebook) -> None:
    traced.run("%%jit\nz = x + 1")
    assert "step (" in told(traced, "%jx map step").splitlines()[0]
    traced.run("def never(a): return a")
    assert "never was not traced yet" in traced.attempt("%jx map never").printed
    assert "w is not a Python function" in traced.attempt("%jx map w").printed


def test_a_failed_trace_is_seen_up_to_its_failure(notebook: Notebook) -> None:
    notebook.run(
        "@jx.jit\ndef bad(a):\n    b = a + 1\n    if b.sum() > 0:\n        c = b\n    return b",
        cell_id="bad",
    )
    notebook.fails("bad(x)", jx.errors.TracerBoolConversionError)
    assert "b in bad: traced, f32[8]" in told(notebook, "%jx why b")
    assert "T b: f32[8]" in told(notebook, "%jx map bad")
    assert sys.gettrace() is None
    notebook.run("good = jx.jit(lambda a: a * 2)(x)")
    assert "T a: f32[8]" in told(notebook, "%jx map")


def test_a_failed_cell_keeps_its_marks_up_to_the_failure(notebook: Notebook) -> None:
    notebook.fails(
        "%%jit\nc = x + 1\nif c.sum() > 0:\n    d = c",
        jx.errors.TracerBoolConversionError,
        cell_id="failed",
    )
    assert "c in the cell: traced, f32[8]" in told(notebook, "%jx why c")
    (one,) = marks(notebook, 0)
    assert one["cell"] == "failed"
    assert [mark["code"] for mark in one["function"]["marks"] if mark["is_name"]][:2] == ["c", "x"]


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module of the user's, beside the notebook."""
    file = tmp_path / "layers_of_mine.py"
    file.write_text(
        "import jxkernel as jx\n\n\n@jx.jit\ndef layer(v):\n    s = v * 2\n    return s\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield file
    sys.modules.pop("layers_of_mine", None)
    importlib.invalidate_caches()


def test_functions_of_an_imported_file_have_their_marks(notebook: Notebook, imported: Path) -> None:
    notebook.run("import layers_of_mine\nlayers_of_mine.layer(x)")
    assert "T s: f32[8]" in told(notebook, "%jx map layers_of_mine.layer")
    (one,) = marks(notebook, 0)
    assert one["cell"] == ""
    assert one["function"]["file"] == str(imported)
    assert one["function"]["source"][1].startswith("def layer")


def test_a_debugger_is_left_alone(notebook: Notebook) -> None:
    seen: list[str] = []

    def tracer(frame: object, event: str, argument: object) -> None:
        seen.append(event)

    notebook.names["tracer"] = tracer
    notebook.run("import sys\nsys.settrace(tracer)\nf = jx.jit(lambda a: a + 1)\nf(x)\n"
                 "kept = sys.gettrace()\nsys.settrace(None)")  # fmt: skip
    assert notebook.names["kept"] is tracer
    assert notebook.session.marks == 0
    assert seen


def test_a_debugger_that_comes_in_the_midst_of_a_trace_stays(notebook: Notebook) -> None:
    def tracer(frame: object, event: str, argument: object) -> None:
        return None

    notebook.names["tracer"] = tracer
    notebook.run("import sys\ndef f(a):\n    sys.settrace(tracer)\n    return a + 1\n"
                 "jx.jit(f)(x)\nkept = sys.gettrace()\nsys.settrace(None)")  # fmt: skip
    assert notebook.names["kept"] is tracer


def test_threads_are_watched_each_for_itself(notebook: Notebook) -> None:
    notebook.run("def f(a):\n    b = a + 1\n    return b\ndef g(a):\n    c = a * 2\n    return c")
    functions = [jx.jit(notebook.names[name]) for name in "fg"]
    threads = [
        threading.Thread(target=function, args=(notebook.names["x"],)) for function in functions
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {one.function.name for one in notebook.session.marked.values()} == {"f", "g"}


def test_names_are_not_watched_where_the_settings_say_so(notebook: Notebook) -> None:
    notebook.run(f"%config JX.names = False\n{DEFINED}\nstep(x)")
    assert notebook.session.marks == 0


def test_nothing_holds_what_was_traced(notebook: Notebook) -> None:
    notebook.run("import weakref\nbig = jnp.ones(1000)\n@jx.jit\ndef f(a):\n    return a + big")
    notebook.run("f(jnp.ones(1000)); gone = weakref.ref(big)")
    notebook.run("del big, f\njx.clear_caches()\nimport gc; gc.collect()")
    assert notebook.names["gone"]() is None


def test_a_trace_of_very_many_calls_is_watched_at_its_beginning(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jxkernel.jupyter.session.watching._CALLS", 200)
    notebook.run(
        "def wave(a):\n    return jnp.sin(a)\n"
        "@jx.jit\ndef long(a):\n    first = a + 1\n    for _ in range(201):\n"
        "        a = wave(a)\n    last = a + first\n    return last\nlong(x)"
    )
    shown = told(notebook, "%jx map long")
    assert "T first: f32[8]" in shown
    assert "last:" not in shown
    assert sys.gettrace() is None
