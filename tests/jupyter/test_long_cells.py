"""Long cells: what they cost grows with their lines, and what they show stays within bounds."""

import cProfile
from collections.abc import Callable

import pytest

from jxkernel.jupyter.views.view import HTML_LIMIT
from tests.jupyter.conftest import Notebook


def distinct_names(count: int) -> str:
    """Each line binds a name of its own."""
    return "\n".join(["a0 = x * 1.0", *(f"a{n} = a{n - 1} * {n}.5 + a0" for n in range(1, count))])


def one_expression(count: int) -> str:
    """One expression over as many lines."""
    return "\n".join(["a = (x", *(f"  + x * {n}.5" for n in range(count)), ")"])


def functions(count: int) -> str:
    """As many functions, each called once."""
    return "\n".join(f"def f{n}(a):\n    return a * {n}.5\nx = f{n}(x)" for n in range(count))


def comprehensions(count: int) -> str:
    """Nested comprehensions."""
    line = "x = x + sum([sum([x[i] * j for j in range(2)]) for i in range(2)])"
    return "\n".join([line] * count)


def names_read(count: int) -> str:
    """As many inputs."""
    return "s = 0.0\n" + "\n".join(f"s = s + n{n}" for n in range(count))


def calls_of(notebook: Notebook, cell: str) -> int:
    """How many functions running a cell calls, Python's and C's."""
    profile = cProfile.Profile()
    profile.enable()
    notebook.shell.run_cell(cell, store_history=True)
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("write", [distinct_names, one_expression, functions, comprehensions])
def test_cost_of_a_cell_grows_with_its_lines(
    notebook: Notebook, write: Callable[[int], str]
) -> None:
    notebook.run("%%jit --no-run\ny = x * 2")
    short, long = (calls_of(notebook, f"%%jit --no-run\n{write(n)}") for n in (60, 240))
    assert long < 4.4 * short


def test_cost_of_a_cell_grows_with_the_names_it_reads(notebook: Notebook) -> None:
    notebook.run("\n".join(f"n{n} = float({n})" for n in range(240)))
    short, long = (calls_of(notebook, f"%%jit --no-run\n{names_read(n)}") for n in (60, 240))
    assert long < 4.4 * short


@pytest.mark.parametrize("write", [distinct_names, one_expression, comprehensions])
def test_a_long_cell_shows_all_its_views(notebook: Notebook, write: Callable[[int], str]) -> None:
    ran = notebook.run(f"%%jit --no-run\n{write(600)}")
    (shown,) = ran.shown
    assert {*shown} == {"text/plain", "text/html", "application/vnd.jxkernel.jit+json"}
    assert len(shown["text/html"]) <= HTML_LIMIT


def test_cost_of_loops_in_loops_does_not_double_with_each(notebook: Notebook) -> None:
    def loops(depth: int) -> str:
        heads = "\n".join(f"{'  ' * n}for i{n} in range(1):" for n in range(depth))
        return f"%%jit --no-run\n{heads}\n{'  ' * depth}y = x * 2"

    notebook.run(loops(1))
    short, long = (calls_of(notebook, loops(depth)) for depth in (5, 15))
    assert long < 4 * short


def test_one_change_in_a_long_cell_is_found(notebook: Notebook) -> None:
    lines = ["%%jit --no-run", *["x = x + 1.0"] * 500]
    notebook.run("\n".join(lines), cell_id="long")
    lines[300] = "x = x * 2.0"
    assert "edited: line 301" in notebook.run("\n".join(lines), cell_id="long").line


def test_chain_of_many_names_is_cut_before_its_argument(notebook: Notebook) -> None:
    notebook.run(f"%%jit --no-run\n{distinct_names(60).replace(' + a0', '')}")
    told = repr(notebook.run("%jx why a59").value)
    assert told.count("←") < 30
    assert told.rstrip().endswith("← x: f32[8], argument")
