"""A whole notebook cell has its provenance too, run in a namespace or as a function."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest

from jxkernel.lax import add, mul
from jxkernel.observe.marks import Provenance
from tests.observe.test_provenance import map_of, see

ONES = np.ones(4, np.float32)
CELL = """\
hidden = mul(x, x)
for step in range(rounds):
    hidden = add(hidden, x)
log.append(step)
squares = [mul(hidden, hidden) for _ in range(2)]
loss = add(hidden, squares[0])
"""


@pytest.fixture
def cell() -> Iterator[Callable[[], CodeType]]:
    """Compiles the cell under a file name whose lines are known."""
    file = "<ipython-input-7-abc>"
    linecache.cache[file] = (len(CELL), None, CELL.splitlines(keepends=True), file)
    yield lambda: compile(CELL, file, "exec")
    linecache.cache.pop(file)


def names_in_cell() -> dict[str, Any]:
    """A notebook's variables."""
    return {"mul": mul, "add": add, "rounds": 2, "log": [], "unused": ONES}


def see_namespace_cell(code: CodeType) -> Provenance:
    """The provenance of a cell whose names live in the namespace."""

    def run(x: Any) -> Any:
        namespace = {**names_in_cell(), "x": x}
        exec(code, namespace)
        return namespace["loss"]

    return see(run, ONES)


def see_function_cell(code: CodeType) -> Provenance:
    """The provenance of a cell that was made a function of what it reads, as `%%jit` does."""
    body = "".join(f"    {line}\n" for line in CELL.splitlines())
    tree = ast.parse(f"def cell(x, rounds, log):\n{body}    return loss\n")
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno, node.end_lineno = node.lineno - 1, node.end_lineno - 1
            node.col_offset, node.end_col_offset = node.col_offset - 4, node.end_col_offset - 4
    tree.body[0].lineno = tree.body[0].end_lineno = 1
    for node in ast.walk(tree.body[0].args):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    tree.body[0].col_offset = 0
    namespace = {**names_in_cell()}
    made = compile(tree, code.co_filename, "exec")
    inner = next(one for one in made.co_consts if isinstance(one, CodeType))
    function = FunctionType(inner.replace(co_name="<module>"), namespace)
    return see(lambda x: function(x, 2, []), ONES)


@pytest.mark.parametrize("see_cell", [see_namespace_cell, see_function_cell])
def test_whole_cell_is_a_function_of_its_names(
    cell: Callable[[], CodeType], see_cell: Callable[[CodeType], Provenance]
) -> None:
    seen = see_cell(cell())
    found = map_of(seen, "<module>")
    kinds = {fact.name: (fact.kind, fact.detail) for fact in found.names}
    assert kinds["hidden"] == kinds["loss"] == ("traced", "f32[4]")
    assert kinds["squares"] == ("traced", "[f32[4], f32[4]]")
    assert kinds["rounds"] == ("static", "2")
    assert "unused" not in kinds
    assert seen.why("loss").splitlines() == [
        "loss in the cell: traced, f32[4]",
        "  loss = add(hidden, squares[0])    (line 6)",
        "  ← hidden: f32[4]    hidden = add(hidden, x)    (line 3)",
        "  ← x: f32[4], argument",
    ]
    assert "the cell (<ipython-input-7-abc>:1)" in str(seen)
    (loop,) = found.loops
    assert (loop.line, loop.times, loop.equations) == (2, 2, 2)
    assert [effect.code for effect in found.effects] == ["log.append(step)"]
    marks = {(mark.line, mark.column, mark.code, mark.kind) for mark in found.marks}
    assert {
        (1, 0, "hidden", "traced"),
        (2, 4, "step", "static"),
        (6, 7, "add(hidden, squares[0])", "traced"),
    } <= marks
