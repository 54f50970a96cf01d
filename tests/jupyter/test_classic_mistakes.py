"""The classic mistakes: the right error on the right expression, and a rewrite that works."""

import itertools
import sys

import pytest

from tests.jupyter.all_mistakes import ALL_MISTAKES
from tests.jupyter.conftest import SETUP, Notebook
from tests.jupyter.mistakes import BOOL, CONCRETE, MISTAKES, Mistake
from tools.mistakes import PAGE, page
from tools.mistakes_before import COMMIT, recorded

PLACEHOLDERS = (
    "NAME",
    "static_argnames=...",
    "condition, a, b",
    "(a, b)",
    "[a, b]",
    "mask",
    "x[i]",
    "b.at[i]",
    "asarray(values)",
    "body, start",
)
"""Names of nobody's: advice is in the user's own, or a sentence."""


def underlined(printed: str) -> list[str]:
    """What a message underlines: the expressions above its lines of carets."""
    lines = printed.splitlines()
    return [
        code[len(carets) - len(carets.lstrip()) : len(carets)]
        for code, carets in itertools.pairwise(lines)
        if carets.strip() and set(carets.strip()) == {"^"}
    ]


@pytest.fixture
def notebook(lasting_notebook: Notebook) -> Notebook:
    lasting_notebook.run(f"{SETUP}\n%xmode Context")
    return lasting_notebook


@pytest.mark.parametrize(
    "mistake",
    ALL_MISTAKES,
    ids=lambda one: one.cell.splitlines()[-1],
)
def test_mistake(notebook: Notebook, mistake: Mistake) -> None:
    notebook.run("k = 2; log = ['start']\nclass Model:\n    pass\nmodel = Model()")
    notebook.run("params = {'w': x, 'b': jnp.ones(5)}")
    ran = notebook.fails(f"%%jit\n{mistake.cell}", mistake.error)
    assert type(ran.error) is mistake.error
    assert mistake.says
    assert mistake.says in ran.printed
    marked = underlined(ran.printed)[-1]
    if sys.version_info < (3, 12) and mistake.underlined[0] == "{":
        assert mistake.underlined in marked, "Python 3.11 knows the text as a whole"
    else:
        assert marked == mistake.underlined
    for inner in ("jxkernel/", "run_cell_magic", "ipython-input", "StageTracer"):
        assert inner not in ran.printed
    advice = ran.printed.rpartition("What to write instead:\n")[2]
    assert not [one for one in PLACEHOLDERS if one in advice], advice
    notebook.run(f"%%jit {mistake.flags}\n{mistake.rewrite}")


def test_the_page_has_every_row() -> None:
    assert PAGE.read_text() == page(), "intended? `make surface`"


def test_what_was_said_before_is_recorded_for_every_row() -> None:
    before = recorded()
    assert set(before) == {mistake.cell for mistake in ALL_MISTAKES}, (
        "python -m tools.mistakes_before"
    )
    assert all(said["said"] for said in before.values() if said["error"])
    columns = [line.split(" | ")[2] for line in page().splitlines() if line.startswith("| <pre>")]
    assert len(columns) == len(ALL_MISTAKES)
    assert all(column.startswith("`") or column.startswith("no error") for column in columns)
    assert COMMIT in page()


def test_there_are_many_rows() -> None:
    assert len({mistake.cell for mistake in MISTAKES}) >= 110


@pytest.mark.parametrize("mistake", MISTAKES[::9], ids=lambda one: one.cell.splitlines()[-1])
def test_a_mistake_with_every_frame(notebook: Notebook, mistake: Mistake) -> None:
    notebook.run("k = 2\n%xmode Verbose")
    ran = notebook.fails(f"%%jit\n{mistake.cell}", mistake.error)
    assert mistake.says in ran.printed
    assert "run_cell_magic" in ran.printed


def test_an_import_of_jax_says_what_stands_for_it(notebook: Notebook) -> None:
    for line in ("import jax", "import jax.numpy as jnp2", "from jax import grad"):
        ran = notebook.fails(line, ModuleNotFoundError)
        assert "%jx alias jax, then import jax" in ran.printed
    assert "%jx alias" not in notebook.fails("import no_such_module", ImportError).printed
    notebook.run("%jx alias jax\nimport jax")
    notebook.run("%jx alias jax off")


def test_loops_of_training_under_an_alias_are_told_in_their_own_names(notebook: Notebook) -> None:
    notebook.run("%jx alias jax\nimport jax\nimport jax.numpy as jnp\ndel jx\n"
                 "params = {'w': x}\ndef loss_fn(p):\n    return (p['w'] * x).sum()")  # fmt: skip
    step = "@jax.jit\ndef step(p):\n    loss = loss_fn(p)\n    {}\n    return p\nstep(params)"
    try:
        for line, kind, told in (
            ("print(loss.item())", CONCRETE, "jax.debug.print('{}', loss)"),
            ("if loss < 1: return p", BOOL, "lax.cond(loss < 1, lambda: p, lambda: p)"),
            ("loss.backward()", AttributeError, "jax.grad of a function"),
            ("jax.no_grad()", AttributeError, "leave it out: a derivative is made only where"),
            ("jax.random.split(0)", TypeError, "jax.random.key(0)"),
        ):
            printed = notebook.fails(step.format(line), kind).printed
            assert told in printed, printed
            assert "jxkernel." not in printed
    finally:
        notebook.run("%jx alias jax off\nimport jxkernel as jx, jxkernel.numpy as jnp")
