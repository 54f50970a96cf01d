"""The quiz in a notebook: listed, shown with the answer folded away, and graded."""

import pytest
from IPython.core.error import UsageError

from jxkernel.jupyter.teaching.requests import guess
from jxkernel.observe.teaching.quiz import clear
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import running_kernel

MIME = "application/vnd.jxkernel.quiz+json"


@pytest.fixture(autouse=True)
def _nothing_solved() -> None:
    clear()


def test_exercises_are_listed_shown_and_graded(notebook: Notebook) -> None:
    assert "first-steps" in notebook.run("%jx quiz").value.text
    shown = notebook.run("%jx quiz shapes").value
    assert "answer with: jax.quiz('shapes', YOUR GUESS)" in shown.text
    assert "reused" not in shown.text
    assert "<details><summary>What really happens</summary>" in shown.html
    assert "reused 2 times" in shown.html
    assert shown.data["answer"] == "2"
    assert shown.html.count('name="jxk') == 7
    assert "Not quite: you said 4, and it is 2 traces." in shown.html
    graded = notebook.run("%jx quiz shapes 4").value
    assert graded.text.startswith("Not quite: you said 4, and it is 2 traces.")
    assert "✗ Not quite" in graded.html
    assert graded.data["correct"] is False
    assert "✓" in notebook.run("%jx quiz shapes 2").value.html
    assert notebook.run("%jx quiz baked-in 10").value.text.startswith("Yes: 10.0.")
    assert "2 of 12 answered right" in notebook.run("%jx quiz").value.text
    assert notebook.session.ledger(fun="f") == ()
    assert guess(notebook.session, "static", False) == {"kept": True}
    assert guess(notebook.session, "mine", True) == {"kept": False}
    assert "✗ static" in notebook.run("%jx quiz").value.text


def test_a_teacher_s_function_in_a_cell_is_an_exercise(notebook: Notebook) -> None:
    notebook.run(
        "def mine():\n"
        '    """Traces of this <b>?"""\n'
        "    f = jx.jit(lambda v: v + 1)\n"
        "    f(x); f(x[:2]); f(x)"
    )
    shown = notebook.run("%jx quiz mine").value
    assert "Traces of this <b>?" in shown.text
    assert "Traces of this &lt;b&gt;?" in shown.html
    assert "jax.quiz(mine, YOUR GUESS)" in shown.text
    assert notebook.run("%jx quiz mine 2").value.text.startswith("Yes: 2 traces.")
    assert "v: f32[8] → f32[2]" in str(notebook.run("jx.quiz(mine, 1)").value)


@pytest.mark.parametrize(
    ("words", "told"),
    [("nothing", "no exercise 'nothing'"), ("x", "no exercise 'x'"), ("shapes a", "an integer")],
)
def test_wrong_words_are_told(notebook: Notebook, words: str, told: str) -> None:
    ran = notebook.attempt(f"%jx quiz {words}")
    assert isinstance(ran.error, UsageError)
    assert told in ran.printed


def test_in_a_kernel_the_plain_function_shows_the_view() -> None:
    with running_kernel() as kernel:
        shown = kernel.ok("jx.quiz('lambda')").result
        assert "answer with" in shown["text/plain"]
        assert "<details>" in shown["text/html"]
        assert shown[MIME]["answer"] == "3"
        graded = kernel.ok("jx.quiz('lambda', 1)").result
        assert graded["text/plain"].startswith("Not quite: you said 1, and it is 3 traces.")
        assert graded[MIME]["correct"] is False
        assert "first-steps" in kernel.ok("jx.quiz()").result["text/html"]
