"""A cell and its copies: one program, and reasons that name what changed between them."""

from tests.jupyter.conftest import Notebook

CELL = "%%jit\ny = (x * 2).sum()"


def test_a_copy_of_a_cell_shares_its_program(notebook: Notebook) -> None:
    assert "miss: first run" in notebook.run(CELL, cell_id="first").line
    assert "hit" in notebook.run(CELL, cell_id="copy").line


def test_a_miss_in_a_copy_is_compared_with_the_cell_it_copies(notebook: Notebook) -> None:
    notebook.run(CELL, cell_id="first")
    notebook.run("x = x[:4]")
    assert "miss: x f32[8] → f32[4]" in notebook.run(CELL, cell_id="copy").line


def test_an_edited_copy_is_a_version_of_the_copy(notebook: Notebook) -> None:
    notebook.run(CELL, cell_id="first")
    notebook.run(CELL, cell_id="copy")
    assert "miss" in notebook.run(CELL.replace("2", "3"), cell_id="copy").line
    assert "hit" in notebook.run(CELL, cell_id="first").line
