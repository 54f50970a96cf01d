"""What is shown of a program that a call has compiled is read off that, not made again."""

import pytest

from jxkernel import events
from tests.jupyter.conftest import Notebook


@pytest.fixture
def called(notebook: Notebook) -> Notebook:
    """A notebook with a step that was called."""
    notebook.run("f = jx.jit(lambda a: (jnp.sin(a) * 1.01).sum())\nf(x)")
    return notebook


@pytest.mark.parametrize("magic", ["stages", "cost", "hlo", "memory"])
def test_a_program_that_was_called_is_not_compiled_again(called: Notebook, magic: str) -> None:
    built: list[events.Event] = []
    with events.listen(built.append, (events.Lowered, events.Compiled)):
        shown = called.run(f"%jx {magic} f(x)").value
    assert str(shown)
    assert built == []


def test_letters_are_no_names_of_the_users(notebook: Notebook) -> None:
    notebook.run("a = b = 3.0\nf = jx.jit(lambda q: jnp.sin(q) * 2.0 + jnp.cos(q))")
    text = str(notebook.run("%jaxpr f(x)").value)
    assert "c:f32[8] = sin q" in text
    assert "a:" not in text
    assert "b:" not in text
    assert "c:f32[8] = sin q" in str(notebook.run("%jx stages f(x)").value)
    shown = notebook.run("%%jit --show jaxpr\njnp.sin(x) * 2.0").shown[0]["text/plain"]
    assert "c:f32[8] = sin x" in shown


def test_what_a_tuple_assignment_binds_is_named(notebook: Notebook) -> None:
    notebook.run("def f(q):\n    up, down = q + 1.01, q * 2\n    return up * down")
    text = str(notebook.run("%jaxpr f(x)").value)
    assert "up:f32[8] = add q 1.01:f32[]" in text
    assert "down:f32[8] = mul q 2.0:f32[]" in text


def test_lines_that_are_cut_say_how_much(notebook: Notebook) -> None:
    notebook.run("f = lambda q: sum(q)")
    text = str(notebook.run("%jx stages f([x] * 40)").value)
    assert " more characters" in text
    whole = str(notebook.run("%jx hlo f([x] * 40)").value)
    assert " more characters" not in whole


def test_references_are_drawn_as_such(notebook: Notebook) -> None:
    body = "    into[0] += q\n    return into[1]"
    notebook.run(f"total = jx.new_ref(jnp.zeros(3))\ndef add(into, q):\n{body}")
    shown = notebook.run("%jaxpr add(total, 2.0)").value
    assert "into:Ref{f32[3]}" in str(shown)
    assert "set[index=[0]] into" in str(shown)
    assert "Ref{f32[3]}" in str(notebook.run("%jx stages add(total, 2.0)").value)
    assert "stablehlo" in str(notebook.run("%jx hlo add(total, 2.0)").value)
    assert notebook.run("total[...].tolist()").value == [0.0, 0.0, 0.0]
