"""Advice from the user's own code: it is run as it stands, and gives what was meant."""

import pytest

from tests.jupyter.conftest import Notebook

# The cell, the rewrite, and what stands in its place when it is run.
CHOICES = [
    ("if w > 0: r = w\nelse: r = -w", "r = jnp.where(w > 0, w, -w)", "{}"),
    ("r = 1.0\nif w > 0:\n    r += w", "r = jnp.where(w > 0, r + w, r)", "r = 1.0\n{}"),
    ("r = w if w > 5 else 0", "jnp.where(w > 5, w, 0)", "r = {}"),
    ("r = m if m > 5 else 0", "jnp.where(m > 5, m, 0)", "r = {}"),
    ("r = w > 1 and w < 3", "(w > 1) & (w < 3)", "r = {}"),
    (
        "def f(x):\n    if x > 0:\n        return x\n    else:\n        return 0.0\nr = f(w)",
        "return jnp.where(x > 0, x, 0.0)",
        "def f(x):\n    {}\nr = f(w)",
    ),
]


def rewritten(printed: str) -> str:
    """The first line of advice."""
    return printed.partition("What to write instead:\n")[2].splitlines()[0].strip()


@pytest.fixture
def cells(notebook: Notebook) -> Notebook:
    notebook.run("%xmode Context\nm = jnp.ones((3, 3))\nk = 2")
    return notebook


def test_choices_are_rewritten_from_the_users_own_code(cells: Notebook) -> None:
    for cell, rewrite, place in CHOICES:
        told = rewritten(cells.fails(f"%%jit\n{cell}", TypeError).printed)
        assert told == rewrite
        cells.run(f"%%jit\n{place.format(told)}")
        if "m >" not in cell:
            meant: dict[str, float] = {"w": 2.0}
            exec(cell, meant)
            assert float(cells.names["r"]) == meant["r"]


@pytest.mark.parametrize(
    "cell",
    [
        "if w > 0: r = 'a'\nelse: r = 'b'",
        "if w > 0: r = w\nelse: s = w",
        "if w > 0:\n    r = w\n    s = w",
        "def f(x):\n    if x > 9: return x\n    return f(x + 1)\nr = f(w)",
        "def f(x):\n    if x > 9: return\n    return x\nr = f(w)",
        "while w > 0:\n    w = w - 1",
    ],
)
def test_what_cannot_be_derived_is_told_as_an_idea(cells: Notebook, cell: str) -> None:
    printed = cells.fails(f"%%jit\n{cell}", TypeError).printed
    assert "choose between values with jnp.where" in printed
    assert "condition, a, b" not in printed


def test_advice_names_modules_as_they_were_imported(plain_notebook: Notebook) -> None:
    plain_notebook.run("%load_ext jxkernel\nimport jxkernel.numpy as np_, jxkernel as jk\nw = 2.0")
    assert rewritten(
        plain_notebook.fails("%%jit\nr = w if w > 5 else 0", TypeError).printed
    ).startswith("np_.where(")
    printed = plain_notebook.fails("%%jit\nwhile w > 0: w = w - 1", TypeError).printed
    assert "a jk.lax.while_loop" in printed


@pytest.mark.parametrize("cell", ["r = m.item()", "if m > 0: r = m", "r = bool((m > 0).any())"])
def test_an_array_is_not_told_to_be_static(cells: Notebook, cell: str) -> None:
    assert "static" not in cells.fails(f"%%jit\n{cell}", TypeError).printed


def test_a_type_is_told_without_the_mark_of_weak_ones(cells: Notebook) -> None:
    printed = cells.fails("%%jit\nr = int(k)", TypeError).printed
    assert "a traced value of type i32[] has none" in printed


def test_an_error_is_told_once(cells: Notebook) -> None:
    printed = cells.fails("r = jnp.concatenate([x, m])", (TypeError, ValueError)).printed
    assert printed.count("Traceback (most recent call last)") == 1


def test_a_deleted_array_is_told_with_what_took_it_over(cells: Notebook) -> None:
    cells.run(
        "import functools\n@functools.partial(jx.jit, donate_argnums=0)\n"
        "def step(state):\n    return state * 2\nq = jnp.ones(7)\n_ = step(q)"
    )
    printed = cells.fails("q + 1", RuntimeError).printed
    assert "step takes over the memory of its argument state" in printed


@pytest.mark.parametrize("cell", ["x + 'a'", "x.foo", "{x: 1}", "x < None", "x()"])
def test_errors_of_pythons_name_no_internal_class(cells: Notebook, cell: str) -> None:
    printed = cells.fails(cell, (TypeError, AttributeError)).printed
    assert "ArrayImpl" not in printed
    assert "array" in printed


def test_an_interrupt_is_told_in_one_sentence(cells: Notebook) -> None:
    cells.run(
        "import _thread, threading\nended = threading.Event()\n"
        "from jxkernel.jupyter.session.interrupts import run_interruptibly\n"
        "def work():\n    _thread.interrupt_main()\n    ended.wait()"
    )
    ran = cells.attempt("run_interruptibly(work)")
    cells.names["ended"].set()
    assert "KeyboardInterrupt: no longer waited for" in ran.printed
    assert "threading.py" not in ran.printed
