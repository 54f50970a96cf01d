"""Cells that await under `%%jit`: the first lines run as they stand, the rest is traced."""

import pytest

from jxkernel.jupyter import unload_ipython_extension
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import running_kernel

FETCH = """\
import asyncio
fetched = []
async def fetch(value):
    await asyncio.sleep(0)
    fetched.append(value)
    return x + value
async def several(count):
    for n in range(count):
        yield await fetch(n)"""


@pytest.fixture
def fetching(notebook: Notebook) -> Notebook:
    """A notebook with something to await."""
    notebook.run(FETCH)
    return notebook


def test_what_is_awaited_is_a_traced_input(fetching: Notebook) -> None:
    cell = "%%jit\ndata = await fetch(w)\ny = (data * 2).sum()\ny"
    ran = fetching.run(cell)
    assert float(ran.value) == 2 * (28 + 16)
    assert "line 2 awaited before it, untraced" in ran.line
    assert fetching.names["data"][1] == 3.0
    fetching.run("w = 5.0")
    again = fetching.run(cell)
    assert float(again.value) == 2 * (28 + 40)
    assert again.line.endswith("hit")
    assert fetching.names["fetched"] == [2.0, 5.0]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("for n in range(2):\n    data = await fetch(n)", [0, 1]),
        ("async for data in several(2):\n    pass", [0, 1]),
        ("data = [await fetch(n) for n in range(2)][1]", [0, 1]),
        ("data = [one async for one in several(2)][1]", [0, 1]),
        ("wanted = 1\nif wanted: data = await fetch(wanted)", [1]),
        ("data, other = await asyncio.gather(fetch(1), fetch(4))", [1, 4]),
    ],
)
def test_all_that_awaits_at_the_top_runs_first(
    fetching: Notebook, first: str, expected: list[int]
) -> None:
    ran = fetching.run(f"%%jit\n{first}\ntotal = data.sum()\ntotal")
    assert float(ran.value) == 36.0
    assert fetching.names["fetched"] == expected


def test_a_function_that_awaits_is_no_reason_to_await(fetching: Notebook) -> None:
    ran = fetching.run("%%jit\nasync def later():\n    return await fetch(1)\ny = x * 2\ny[1]")
    assert float(ran.value) == 2.0
    assert "awaited" not in ran.line
    assert float(fetching.run("(await later())[1]").value) == 2.0


def test_nothing_is_kept_of_a_cell_that_fails_after_its_awaits(fetching: Notebook) -> None:
    fetching.run("data = 'kept'")
    fetching.fails("%%jit\ndata = await fetch(1)\nextra = await fetch(2)\ny = data @ 3", ValueError)
    assert fetching.names["data"] == "kept"
    assert "extra" not in fetching.names


def test_an_error_of_what_is_awaited_shows_the_cells_line(fetching: Notebook) -> None:
    fetching.run("async def broken():\n    raise OSError('no route')")
    ran = fetching.fails("%%jit\n\ndata = await broken()\ny = data", OSError)
    assert "data = await broken()" in ran.printed
    assert "run_cell_magic" not in ran.printed


def test_flags_name_results_of_the_first_lines_too(fetching: Notebook) -> None:
    fetching.run("%%jit -o y\ndata = await fetch(1)\ny = data * 2")
    assert "data" not in fetching.names
    assert fetching.names["y"][0] == 2.0
    fetching.run("%%jit -o data\ndata = await fetch(1)\nz = data * 2")
    assert "z" not in fetching.names
    assert fetching.names["data"][0] == 1.0


def test_a_gradient_by_an_awaited_value(fetching: Notebook) -> None:
    ran = fetching.run("%%grad data\ndata = await fetch(1)\n(data ** 2).sum()")
    assert list(ran.value) == [2.0 * (n + 1) for n in range(8)]


def test_a_semicolon_hides_the_result(fetching: Notebook) -> None:
    assert fetching.run("%%jit\ndata = await fetch(1)\ndata.sum();").value is None
    assert fetching.names["fetched"] == [1]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%jit\ny = x * 2\nawait fetch(1)", "line 3: this `await` is the last statement"),
        ("%%jaxpr\ndata = await fetch(1)\ndata * 2", "a cell that is not run cannot await"),
        ("%%time\n%%jit\ndata = await fetch(1)\ndata * 2", "this cell awaits, and here it cannot"),
    ],
)
def test_what_cannot_await_says_what_to_do(fetching: Notebook, cell: str, message: str) -> None:
    assert message in fetching.attempt(cell).printed
    assert fetching.names["fetched"] == []


def test_a_mistake_in_such_a_cell_is_told_as_in_any_other(fetching: Notebook) -> None:
    ran = fetching.fails("%%jit\ndata = await fetch(1)\ny = = 2", SyntaxError)
    assert "y = = 2" in ran.printed
    assert "line 3" in ran.printed


def test_the_transformer_goes_with_the_extension(notebook: Notebook) -> None:
    transformers = notebook.shell.input_transformers_post
    assert len(transformers) == 1
    unload_ipython_extension(notebook.shell)
    assert transformers == []


def test_a_real_kernel_awaits_in_its_own_loop() -> None:
    with running_kernel() as kernel:
        kernel.ok(FETCH + "\nloop = asyncio.get_running_loop()")
        reply = kernel.ok(
            "%%jit\nassert asyncio.get_running_loop() is loop\ndata = await fetch(1)\ndata.sum()"
        )
        assert reply.result["text/plain"].startswith("Array(36")
        assert "lines 2–3 awaited before it" in reply.displays[0]["text/plain"]
        broken = kernel.run("%%jit\ndata = await fetch(1)\nif data.sum() > 0:\n    y = data")
        assert broken.content["ename"] == "TracerBoolConversionError"
        assert "data.sum() > 0" in broken.traceback
